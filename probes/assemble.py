"""Makes the driver, the GPUs, their links and the problems out of what the NVML child said."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probes.child import Event, Walked
from probes.driver_files import library_elsewhere, numa_node
from probes.findings import mixes_up_processes
from probes.machine import Driver, Gpu, Host, Link, Problem
from probes.problems import problem

# Return codes of NVML, as in nvml.h, that say why nothing can be asked.
_NO_PERMISSION, _DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND, _VERSION_MISMATCH, _UNKNOWN = 4, 9, 12, 18, 999

SLOW_START_S = 1.0  # with persistence mode the first touch takes milliseconds

# Chips whose memory is the computer's own, so that NVML reports none for them.
_UNIFIED_NAMES = re.compile(r"GB10|Thor|Orin|\(nvgpu\)", re.IGNORECASE)


@dataclass
class _Heard:
    """The events of all walks by what they are about; a later walk's word replaces an earlier one's."""

    count: int | None = None
    library: str | None = None
    failed: Event | None = None
    driver: dict[str, Event] = field(default_factory=dict)
    gpus: dict[int, dict[str, Event]] = field(default_factory=lambda: defaultdict(dict))
    slices: dict[int, dict[int, dict[str, Event]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    no_handle: dict[int, Event] = field(default_factory=dict)
    links: dict[tuple[int, int], Event] = field(default_factory=dict)
    touched_s: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GpuSide:
    """The part of a machine that the GPU driver told."""

    driver: Driver
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    problems: tuple[Problem, ...]


def assemble(walked: Walked, host: Host, root: Path = Path("/")) -> GpuSide:
    """Make the GPU side of a machine; whatever was not heard becomes a reason, and every failure a problem.

    `root` is where the driver's files and /sys are looked for.
    """
    heard = _sort(walked.events)
    problems: list[Problem] = []
    if heard.failed is not None:
        problems.append(_nothing_asked(heard.failed, heard.library, host, root))
    stopped = _stops(walked, problems)
    if heard.count == 0:
        problems.append(_stub(heard.library) or problem("no_gpu"))
    if heard.driver.get("cuda", {}).get("code") == _LIBRARY_NOT_FOUND:
        problems.append(problem("no_libcuda"))
    problems += [
        problem("slow_start", gpu, seconds=seconds)
        for gpu, seconds in heard.touched_s.items()
        if seconds >= SLOW_START_S
    ]
    indices = sorted({*range(heard.count or 0), *heard.gpus, *heard.no_handle})
    gpus = tuple(_gpu(index, heard, stopped, host, root, problems) for index in indices)
    return GpuSide(_driver(heard, host, stopped), gpus, _links(heard, gpus), tuple(problems))


def _sort(events: list[Event]) -> _Heard:
    heard = _Heard()
    for event in events:
        match event:
            case {"event": "reading", "gpu": None, "field": name}:
                heard.driver[name] = event
            case {"event": "reading", "gpu": gpu, "field": name}:
                heard.gpus[gpu][name] = event
            case {"event": "mig", "gpu": gpu, "index": index, "field": name}:
                heard.slices[gpu][index][name] = event
            case {"event": "no_handle", "gpu": gpu}:
                heard.no_handle[gpu] = event
            case {"event": "link", "a": a, "b": b}:
                heard.links[a, b] = event
            case {"event": "touched", "gpu": gpu, "seconds": seconds}:
                heard.touched_s[gpu] = seconds
            case {"event": "count", "value": count}:
                heard.count = count
            case {"event": "library", "path": path}:
                heard.library = path
            case {"event": "failed"}:
                heard.failed = event
    return heard


def _reading(event: Event) -> dict[str, Any]:
    return {"value": event["value"], "why": event["why"], "source": event["source"]}


def _stub(library: str | None) -> Problem | None:
    return problem("stub_library", path=library) if library and "/stubs/" in library else None


def _nothing_asked(failed: Event, library: str | None, host: Host, root: Path) -> Problem:
    """Find the sentence for a driver that could not be asked at all."""
    code, text = failed["code"], failed["text"]
    module = host.nvidia_module.value
    if failed["stage"] == "import":
        return problem("binding_missing", text=text)
    if failed["stage"] == "binding":
        return problem("wrong_binding", path=text, packages=" ".join(failed.get("packages") or ["pynvml"]))
    if stub := _stub(library):
        return stub
    if code == _LIBRARY_NOT_FOUND:
        if host.jetson.known:
            return problem("jetson_no_nvml", model=host.jetson.value)
        if (elsewhere := library_elsewhere(root)) is not None:
            return problem("library_off_path", path=elsewhere, folder=elsewhere.parent)
        if host.in_container.value:
            return problem("no_driver_in_container")
        return problem("no_library", module=module) if module else problem("no_driver")
    if code == _VERSION_MISMATCH:
        return problem("driver_mismatch", module=module or "of an unknown version")
    if code == _UNKNOWN and host.in_container.value:
        return problem("container_lost_gpus")
    named = {_DRIVER_NOT_LOADED: "driver_not_loaded", _NO_PERMISSION: "no_driver_permission"}
    if code in named:
        return problem(named[code])
    return problem("driver_failed", text=text.rstrip(".") or failed["why"], code=code)


def _stops(walked: Walked, problems: list[Problem]) -> dict[int | None, str]:
    """Tell which GPUs (None: all not yet heard) were not read because a walk hung or crashed, and why."""
    stopped: dict[int | None, str] = {}
    for end, gpu, call, stderr, silent_s in walked.ends:
        if end == "done":
            continue
        what = "The NVIDIA driver" if gpu is None else f"GPU {gpu}"
        if end == "timeout":
            problems.append(problem("probe_timeout", gpu, what=what, seconds=round(silent_s, 1), call=call))
        else:
            text = f"; {stderr}" if stderr else ""
            problems.append(problem("probe_crashed", gpu, what=what.replace("The", "the"), call=call, text=text))
        stopped[gpu] = "timeout" if end == "timeout" else "unknown"
    if walked.ends and walked.ends[-1].end != "done":
        stopped.setdefault(None, stopped[walked.ends[-1].gpu])
    return stopped


def _driver(heard: _Heard, host: Host, stopped: dict[int | None, str]) -> Driver:
    why = stopped.get(None, "unknown")
    readings = {
        name: _reading(heard.driver[name]) if name in heard.driver else {"why": why, "source": f"nvml:{call}"}
        for name, call in (
            ("version", "nvmlSystemGetDriverVersion"),
            ("cuda", "nvmlSystemGetCudaDriverVersion_v2"),
            ("nvml", "nvmlSystemGetNVMLVersion"),
            ("branch", "nvmlSystemGetDriverBranch"),
            ("confidential_computing", "nvmlSystemGetConfComputeState"),
            ("cuda_start", "cuInit"),
        )
    }
    if readings["version"].get("value") is None and host.nvidia_module.known:
        readings["version"] = host.nvidia_module.model_dump()
    return Driver.model_validate(readings)


def _gpu(
    index: int, heard: _Heard, stopped: dict[int | None, str], host: Host, root: Path, problems: list[Problem]
) -> Gpu:
    events = heard.gpus.get(index, {})
    readings: dict[str, Any] = {name: _reading(event) for name, event in events.items()}
    no_handle = heard.no_handle.get(index)
    why, source = "not_asked", "nvml"
    if no_handle is not None:
        why, source = no_handle["why"], no_handle["source"]
    elif index in stopped or None in stopped:
        why = stopped.get(index) or stopped[None]
    absent = {"why": why, "source": source}
    mig = {
        "enabled": readings.pop("mig_enabled", absent),
        "pending": readings.pop("mig_pending", absent),
        "instances": [
            {"index": number, **_slice_fields(fields, absent)}
            for number, fields in sorted(heard.slices.get(index, {}).items())
        ],
    }
    kind = _memory_kind(readings, mig)
    if kind == "unified":
        readings |= _unified(readings, host)
    if mixes_up_processes(heard.driver.get("version", {}).get("value")):
        readings["process_memory_bytes"] = {"why": "unknown", "source": "nvml:unreliable in this driver"}
    bandwidth = _bandwidth(readings, absent)
    if bus_id := readings.get("pci_bus_id", absent).get("value"):
        readings["numa_node"] = numa_node(bus_id, root).model_dump()
    because = _unusable(index, events, no_handle, stopped, mig, problems)
    return Gpu.sparse(
        index,
        why=why,  # type: ignore[arg-type]  # one of the reasons, as the child gave it
        source=source,
        **readings,
        mig=mig,
        memory_kind=kind,
        memory_bandwidth_gb_s=bandwidth,
        usable=because is None,
        unusable_because=because,
    )


_SLICE_READINGS = (
    "uuid",
    "name",
    "memory_total_bytes",
    "memory_free_bytes",
    "multiprocessor_count",
    "gpu_instance_id",
    "compute_instance_id",
)


def _slice_fields(fields: dict[str, Event], absent: dict[str, Any]) -> dict[str, Any]:
    return {name: _reading(fields[name]) if name in fields else absent for name in _SLICE_READINGS}


def _memory_kind(readings: dict[str, Any], mig: dict[str, Any]) -> str:
    """Tell whose memory it is; only a chip that is known to share the computer's is called unified."""
    if mig["enabled"].get("value"):
        return "partition"
    if readings.get("virtualization_mode", {}).get("value") == "vgpu_guest":
        return "profile"
    name = readings.get("name", {}).get("value") or ""
    return "unified" if _UNIFIED_NAMES.search(name) else "dedicated"


