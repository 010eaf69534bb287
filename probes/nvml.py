"""Asks NVIDIA's management library about every GPU; the only importer of `pynvml`.

NVML can hang or crash the process that asks, so this module is run as a child of its own, `python -m
probes.nvml`, and needs nothing but the standard library and `pynvml`. It writes one JSON object a line, each
as soon as it is known, so that a parent which has to kill it keeps everything read before:

    {"event": "at", "gpu": 0, "call": "nvmlDeviceGetName"}      what is asked next
    {"event": "reading", "gpu": 0, "field": "name", "value": …, "why": …, "source": …, "code": …}
    {"event": "mig", "gpu": 0, "index": 1, "field": …, …}       a reading of one MIG slice
    {"event": "link", "a": 0, "b": 1, …}
    {"event": "library", "path": …}, {"event": "failed", "stage": …, "code": …, "text": …}, {"event": "done"}

`code` is NVML's return code where it was not 0. Readings of the driver have `gpu` null.
"""

import ctypes
import json
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

# Return codes, as in nvml.h.
INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, TIMEOUT = 2, 3, 4, 6, 10
FUNCTION_NOT_FOUND, GPU_IS_LOST, VERSION_MISMATCH, DEPRECATED = 13, 15, 25, 26

WHY_BY_CODE = {
    NOT_SUPPORTED: "not_supported",
    NO_PERMISSION: "no_permission",
    TIMEOUT: "timeout",
    FUNCTION_NOT_FOUND: "driver_too_old",
    GPU_IS_LOST: "lost",
    VERSION_MISMATCH: "driver_too_old",
    DEPRECATED: "deprecated",
}
_ASK_OLDER_CALL = ("driver_too_old", "deprecated")

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
PCIE_LEVELS = {0: "internal", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
P2P_READ, P2P_NVLINK = 0, 2  # pynvml's own NVML_P2P_CAPS_INDEX_READ is a tuple by mistake
CLOCK_SM, CLOCK_MEMORY = 1, 2
FIELD_NVLINK_SPEED_COMMON, FIELD_NVLINK_COUNT, FIELD_NVLINK_SPEED = 90, 91, 164
REMOTE_GPU = 0
MAX_NVLINKS = 36
PR_SET_PDEATHSIG = 1  # linux/prctl.h

Answer = dict[str, Any]
"""What became of one question: `value` or `why`, `source`, and NVML's `code`."""


class Ask(NamedTuple):
    """One question: a `pynvml` function or ours, what follows the handle, what to make of the answer."""

    call: str
    args: tuple[Any, ...] = ()
    convert: Callable[[Any], Any] = lambda value: value
    function: Callable[..., Any] | None = None


class Gate:
    """The one door to NVML: announces every call and turns every way in which it fails into an `Answer`."""

    def __init__(self, pynvml: Any, emit: Callable[[Answer], None]) -> None:
        self.pynvml = pynvml
        self.emit = emit
        # NVMLLibraryMismatchError and the others are no subclasses of NVMLError.
        self.caught = (
            pynvml.NVMLError,
            getattr(pynvml, "NVMLLibraryMismatchError", pynvml.NVMLError),
            UnicodeDecodeError,
            AttributeError,
            ctypes.ArgumentError,
        )

    def ask(self, gpu: int | None, asks: Iterable[Ask], *before: Any) -> Answer:
        """Put the first of `asks`, the next only where the driver does not know the former."""
        answer: Answer = {}
        for ask in asks:
            answer = self._put(gpu, ask, *before)
            if answer["why"] not in _ASK_OLDER_CALL:
                break
        return answer

    def _put(self, gpu: int | None, ask: Ask, *before: Any) -> Answer:
        self.emit({"event": "at", "gpu": gpu, "call": ask.call})
        answer: Answer = {"value": None, "why": None, "source": f"nvml:{ask.call}"}
        try:
            function = ask.function or getattr(self.pynvml, ask.call)
            value = ask.convert(function(*before, *ask.args))
            if value is None:
                return answer | {"why": "not_supported"}
            return answer | {"value": value.decode(errors="replace") if isinstance(value, bytes) else value}
        except self.caught as error:
            return answer | self._reason(error)

    def _reason(self, error: BaseException) -> Answer:
        if isinstance(error, UnicodeDecodeError):
            return {"value": error.object.decode(errors="replace"), "corrupt": True}
        if isinstance(error, self.pynvml.NVMLError):
            # Objects of NVMLError are unhashable and cannot be compared with others: only the number counts.
            code = getattr(error, "value", None)
            return {"why": WHY_BY_CODE.get(code, "unknown") if code is not None else "unknown", "code": code}
        if isinstance(error, self.caught[1]):
            return {"why": "driver_too_old"}
        return {"why": "unknown"}  # the binding lacks the function, or was given the wrong type


def cuda_version(number: int) -> str:
    """Turn NVML's CUDA version (13000) into the usual words ("13.0")."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _named(names: dict[int, str], kind: str) -> Callable[[int], str | None]:
    return lambda number: names.get(number, f"{kind} {number}?")


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _ours(call: str, function: Callable[..., Any], *args: Any, **rest: Any) -> Ask:
    return Ask(call, args, function=function, **rest)


def _fabric_state(info: Any) -> str | None:
    if info.state == 0:
        return None
    if info.state == 3 and info.status != 0:
        return "failed"
    return FABRIC_STATES.get(info.state, f"state {info.state}?")


def _fields(pynvml: Any) -> tuple[tuple[str, tuple[Ask, ...]], ...]:
    """Name the readings of one GPU, with the questions that give each, the newest call first."""

    def fabric(version: int) -> Callable[[Any], Any]:
        def read(handle: Any) -> Any:
            info = getattr(pynvml, f"c_nvmlGpuFabricInfo_v{version}_t")()
            pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
            return info

        return read

    def pci(info: Any) -> Any:
        return info.busId

    return (
        ("uuid", (Ask("nvmlDeviceGetUUID"),)),
        ("name", (Ask("nvmlDeviceGetName"),)),
        ("pci_bus_id", (Ask("nvmlDeviceGetPciInfo", convert=pci),)),
        (
            "compute_capability",
            (Ask("nvmlDeviceGetCudaComputeCapability", convert=lambda v: f"{v[0]}.{v[1]}"),),
        ),
        ("architecture", (Ask("nvmlDeviceGetArchitecture", convert=_named(ARCHITECTURES, "architecture")),)),
        ("brand", (Ask("nvmlDeviceGetBrand", convert=_named(BRANDS, "brand")),)),
        ("cuda_cores", (Ask("nvmlDeviceGetNumGpuCores"),)),
        ("memory_bus_width_bits", (Ask("nvmlDeviceGetMemoryBusWidth"),)),
        ("max_mem_clock_mhz", (Ask("nvmlDeviceGetMaxClockInfo", (CLOCK_MEMORY,)),)),
        ("max_sm_clock_mhz", (Ask("nvmlDeviceGetMaxClockInfo", (CLOCK_SM,)),)),
        ("power_limit_w", (Ask("nvmlDeviceGetEnforcedPowerLimit", convert=_watts),)),
        ("power_limit_default_w", (Ask("nvmlDeviceGetPowerManagementDefaultLimit", convert=_watts),)),
        (
            "power_limit_max_w",
            (Ask("nvmlDeviceGetPowerManagementLimitConstraints", convert=lambda limits: _watts(limits[1])),),
        ),
        ("ecc_enabled", (Ask("nvmlDeviceGetEccMode", convert=lambda modes: bool(modes[0])),)),
        ("persistence_mode", (Ask("nvmlDeviceGetPersistenceMode", convert=bool),)),
        ("compute_mode", (Ask("nvmlDeviceGetComputeMode", convert=_named(COMPUTE_MODES, "mode")),)),
        (
            "virtualization_mode",
            (Ask("nvmlDeviceGetVirtualizationMode", convert=_named(VIRTUALIZATION_MODES, "mode")),),
        ),
        ("addressing_mode", (Ask("nvmlDeviceGetAddressingMode", convert=_named(ADDRESSING_MODES, "mode")),)),
        (
            "fabric_state",
            (
                _ours("nvmlDeviceGetGpuFabricInfoV", fabric(3), convert=_fabric_state),
                _ours("nvmlDeviceGetGpuFabricInfoV", fabric(2), convert=_fabric_state),
            ),
        ),
        ("pcie_gen_max", (Ask("nvmlDeviceGetMaxPcieLinkGeneration"),)),
        ("pcie_gen_current", (Ask("nvmlDeviceGetCurrPcieLinkGeneration"),)),
        ("pcie_width_max", (Ask("nvmlDeviceGetMaxPcieLinkWidth"),)),
        ("pcie_width_current", (Ask("nvmlDeviceGetCurrPcieLinkWidth"),)),
    )


class Walk:
    """One walk over the driver, the GPUs and their links, reporting each reading through `emit`."""

    def __init__(self, pynvml: Any, emit: Callable[[Answer], None]) -> None:
        self.pynvml = pynvml
        self.emit = emit
        self.gate = Gate(pynvml, emit)
        self.handles: dict[int, Any] = {}
        self.bus_ids: dict[int, str] = {}
        # By GPU: the kind and the bus id of what each active link leads to.
        self.links: dict[int, list[tuple[int, str | None]]] = {}
        self.speeds: dict[int, int] = {}

    def run(self, skip: frozenset[int]) -> None:
        """Read everything; the GPUs in `skip` (indices) are not touched."""
        started = self.gate.ask(None, [Ask("nvmlInit", convert=lambda _: True)])
        self.emit({"event": "library", "path": loaded_library()})
        if started["why"]:
            self.failed("init", started)
            return
        for field, asks in (
            ("version", (Ask("nvmlSystemGetDriverVersion"),)),
            ("nvml", (Ask("nvmlSystemGetNVMLVersion"),)),
            (
                "cuda",
                (
                    Ask("nvmlSystemGetCudaDriverVersion_v2", convert=cuda_version),
                    Ask("nvmlSystemGetCudaDriverVersion", convert=cuda_version),
                ),
            ),
        ):
            self.reading(None, field, self.gate.ask(None, asks))
        count = self.gate.ask(None, [Ask("nvmlDeviceGetCount")])
        if count["why"]:
            self.failed("count", count)
            return
        self.emit({"event": "count", "value": count["value"]})
        for index in range(count["value"]):
            if index not in skip:
                self.gpu(index)
        self.pairs()
        self.emit({"event": "done"})

    def failed(self, stage: str, answer: Answer) -> None:
        """Report that nothing more can be asked."""
        code = answer.get("code")
        text = "" if code is None else str(self.pynvml.NVMLError(code))
        self.emit({"event": "failed", "stage": stage, "why": answer["why"], "code": code, "text": text})

    def reading(self, gpu: int | None, field: str, answer: Answer) -> Answer:
        """Report one reading."""
        self.emit({"event": "reading", "gpu": gpu, "field": field, **answer})
        return answer

    def gpu(self, index: int) -> None:
        """Read one GPU; whatever goes wrong stays with this GPU."""
        # The first touch initialises a GPU without persistence mode, which takes seconds.
        handle = self.gate.ask(index, [Ask("nvmlDeviceGetHandleByIndex", (index,))])
        if handle["why"]:
            self.emit({"event": "no_handle", "gpu": index, **handle})
            return
        self.handles[index] = handle["value"]
        for field, asks in _fields(self.pynvml):
            answer = self.reading(index, field, self.gate.ask(index, asks, handle["value"]))
            if field == "uuid":
                self.memory(index, handle["value"])  # early: it decides whether a model fits
            if field == "pci_bus_id" and answer["value"]:
                self.bus_ids[index] = answer["value"]
            if answer["why"] == "lost":
                self.emit({"event": "no_handle", "gpu": index, **answer})
                del self.handles[index]
                return
        self.nvlinks(index, handle["value"])
        self.mig(index, handle["value"])

    def memory(self, index: int, handle: Any) -> None:
        """Read total, free, used and reserved; before driver 510 the reserve is inside `used`."""
        for field, answer in self.memory_answers(index, handle, ("total", "free", "used", "reserved")).items():
            self.reading(index, f"memory_{field}_bytes", answer)

    def memory_answers(self, index: int, handle: Any, parts: tuple[str, ...]) -> dict[str, Answer]:
        """Ask for the memory of a GPU or of a MIG slice, in bytes."""
        version = getattr(self.pynvml, "nvmlMemory_v2", 0x02000028)
        info = self.gate.ask(
            index,
            (
                _ours("nvmlDeviceGetMemoryInfo_v2", self.pynvml.nvmlDeviceGetMemoryInfo, version),
                Ask("nvmlDeviceGetMemoryInfo"),
            ),
            handle,
        )
        values, answers = info["value"], {}
        for part in parts:
            value = getattr(values, part, None)
            why = info["why"] or ("driver_too_old" if value is None else None)
            answers[part] = {**info, "value": None if why else int(value or 0), "why": why}
        return answers

    def field_value(self, handle: Any, field: int, scope: int = 0) -> int:
        """Ask for one of NVML's numbered fields; raises `NVMLError` with the entry's own code."""
        # One entry more than asked for: NVML may touch one past the end in NVLink queries.
        values = (self.pynvml.c_nvmlFieldValue_t * 2)()
        values[0].fieldId, values[0].scopeId = field, scope
        function = self.pynvml._nvmlGetFunctionPointer("nvmlDeviceGetFieldValues")
        for code in (function(handle, ctypes.c_int32(1), ctypes.byref(values)), values[0].nvmlReturn):
            if code:
                raise self.pynvml.NVMLError(code)
        members = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
        return int(getattr(values[0].value, members[values[0].valueType]))

    def nvlinks(self, index: int, handle: Any) -> None:
        """Count a GPU's NVLinks and the active ones, read their speed, and remember where they lead."""
        name = "nvmlDeviceGetFieldValues"
        count = self.gate.ask(index, [_ours(name, self.field_value, FIELD_NVLINK_COUNT)], handle)
        limit = MAX_NVLINKS if count["why"] else min(count["value"], MAX_NVLINKS)
        states: list[int] = []
        last = count
        for link in range(limit):
            last = self.gate.ask(index, [Ask("nvmlDeviceGetNvLinkState", (link,))], handle)
            if last["why"]:
                break
            states.append(last["value"])
            if last["value"] == 1:
                self.remote(index, handle, link)
        if not states and last["why"]:
            for field in ("nvlink_count", "nvlink_active_count", "nvlink_speed_mb_s"):
                self.reading(index, field, last)
            return
        source = "nvml:nvmlDeviceGetNvLinkState"
        counted = {"value": len(states), "why": None, "source": source}
        self.reading(index, "nvlink_count", counted if count["why"] else count)
        active = sum(state == 1 for state in states)
        self.reading(index, "nvlink_active_count", {"value": active, "why": None, "source": source})
        first = next((link for link, state in enumerate(states) if state == 1), None)
        speed: Answer = {"value": None, "why": "not_supported", "source": source}
        if first is not None:
            speed = self.gate.ask(index, [_ours(name, self.field_value, FIELD_NVLINK_SPEED, first)], handle)
            if speed["why"]:
                speed = self.gate.ask(index, [_ours(name, self.field_value, FIELD_NVLINK_SPEED_COMMON)], handle)
        self.reading(index, "nvlink_speed_mb_s", speed)
        if speed["value"]:
            self.speeds[index] = speed["value"]

    def remote(self, index: int, handle: Any, link: int) -> None:
        """Remember what an active link leads to: a GPU (and which) or something else, as a rule a switch."""
        kind = self.gate.ask(index, [Ask("nvmlDeviceGetNvLinkRemoteDeviceType", (link,))], handle)
        bus_id = None
        if kind["value"] == REMOTE_GPU:
            ask = Ask("nvmlDeviceGetNvLinkRemotePciInfo", (link,), lambda info: info.busId)
            bus_id = self.gate.ask(index, [ask], handle)["value"]
        if not kind["why"]:
            self.links.setdefault(index, []).append((kind["value"], bus_id))

    def mig(self, index: int, handle: Any) -> None:
        """Read the MIG mode and the slices, whose numbers have holes."""
        modes = self.gate.ask(index, [Ask("nvmlDeviceGetMigMode")], handle)
        for position, field in enumerate(("mig_enabled", "mig_pending")):
            value = None if modes["why"] else bool(modes["value"][position])
            self.reading(index, field, {**modes, "value": value})
        if modes["why"] or not modes["value"][0]:
            return
        most = self.gate.ask(index, [Ask("nvmlDeviceGetMaxMigDeviceCount")], handle)
        for number in range(most["value"] or 0):
            child = self.gate.ask(index, [Ask("nvmlDeviceGetMigDeviceHandleByIndex", (number,))], handle)
            if not child["why"]:
                self.slice(index, number, child["value"])

    def slice(self, index: int, number: int, handle: Any) -> None:
        """Read one MIG slice."""
        answers = {
            "uuid": self.gate.ask(index, [Ask("nvmlDeviceGetUUID")], handle),
            "name": self.gate.ask(index, [Ask("nvmlDeviceGetName")], handle),
            "multiprocessor_count": self.gate.ask(
                index, [Ask("nvmlDeviceGetAttributes", convert=lambda a: a.multiprocessorCount)], handle
            ),
            "gpu_instance_id": self.gate.ask(index, [Ask("nvmlDeviceGetGpuInstanceId")], handle),
            "compute_instance_id": self.gate.ask(index, [Ask("nvmlDeviceGetComputeInstanceId")], handle),
        }
        memory = self.memory_answers(index, handle, ("total", "free"))
        answers |= {f"memory_{part}_bytes": answer for part, answer in memory.items()}
        for field, answer in answers.items():
            self.emit({"event": "mig", "gpu": index, "index": number, "field": field, **answer})

    def pairs(self) -> None:
        """Read how every two readable GPUs reach each other."""
        indices = sorted(self.handles)
        for position, a in enumerate(indices):
            for b in indices[position + 1 :]:
                pair = (self.handles[a], self.handles[b])
                nvlink = self.gate.ask(a, [Ask("nvmlDeviceGetP2PStatus", (P2P_NVLINK,), lambda s: s == 0)], *pair)
                peer = self.gate.ask(a, [Ask("nvmlDeviceGetP2PStatus", (P2P_READ,), lambda s: s == 0)], *pair)
                level = self.gate.ask(
                    a,
                    [Ask("nvmlDeviceGetTopologyCommonAncestor", convert=_named(PCIE_LEVELS, "level"))],
                    *pair,
                )
                self.emit(
                    {
                        "event": "link",
                        "a": a,
                        "b": b,
                        "nvlink": nvlink["value"],
                        "links": self.links_between(a, b) if nvlink["value"] else None,
                        "speed_mb_s": self.speeds.get(a),
                        "level": level["value"],
                        "peer_access": peer,
                    }
                )

    def links_between(self, a: int, b: int) -> int | None:
        """Count the active NVLinks over which `a` reaches `b`: those that end there or in a switch."""
        ends = self.links.get(a)
        if not ends:
            return None
        there = self.bus_ids.get(b)
        return sum(kind != REMOTE_GPU or (bus_id is not None and bus_id == there) for kind, bus_id in ends) or None


def loaded_library() -> str | None:
    """Tell which file NVML was loaded from, or None where none is loaded."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return None
    paths = (line.split(maxsplit=5)[-1] for line in maps.splitlines())
    return next((path for path in paths if "libnvidia-ml.so" in path), None)


def end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies, also while it is stuck in a call of the driver."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return  # no Linux: the next line that it writes will end it


def main(arguments: list[str]) -> None:
    """Walk over everything but the GPUs named in `--skip 1,2`, writing JSON lines to standard output."""

    def emit(event: Answer) -> None:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()

    skip = frozenset(int(part) for part in arguments[1].split(",")) if arguments[:1] == ["--skip"] else frozenset()
    try:
        import pynvml
    except ImportError as error:
        emit({"event": "failed", "stage": "import", "why": "unknown", "code": None, "text": str(error)})
        return
    if not hasattr(pynvml, "_nvmlGetFunctionPointer") or not hasattr(pynvml, "nvmlInitWithFlags"):
        text = str(getattr(pynvml, "__file__", "pynvml"))
        emit({"event": "failed", "stage": "binding", "why": "unknown", "code": None, "text": text})
        return
    Walk(pynvml, emit).run(skip)


if __name__ == "__main__":
    end_with_parent()
    main(sys.argv[1:])
