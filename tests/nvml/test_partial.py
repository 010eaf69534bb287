"""Any set of failing calls leaves every other reading as it was."""

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.machine import Gpu, Machine
from probes.reading import Reading
from probes.snapshot import take_machine
from tests.nvml.fake import FakeNvml

#: Calls that may fail one by one, under the names of their symbols. Counting and getting hold of GPUs is not among
#: them: without these nothing can be read.
CALLS = {
    "nvmlDeviceGetUUID": "nvmlDeviceGetUUID",
    "nvmlDeviceGetName": "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo": "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMemoryInfo_v2": "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetCudaComputeCapability": "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetArchitecture": "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetBrand": "nvmlDeviceGetBrand",
    "nvmlDeviceGetNumGpuCores": "nvmlDeviceGetNumGpuCores",
    "nvmlDeviceGetMemoryBusWidth": "nvmlDeviceGetMemoryBusWidth",
    "nvmlDeviceGetMaxClockInfo": "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetClockInfo": "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetEnforcedPowerLimit": "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPowerManagementDefaultLimit": "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetTotalEnergyConsumption": "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetTemperatureV": "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetEccMode": "nvmlDeviceGetEccMode",
    "nvmlDeviceGetTotalEccErrors": "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetRemappedRows": "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetFieldValues": "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetNvLinkState": "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetNvLinkVersion": "nvmlDeviceGetNvLinkVersion",
    "nvmlDeviceGetMigMode": "nvmlDeviceGetMigMode",
    "nvmlDeviceGetGpuFabricInfoV": "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetAddressingMode": "nvmlDeviceGetAddressingMode",
    "nvmlDeviceGetMaxPcieLinkWidth": "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetBAR1MemoryInfo": "nvmlDeviceGetBAR1MemoryInfo",
    "nvmlDeviceGetCpuAffinity": "nvmlDeviceGetCpuAffinity",
    "nvmlDeviceGetMemoryAffinity": "nvmlDeviceGetMemoryAffinity",
    "nvmlDeviceGetUtilizationRates": "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetComputeRunningProcesses_v3": "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlSystemGetDriverVersion": "nvmlSystemGetDriverVersion",
}
#: 2 is a fault of ours, 3 not supported, 4 no permission, 10 timeout, 26 deprecated, 999 unknown.
CODES = (2, 3, 4, 10, 26, 999)

#: What also rests on the answer of another call than the one that its source names.
ALSO: dict[str, tuple[str, ...]] = {
    "memory_bandwidth_gb_s": ("nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryBusWidth"),
    "numa_node": ("nvmlDeviceGetPciInfo",),
    "nvlink_count": ("nvmlDeviceGetNvLinkState",),
    "nvlink_active_count": ("nvmlDeviceGetFieldValues",),
    "nvlink_speed_mb_s": ("nvmlDeviceGetNvLinkState",),
    "nvlink_version": ("nvmlDeviceGetNvLinkState",),
}


def read(fake: FakeNvml, **change: Any) -> Machine:
    before = dict(os.environ)
    os.environ.update(fake.env("h100x2", **change))
    try:
        return take_machine(tool_version="0")
    finally:
        os.environ.clear()
        os.environ.update(before)


def readings(gpu: Gpu) -> dict[str, Reading[Any]]:
    return {name: value for name, value in gpu if isinstance(value, Reading)}


def rests_on(name: str, reading: Reading[Any]) -> set[str]:
    return {reading.source.removeprefix("nvml:"), *ALSO.get(name, ())}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(failing=st.dictionaries(st.sampled_from(sorted(CALLS)), st.sampled_from(CODES), min_size=1))
def test_every_other_reading_is_as_it_was(fake_nvml: FakeNvml, failing: dict[str, int]) -> None:
    healthy = read(fake_nvml).gpus[1]
    ailing = read(fake_nvml, faults={"return": {CALLS[call]: code for call, code in failing.items()}}).gpus[1]
    after = readings(ailing)
    changed = {
        name
        for name, reading in readings(healthy).items()
        if not rests_on(name, reading) & set(failing) and after[name] != reading
    }
    assert changed == set()


def test_every_reading_of_a_healthy_gpu_names_who_was_asked(fake_nvml: FakeNvml) -> None:
    sources = {name: reading.source for name, reading in readings(read(fake_nvml).gpus[0]).items()}
    assert {
        name: source for name, source in sources.items() if not source.startswith(("nvml:", "derived:", "sys:"))
    } == {}
