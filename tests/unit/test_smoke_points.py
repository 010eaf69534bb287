"""Points of an unfinished run, kept for a later start that asks for the same."""

from pathlib import Path

import pytest

from probes.machine import Driver, Machine
from probes.reading import Reading
from probes.smoke.plan import ModelFacts, SmokePlan, SmokeRequest, VllmTool, Workload
from probes.smoke.planning import make_plan
from probes.smoke.points import SavedPoint, SavedPoints, fingerprint, forget_points, load_points, save_points
from probes.smoke.result import Latency, Point
from tests.unit.document_selections import machine

TOOL = VllmTool(executable=("vllm",), interpreter=Path("python"), version="0.32.0", build="cuda")
MODEL = ModelFacts(folder=Path("/m"), has_tokenizer=True, weights_bytes=1, is_local=True)
NOTHING = Latency(n=0, p50=None, p50_ci=None, p95=None, p95_upper=None, p99=None)
POINT = Point(
    kind="asked_unshared",
    prefix_hit_rate=None,
    excluded=0,
    output_len=None,
    concurrency=2,
    requests=72,
    completed=72,
    failed=0,
    warmups=4,
    duration_s=3.0,
    input_tokens=1,
    output_tokens=1,
    output_tok_s=1.0,
    steady=True,
    ttft_ms=NOTHING,
    tpot_ms=NOTHING,
    e2e_ms=NOTHING,
    ceilings=(),
)


def plan(state: Path, *, tool: VllmTool = TOOL, port: int = 8000, **changes: object) -> SmokePlan:
    """A plan whose request differs by `changes`."""
    values: dict[str, object] = {
        "mode": "local",
        "model": "/m",
        "workload": Workload(concurrency=2, input_tokens=100, output_tokens=10),
        "out_dir": state / "out",
        "state_dir": state,
        **changes,
    }
    return make_plan(SmokeRequest.model_validate(values), tool, MODEL, port)


def kept(made: SmokePlan) -> SavedPoints:
    """What a run that was stopped after one point has kept."""
    one = SavedPoint(name="unshared", point=POINT, raw={"ttfts": [0.1]}, seconds=9.0)
    return SavedPoints(fingerprint=fingerprint(made), run_id="a", saved_at="2026-12-01T00:00:00Z", points=(one,))


def test_kept_points_come_back(tmp_path: Path) -> None:
    save_points(plan(tmp_path), kept(plan(tmp_path)))
    assert load_points(plan(tmp_path, port=9000)) == kept(plan(tmp_path))


def driver(version: str) -> Driver:
    """The driver of the document's machine in another version."""
    return machine().driver.model_copy(update={"version": Reading.of(version, "recorded")})


def test_the_same_machine_with_less_free_memory_takes_them_over(tmp_path: Path) -> None:
    save_points(plan(tmp_path, machine=machine()), kept(plan(tmp_path, machine=machine())))
    later = machine()
    free = Reading.of(1, "recorded")
    gpus = tuple(gpu.model_copy(update={"memory_free_bytes": free}) for gpu in later.gpus)
    assert load_points(plan(tmp_path, machine=later.model_copy(update={"gpus": gpus}))) is not None


@pytest.mark.parametrize(
    "other",
    [machine(gpu="NVIDIA L40S"), machine(count=1), machine().model_copy(update={"driver": driver("570.1")}), None],
)
def test_another_machine_takes_nothing_over(tmp_path: Path, other: Machine | None) -> None:
    save_points(plan(tmp_path, machine=machine()), kept(plan(tmp_path, machine=machine())))
    assert load_points(plan(tmp_path, machine=other)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "/other"},
        {"serve_flags": ("--enforce-eager",)},
        {"workload": Workload(concurrency=3, input_tokens=100, output_tokens=10)},
        {"devices": ("1",)},
        {"tool": TOOL.model_copy(update={"version": "0.33.0"})},
    ],
)
def test_another_run_takes_nothing_over(tmp_path: Path, changes: dict[str, object]) -> None:
    save_points(plan(tmp_path), kept(plan(tmp_path)))
    assert load_points(plan(tmp_path, **changes)) is None  # type: ignore[arg-type]


def test_kept_points_are_private(tmp_path: Path) -> None:
    save_points(plan(tmp_path), kept(plan(tmp_path)))
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_a_run_that_came_to_its_end_forgets_them(tmp_path: Path) -> None:
    save_points(plan(tmp_path), kept(plan(tmp_path)))
    forget_points(plan(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_damaged_points_are_none(tmp_path: Path) -> None:
    save_points(plan(tmp_path), kept(plan(tmp_path)))
    next(tmp_path.iterdir()).write_text("{")
    assert load_points(plan(tmp_path)) is None
