"""Machines on which something is broken: what is said, and what is still read."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes.machine import Machine
from probes.snapshot import take_machine
from tests.nvml.fake import LIBRARY, SCENARIO_VARIABLE, FakeNvml
from tests.nvml.plugin import Probe

FOUR = {
    "gpus": [{"uuid": f"GPU-{index}", "name": "NVIDIA L40S"} for index in range(4)],
    "pair_defaults": {"read": 0},
}


REMARKS = {"some_unreadable", "pcie_narrow"}


def codes(machine: Machine) -> list[tuple[str, int | None]]:
    """The problems by code and GPU, without what merely follows from them or holds for the healthy machine too."""
    return [(problem.code, problem.gpu) for problem in machine.problems if problem.code not in REMARKS]


def initialising_fails(code: int) -> dict[str, Any]:
    return {"gpus": [], "faults": {"return": {"nvmlInitWithFlags": code}}}


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make sure that no driver of this computer is found; returns the root that is looked at."""
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"not a library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    return tmp_path / "root"


def take(root: Path) -> Machine:
    return take_machine(tool_version="0", root=root)


def test_no_driver_is_a_problem_and_no_error(no_library: Path) -> None:
    assert codes(take(no_library)) == [("no_driver", None)]


def test_without_a_driver_no_version_is_made_up(no_library: Path) -> None:
    assert take(no_library).driver.version.why == "unknown"


def test_no_driver_in_a_container_is_about_passing_the_gpus_in(no_library: Path) -> None:
    no_library.mkdir()
    (no_library / ".dockerenv").touch()
    assert "--gpus all" in take(no_library).problems[0].advice


def test_a_loaded_module_without_the_library_is_told_apart(no_library: Path) -> None:
    module = no_library / "proc/driver/nvidia/version"
    module.parent.mkdir(parents=True)
    module.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build\n")
    assert "580.105.08" in take(no_library).problems[0].message


def test_a_library_off_the_loaders_path_is_found(no_library: Path) -> None:
    library = no_library / "opt/nvidia/lib64/libnvidia-ml.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    assert str(library.parent) in take(no_library).problems[0].advice


def test_a_working_driver_without_a_gpu(probe: Probe) -> None:
    machine = probe({"gpus": [], "driver": {"version": "580.105.08"}})
    assert (machine.driver.version.value, codes(machine)) == ("580.105.08", [("no_gpu", None)])


def test_a_driver_newer_than_its_module(probe: Probe, tmp_path: Path) -> None:
    module = tmp_path / "proc/driver/nvidia/version"
    module.parent.mkdir(parents=True)
    module.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n")
    machine = probe("mismatch")
    assert (codes(machine), machine.driver.version.value) == ([("driver_mismatch", None)], "535.104.05")


def test_a_module_that_is_not_loaded(probe: Probe) -> None:
    assert codes(probe("not-loaded")) == [("driver_not_loaded", None)]


def test_an_unknown_error_of_the_driver(probe: Probe) -> None:
    assert codes(probe(initialising_fails(999))) == [("driver_failed", None)]