def _unified(readings: dict[str, Any], host: Host) -> dict[str, Any]:
    """Give a chip that shares the computer's memory that memory, unless NVML has figures of its own.

    Its PCIe figures are taken away: it sits on an internal interconnect, and NVML reports one lane of
    generation 1 for it.
    """
    soc = {"why": "not_supported", "source": "nvml:internal interconnect"}
    changed: dict[str, Any] = {name: soc for name in readings if name.startswith("pcie_")}
    total = readings.get("memory_total_bytes", {})
    if total.get("why") == "not_supported" or total.get("value") == 0:
        changed["memory_total_bytes"] = host.memory_total_bytes.model_dump()
        changed["memory_free_bytes"] = host.memory_available_bytes.model_dump()
    return changed


def _bandwidth(readings: dict[str, Any], absent: dict[str, Any]) -> dict[str, Any]:
    """Compute the memory bandwidth in GB/s: clock in MHz * bus width in bits / 8 * 2 / 1000 (two transfers).

    It agrees with the vendor's figure within 3 % for GDDR6, GDDR6X, GDDR7, HBM2e and HBM3 cards.
    """
    source = "derived:max_mem_clock_mhz*memory_bus_width_bits/8*2/1000"
    clock, width = readings.get("max_mem_clock_mhz", absent), readings.get("memory_bus_width_bits", absent)
    for part in (clock, width):
        if part.get("value") is None:
            return {"why": part["why"], "source": source}
    if not clock["value"] or not width["value"]:
        return {"why": "unknown", "source": source}
    return {"value": round(clock["value"] * width["value"] / 8 * 2 / 1000, 3), "source": source}


