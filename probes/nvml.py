"""Asks NVIDIA's management library about every GPU; the only importer of `pynvml`.

NVML can hang or crash the process that asks, so this module is run as a child of its own, `python -m
probes.nvml`, and needs nothing but the standard library, its two neighbours and `pynvml`. It writes one JSON
object a line, each as soon as it is known, so that a parent which has to kill it keeps everything read before:

    {"event": "at", "gpu": 0, "call": "nvmlDeviceGetName"}      what is asked next
    {"event": "reading", "gpu": 0, "field": "name", "value": …, "why": …, "source": …, "code": …}
    {"event": "mig", "gpu": 0, "index": 1, "field": …, …}       a reading of one MIG slice
    {"event": "link", "a": 0, "b": 1, …}
    {"event": "touched", "gpu": 0, "seconds": …}            how long the first question took
    {"event": "library", "path": …}, {"event": "failed", "stage": …, "code": …, "text": …}, {"event": "done"}

`code` is NVML's return code where it was not 0. Readings of the driver have `gpu` null.
"""

import ctypes
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from probes.nvml_fields import FIELD_VALUES, NVLINK_VERSIONS, Row, cuda_version, named, ours, rows
from probes.nvml_gate import Answer, Ask, Gate
from probes.nvml_watch import Watch