def test_an_unknown_error_in_a_container_is_about_the_container(probe: Probe, tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    assert codes(probe(initialising_fails(999))) == [("container_lost_gpus", None)]


def test_a_driver_that_may_not_be_asked(probe: Probe) -> None:
    assert codes(probe(initialising_fails(4))) == [("no_permission", None)]


def test_a_code_of_which_nothing_is_known_is_shown(probe: Probe) -> None:
    assert "(code 77)" in probe(initialising_fails(77)).problems[0].message


def test_the_toolkits_stub_is_recognised_by_its_folder(
    fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in fake_nvml.env(initialising_fails(12), subfolder="stubs").items():
        monkeypatch.setenv(name, value)
    assert codes(take(tmp_path)) == [("stub_library", None)]


def test_a_lost_gpu_is_named(probe: Probe) -> None:
    assert codes(probe("lost-1-of-8")) == [("gpu_lost", 3)]


def test_a_lost_gpu_does_not_hide_the_others(probe: Probe) -> None:
    assert [gpu.index for gpu in probe("lost-1-of-8").gpus if gpu.usable] == [0, 1, 2, 4, 5, 6, 7]


def test_a_lost_gpu_has_lost_readings(probe: Probe) -> None:
    assert probe("lost-1-of-8").gpus[3].memory_total_bytes.why == "lost"


def test_a_gpu_lost_half_way_keeps_what_was_read(probe: Probe) -> None:
    gpu = probe(FOUR, faults={"return": {"nvmlDeviceGetBrand@1": 15}}).gpus[1]
    assert (gpu.name.value, gpu.brand.why, gpu.usable) == ("NVIDIA L40S", "lost", False)


def test_a_gpu_that_may_not_be_read(probe: Probe) -> None:
    machine = probe(FOUR, faults={"return": {"nvmlDeviceGetHandleByIndex_v2@0": 4}})
    assert (codes(machine), machine.gpus[1].usable) == ([("no_permission", 0)], True)


def test_a_gpu_that_fails_otherwise(probe: Probe) -> None:
    machine = probe(FOUR, faults={"return": {"nvmlDeviceGetHandleByIndex_v2@2": 999}})
    assert (codes(machine), machine.gpus[2].name.why) == ([("gpu_unreadable", 2)], "unknown")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (3, "not_supported"),
        (4, "no_permission"),
        (10, "timeout"),
        (13, "driver_too_old"),
        (26, "deprecated"),
        (999, "unknown"),
    ],
)
def test_the_reason_of_one_field_stays_with_this_field(probe: Probe, code: int, why: str) -> None:
    gpu = probe("t4", faults={"return": {"nvmlDeviceGetEnforcedPowerLimit": code}}).gpus[0]
    assert (gpu.power_limit_w.why, gpu.power_limit_default_w.value) == (why, 70.0)


def test_an_old_driver_is_asked_by_the_older_call(probe: Probe) -> None:
    gpu = probe("t4", faults={"hide": ["nvmlDeviceGetMemoryInfo_v2"]}).gpus[0]
    assert gpu.memory_total_bytes.source == "nvml:nvmlDeviceGetMemoryInfo"


def test_an_old_driver_does_not_know_the_reserve(probe: Probe) -> None:
    gpu = probe("t4", faults={"hide": ["nvmlDeviceGetMemoryInfo_v2"]}).gpus[0]
    assert gpu.memory_reserved_bytes.why == "driver_too_old"


def test_an_older_fabric_struct_is_tried(probe: Probe) -> None:
    assert probe("h100x2", gpu_defaults={"fabric_version": 2}).gpus[0].fabric_state.value == "completed"


def test_a_missing_cuda_library_is_not_a_missing_driver(probe: Probe) -> None:
    machine = probe("t4", faults={"return": {"nvmlSystemGetCudaDriverVersion_v2": 12}})
    assert (codes(machine), machine.gpus[0].usable) == ([("no_libcuda", None)], True)


def test_a_corrupt_name_is_shown_and_told(probe: Probe) -> None:
    machine = probe("t4", gpus=[{"name": "hex:f8a141"}])
    assert (machine.gpus[0].name.value, codes(machine)) == ("��A", [("corrupt_name", 0)])


def test_a_fabric_that_is_not_ready_makes_its_gpus_unusable(probe: Probe) -> None:
    machine = probe("h100x2", gpu_defaults={"fabric_state": 2})
    assert (codes(machine), machine.gpus[0].usable) == (
        [("fabric_not_ready", 0), ("fabric_not_ready", 1)],
        False,
    )


def test_a_fabric_that_ended_with_an_error_is_not_ready(probe: Probe) -> None:
    assert codes(probe("h100x2", gpu_defaults={"fabric_status": 999}))[0] == ("fabric_not_ready", 0)


def test_a_gpu_in_prohibited_mode_is_unusable(probe: Probe) -> None:
    assert codes(probe({"gpus": [{"compute_mode": 2}]})) == [("compute_prohibited", 0)]


def test_mig_without_instances_is_unusable(probe: Probe) -> None:
    assert codes(probe({"gpus": [{"mig_mode": 1, "mig_max": 7}]})) == [("mig_empty", 0)]


def test_a_hang_at_one_gpu_is_cut_off_and_named(probe: Probe) -> None:
    assert codes(probe("hang", timeout_s=3)) == [("probe_timeout", 2)]


def test_a_hang_keeps_what_was_read_of_that_gpu(probe: Probe) -> None:
    gpu = probe("hang", timeout_s=3).gpus[2]
    assert (gpu.memory_total_bytes.known, gpu.name.why, gpu.usable) == (True, "timeout", False)


