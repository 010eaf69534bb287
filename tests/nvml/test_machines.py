"""Healthy machines: every field of the probe against the scenario it was made from."""

import pytest

from probes.machine import Gpu, Machine
from probes.nvml_fields import number_ranges
from probes.reading import Reading
from tests.nvml.fake import scenario
from tests.nvml.plugin import Probe

MIB = 1024**2


@pytest.fixture
def h100(probe: Probe) -> Machine:
    return probe("h100x2")


@pytest.fixture
def l40s(probe: Probe) -> Gpu:
    return probe("l40s").gpus[0]


def test_a_healthy_machine_has_no_problem(h100: Machine) -> None:
    assert h100.problems == ()


def test_driver_versions(h100: Machine) -> None:
    driver = h100.driver
    assert (driver.version.value, driver.cuda.value, driver.nvml.value) == (
        "580.105.08",
        "13.0",
        "13.580.105.08",
    )


def test_a_reading_names_its_call(h100: Machine) -> None:
    assert h100.gpus[0].name == Reading[str](value="NVIDIA H100 80GB HBM3", source="nvml:nvmlDeviceGetName")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("uuid", scenario("h100x2")["gpus"][0]["uuid"]),
        ("pci_bus_id", "00000000:53:00.0"),
        ("architecture", "Hopper"),
        ("brand", "NVIDIA"),
        ("compute_capability", "9.0"),
        ("cuda_cores", 16896),
        ("memory_total_bytes", 81559 * MIB),
        ("memory_reserved_bytes", 480 * MIB),
        ("memory_used_bytes", 0),
        ("memory_free_bytes", (81559 - 480) * MIB),
        ("memory_bus_width_bits", 5120),
        ("max_mem_clock_mhz", 2619),
        ("max_sm_clock_mhz", 1980),
        ("power_limit_w", 700.0),
        ("power_limit_default_w", 700.0),
        ("power_limit_max_w", 700.0),
        ("ecc_enabled", True),
        ("persistence_mode", True),
        ("compute_mode", "default"),
        ("virtualization_mode", "pass_through"),
        ("addressing_mode", "HMM"),
        ("fabric_state", "completed"),
        ("pcie_gen_max", 5),
        ("pcie_gen_current", 5),
        ("pcie_width_max", 16),
        ("pcie_width_current", 16),
        ("nvlink_count", 18),
        ("nvlink_active_count", 18),
        ("nvlink_speed_mb_s", 26562),
        ("nvlink_version", "4.0"),
        ("minor_number", 0),
        ("sm_clock_mhz", 345),
        ("mem_clock_mhz", 2619),
        ("clock_limited_by", "idle"),
        ("power_w", 70.0),
        ("energy_j", 123456.789),
        ("temperature_c", 29),
        ("memory_temperature_c", 35),
        ("ecc_pending", True),
        ("ecc_errors_corrected", 0),
        ("ecc_errors_uncorrected", 0),
        ("remapped_rows_uncorrected", 0),
        ("row_remap_pending", False),
        ("row_remap_failed", False),
        ("recovery_action", "none"),
        ("c2c_enabled", False),
        ("fabric_spans_nodes", False),
        ("fabric_clique", 0),
        ("pcie_gen_device_max", 5),
        ("bar1_total_bytes", 128 * 1024**3),
        ("cpu_affinity", "0-7"),
        ("memory_affinity", "0"),
        ("utilization_percent", 0),
        ("process_count", 0),
        ("process_memory_bytes", 0),
    ],
)
def test_field(h100: Machine, field: str, value: object) -> None:
    assert getattr(h100.gpus[0], field).value == value


def test_bandwidth_is_computed_and_says_so(h100: Machine) -> None:
    bandwidth = h100.gpus[0].memory_bandwidth_gb_s
    assert bandwidth == Reading[float](value=3352.32, source="derived:max_mem_clock_mhz*memory_bus_width_bits/8*2/1000")