PCIE_LEVELS = {0: "internal", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
# The read index is a number of ours: pynvml's NVML_P2P_CAPS_INDEX_READ is a tuple by mistake.
P2P_INDICES = {"peer_access": 0, "peer_write": 1, "nvlink": 2, "peer_atomics": 3}
FIELD_NVLINK_SPEED_COMMON, FIELD_NVLINK_COUNT, FIELD_NVLINK_SPEED = 90, 91, 164
REMOTE_GPU = 0
MAX_NVLINKS = 36
PR_SET_PDEATHSIG = 1  # linux/prctl.h


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
            ("branch", (Ask("nvmlSystemGetDriverBranch", convert=lambda info: info.branch),)),
            (
                "confidential_computing",
                (Ask("nvmlSystemGetConfComputeState", convert=lambda state: bool(state.ccFeature)),),
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
        # Last, because it may hang: NVML can be well where CUDA cannot start.
        self.reading(None, "cuda_start", self.gate.ask(None, [ours("cuInit", cuda_start)]) | {"source": "cuda:cuInit"})
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
        began = time.monotonic()
        handle = self.gate.ask(index, [Ask("nvmlDeviceGetHandleByIndex", (index,))])
        self.emit({"event": "touched", "gpu": index, "seconds": time.monotonic() - began})
        if handle["why"]:
            self.emit({"event": "no_handle", "gpu": index, **handle})
            return
        self.handles[index] = handle["value"]
        for row in rows(self.pynvml, self.field_value):
            answer = self.row(index, row, handle["value"])
            if answer["why"] == "lost":
                self.emit({"event": "no_handle", "gpu": index, **answer})
                del self.handles[index]
                return
        self.nvlinks(index, handle["value"])
        self.mig(index, handle["value"])

    def row(self, index: int, row: Row, handle: Any) -> Answer:
        """Put one question and report the readings that its answer gives."""
        answer = self.gate.ask(index, row.asks, handle)
        values = [answer["value"]] if len(row.fields) == 1 else answer["value"] or [None] * len(row.fields)
        for field, value in zip(row.fields, values, strict=True):
            why = answer["why"] or ("not_supported" if value is None else None)
            self.reading(index, field, answer | {"value": value, "why": why})
        if row.fields == ("uuid",):
            self.memory(index, handle)  # early: it decides whether a model fits
        if row.fields == ("pci_bus_id",) and answer["value"]:
            self.bus_ids[index] = answer["value"]
        return answer

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
                ours("nvmlDeviceGetMemoryInfo_v2", self.pynvml.nvmlDeviceGetMemoryInfo, version),
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
        name = FIELD_VALUES
        count = self.gate.ask(index, [ours(name, self.field_value, FIELD_NVLINK_COUNT)], handle)
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
            for field in ("nvlink_count", "nvlink_active_count", "nvlink_speed_mb_s", "nvlink_version"):
                self.reading(index, field, last)
            return
        source = "nvml:nvmlDeviceGetNvLinkState"
        counted = {"value": len(states), "why": None, "source": source}
        self.reading(index, "nvlink_count", counted if count["why"] else count)
        active = sum(state == 1 for state in states)
        self.reading(index, "nvlink_active_count", {"value": active, "why": None, "source": source})
        first = next((link for link, state in enumerate(states) if state == 1), None)
        speed: Answer = {"value": None, "why": "not_supported", "source": source}
        version = speed
        if first is not None:
            speed = self.gate.ask(index, [ours(name, self.field_value, FIELD_NVLINK_SPEED, first)], handle)
            if speed["why"]:
                speed = self.gate.ask(index, [ours(name, self.field_value, FIELD_NVLINK_SPEED_COMMON)], handle)
            words = named(NVLINK_VERSIONS, "version")
            version = self.gate.ask(index, [Ask("nvmlDeviceGetNvLinkVersion", (first,), words)], handle)
        self.reading(index, "nvlink_speed_mb_s", speed)
        self.reading(index, "nvlink_version", version)
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
                self.pair(a, b, self.handles[a], self.handles[b])

    def pair(self, a: int, b: int, *handles: Any) -> None:
        """Read how one GPU reaches another: through NVLink, over which PCIe path, and what it may do there."""
        told = {
            name: self.gate.ask(a, [Ask("nvmlDeviceGetP2PStatus", (number,), lambda status: status == 0)], *handles)
            for name, number in P2P_INDICES.items()
        }
        nvlink = told.pop("nvlink")["value"]
        level = self.gate.ask(
            a, [Ask("nvmlDeviceGetTopologyCommonAncestor", convert=named(PCIE_LEVELS, "level"))], *handles
        )
        self.emit(
            {
                "event": "link",
                "a": a,
                "b": b,
                "nvlink": nvlink,
                "links": self.links_between(a, b) if nvlink else None,
                "speed_mb_s": self.speeds.get(a),
                "level": level["value"],
                **told,
            }
        )

    def links_between(self, a: int, b: int) -> int | None:
        """Count the active NVLinks over which `a` reaches `b`: those that end there or in a switch."""
        ends = self.links.get(a)
        if not ends:
            return None
        there = self.bus_ids.get(b)
        return sum(kind != REMOTE_GPU or (bus_id is not None and bus_id == there) for kind, bus_id in ends) or None


def cuda_start() -> str | None:
    """Start CUDA in this process, which makes no context and takes no GPU memory; None without its library."""
    try:
        code = ctypes.CDLL("libcuda.so.1").cuInit(0)
    except (OSError, AttributeError):
        return None
    return "ok" if code == 0 else f"error {code}"


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


def _installed(*names: str) -> list[str]:
    """Name those of the packages that are installed; each of them brings a module called pynvml."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in names:
        try:
            version(name)
        except PackageNotFoundError:
            continue
        found.append(name)
    return found


def main(arguments: list[str]) -> None:
    """Walk over everything but the GPUs named in `--skip 1,2`, writing JSON lines to standard output.

    With `--watch SECONDS PARENT NAMES` after it, some GPUs (by index or UUID; "" for all) are looked at again and
    again until the process PARENT is gone.
    """

    def emit(event: Answer) -> None:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()

    skip: frozenset[int] = frozenset()
    if arguments[:1] == ["--skip"]:
        skip, arguments = frozenset(int(part) for part in arguments[1].split(",")), arguments[2:]
    try:
        import pynvml
    except ImportError as error:
        emit({"event": "failed", "stage": "import", "why": "unknown", "code": None, "text": str(error)})
        return
    if not hasattr(pynvml, "_nvmlGetFunctionPointer") or not hasattr(pynvml, "nvmlInitWithFlags"):
        text = str(getattr(pynvml, "__file__", "pynvml"))
        packages = _installed("pynvml", "nvidia-ml-py3", "nvidia-ml-py")
        emit(
            {"event": "failed", "stage": "binding", "why": "unknown", "code": None, "text": text, "packages": packages}
        )
        return
    walk = Walk(pynvml, emit)
    if arguments[:1] != ["--watch"]:
        walk.run(skip)
        return
    every_s, parent, names = float(arguments[1]), int(arguments[2]), tuple(filter(None, arguments[3].split(",")))
    watch = Watch(pynvml, emit, walk.field_value)
    if watch.open(names, skip):
        watch.run(every_s, parent)


def start(arguments: list[str]) -> None:
    """Be the child: end with the parent, whatever call the driver keeps."""
    end_with_parent()
    main(arguments)


if __name__ == "__main__":
    start(sys.argv[1:])
