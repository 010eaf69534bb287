"""Shows a machine as plain text of at most 80 columns, for a terminal or a pipe."""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

from probes.machine import Gpu, Host, Link, Machine, Problem, RuntimeFound
from probes.nodes import gpu_models, named
from probes.reading import Reading, Why

WIDTH = 80
_GIB = 1024**3

ABSENT_WORDS: dict[Why, str] = {
    "not_supported": "n/a",
    "no_permission": "denied",
    "lost": "lost",
    "unknown": "unknown",
    "driver_too_old": "too old",
    "deprecated": "gone",
    "timeout": "no reply",
    "not_asked": "-",
    "not_in_capture": "-",
    "single_gpu": "-",
    "known_on_delivery": "later",
}
"""What stands in a column of eight characters for a value that is absent."""

_MEANINGS: dict[Why, str] = {
    "not_supported": "not reported by this GPU",
    "no_permission": "not told to this user",
    "lost": "off the bus",
    "unknown": "the driver cannot say",
    "driver_too_old": "the driver does not know the question",
    "deprecated": "no longer offered",
    "timeout": "not answered in time",
    "known_on_delivery": "known on delivery",
}

_MEMORY_NOTES = {
    "unified": "memory is unified, shared with CPU; internal interconnect",
    "partition": "MIG is enabled: only the slices below can be used; utilization is not offered by NVML on MIG",
    "profile": "vGPU: the memory is that of its profile",
}
_PATHS = {
    "internal": "on one board",
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "the CPU's PCIe root",
    "NODE": "PCIe roots of one NUMA node",
    "SYS": "from one NUMA node to another",
    "unknown": "path not known",
}
_MOST_IN_MATRIX = 9  # so many columns of seven fit


def machine_table(machine: Machine) -> str:
    """Lay out a machine: one line a GPU, then links, host, runtimes, and the problems with their advice.

    Memory is in GiB (1024^3 bytes), bandwidth in GB/s (10^9 bytes), power in watts. Absent values are words.
    """
    lines = [
        *_what_it_is(machine),
        *_nodes(machine),
        *_gpus(machine),
        *_links(machine),
        *_shell(machine),
        *_host(machine.host),
    ]
    if not machine.planned:
        lines += _runtimes(machine.runtimes)
    lines += _problems(machine.problems)
    return "".join(f"{_printable(line)}\n" for line in lines)


def _what_it_is(machine: Machine) -> list[str]:
    """Mark a machine that is not this computer."""
    if machine.planned:
        return _wrapped("Machine", "WILL BE BOUGHT: figures from the catalogue, nothing was read from it")
    if any(gpu.name.source == "simulated" for gpu in machine.gpus):
        return _wrapped("Machine", "SIMULATED: no real one")
    if machine.recorded:
        return _wrapped("Machine", f"RECORDED on {machine.taken_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, not read now")
    return []


def _nodes(machine: Machine) -> list[str]:
    """The nodes of a fleet by kind; what follows is told of the first, which decides."""
    if not machine.nodes:
        return []
    lines = []
    for number, kind in enumerate(machine.kinds):
        names = named([node.name for node in machine.nodes if node.kind == number])
        which = ", of which the rest below is told" if number == 0 else ""
        lines += _wrapped("Nodes", f"{names}: {gpu_models(kind)}{which}")
    return [*lines, *_wrapped("", f"{len(machine.nodes)} nodes, {machine.usable_gpu_count} usable GPUs in all")]


def gib(reading: Reading[int]) -> str:
    """Show bytes as GiB with one decimal, or the word for the reason why there are none."""
    return _cell(reading, lambda value: f"{value / _GIB:.1f}")


def _cell(reading: Reading[Any], show: Any = str) -> str:
    return ABSENT_WORDS[reading.why] if reading.why is not None else show(reading.value)


def _printable(line: str) -> str:
    """Keep a driver's corrupt text from steering the terminal."""
    return "".join(character if character.isprintable() else "?" for character in line)


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<10}", subsequent_indent=" " * 10, break_on_hyphens=False)