def test_two_gpus_on_a_switch_are_linked_by_all_their_nvlinks(h100: Machine) -> None:
    (link,) = h100.links
    assert (link.a, link.b, link.kind, link.level, link.gb_s) == (0, 1, "nvlink", "NV18", 478.116)


def test_nvlinks_that_end_in_another_gpu_are_not_counted(probe: Probe) -> None:
    gpus = [{"pci": f"00000000:0{index}:00.0", "nvlink_peer": peer} for index, peer in enumerate((1, 0, 1))]
    machine = probe({"gpu_defaults": {"nvlinks": 4}, "gpus": gpus, "pair_defaults": {"nvlink": 0, "read": 0}})
    assert {(link.a, link.b): link.level for link in machine.links} == {
        (0, 1): "NV4",
        (0, 2): "NV",
        (1, 2): "NV",
    }


def test_links_that_are_down_are_not_counted(probe: Probe) -> None:
    machine = probe("h100x2", gpu_defaults={"nvlinks_active": 16})
    assert machine.links[0].level == "NV16"


def test_gpus_without_nvlink_are_linked_by_pcie(probe: Probe) -> None:
    machine = probe({"gpus": [{"name": "NVIDIA L40S"}] * 2, "pair_defaults": {"nvlink": 5, "read": 4, "ancestor": 30}})
    (link,) = machine.links
    assert (link.kind, link.level, link.gb_s, link.peer_access.value) == ("pcie", "PHB", None, False)


def test_eight_gpus_have_28_links(probe: Probe) -> None:
    assert len(probe("h100x8").links) == 28


def test_gb200_is_coherent_with_its_cpu(probe: Probe) -> None:
    assert probe("gb200x4").gpus[3].addressing_mode.value == "ATS"


def test_a_card_without_mig_says_so(l40s: Gpu) -> None:
    assert l40s.mig.enabled.why == "not_supported"


def test_a_card_without_nvlink_says_so(l40s: Gpu) -> None:
    assert l40s.nvlink_active_count.why == "not_supported"


def test_a_card_without_fabric_says_so(l40s: Gpu) -> None:
    assert l40s.fabric_state.why == "not_supported"


def test_one_gpu_has_no_links(probe: Probe) -> None:
    assert probe("t4").links == ()


def test_an_unknown_architecture_is_shown_by_its_number(probe: Probe) -> None:
    assert probe({"gpus": [{"architecture": 14}]}).gpus[0].architecture.value == "architecture 14?"


def test_mig_slices_are_listed_over_the_holes_in_their_numbers(probe: Probe) -> None:
    part = {
        "uuid": "MIG-1",
        "name": "NVIDIA A100 MIG 3g.20gb",
        "memory_total_bytes": 19968 * MIB,
        "multiprocessors": 42,
    }
    machine = probe({"gpus": [{"mig_mode": 1, "mig_max": 7, "mig": {"2": part}}]})
    (found,) = machine.gpus[0].mig.instances
    assert (
        found.index,
        found.uuid.value,
        found.memory_total_bytes.value,
        found.multiprocessor_count.value,
    ) == (
        2,
        "MIG-1",
        19968 * MIB,
        42,
    )


def test_a_partitioned_gpu_is_usable_though_its_own_memory_may_not_be_read(probe: Probe) -> None:
    faults = {"return": {"nvmlDeviceGetMemoryInfo_v2": 4}}
    machine = probe({"gpus": [{"mig_mode": 1, "mig_max": 7, "mig": {"0": {"uuid": "MIG-1"}}}], "faults": faults})
    gpu = machine.gpus[0]
    assert (gpu.memory_total_bytes.why, gpu.memory_kind, gpu.usable) == ("no_permission", "partition", True)


def test_the_memory_of_a_chip_that_shares_it_is_the_computers(probe: Probe) -> None:
    machine = probe({"gpus": [{"name": "NVIDIA GB10"}]})
    gpu = machine.gpus[0]
    assert (gpu.memory_kind, gpu.memory_total_bytes) == ("unified", machine.host.memory_total_bytes)


