"""Shows a machine as plain text of at most 80 columns, for a terminal or a pipe."""

import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from probes.machine import Gpu, Host, Machine, Problem, RuntimeFound
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

_MEMORY_NOTES = {
    "unified": "memory is unified, shared with the CPU",
    "partition": "MIG is enabled: only the slices below can be used",
    "profile": "vGPU: the memory is that of its profile",
}


def machine_table(machine: Machine) -> str:
    """Lay out a machine: one line a GPU, then links, host, runtimes, and the problems with their advice.

    Memory is in GiB (1024^3 bytes), bandwidth in GB/s (10^9 bytes), power in watts. Absent values are words.
    """
    lines = [*_gpus(machine), *_links(machine), *_host(machine.host), *_runtimes(machine.runtimes)]
    lines += _problems(machine.problems)
    return "".join(f"{_printable(line)}\n" for line in lines)


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


def _row(index: str, name: str, *cells: str) -> str:
    short = name if len(name) <= 26 else f"{name[:25]}…"
    return f"{index:>3} {short:<26}" + "".join(f"{cell:>9}" for cell in cells[:-1]) + f"{cells[-1]:>5}"


def _gpu_notes(gpu: Gpu) -> Iterator[str]:
    if note := _MEMORY_NOTES.get(gpu.memory_kind):
        yield f"    {note}"
    for part in gpu.mig.instances:
        name = _cell(part.name)
        profile = name.rpartition("MIG ")[2] if "MIG " in name else name
        yield f"    MIG {part.index}: {profile}, {gib(part.memory_total_bytes)} GiB, {_cell(part.uuid)}"[:WIDTH]


def _links(machine: Machine) -> list[str]:
    """Say how the GPUs reach each other: once if all pairs are alike, else by kind of path."""
    pairs: dict[str, list[str]] = {}
    for link in machine.links:
        speed = "" if link.gb_s is None else f", {link.gb_s:.0f} GB/s raw each way"
        pairs.setdefault(f"{link.level} ({link.kind}{speed})", []).append(f"{link.a}-{link.b}")
    if len(pairs) == 1 and len(machine.links) > 1:
        every = "every pair" if len(machine.links) == math.comb(len(machine.gpus), 2) else "every readable pair"
        return _wrapped("Links", f"{every} {next(iter(pairs))}")
    return [line for name, members in pairs.items() for line in _wrapped("Links", f"{name}: {' '.join(members)}")]


def _host(host: Host) -> list[str]:
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
    for problem in problems:
        yield from _wrapped("Problem", problem.message)
        yield from _wrapped("", f"→ {problem.advice}")