def _gpus(machine: Machine) -> Iterator[str]:
    driver = machine.driver
    if driver.version.known:
        yield from _wrapped("Driver", f"{driver.version.value}, CUDA {_cell(driver.cuda)}")
    if not machine.gpus:
        yield from _wrapped("GPUs", "none found")
        return
    yield _row("#", "GPU", "GiB", "free GiB", "cc", "GB/s", "W limit", "use")
    for gpu in machine.gpus:
        yield _row(
            str(gpu.index),
            _cell(gpu.name),
            gib(gpu.memory_total_bytes),
            gib(gpu.memory_free_bytes),
            _cell(gpu.compute_capability),
            _cell(gpu.memory_bandwidth_gb_s, lambda value: f"{value:.0f}"),
            _cell(gpu.power_limit_w, lambda value: f"{value:.0f}"),
            "yes" if gpu.usable else "no",
        )
        yield from _gpu_notes(gpu)
    yield from _meanings(machine.gpus)


def _meanings(gpus: Iterable[Gpu]) -> Iterator[str]:
    """Explain the words that stand for absent values in the rows."""
    shown = ("memory_total_bytes", "memory_free_bytes", "compute_capability", "memory_bandwidth_gb_s", "power_limit_w")
    whys = [getattr(gpu, name).why for gpu in gpus for name in ("name", *shown)]
    texts = [f"{ABSENT_WORDS[why]}: {_MEANINGS[why]}" for why in dict.fromkeys(whys) if why in _MEANINGS]
    if texts:
        yield from textwrap.wrap("; ".join(texts), WIDTH, initial_indent="    ", subsequent_indent="    ")


def _row(index: str, name: str, *cells: str) -> str:
    short = name if len(name) <= 26 else f"{name[:25]}…"
    return f"{index:>3} {short:<26}" + "".join(f"{cell:>9}" for cell in cells[:-1]) + f"{cells[-1]:>5}"


def _gpu_notes(gpu: Gpu) -> Iterator[str]:
    notes = [_MEMORY_NOTES.get(gpu.memory_kind, ""), _held(gpu)]
    if gpu.memory_kind == "partition" and not gpu.memory_total_bytes.known:
        notes.insert(0, "(MIG enabled; whole-GPU values not readable here)")
    if gpu.memory_bandwidth_gb_s.source.startswith("catalogue:"):
        confidence = gpu.memory_bandwidth_gb_s.source.removeprefix("catalogue:")
        notes.append(f"bandwidth is the catalogue's (confidence: {confidence})")
    for note in filter(None, notes):
        yield from textwrap.wrap(note, WIDTH, initial_indent="    ", subsequent_indent="    ")
    for part in gpu.mig.instances:
        name = _cell(part.name)
        profile = name.rpartition("MIG ")[2] if "MIG " in name else name
        yield f"    MIG {part.index}: {profile}, {gib(part.memory_total_bytes)} GiB, {_cell(part.uuid)}"[:WIDTH]


def _held(gpu: Gpu) -> str:
    """Say what others hold of the memory; at the time of the probe every byte in use is somebody else's."""
    used, reserved = gpu.memory_used_bytes.value, gpu.memory_reserved_bytes.value
    if not used or gpu.memory_kind == "unified":
        return ""
    if reserved is None:
        return f"{used / _GIB:.1f} GiB in use, the driver's own reserve included"
    return f"other processes hold {used / _GIB:.1f} GiB; {reserved / _GIB:.1f} GiB reserved by the driver"


def _links(machine: Machine) -> list[str]:
    """Say how the GPUs reach each other, as a small matrix, or by kind of path where they are too many for one."""
    if not machine.links:
        return []
    cells = {(link.a, link.b): _path(link) for link in machine.links}
    indices = [gpu.index for gpu in machine.gpus]
    if len(indices) > _MOST_IN_MATRIX:
        return _grouped(machine, cells)
    lines = [f"{'Links':<12}" + "".join(f"{index:>7}" for index in indices)]
    for row in indices:
        others = (cells.get((min(row, other), max(row, other)), "?" if row != other else "-") for other in indices)
        lines.append(f"{row:>12}" + "".join(f"{cell:>7}" for cell in others))
    return lines + _wrapped("", _legend(machine.links))