def test_missing_memory_alone_does_not_make_a_gpu_unified(probe: Probe) -> None:
    assert probe({"gpus": [{"name": "NVIDIA L40S"}]}).gpus[0].memory_kind == "dedicated"


def test_a_vgpu_guest_has_its_profiles_memory(probe: Probe) -> None:
    assert (
        probe("l40s", gpus=[{"virtualization": 2, "memory_total_bytes": 8 * 1024**3}]).gpus[0].memory_kind == "profile"
    )


def test_the_json_reads_back_as_the_same_machine(h100: Machine) -> None:
    assert Machine.model_validate_json(h100.model_dump_json()) == h100


def test_the_driver_tells_its_branch_and_that_nothing_is_confidential(h100: Machine) -> None:
    assert (h100.driver.branch.value, h100.driver.confidential_computing.value) == ("r580_00", False)


def test_a_cluster_of_nvlink_is_told(probe: Probe) -> None:
    gpu = probe("gb200x4").gpus[0]
    assert (gpu.fabric_spans_nodes.value, gpu.fabric_clique.value, gpu.fabric_health.value) == (True, 1, "healthy")


def test_an_older_driver_averages_its_power(probe: Probe) -> None:
    gpu = probe({"gpus": [{"power_usage_mw": 55000}]}).gpus[0]
    assert (gpu.power_w.value, gpu.power_w.source) == (55.0, "nvml:nvmlDeviceGetPowerUsage")


def test_an_older_driver_is_asked_for_its_throttle_reasons(probe: Probe) -> None:
    faults = {"hide": ["nvmlDeviceGetCurrentClocksEventReasons"]}
    gpu = probe({"gpus": [{"clock_reasons": 0x24}]}, faults=faults).gpus[0]
    assert gpu.clock_limited_by.value == "sw_power_cap, sw_thermal"


def test_a_reason_that_is_not_known_is_shown_by_its_bit(probe: Probe) -> None:
    assert probe({"gpus": [{"clock_reasons": 0x1001}]}).gpus[0].clock_limited_by.value == "idle, 0x1000?"


def test_windows_does_not_tell_what_a_process_holds(probe: Probe) -> None:
    gpu = probe("wsl2").gpus[0]
    assert (gpu.process_count.value, gpu.process_memory_bytes.why) == (1, "not_supported")


def test_an_older_driver_lists_its_processes_by_the_older_call(probe: Probe) -> None:
    faults = {"hide": ["nvmlDeviceGetComputeRunningProcesses_v3"]}
    assert probe({"gpus": [{"processes": "7 1000"}]}, faults=faults).gpus[0].process_memory_bytes.value == 1000


def test_what_each_gpu_may_do_with_the_others_memory(probe: Probe) -> None:
    (link,) = probe({"gpus": [{}, {}], "pair_defaults": {"read": 0, "write": 0, "atomics": 5}}).links
    assert (link.peer_access.value, link.peer_write.value, link.peer_atomics.value) == (True, True, False)


def test_a_pcie_path_carries_what_its_narrower_end_carries(probe: Probe) -> None:
    wide = {"pcie_gen_max": 5, "pcie_gen_current": 1, "pcie_width_current": 16}
    narrow = {"pcie_gen_max": 4, "pcie_gen_current": 1, "pcie_width_current": 8}
    machine = probe({"gpus": [wide, narrow], "pair_defaults": {"ancestor": 30}})
    assert machine.links[0].gb_s == 15.752


@pytest.mark.parametrize(
    ("words", "text"), [((0,), None), ((1,), "0"), ((0b1011, 1), "0-1,3,64"), ((2**64 - 1,), "0-63")]
)
def test_a_mask_is_shown_as_ranges(words: tuple[int, ...], text: str | None) -> None:
    assert number_ranges(words) == text
