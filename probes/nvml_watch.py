"""Looks at GPUs once a second while a load runs. Runs in the child that `probes.nvml` starts; standard library only.

One JSON object a line, each as soon as it is known:

    {"event": "touch", "gpu": 0, "at": 12.5}         which GPU is asked next; it hangs where nothing follows
    {"event": "sample", "gpu": 0, "at": 12.5, "power_w": 300.0, …}      what it said; what it does not tell is left out
    {"event": "failed", "text": "…"}

`at` is `time.monotonic` in seconds, which on Linux is one clock for all processes.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

from probes.nvml_fields import CLOCK_MEMORY, CLOCK_SM, FIELD_POWER_INSTANT, FIELD_VALUES, clock_reasons, ours
from probes.nvml_gate import Answer, Ask, Gate


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _pids(processes: Any) -> list[int]:
    return [process.pid for process in processes]


class Watch:
    """The questions of one second, put to some GPUs again and again."""

    def __init__(self, pynvml: Any, emit: Callable[[Answer], None], field_value: Callable[..., int]) -> None:
        self._pynvml, self._emit = pynvml, emit
        # Which call hangs does not matter here, only at which GPU.
        self._gate = Gate(pynvml, lambda _event: None)
        self._handles: dict[int, Any] = {}
        self._rows: tuple[tuple[str, tuple[Ask, ...]], ...] = (
            (
                "power_w",
                (
                    ours(FIELD_VALUES, field_value, FIELD_POWER_INSTANT, convert=_watts, or_when=("not_supported",)),
                    Ask("nvmlDeviceGetPowerUsage", convert=_watts),
                ),
            ),
            ("energy_j", (Ask("nvmlDeviceGetTotalEnergyConsumption", convert=_watts),)),
            ("sm_clock_mhz", (Ask("nvmlDeviceGetClockInfo", (CLOCK_SM,)),)),
            ("memory_clock_mhz", (Ask("nvmlDeviceGetClockInfo", (CLOCK_MEMORY,)),)),
            ("temperature_c", (Ask("nvmlDeviceGetTemperatureV", (0,)), Ask("nvmlDeviceGetTemperature", (0,)))),
            (
                "throttle_reasons",
                (
                    Ask("nvmlDeviceGetCurrentClocksEventReasons", convert=clock_reasons),
                    Ask("nvmlDeviceGetCurrentClocksThrottleReasons", convert=clock_reasons),
                ),
            ),
            ("sm_percent", (Ask("nvmlDeviceGetUtilizationRates", convert=lambda rates: rates.gpu),)),
            (
                "pids",
                (
                    Ask("nvmlDeviceGetComputeRunningProcesses_v3", convert=_pids),
                    Ask("nvmlDeviceGetComputeRunningProcesses_v2", convert=_pids),
                ),
            ),
        )

    def open(self, names: tuple[str, ...], skip: frozenset[int]) -> bool:
        """Find the GPUs by index or UUID, all where none is named. Tell why it cannot be done."""
        started = self._gate.ask(None, [Ask("nvmlInit", convert=lambda _: True)])
        count = self._gate.ask(None, [Ask("nvmlDeviceGetCount")])
        if started["why"] or count["why"]:
            code = started.get("code") or count.get("code")
            text = str(self._pynvml.NVMLError(code)) if code else "NVML does not start"
            self._emit({"event": "failed", "text": text})
            return False
        for index in range(count["value"]):
            if index in skip:
                continue
            self._touch(index)
            handle = self._gate.ask(index, [Ask("nvmlDeviceGetHandleByIndex", (index,))])
            if handle["why"]:
                continue
            uuid = self._gate.ask(index, [Ask("nvmlDeviceGetUUID")], handle["value"])["value"]
            if not names or str(index) in names or (uuid and any(uuid.startswith(name) for name in names)):
                self._handles[index] = handle["value"]
                self._emit({"event": "gpu", "gpu": index, "uuid": uuid})
        if not self._handles:
            self._emit({"event": "failed", "text": "NVML shows none of the GPUs of this run"})
        return bool(self._handles)

    def _touch(self, index: int) -> None:
        self._emit({"event": "touch", "gpu": index, "at": time.monotonic()})

    def look(self) -> None:
        """Put all questions to every GPU once."""
        for index, handle in self._handles.items():
            self._touch(index)
            told: dict[str, Any] = {"event": "sample", "gpu": index, "at": time.monotonic()}
            for name, asks in self._rows:
                value = self._gate.ask(index, asks, handle)["value"]
                if value is not None:
                    told[name] = value
            told |= self._memory(index, handle)
            self._emit(told)

    def _memory(self, index: int, handle: Any) -> dict[str, int]:
        # The second version keeps the driver's own reserve apart from what processes hold.
        version = getattr(self._pynvml, "nvmlMemory_v2", 0x02000028)
        asks = (
            ours("nvmlDeviceGetMemoryInfo_v2", self._pynvml.nvmlDeviceGetMemoryInfo, version),
            Ask("nvmlDeviceGetMemoryInfo"),
        )
        info = self._gate.ask(index, asks, handle)["value"]
        return {} if info is None else {"memory_used_bytes": int(info.used), "memory_total_bytes": int(info.total)}

    def run(self, every_s: float, parent: int) -> None:
        """Look every `every_s` seconds until the process `parent` is no longer the one that waits for it."""
        due = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            while os.getppid() == parent:
                self.look()
                due = max(due + every_s, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