def _path(link: Link) -> str:
    blocked = link.kind != "nvlink" and link.peer_access.value is False
    word = "?" if link.level == "unknown" else "int" if link.level == "internal" else link.level[:6]
    return f"{word}!" if blocked else word


def _legend(links: Iterable[Link]) -> str:
    texts: list[str] = []
    blocked = False
    for link in links:
        sort = "raw" if link.kind == "nvlink" else "at most"
        speed = "" if link.gb_s is None else f", {link.gb_s:.0f} GB/s {sort} each way"
        word = _path(link)
        blocked = blocked or word.endswith("!")
        what = f"NVLink{speed}" if link.kind == "nvlink" else f"{_PATHS.get(link.level, link.level)}{speed}"
        texts.append(f"{word.rstrip('!')}: {what}")
    return "; ".join([*dict.fromkeys(texts), *(["!: no access to each other's memory"] if blocked else [])])


def _grouped(machine: Machine, cells: dict[tuple[int, int], str]) -> list[str]:
    pairs: dict[str, list[str]] = {}
    for (a, b), cell in cells.items():
        pairs.setdefault(cell, []).append(f"{a}-{b}")
    every = math.comb(len(machine.gpus), 2)
    lines: list[str] = []
    for cell, members in pairs.items():
        which = "every pair" if len(members) == every else " ".join(members)
        lines += _wrapped("" if lines else "Links", f"{cell}: {which}")
    return lines + _wrapped("", _legend(machine.links))


def _shell(machine: Machine) -> list[str]:
    """Say what CUDA programs of this shell see, where it is not simply everything."""
    shell = machine.shell
    if not machine.gpus or not shell.cuda_visible_devices.known:
        return []
    seen = shell.visible_slices.value or shell.visible_gpus.value
    words = "not known" if seen is None else ", ".join(map(str, seen)) or "nothing"
    which = "the shell of the recording" if machine.recorded else "this shell"
    raw = shell.cuda_visible_devices.value
    return _wrapped("Shell", f"visible to {which}: {words} (CUDA_VISIBLE_DEVICES={raw})")


def _host(host: Host) -> list[str]:
    if host.cpu_logical_cores.why == "known_on_delivery":
        return _wrapped("Host", "known on delivery")
    cores = _cell(host.cpu_usable_cores, lambda value: f"{value:g}")
    parts = [
        f"{_cell(host.cpu_model)} ({cores} of {_cell(host.cpu_logical_cores)} cores usable)",
        f"{gib(host.memory_usable_bytes)} GiB memory ({gib(host.memory_available_bytes)} available)",
        f"/dev/shm {gib(host.shm_total_bytes)} GiB",  # noqa: S108  its size, nothing is put there
        *(f"{disk.purpose.replace('_', ' ')} {gib(disk.free_bytes)} GiB free" for disk in host.disks),
        f"{_cell(host.os_name)}, kernel {_cell(host.kernel)}, glibc {_cell(host.glibc)}",
    ]
    parts += ["in a container"] if host.in_container.value else []
    parts += ["WSL"] if host.wsl.value else []
    parts += ["no gcc"] if host.gcc.value is False else []
    return _wrapped("Host", "; ".join(parts))


def _runtimes(runtimes: Iterable[RuntimeFound]) -> list[str]:
    found = [
        f"{runtime.product} {runtime.version}, {runtime.build} build"
        f"{f' for CUDA {runtime.cuda_major}' if runtime.cuda_major else ''}, {runtime.interpreter}"
        for runtime in runtimes
    ]
    return [line for text in found or ["no vLLM was found"] for line in _wrapped("Runtime", text)]


def _problems(problems: Iterable[Problem]) -> Iterator[str]:
    """Say each problem once, also where several GPUs have it."""
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        number = rf"\b{problem.gpu}\b"
        message, advice = (re.sub(number, "#", text) for text in (problem.message, problem.advice))
        alike.setdefault((problem.code, message, advice), []).append(problem)
    for first, *others in alike.values():
        also = ", ".join(str(problem.gpu) for problem in others)
        yield from _wrapped("Problem", first.message + (f" The same holds for GPU {also}." if also else ""))
        yield from _wrapped("", f"→ {first.advice}")