def test_a_hang_at_one_gpu_does_not_hide_those_after_it(probe: Probe) -> None:
    assert [gpu.usable for gpu in probe("hang", timeout_s=3).gpus] == [True, True, False, True]


def test_a_driver_that_hangs_at_once(probe: Probe) -> None:
    machine = probe("t4", timeout_s=0.5, faults={"delay_ms": {"nvmlInitWithFlags": 600000}})
    assert (codes(machine), machine.driver.version.why) == ([("probe_timeout", None)], "timeout")


def test_a_slow_driver_within_the_limit_is_waited_for(probe: Probe) -> None:
    assert codes(probe("t4", faults={"delay_ms": {"nvmlInitWithFlags": 300}})) == []


def processes_of_this_scenario() -> list[int]:
    """Name the processes that were given the scenario of this test."""
    marker = f"{SCENARIO_VARIABLE}={os.environ[SCENARIO_VARIABLE]}"
    others = {int(path.name) for path in Path("/proc").glob("[0-9]*")} - {os.getpid()}
    return [pid for pid in others if marker in _file(pid, "environ")]


def test_nothing_is_left_running_when_the_parent_is_killed(
    fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fake_nvml.env(FOUR, faults={"delay_ms": {"nvmlInitWithFlags": 600001}}).items():
        monkeypatch.setenv(name, value)
    with subprocess.Popen([sys.executable, "-c", "from probes.child import walk; walk(60)"]) as parent:
        eventually(lambda: any(LIBRARY in _file(pid, "maps") for pid in processes_of_this_scenario()))
        parent.kill()
    eventually(lambda: not processes_of_this_scenario())


def eventually(holds: Callable[[], bool], limit_s: float = 20.0) -> None:
    """Wait until the condition holds; the test fails when it does not within the limit."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "the condition never held"
        select.select([], [], [], 0.02)


def test_a_slow_start_is_given_the_whole_time_limit(probe: Probe) -> None:
    assert codes(probe("t4", timeout_s=2, faults={"delay_ms": {"nvmlInitWithFlags": 1400}})) == []


def test_nothing_is_left_running_after_a_hang(probe: Probe) -> None:
    probe("t4", timeout_s=0.5, faults={"delay_ms": {"nvmlInitWithFlags": 600000}})
    assert processes_of_this_scenario() == []


def _file(pid: int, name: str) -> str:
    """Read a file of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def test_a_crash_at_one_gpu_is_named(probe: Probe) -> None:
    assert codes(probe(FOUR, faults={"crash": {"nvmlDeviceGetName@1": 1}})) == [("probe_crashed", 1)]


def test_a_crash_at_one_gpu_does_not_hide_the_others(probe: Probe) -> None:
    machine = probe(FOUR, faults={"crash": {"nvmlDeviceGetName@1": 1, "nvmlDeviceGetUUID@2": 1}})
    assert [gpu.usable for gpu in machine.gpus] == [True, False, False, True]


def test_a_crash_at_once(probe: Probe) -> None:
    assert codes(probe("t4", faults={"crash": {"nvmlInitWithFlags": 1}})) == [("probe_crashed", None)]


def test_the_child_can_be_run_on_its_own(fake_nvml: FakeNvml) -> None:
    command = [sys.executable, "-m", "probes.nvml"]
    lines = subprocess.run(command, env=os.environ | fake_nvml.env("t4"), capture_output=True, check=True).stdout
    assert lines.splitlines()[-1] == b'{"event": "done"}'


def test_the_probe_works_from_any_folder(probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('this folder must not be on the path')\n")
    monkeypatch.chdir(tmp_path)
    assert probe("t4").gpus[0].name.value == "Tesla T4"


def _pynvml_in(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pynvml.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_pynvml_that_is_not_nvidias(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pynvml_in(tmp_path, "", monkeypatch)
    assert codes(take(tmp_path)) == [("wrong_binding", None)]


def test_a_pynvml_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pynvml_in(tmp_path, "import a_module_that_is_not_there", monkeypatch)
    assert codes(take(tmp_path)) == [("binding_missing", None)]


def test_a_pynvml_that_raises_is_a_crash_with_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pynvml_in(tmp_path, "raise RuntimeError('broken wheel')", monkeypatch)
    assert "RuntimeError: broken wheel" in take(tmp_path).problems[0].message
