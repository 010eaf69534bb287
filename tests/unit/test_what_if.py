"""What if: two columns of figures, and what keeping the second one writes."""

import datetime

import pytest

from tests.unit.document_selections import machine
from wizard.asking import tree
from wizard.asking.example import example_tree
from wizard.sessions.session import Session
from wizard.views.what_if import GPUS, KEYS, TENSOR, keep, shown_now, suppose, tensor_for

GPU = "runtime.hardware.gpu"


@pytest.fixture
def session() -> Session:
    return Session(tree=example_tree(datetime.date(2026, 11, 30)))


def texts(session: Session, **changed: str) -> dict[str, str]:
    short = {key.rpartition(".")[2]: key for key in KEYS}
    return {key: shown_now(session, key) for key in KEYS} | {short[name]: text for name, text in changed.items()}


def test_nothing_supposed_differs_in_nothing(session: Session) -> None:
    found = suppose(session, texts(session))
    assert (found.changes, [row for row in found.rows if row.differs]) == ({}, [])


def test_half_the_cache_bytes_give_twice_the_calls(session: Session) -> None:
    rows = {row.name: row for row in suppose(session, texts(session, kv_cache_dtype="fp8")).rows}
    assert float(rows["calls like yours that have room"].then) == pytest.approx(
        2 * float(rows["calls like yours that have room"].now), rel=0.02
    )


def test_more_gpus_take_the_tensor_parallel_size_with_them(session: Session) -> None:
    assert [tensor_for(session, gpus) for gpus in ("4", "2", "", "many")] == ["4", "2", "2", "2"]


def test_stages_leave_the_tensor_parallel_size_what_remains(session: Session) -> None:
    session.set("runtime.layout.pipeline_parallel", "2")
    assert tensor_for(session, "8") == "4"


@pytest.fixture
def from_machine() -> Session:
    """Nobody answered the hardware; a machine of two GPUs says it."""
    answers = example_tree(datetime.date(2026, 11, 30))
    for key in (GPU, GPUS, TENSOR):
        tree.drop(answers, key)
    made = Session(tree=answers)
    made.use_machine(machine())
    return made


@pytest.mark.parametrize("gpu", ["L40S", "B200 SXM 180GB"])
def test_another_gpu_is_supposed_in_the_number_that_is_shown(from_machine: Session, gpu: str) -> None:
    found = suppose(from_machine, texts(from_machine, gpu=gpu))
    rows = {row.name: row for row in found.rows}
    assert (rows["GPUs of one replica"].then, rows["weights, GiB a GPU"].differs) == ("2", False)
    keep(from_machine, found)
    hardware, layout = from_machine.in_force.runtime.hardware, from_machine.in_force.runtime.layout
    assert (hardware.gpu, hardware.gpus_per_replica, layout.tensor_parallel) == (gpu, 2, 2)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"quantization": "B200"}, "vLLM 0.33.0 knows no quantisation B200"),
        ({"quantization": "fp8"}, ""),
        ({"quantization": "none"}, ""),
        ({"kv_cache_dtype": "fp9"}, "knows no type of the KV cache fp9; it knows fp8"),
        ({"kv_cache_dtype": "fp8_e5m2"}, ""),
        ({"gpu": "X1"}, 'There is no GPU "X1" in the catalogue'),
        ({"gpu": "A100"}, "not one GPU of the catalogue but several"),
        ({"gpu": "NVIDIA L40S"}, ""),
    ],
)
def test_a_name_that_nobody_knows_is_doubted(session: Session, changed: dict[str, str], said: str) -> None:
    doubts = suppose(session, texts(session, **changed)).doubts
    assert [said in why for why in doubts.values()] == ([True] if said else [])


def test_a_gpu_of_the_machine_is_known_whatever_the_catalogue_says() -> None:
    made = Session(tree=example_tree(datetime.date(2026, 11, 30)))
    made.use_machine(machine(gpu="NVIDIA X1"))
    assert suppose(made, texts(made, gpu="NVIDIA X1")).doubts == {}


def test_text_that_cannot_be_used_is_said_and_changes_nothing(session: Session) -> None:
    found = suppose(session, texts(session, concurrency="many"))
    assert list(found.problems) == ["runtime.workload.concurrency"]
    assert not any(row.differs for row in found.rows)


def test_a_gpu_that_nobody_knows_has_no_figures_and_says_so(session: Session) -> None:
    rows = {row.name: row for row in suppose(session, texts(session, gpu="NVIDIA X1")).rows}
    assert rows["not known"].then != "-"
    assert rows["required, GiB a GPU"].differs is False
    assert rows["room for the cache, GiB a GPU"].then == "?"


def test_keeping_writes_the_answers_and_supposing_does_not(session: Session) -> None:
    found = suppose(session, texts(session, gpus_per_replica="4", tensor_parallel="4"))
    assert session.in_force.runtime.hardware.gpus_per_replica == 2
    assert keep(session, found) == ["GPUs per replica 4 (was 2)", "Tensor parallel size 4 (was 2)"]
    assert session.in_force.runtime.layout.tensor_parallel == 4
