"""Each way in which a machine fails its owner, through the real pynvml: what is said and what is done about it.

The list was gathered from the trackers of GPU monitors, container tools and runtimes. Drivers that cannot be asked at
all, lost GPUs, hangs and crashes are in test_failures.py.
"""

from pathlib import Path
from typing import Any

import pytest

from probes.machine import Machine, Problem, RuntimeFound
from probes.report import machine_table
from probes.smoke.failures import explain_log
from probes.snapshot import take_machine
from tests.nvml.fake import FakeNvml
from tests.nvml.plugin import Probe
from wizard.machine import enriched

GIB = 1024**3
TWO_MODELS = {"gpus": [{"name": "NVIDIA L4", "pci": "00000000:01:00.0"}, {"name": "NVIDIA L40S", "pci": "0:2:0"}]}
CUDA_13 = RuntimeFound(
    version="0.33.0", build="cuda", cuda_major=13, distribution="vllm", interpreter="/x/python", found_by="path"
)


@pytest.fixture
def with_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vLLM built for CUDA 13 is installed."""
    monkeypatch.setattr("probes.snapshot.find_runtimes", lambda _: (CUDA_13,))


def said(machine: Machine, code: str) -> Problem:
    """The first problem of that code; the test fails where there is none."""
    found = [problem for problem in machine.problems if problem.code == code]
    assert found, f"no {code} among {[problem.code for problem in machine.problems]}"
    return found[0]


def test_cuda_that_cannot_start_though_the_driver_answers(probe: Probe) -> None:
    assert "nvidia_uvm" in said(probe("t4", driver={"cuda_init": 999}), "cuda_cannot_start").advice


def test_cuda_that_starts_is_no_problem(probe: Probe) -> None:
    assert probe("h100x2").driver.cuda_start.value == "ok"


@pytest.mark.parametrize(
    ("fault", "code"),
    [({"delay_ms": {"cuInit": 600_000}}, "probe_timeout"), ({"crash": {"cuInit": 1}}, "probe_crashed")],
)
def test_cuda_that_hangs_or_crashes_takes_no_gpu_away(probe: Probe, fault: dict[str, Any], code: str) -> None:
    machine = probe("h100x2", timeout_s=2, faults=fault)
    assert ([gpu.usable for gpu in machine.gpus], said(machine, code).gpu) == ([True, True], None)


def test_a_shell_that_hides_every_gpu_is_no_fault_of_cuda(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> Machine:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        return take_machine(tool_version="0", root=Path("/nonexistent"))

    probe("t4", driver={"cuda_init": 100})
    assert "cuda_cannot_start" not in {problem.code for problem in read().problems}


def test_wsl_explains_its_missing_readings(probe: Probe) -> None:
    assert "memory and compute capability are valid" in said(probe("wsl2"), "wsl").message


def test_a_name_that_is_no_text_leads_to_the_windows_driver(probe: Probe) -> None:
    assert "Windows driver 555" in said(probe("bad-name"), "corrupt_name").advice


def test_a_binding_that_gives_bytes_gives_text(fake_nvml: FakeNvml, tmp_path: Path, monkeypatch: Any) -> None:
    """Bindings before 11.515 returned bytes for names."""
    (tmp_path / "pynvml.py").write_text(
        "import importlib.machinery, pathlib, sys\n"
        "others = [folder for folder in sys.path if folder != str(pathlib.Path(__file__).parent)]\n"
        "spec = importlib.machinery.PathFinder.find_spec('pynvml', others)\n"
        "exec(compile(open(spec.origin).read(), spec.origin, 'exec'), globals())\n"
        "_text = nvmlDeviceGetName\n"
        "def nvmlDeviceGetName(handle): return _text(handle).encode()\n"
    )
    for name, value in (fake_nvml.env("t4") | {"PYTHONPATH": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    assert take_machine(tool_version="0", root=tmp_path).gpus[0].name.value == "Tesla T4"


def test_mig_in_a_container_marks_the_line_of_its_gpu(probe: Probe) -> None:
    assert "(MIG enabled; whole-GPU values not readable here)" in machine_table(probe("mig-only-container"))


def test_utilization_on_mig_keeps_its_reason(probe: Probe) -> None:
    assert probe("a100-mig").gpus[0].utilization_percent.why == "not_supported"


def test_utilization_on_mig_is_explained(probe: Probe) -> None:
    assert "not offered by NVML on MIG" in " ".join(machine_table(probe("a100-mig")).split())


def test_slices_of_a_gpu_that_may_not_be_read_can_be_used(probe: Probe) -> None:
    assert "the slices listed can be used" in said(probe("mig-only-container"), "slices_only").message


@pytest.mark.usefixtures("with_vllm")
def test_a_gpu_named_by_its_uuid_may_not_suit_vllm(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = probe("t4").gpus[0].uuid.value
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", uuid or "")
    assert "vLLM 0.33.0" in said(take_machine(tool_version="0"), "visible_by_uuid").message


def test_the_gpus_that_could_not_be_read_are_counted(probe: Probe) -> None:
    assert said(probe("lost-1-of-8"), "some_unreadable").message.startswith("1 of 8 GPUs could not be read (lost)")


def test_mixed_models_without_an_order_are_told(probe: Probe) -> None:
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in said(probe(TWO_MODELS), "mixed_gpus").advice


def test_mixed_models_in_the_order_of_the_bus_are_no_problem(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(TWO_MODELS)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert "mixed_gpus" not in {problem.code for problem in take_machine(tool_version="0").problems}


def test_a_chip_that_shares_the_memory_is_labelled(probe: Probe) -> None:
    assert "unified, shared with CPU" in machine_table(probe("gb10"))


def test_a_chip_that_reports_the_computers_memory_is_unified_too(probe: Probe) -> None:
    gpu = probe("gb10", gpus=[{"name": "NVIDIA GB10", "memory_total_bytes": 119 * GIB}]).gpus[0]
    assert (gpu.memory_kind, gpu.memory_total_bytes.value) == ("unified", 119 * GIB)


def test_the_pcie_figures_of_a_chip_are_not_believed(probe: Probe) -> None:
    assert probe("gb10").gpus[0].pcie_width_max.why == "not_supported"


def test_a_jetson_is_told(probe: Probe) -> None:
    assert "NVIDIA Jetson AGX Orin Developer Kit" in said(probe("jetson"), "jetson").message


def test_a_jetson_without_nvml_is_no_missing_driver(probe: Probe) -> None:
    files = {"etc/nv_tegra_release": "# R35 (release)\n"}
    assert "JetPack 7" in said(probe("no-library", files=files), "jetson").message


def test_a_module_that_only_looks_like_nvidias_is_to_be_removed(monkeypatch: Any, tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("")
    (tmp_path / "nvidia_ml_py3-7.352.0.dist-info").mkdir()
    (tmp_path / "nvidia_ml_py3-7.352.0.dist-info/METADATA").write_text("Name: nvidia-ml-py3\nVersion: 7.352.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "nvidia-ml-py3" in said(take_machine(tool_version="0", root=tmp_path), "wrong_binding").advice


@pytest.mark.parametrize("version", ["535.43.02", "535.98"])
def test_the_memory_of_processes_is_not_shown_where_the_driver_mixes_it_up(probe: Probe, version: str) -> None:
    machine = probe("t4", driver={"version": version}, gpus=[{"processes": "4294967295 4711"}])
    assert (machine.gpus[0].process_memory_bytes.value, bool(said(machine, "process_memory_unreliable"))) == (
        None,
        True,
    )


@pytest.mark.parametrize("version", ["535.104.05", "530.30.02"])
def test_the_memory_of_processes_is_shown_with_other_drivers(probe: Probe, version: str) -> None:
    machine = probe("t4", driver={"version": version}, gpus=[{"processes": "7 1000,8 234"}])
    assert machine.gpus[0].process_memory_bytes.value == 1234


def test_the_drivers_reserve_is_kept_apart_from_what_is_used(probe: Probe) -> None:
    gpu = {"memory_total_bytes": 16 * GIB, "memory_reserved_bytes": GIB // 2, "memory_used_bytes": 3 * GIB}
    text = machine_table(probe({"gpus": [gpu]}))
    assert "other processes hold 3.0 GiB; 0.5 GiB reserved by the driver" in text


@pytest.mark.usefixtures("with_vllm")
def test_vllm_fails_for_the_reason_for_which_the_probe_fails(probe: Probe) -> None:
    problem = said(probe("not-loaded"), "vllm_no_nvml")
    assert ("kernel module is not loaded" in problem.message, "VLLM_LOGGING_LEVEL=DEBUG" in problem.advice) == (
        True,
        True,
    )


def test_a_vllm_that_found_no_device_is_explained() -> None:
    assert explain_log(["RuntimeError: Failed to infer device type"]).kind == "no_gpu"


def test_a_fabric_that_is_not_ready_is_about_its_manager(probe: Probe) -> None:
    assert "nvidia-fabricmanager" in said(probe("fabric-not-ready"), "fabric_not_ready").advice


def test_a_fabric_that_only_cuda_complains_of(probe: Probe) -> None:
    assert "error 802" in said(probe("h100x2", driver={"cuda_init": 802}), "fabric_not_ready").message


def test_a_deprecated_call_has_its_own_reason(probe: Probe) -> None:
    assert probe("deprecated-595").gpus[0].power_limit_default_w.why == "deprecated"


def test_a_deprecated_call_has_its_own_words(probe: Probe) -> None:
    machine = probe("t4", faults={"return": {"nvmlDeviceGetEnforcedPowerLimit": 26}})
    assert "gone: no longer offered" in machine_table(machine)


def test_a_vgpu_names_its_profile(probe: Probe) -> None:
    assert "8.0 GiB" in said(probe("vgpu"), "vgpu").message


def test_the_bandwidth_of_a_vgpu_that_no_catalogue_knows_stays_unknown(probe: Probe) -> None:
    assert enriched(probe("vgpu")).gpus[0].memory_bandwidth_gb_s.value is None


def test_a_slow_first_question_is_about_persistence(probe: Probe) -> None:
    machine = probe("t4", faults={"delay_ms": {"nvmlDeviceGetHandleByIndex_v2": 1050}})
    assert "persistence mode" in said(machine, "slow_start").advice


def test_the_drivers_memory_wins_over_every_catalogue(probe: Probe) -> None:
    gpus = [{"name": "NVIDIA RTX A4000", "memory_total_bytes": 15 * GIB}]
    assert enriched(probe({"gpus": gpus})).gpus[0].memory_total_bytes.value == 15 * GIB


def test_foreign_processes_are_known_by_the_memory_they_hold(probe: Probe) -> None:
    """In a container the list of processes is empty although memory is in use."""
    gpu = {"memory_total_bytes": 16 * GIB, "memory_reserved_bytes": 0, "memory_used_bytes": GIB}
    machine = probe({"gpus": [gpu]})
    assert (machine.gpus[0].process_count.value, "other processes hold 1.0 GiB" in machine_table(machine)) == (0, True)


def test_what_this_shell_sees_is_told(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    probe("h100x8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert "visible to this shell: 2, 3" in machine_table(take_machine(tool_version="0"))


@pytest.mark.usefixtures("with_vllm")
@pytest.mark.parametrize(("version", "old"), [("570.148.08", True), ("580.65.06", False)])
def test_the_driver_is_held_against_the_cuda_of_the_wheel(probe: Probe, version: str, old: bool) -> None:
    codes = {problem.code for problem in probe("t4", driver={"version": version}).problems}
    assert ("driver_too_old" in codes) == old


@pytest.mark.usefixtures("with_vllm")
def test_a_gpu_that_cuda_13_no_longer_serves(probe: Probe) -> None:
    assert "7.0" in said(probe({"gpus": [{"compute_capability": "7.0"}]}), "gpu_too_old").message


@pytest.mark.usefixtures("with_vllm")
def test_a_missing_compiler_is_told(probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    probe("t4")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "gcc" in said(take_machine(tool_version="0"), "no_compiler").message


@pytest.mark.parametrize(
    ("code", "gpu"),
    [
        ("pcie_narrow", {"pcie_width_max": 16, "pcie_width_current": 8}),
        ("nvlinks_down", {"nvlinks": 18, "nvlinks_active": 16}),
        ("recovery_needed", {"field": {"230": 1}}),
        ("row_remap_pending", {"remapped_rows": "0 1 1 0"}),
        ("row_remap_failed", {"remapped_rows": "0 1 0 1"}),
        ("fabric_unhealthy", {"fabric_state": 3, "fabric_health": 2}),
        ("clocks_held_down", {"clock_reasons": 0x48}),
        ("exclusive_process", {"compute_mode": 3}),
        ("reset_pending", {"mig_mode": 0, "mig_pending": 1}),
        ("reset_pending", {"ecc": 1, "ecc_pending": 0}),
    ],
)
def test_an_ailing_gpu(probe: Probe, code: str, gpu: dict[str, Any]) -> None:
    assert said(probe({"gpus": [gpu]}), code).gpu == 0


def test_power_held_at_its_limit_is_usual(probe: Probe) -> None:
    assert probe({"gpus": [{"clock_reasons": 4}]}).problems == ()


def test_confidential_computing_is_told(probe: Probe) -> None:
    assert said(probe("h100x2", driver={"confidential_computing": 1}), "confidential_computing")


def test_pairs_that_cannot_reach_each_other_are_counted(probe: Probe) -> None:
    assert said(probe("rtx4090x2-noP2P"), "no_peer_access").message.startswith("1 of 1 pairs")