def _unusable(
    index: int,
    events: dict[str, Event],
    no_handle: Event | None,
    stopped: dict[int | None, str],
    mig: dict[str, Any],
    problems: list[Problem],
) -> str | None:
    """Say why a runtime cannot use this GPU (None: nothing speaks against it), and note the problems."""
    if any(event.get("corrupt") for event in events.values()):
        problems.append(problem("corrupt_name", index))
    found = _blocking(index, events, no_handle, mig)
    if found is not None:
        problems.append(found)
        return found.message
    if index in stopped:
        return "It did not answer." if stopped[index] == "timeout" else "Asking it crashed the probe."
    if None in stopped and "nvlink_speed_mb_s" not in events:
        return "It was not read before the probe ended."
    return None


def _blocking(index: int, events: dict[str, Event], no_handle: Event | None, mig: dict[str, Any]) -> Problem | None:
    if no_handle is not None:
        named = {"lost": "gpu_lost", "no_permission": "no_permission"}
        if no_handle["why"] in named:
            return problem(named[no_handle["why"]], index)
        return problem(
            "gpu_unreadable",
            index,
            text=f"{no_handle['source'].removeprefix('nvml:')} gave code {no_handle.get('code')}",
        )
    fabric = events.get("fabric_state", {}).get("value")
    if fabric in ("not_started", "in_progress", "failed"):
        return problem("fabric_not_ready", index, text=fabric.replace("_", " "))
    if events.get("compute_mode", {}).get("value") == "prohibited":
        return problem("compute_prohibited", index)
    if mig["enabled"].get("value") and not mig["instances"]:
        return problem("mig_empty", index)
    return None


#: GB/s of one PCIe lane in one direction by generation: the rate in GT/s times its encoding / 8 (PCI-SIG, base
#: specifications 1.0 to 6.0).
_PCIE_LANE_GB_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


def _links(heard: _Heard, gpus: tuple[Gpu, ...]) -> tuple[Link, ...]:
    rates = {gpu.index: _pcie_gb_s(gpu) for gpu in gpus}
    return tuple(_link(a, b, event, (rates.get(a), rates.get(b))) for (a, b), event in sorted(heard.links.items()))


def _pcie_gb_s(gpu: Gpu) -> float | None:
    """What the GPU's own PCIe link can carry in one direction; the generation in use drops when it is idle."""
    lane = _PCIE_LANE_GB_S.get(gpu.pcie_gen_max.value or 0)
    width = gpu.pcie_width_current.value
    return round(lane * width, 3) if lane and width else None


def _link(a: int, b: int, event: Event, pcie_gb_s: tuple[float | None, float | None]) -> Link:
    peer = _reading(event["peer_access"])
    more = {name: _reading(event[name]) for name in ("peer_write", "peer_atomics")}
    base: dict[str, Any] = {"a": a, "b": b, "peer_access": peer, **more}
    if event["nvlink"]:
        count, speed = event["links"], event["speed_mb_s"]
        return Link.model_validate(
            base
            | {
                "kind": "nvlink",
                "level": f"NV{count}" if count else "NV",
                "gb_s": round(count * speed / 1000, 3) if count and speed else None,
            }
        )
    level = event["level"]
    narrower = None if not level or None in pcie_gb_s else min(rate for rate in pcie_gb_s if rate)
    kind = "pcie" if level else "unknown"
    return Link.model_validate(base | {"kind": kind, "level": level or "unknown", "gb_s": narrower})
