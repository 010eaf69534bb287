"""The plain-text table of a machine."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.host import read_host
from probes.machine import Driver, Gpu, Link, Machine, Problem, RuntimeFound
from probes.reading import WHYS, Reading, Why
from probes.report import ABSENT_WORDS, machine_table

HOST = read_host()
GIB = 1024**3
H100 = Gpu.sparse(
    0,
    why="unknown",
    source="recorded",
    name=Reading.of("NVIDIA H100 80GB HBM3", "recorded"),
    memory_total_bytes=Reading.of(80 * GIB, "recorded"),
    memory_bandwidth_gb_s=Reading.of(3352.32, "recorded"),
)


def machine(*gpus: Gpu, why: Why = "unknown", **rest: Any) -> Machine:
    absent: Reading[str] = Reading.absent(why, "nvml")
    whole = {"driver": Driver(version=absent, cuda=absent, nvml=absent), "links": (), "runtimes": (), "problems": ()}
    return Machine(
        tool_version="0", taken_at=datetime(2026, 11, 30, tzinfo=UTC), gpus=gpus, host=HOST, **(whole | rest)
    )


def line(text: str, start: str) -> str:
    return next(found for found in text.splitlines() if found.startswith(start))


def gpu(**known: Any) -> Gpu:
    return H100.model_copy(update=known)


def test_a_gpu_is_one_line_with_its_memory_in_gib() -> None:
    assert line(machine_table(machine(H100)), "  0 NVIDIA H100 80GB HBM3").split()[5] == "80.0"


def test_no_gpu_is_said() -> None:
    assert line(machine_table(machine()), "GPUs").split(maxsplit=1)[1] == "none found"


def test_a_gpu_that_cannot_be_used_says_no() -> None:
    assert line(machine_table(machine(gpu(usable=False))), "  0").endswith("no")


@pytest.mark.parametrize("why", WHYS)
def test_every_reason_has_a_word_that_fits_its_column(why: Why) -> None:
    assert 0 < len(ABSENT_WORDS[why]) <= 8


def test_an_absent_value_is_a_word_and_no_zero() -> None:
    lost: Reading[int] = Reading.absent("lost", "nvml")
    assert line(machine_table(machine(gpu(memory_total_bytes=lost))), "  0").split()[5] == "lost"


def pairs_of(*ends: tuple[int, int]) -> tuple[Link, ...]:
    yes = Reading.of(True, "nvml")
    return tuple(Link(a=a, b=b, kind="nvlink", level="NV18", gb_s=478.1, peer_access=yes) for a, b in ends)


def test_links_are_a_small_matrix() -> None:
    links = pairs_of((0, 1), (0, 2), (1, 2))
    text = machine_table(machine(H100, gpu(index=1), gpu(index=2), links=links))
    assert line(text, "           1") == "           1   NV18      -   NV18"


def test_a_pair_that_was_not_read_is_a_question_mark() -> None:
    text = machine_table(machine(H100, gpu(index=1), gpu(index=2), links=pairs_of((0, 1))))
    assert line(text, "           2") == "           2      ?      ?      -"


def test_the_matrix_is_explained() -> None:
    assert "NV18: NVLink, 478 GB/s raw each way" in machine_table(machine(H100, gpu(index=1), links=pairs_of((0, 1))))


def test_the_pairs_of_many_gpus_are_grouped() -> None:
    many = [gpu(index=index) for index in range(72)]
    links = pairs_of(*((a, b) for a in range(72) for b in range(a + 1, 72)))
    assert line(machine_table(machine(*many, links=links)), "Links") == "Links     NV18: every pair"


def test_gpus_that_may_not_reach_each_other_are_marked() -> None:
    link = Link(a=0, b=1, kind="pcie", level="PHB", peer_access=Reading.of(False, "nvml"))
    assert line(machine_table(machine(H100, gpu(index=1), links=(link,))), "           0").endswith("PHB!")


def test_a_recorded_machine_is_marked_in_its_first_line() -> None:
    assert machine_table(machine(H100, recorded=True)).startswith("Machine   RECORDED on 2026-11-30 00:00 UTC")


def test_a_machine_that_will_be_bought_is_marked_in_its_first_line() -> None:
    planned = gpu(name=Reading.of("NVIDIA H100 80GB HBM3", "plan"))
    assert machine_table(machine(planned)).startswith("Machine   WILL BE BOUGHT")


def test_what_others_hold_of_the_memory_is_said() -> None:
    held = gpu(memory_used_bytes=Reading.of(3 * GIB, "nvml"), memory_reserved_bytes=Reading.of(GIB // 2, "nvml"))
    text = line(machine_table(machine(held)), "    other")
    assert text == "    other processes hold 3.0 GiB; 0.5 GiB reserved by the driver"


def test_the_use_that_an_old_driver_tells_holds_its_reserve() -> None:
    held = gpu(memory_used_bytes=Reading.of(GIB, "nvml"))
    assert "1.0 GiB in use, the driver's own reserve included" in machine_table(machine(held))


def test_the_confidence_of_a_catalogue_figure_is_said() -> None:
    known = gpu(memory_bandwidth_gb_s=Reading.of(273.0, "catalogue:derived"))
    assert "(confidence: derived)" in machine_table(machine(known))


def test_a_runtime_is_shown_with_its_build() -> None:
    runtime = RuntimeFound(
        version="0.33.0", build="cuda", cuda_major=13, distribution="vllm", interpreter="/x/python", found_by="path"
    )
    text = machine_table(machine(runtimes=(runtime,)))
    assert line(text, "Runtime") == "Runtime   vllm 0.33.0, cuda build for CUDA 13, /x/python"


def test_no_runtime_is_said() -> None:
    assert line(machine_table(machine()), "Runtime") == "Runtime   no vLLM was found"


def test_a_problem_is_followed_by_its_advice() -> None:
    problem = Problem(code="no_driver", message="No driver.", advice="Install it.")
    assert machine_table(machine(problems=(problem,))).endswith("Problem   No driver.\n          → Install it.\n")


def test_an_option_in_an_advice_is_not_broken_over_two_lines() -> None:
    problem = Problem(code="probe_timeout", message="Slow.", advice="x" * 58 + " --probe-timeout 60")
    assert "--probe-timeout" in machine_table(machine(problems=(problem,)))


def test_a_slice_is_shown_under_its_gpu() -> None:
    absent = {"why": "unknown", "source": "nvml"}
    part = {
        "index": 1,
        "uuid": {"value": "MIG-5", "source": "nvml"},
        "name": {"value": "NVIDIA A100 MIG 3g.20gb", "source": "nvml"},
        "memory_total_bytes": {"value": 20 * GIB, "source": "nvml"},
        "memory_free_bytes": absent,
        "multiprocessor_count": absent,
        "gpu_instance_id": absent,
        "compute_instance_id": absent,
    }
    mig = {"enabled": {"value": True, "source": "nvml"}, "pending": absent, "instances": [part]}
    sliced = Gpu.sparse(0, why="unknown", source="nvml", mig=mig)
    assert line(machine_table(machine(sliced)), "    MIG") == "    MIG 1: 3g.20gb, 20.0 GiB, MIG-5"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(name=st.text(min_size=1), message=st.text(min_size=1))
def test_no_line_is_wider_than_80_columns_or_steers_the_terminal(name: str, message: str) -> None:
    problem = Problem(code="no_driver", message=message, advice=name)
    text = machine_table(machine(gpu(name=Reading.of(name, "nvml")), problems=(problem,)))
    assert all(len(found) <= 80 and found.isprintable() for found in text.split("\n"))
