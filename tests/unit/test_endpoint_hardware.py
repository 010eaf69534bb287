"""An endpoint whose processes NVML shows on GPUs of this machine: its hardware is verified, as that of a local run."""

import pytest

from probes.smoke.result import SmokeResult
from tests.unit.document_selections import DAY, machine, select, smoke
from tests.unit.test_document import _grades, lookup, part
from wizard.asking.example import example_tree
from wizard.decision.proof import limit_of, qualifier
from wizard.decision.selection import Selection
from wizard.document.context.measurement import rate
from wizard.document.render import render


def endpoint(gpus: tuple[int, ...] | None, *, address: str = "http://127.0.0.1:8000") -> SmokeResult:
    """The document's run as one of an endpoint, on the GPUs of these indices."""
    run = smoke()
    load = run.load.model_copy(update={"command": ("vllm", "bench", "serve", "--base-url", address)})
    server = run.server.model_copy(update={"gpus": gpus})
    runtime = run.runtime.model_copy(update={"command": None})
    return run.model_copy(update={"mode": "endpoint", "load": load, "server": server, "runtime": runtime})


def selected(gpus: tuple[int, ...] | None, *, gpu: str = "NVIDIA H100 80GB HBM3") -> Selection:
    """The example, which proposes two H100 a replica, beside that run."""
    return select(example_tree(DAY), on=machine(gpu=gpu), run=endpoint(gpus))


@pytest.mark.parametrize(
    ("gpus", "gpu", "limit"),
    [
        ((0, 1), "NVIDIA H100 80GB HBM3", None),
        ((0, 1), "NVIDIA L40S", "other hardware"),
        ((0,), "NVIDIA H100 80GB HBM3", "other hardware"),  # half of a replica
        (None, "NVIDIA L40S", None),  # not visible: whoever named it answers for it
        ((0, 7), "NVIDIA H100 80GB HBM3", None),  # GPU 7 is on no machine that was probed
    ],
)
def test_what_its_gpus_limit(gpus: tuple[int, ...] | None, gpu: str, limit: str | None) -> None:
    assert qualifier(selected(gpus, gpu=gpu)) == limit


def test_on_the_proposed_gpus_it_can_refute_and_its_rate_may_be_used() -> None:
    selection = selected((0, 1))
    assert (limit_of(selection), rate(selection).run) == (None, "RUN-1")
    assert "contradicted" in _grades(render(selection))


def test_where_its_gpus_are_not_visible_its_rate_may_not_be_used() -> None:
    assert rate(selected(None)).why == "the hardware behind the endpoint was not verified by the run"


def test_other_gpus_are_said_in_the_grade_and_refute_nothing() -> None:
    selection = selected((0, 1), gpu="NVIDIA L40S")
    assert _grades(render(selection)) == {"supported, other hardware", "contradicted, other hardware"}
    assert {found.severity for found in selection.findings if found.rule == "M1"} == {"note"}


@pytest.mark.parametrize(
    ("gpus", "gpu", "cell"),
    [
        (
            (0, 1),
            "NVIDIA H100 80GB HBM3",
            "2 × NVIDIA H100 80GB HBM3 (GPU 0 and GPU 1), by its processes there; as proposed",
        ),
        (
            (1,),
            "NVIDIA L40S",
            "1 × NVIDIA L40S (GPU 1), by its processes there; proposed: 2 × NVIDIA H100 80GB HBM3",
        ),
        (None, "NVIDIA L40S", "not visible"),
    ],
)
def test_found_stands_beside_proposed(gpus: tuple[int, ...] | None, gpu: str, cell: str) -> None:
    text = render(selected(gpus, gpu=gpu))
    assert lookup(text, "2.5 Measurement", "GPUs of the endpoint", "Value") == cell


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ((0, 1), "the engine behind it is answer, not verified by this run; its GPUs are verified"),
        (None, "the engine and hardware behind it are answer, not verified by this run"),
    ],
)
def test_what_is_verified_is_said(gpus: tuple[int, ...] | None, said: str) -> None:
    assert said in " ".join(part(render(selected(gpus)), "2.5 Measurement").prose)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("http://localhost:8000", "same host, loopback"),
        ("https://llm.example", "to the endpoint over the network"),
    ],
)
def test_the_path_to_it_is_said(address: str, path: str) -> None:
    text = render(select(example_tree(DAY), on=machine(), run=endpoint(None, address=address)))
    assert lookup(text, "2.5 Measurement", "Load tool and path", "Value").endswith(path)
