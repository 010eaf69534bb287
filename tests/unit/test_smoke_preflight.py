"""Which GPUs a run takes, how long it says it needs, and when it does not begin at all."""

from pathlib import Path
from typing import Any

import pytest

from probes.errors import ProbeError
from probes.machine import Link, Machine
from probes.reading import Reading
from probes.smoke import preflight
from probes.smoke.plan import Ceiling, ModelFacts, PlannedRun, SmokeRequest, VllmTool, Workload
from probes.smoke.planning import gpus_needed, make_plan
from probes.smoke.preflight import call_seconds, check_disk, check_memory, choose_gpus, duration_lines, held_by_others
from tests.unit.selections import machine as named

GIB = 1024**3
LOAD = Workload(concurrency=4, input_tokens=100, output_tokens=11)
TTFT = Ceiling(metric="ttft_ms", limit_ms=1000)
TPOT = Ceiling(metric="tpot_ms", limit_ms=100)
E2E = Ceiling(metric="e2e_ms", limit_ms=6000)


def machine(*free_gib: float, links: tuple[tuple[int, int], ...] = (), **shell: Any) -> Machine:
    """A machine whose GPUs of 80 GiB have this much free, some of them joined by NVLink."""
    made = named(*["NVIDIA H100 80GB HBM3"] * len(free_gib))
    gpus = tuple(
        gpu.model_copy(
            update={
                "memory_total_bytes": Reading.of(80 * GIB, "test"),
                "memory_free_bytes": Reading.of(int(free * GIB), "test"),
                "memory_used_bytes": Reading.of(int((80 - free) * GIB), "test"),
            }
        )
        for gpu, free in zip(made.gpus, free_gib, strict=True)
    )
    unknown: dict[str, Any] = {"why": "unknown", "source": "test"}
    joined = tuple(
        Link.model_validate({"a": a, "b": b, "kind": "nvlink", "level": "NV18", "peer_access": unknown})
        for a, b in links
    )
    return made.model_copy(update={"gpus": gpus, "links": joined, **shell})


def test_free_gpus_are_taken_and_held_ones_are_not() -> None:
    assert choose_gpus(machine(80, 10, 79, 80), 2)[0] == ("0", "2")


def test_gpus_that_nvlink_joins_come_first() -> None:
    assert choose_gpus(machine(80, 80, 80, links=((1, 2),)), 2) == (("1", "2"), "free, joined by NVLink")


def test_gpus_without_a_link_are_taken_and_that_is_said() -> None:
    assert choose_gpus(machine(80, 80), 2)[1] == "free, not all joined by NVLink"


def test_too_few_free_gpus_are_told_with_who_is_in_the_way() -> None:
    with pytest.raises(ProbeError, match=r"needs 2 free GPUs and 1 are free: GPU 1 is in use \(70.0 GiB\)"):
        choose_gpus(machine(80, 10), 2)


def test_only_what_the_shell_lets_be_seen_is_taken() -> None:
    seen = machine(80, 80)
    shell = seen.shell.model_copy(update={"visible_gpus": Reading.of((1,), "test")})
    assert choose_gpus(seen.model_copy(update={"shell": shell}), 1)[0] == ("1",)


def test_a_gpu_with_a_process_on_it_is_held_however_little_it_takes() -> None:
    made = machine(80, 80)
    busy = made.gpus[0].model_copy(update={"process_count": Reading.of(1, "test")})
    assert choose_gpus(made.model_copy(update={"gpus": (busy, made.gpus[1])}), 1)[0] == ("1",)


def test_named_gpus_that_somebody_uses_are_told() -> None:
    assert held_by_others(machine(80, 10), ("0", "1")) == ("GPU 1 is in use (70.0 GiB)",)


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ((), 1),
        (("--tensor-parallel-size", "4"), 4),
        (("--tensor-parallel-size=2", "--pipeline-parallel-size", "2", "--data-parallel-size", "2"), 8),
    ],
)
def test_the_layout_says_how_many_gpus_are_needed(flags: tuple[str, ...], count: int) -> None:
    request = SmokeRequest(
        mode="local", model="/m", workload=LOAD, serve_flags=flags, out_dir=Path("o"), state_dir=Path("s")
    )
    assert gpus_needed(request) == count


@pytest.mark.parametrize(
    ("ceilings", "seconds"), [((E2E, TTFT), 6.0), ((TTFT, TPOT), 2.0), ((TTFT,), None), ((), None)]
)
def test_a_call_may_take_what_its_ceilings_allow(ceilings: tuple[Ceiling, ...], seconds: float | None) -> None:
    assert call_seconds(ceilings, 11) == seconds


def test_minutes_and_gpu_hours_are_shown() -> None:
    run = PlannedRun(name="unshared", kind="asked_unshared", requests=80, workload=LOAD)
    lines = duration_lines((run,), (E2E,), 1800, 2)
    assert (lines[0], "about 2 minutes, 0.07 GPU-hours on 2 GPUs" in lines[1]) == (
        "Takes at most 30 minutes, 1.00 GPU-hours on 2 GPUs: then it is ended.",
        True,
    )


def test_a_load_that_the_time_limit_would_cut_off_is_told_before() -> None:
    run = PlannedRun(name="unshared", kind="asked_unshared", requests=80, workload=LOAD)
    assert "--time-limit 195 would be enough" in duration_lines((run,), (E2E,), 60, None)[-1]


def test_a_full_disk_is_told_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "LEAST_TEMPORARY_BYTES", 10**18)
    with pytest.raises(ProbeError, match="MB free, a run needs"):
        check_disk(tmp_path)


def test_too_little_memory_is_told_before_the_start() -> None:
    with pytest.raises(ProbeError, match="GiB of memory"):
        check_memory(10**18)


def test_gpus_are_named_in_the_order_in_which_nvml_counts_them() -> None:
    request = SmokeRequest(
        mode="local", model="/m", workload=LOAD, devices=("0", "2"), out_dir=Path("o"), state_dir=Path("s")
    )
    tool = VllmTool(executable=("vllm",), interpreter=Path("python"), version="0.33.0", build="cuda")
    facts = ModelFacts(folder=Path("/m"), has_tokenizer=True, weights_bytes=1, is_local=True)
    plan = make_plan(request, tool, facts, 8000, devices_words="free, joined by NVLink")
    assert ("CUDA_DEVICE_ORDER", "PCI_BUS_ID") in plan.serve_environment
    assert "GPUs: 0, 2 (free, joined by NVLink)." in plan.description
