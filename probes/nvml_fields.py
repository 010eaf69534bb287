"""What is asked of every GPU, and NVML's numbers in words. Runs in the child; standard library only.

Numbers and bits are those of nvml.h, API version 13. The newest call stands first; an older one follows where
drivers in use do not know it.
"""

import ctypes
import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from probes.nvml_gate import Ask

ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace",
    9: "Hopper", 10: "Blackwell", 11: "DLA", 12: "DLA 2", 13: "Rubin", 15: "NPU3",
}  # fmt: skip
BRANDS = {
    1: "Quadro", 2: "Tesla", 3: "NVS", 4: "GRID", 5: "GeForce", 6: "TITAN", 7: "NVIDIA vApps",
    8: "NVIDIA vPC", 9: "NVIDIA vCS", 10: "NVIDIA RTX vWS", 11: "NVIDIA Cloud Gaming", 12: "Quadro RTX",
    13: "NVIDIA RTX", 14: "NVIDIA", 15: "GeForce RTX", 16: "TITAN RTX",
}  # fmt: skip
COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
VIRTUALIZATION_MODES = {0: "none", 1: "pass_through", 2: "vgpu_guest", 3: "vgpu_host", 4: "vsga_host"}
ADDRESSING_MODES = {0: "none", 1: "HMM", 2: "ATS"}
FABRIC_STATES = {1: "not_started", 2: "in_progress", 3: "completed"}
FABRIC_HEALTH = {1: "healthy", 2: "unhealthy", 3: "limited_capacity"}
RECOVERY_ACTIONS = {
    0: "none", 1: "gpu_reset", 2: "node_reboot", 3: "drain_p2p", 4: "drain_and_reset", 5: "recover_imex_domain",
    6: "bus_reset", 7: "system_reboot",
}  # fmt: skip
NVLINK_VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
CLOCK_REASONS = {
    0x1: "idle", 0x2: "application_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
    0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clocks",
}  # fmt: skip
CLOCK_SM, CLOCK_MEMORY = 1, 2
ERRORS_CORRECTED, ERRORS_UNCORRECTED, COUNTED_OVER_LIFE = 0, 1, 1
FIELD_MEMORY_TEMPERATURE, FIELD_POWER_INSTANT, FIELD_RECOVERY_ACTION = 82, 186, 230
TEMPERATURE_OF_GPU = AFFINITY_OF_NODE = 0
MOST_NUMA_NODES = 1024
FIELD_VALUES = "nvmlDeviceGetFieldValues"


class Row(NamedTuple):
    """One question about a GPU and the readings that its answer gives; several share a sequence of values."""

    fields: tuple[str, ...]
    asks: tuple[Ask, ...]


def cuda_version(number: int) -> str:
    """Turn NVML's CUDA version (13000) into the usual words ("13.0")."""
    return f"{number // 1000}.{number % 1000 // 10}"


def named(names: dict[int, str], kind: str) -> Callable[[int], str | None]:
    """Make the converter from a number to its word; a number that is not known is shown as it is."""
    return lambda number: names.get(number, f"{kind} {number}?")


def ours(call: str, function: Callable[..., Any], *args: Any, **rest: Any) -> Ask:
    """Make a question that a function of ours puts, under the name of the call it makes."""
    return Ask(call, args, function=function, **rest)


def clock_reasons(bits: int) -> str:
    """Name what holds the clocks down ("sw_power_cap, idle"); "none" where nothing does."""
    known = [name for bit, name in CLOCK_REASONS.items() if bits & bit]
    rest = bits & ~sum(CLOCK_REASONS)
    return ", ".join([*known, f"0x{rest:x}?"] if rest else known) or "none"


def number_ranges(words: Iterable[int]) -> str | None:
    """Show a bit mask of 64-bit words as ranges ("0-3,8"); None where no bit is set."""
    mask = sum(int(word) << 64 * position for position, word in enumerate(words))
    ranges: list[list[int]] = []
    for number in range(mask.bit_length()):
        if not mask >> number & 1:
            continue
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges) or None


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _fabric(info: Any) -> tuple[str | None, bool, int, str | None]:
    state = FABRIC_STATES.get(info.state, f"state {info.state}?") if info.state else None
    if info.state == 3 and info.status != 0:
        state = "failed"
    summary = getattr(info, "healthSummary", 0)
    health = FABRIC_HEALTH.get(summary, f"health {summary}?") if summary else None
    return state, any(bytes(info.clusterUuid)), info.cliqueId, health


def _process_memory(processes: Iterable[Any]) -> tuple[int, int | None]:
    """Count the processes and add up what they hold; None where the driver does not tell it of each."""
    held = [process.usedGpuMemory for process in processes]
    return len(held), None if None in held else sum(held)


def rows(pynvml: Any, field_value: Callable[..., int]) -> tuple[Row, ...]:
    """Name the questions about one GPU in the order in which they are put: identity first."""

    def fabric(version: int) -> Ask:
        def read(handle: Any) -> Any:
            info = getattr(pynvml, f"c_nvmlGpuFabricInfo_v{version}_t")()
            pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
            return info

        return ours("nvmlDeviceGetGpuFabricInfoV", read, convert=_fabric)

    def one(field: str, *asks: Ask) -> Row:
        return Row((field,), asks)

    def number(field: str, id_: int, convert: Callable[[int], Any], *older: Ask) -> Row:
        older_too = ("not_supported",) if older else ()
        return one(field, ours(FIELD_VALUES, field_value, id_, convert=convert, or_when=older_too), *older)

    def errors(kind: int) -> Ask:
        return Ask("nvmlDeviceGetTotalEccErrors", (kind, COUNTED_OVER_LIFE))

    cpu_words = -(-(os.cpu_count() or 64) // 64)
    return (
        one("uuid", Ask("nvmlDeviceGetUUID")),
        one("name", Ask("nvmlDeviceGetName")),
        one("pci_bus_id", Ask("nvmlDeviceGetPciInfo", convert=lambda info: info.busId)),
        one("compute_capability", Ask("nvmlDeviceGetCudaComputeCapability", convert=lambda v: f"{v[0]}.{v[1]}")),
        one("architecture", Ask("nvmlDeviceGetArchitecture", convert=named(ARCHITECTURES, "architecture"))),
        one("brand", Ask("nvmlDeviceGetBrand", convert=named(BRANDS, "brand"))),
        one("board_part_number", Ask("nvmlDeviceGetBoardPartNumber")),
        one("minor_number", Ask("nvmlDeviceGetMinorNumber")),
        one("cuda_cores", Ask("nvmlDeviceGetNumGpuCores")),
        one("memory_bus_width_bits", Ask("nvmlDeviceGetMemoryBusWidth")),
        one("max_mem_clock_mhz", Ask("nvmlDeviceGetMaxClockInfo", (CLOCK_MEMORY,))),
        one("max_sm_clock_mhz", Ask("nvmlDeviceGetMaxClockInfo", (CLOCK_SM,))),
        one("mem_clock_mhz", Ask("nvmlDeviceGetClockInfo", (CLOCK_MEMORY,))),
        one("sm_clock_mhz", Ask("nvmlDeviceGetClockInfo", (CLOCK_SM,))),
        one(
            "clock_limited_by",
            Ask("nvmlDeviceGetCurrentClocksEventReasons", convert=clock_reasons),
            Ask("nvmlDeviceGetCurrentClocksThrottleReasons", convert=clock_reasons),
        ),
        one("power_limit_w", Ask("nvmlDeviceGetEnforcedPowerLimit", convert=_watts)),
        one("power_limit_default_w", Ask("nvmlDeviceGetPowerManagementDefaultLimit", convert=_watts)),
        one("power_limit_max_w", Ask("nvmlDeviceGetPowerManagementLimitConstraints", convert=lambda v: _watts(v[1]))),
        # The instant where the driver has it; the old call averages over a second on most cards.
        number("power_w", FIELD_POWER_INSTANT, _watts, Ask("nvmlDeviceGetPowerUsage", convert=_watts)),
        one("energy_j", Ask("nvmlDeviceGetTotalEnergyConsumption", convert=lambda millijoules: millijoules / 1000)),
        one(
            "temperature_c",
            Ask("nvmlDeviceGetTemperatureV", (TEMPERATURE_OF_GPU,)),
            Ask("nvmlDeviceGetTemperature", (TEMPERATURE_OF_GPU,)),
        ),
        one("temperature_margin_c", Ask("nvmlDeviceGetMarginTemperature")),
        number("memory_temperature_c", FIELD_MEMORY_TEMPERATURE, int),
        Row(("ecc_enabled", "ecc_pending"), (Ask("nvmlDeviceGetEccMode", convert=lambda v: [bool(x) for x in v]),)),
        one("ecc_errors_corrected", errors(ERRORS_CORRECTED)),
        one("ecc_errors_uncorrected", errors(ERRORS_UNCORRECTED)),
        Row(
            ("remapped_rows_corrected", "remapped_rows_uncorrected", "row_remap_pending", "row_remap_failed"),
            (Ask("nvmlDeviceGetRemappedRows", convert=lambda v: [v[0], v[1], bool(v[2]), bool(v[3])]),),
        ),
        number("recovery_action", FIELD_RECOVERY_ACTION, named(RECOVERY_ACTIONS, "action")),
        one("persistence_mode", Ask("nvmlDeviceGetPersistenceMode", convert=bool)),
        one("compute_mode", Ask("nvmlDeviceGetComputeMode", convert=named(COMPUTE_MODES, "mode"))),
        one("virtualization_mode", Ask("nvmlDeviceGetVirtualizationMode", convert=named(VIRTUALIZATION_MODES, "mode"))),
        one("addressing_mode", Ask("nvmlDeviceGetAddressingMode", convert=named(ADDRESSING_MODES, "mode"))),
        one("c2c_enabled", Ask("nvmlDeviceGetC2cModeInfoV", convert=lambda info: bool(info.isC2cEnabled))),
        Row(("fabric_state", "fabric_spans_nodes", "fabric_clique", "fabric_health"), (fabric(3), fabric(2))),
        one("pcie_gen_max", Ask("nvmlDeviceGetMaxPcieLinkGeneration")),
        one("pcie_gen_device_max", Ask("nvmlDeviceGetGpuMaxPcieLinkGeneration")),
        one("pcie_gen_current", Ask("nvmlDeviceGetCurrPcieLinkGeneration")),
        one("pcie_width_max", Ask("nvmlDeviceGetMaxPcieLinkWidth")),
        one("pcie_width_current", Ask("nvmlDeviceGetCurrPcieLinkWidth")),
        one("bar1_total_bytes", Ask("nvmlDeviceGetBAR1MemoryInfo", convert=lambda info: info.bar1Total)),
        one("cpu_affinity", Ask("nvmlDeviceGetCpuAffinity", (cpu_words,), number_ranges)),
        one(
            "memory_affinity",
            Ask("nvmlDeviceGetMemoryAffinity", (MOST_NUMA_NODES // 64, AFFINITY_OF_NODE), number_ranges),
        ),
        one("own_numa_node", Ask("nvmlDeviceGetNumaNodeId")),
        one("utilization_percent", Ask("nvmlDeviceGetUtilizationRates", convert=lambda rates: rates.gpu)),
        Row(
            ("process_count", "process_memory_bytes"),
            (
                Ask("nvmlDeviceGetComputeRunningProcesses_v3", convert=_process_memory),
                Ask("nvmlDeviceGetComputeRunningProcesses_v2", convert=_process_memory),
            ),
        ),
    )
