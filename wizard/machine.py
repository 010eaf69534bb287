"""The machine a command works with: this one, a recorded one, or one that will be bought; held against the catalogue.

NVML's own numbers always win. The catalogue fills a memory bandwidth that NVML could not give, and where both are known
and differ, it only says so.
"""

import datetime
import re
from pathlib import Path
from typing import Any

from probes.machine import Gpu, Host, Machine, Problem
from probes.reading import PLAN, Reading
from wizard import __version__
from wizard.catalogue.loader import gpu_row, gpus
from wizard.catalogue.rows import GpuRow
from wizard.errors import UsageError

#: How the source of a reading begins that the catalogue gave for a machine that is there; its confidence follows.
CATALOGUE = "catalogue:"
#: From this share on, the computed bandwidth and the catalogue's disagree.
BANDWIDTH_TOLERANCE = 0.05
_MOST_GPUS = 1024
_LATER = {"why": "known_on_delivery", "source": PLAN}


def machine_at(where: str | None, *, timeout_s: float = 20.0, vllm: Path | None = None) -> Machine:
    """Return the machine that `--machine` names, or this one where it names none.

    `where` is a file of `selwiz probe --record`, or `plan:NAMExN`. Raises `UsageError` for a plan and `ProbeError` for
    a file that cannot be used.
    """
    if where is None:
        from probes import snapshot

        return enriched(snapshot.take_machine(tool_version=__version__, timeout_s=timeout_s, vllm=vllm))
    if where.startswith("plan:"):
        return planned(where.removeprefix("plan:"))
    from probes.recorded import read_machine_file

    return enriched(read_machine_file(Path(where)))


def enriched(machine: Machine) -> Machine:
    """Hold the GPUs against the catalogue: fill a bandwidth that is not known, and note one that differs."""
    problems: list[Problem] = list(machine.problems)
    gpus = _enriched(machine.gpus, problems)
    others = tuple(kind.model_copy(update={"gpus": _enriched(kind.gpus, problems)}) for kind in machine.other_kinds)
    return machine.model_copy(update={"gpus": gpus, "other_kinds": others, "problems": tuple(problems)})


def _enriched(gpus: tuple[Gpu, ...], problems: list[Problem]) -> tuple[Gpu, ...]:
    found: list[Gpu] = []
    for gpu in gpus:
        row = gpu_row(gpu.name.value, gpu.memory_total_bytes.value)
        if row is not None and not gpu.memory_bandwidth_gb_s.known and gpu.memory_kind != "partition" and gpu.usable:
            reading = Reading[float](value=row.memory_bandwidth_gb_s, source=f"{CATALOGUE}{row.confidence}")
            found.append(gpu.model_copy(update={"memory_bandwidth_gb_s": reading}))
            continue
        found.append(gpu)
        if row is not None and (problem := _disagreement(gpu, row)) and problem not in problems:
            problems.append(problem)
    return tuple(found)


def _disagreement(gpu: Gpu, row: GpuRow) -> Problem | None:
    computed, listed = gpu.memory_bandwidth_gb_s, row.memory_bandwidth_gb_s
    if computed.value is None or computed.source.startswith(CATALOGUE):
        return None
    if abs(computed.value - listed) <= BANDWIDTH_TOLERANCE * listed:
        return None
    return Problem(
        code="bandwidth_differs",
        gpu=gpu.index,
        message=f"The memory bandwidth of GPU {gpu.index} is {computed.value:.0f} GB/s by its clock and bus width, and "
        f"{listed:g} GB/s in the catalogue (confidence: {row.confidence}).",
        advice="The computed figure is used; a lower one may mean a memory clock that somebody has capped.",
    )


def confidence_of(gpu: Gpu, reading: Reading[Any]) -> str | None:
    """Tell how far a figure may be trusted that came from the catalogue; None where it did not."""
    if reading.value is None:
        return None
    if reading.source.startswith(CATALOGUE):
        return reading.source.removeprefix(CATALOGUE)
    if reading.source != PLAN:
        return None
    row = gpu_of(gpu)
    return row.confidence if row else None


def gpu_of(gpu: Gpu) -> GpuRow | None:
    """The catalogue's row of a GPU, by the name that NVML reports or the catalogue's own."""
    return gpu_row(gpu.name.value, gpu.memory_total_bytes.value) or _row_called(gpu.name.value or "")


def plan_of(machine: Machine) -> str:
    """What `--machine` names a machine by that will be bought; `planned` gives the same machine of it again."""
    return f"plan:{machine.gpus[0].name.value}x{len(machine.gpus)}"


def counted_name(text: str) -> tuple[str, str]:
    """A GPU's name and the number before it, as people write both: `2 x H100`, `2x h100`, `8 × L40S`.

    The number is empty where none is written; no name of a GPU begins with one.
    """
    match = re.fullmatch(r"([1-9]\d{0,3})\s*(?:[xX×*]\s*|\s)(\S.*)", text.strip(), re.DOTALL)
    return (match[2].strip(), match[1]) if match else (text.strip(), "")


def planned(text: str) -> Machine:
    """Return a machine that will be bought: `NAMExN` is a name in the catalogue, or NVML's name, and how many.

    What the catalogue does not know is `known_on_delivery`. Raises `UsageError` for a name or number it cannot use.
    """
    match = re.fullmatch(r"(.+?)(?:x(\d{1,9}))?", text.strip())
    name, count = (match[1].strip(), int(match[2] or 1)) if match else ("", 0)
    if not 1 <= count <= _MOST_GPUS:
        raise UsageError(
            f"plan:{text} does not say how many GPUs, from 1 to {_MOST_GPUS}.", 'Write it as "plan:H100 SXM5 80GBx8".'
        )
    row = _row_named(name)
    later: dict[str, Any] = {"version": _LATER, "cuda": _LATER, "nvml": _LATER}
    return Machine.model_validate(
        {
            "tool_version": __version__,
            "taken_at": datetime.datetime.now(datetime.UTC).replace(microsecond=0),
            "driver": {**later, "branch": _LATER, "confidential_computing": _LATER, "cuda_start": _LATER},
            "gpus": [_planned_gpu(index, row, name) for index in range(count)],
            "links": (),
            "host": {field: _LATER for field in Host.model_fields if field != "disks"} | {"disks": ()},
            "runtimes": (),
            "problems": (),
        }
    )


def _planned_gpu(index: int, row: GpuRow, typed: str) -> Gpu:
    known: dict[str, Any] = {
        "name": _nvml_name(row, typed),
        "architecture": row.architecture,
        "compute_capability": row.compute_capability,
        "memory_bandwidth_gb_s": row.memory_bandwidth_gb_s,
    }
    if row.nvml_memory_mib is not None and len(row.memory_gb) == 1:
        known["memory_total_bytes"] = row.nvml_memory_mib * 1024**2
    elif len(row.memory_gb) == 1 and not row.unified_memory:
        known["memory_total_bytes"] = int(row.memory_gb[0] * 1e9)  # no GPU of the catalogue reports less than this
    if len(row.power_w) == 1:
        known["power_limit_w"] = row.power_w[0]
    readings: dict[str, Any] = {name: {"value": value, "source": PLAN} for name, value in known.items()}
    kind = "unified" if row.unified_memory else "dedicated"
    return Gpu.sparse(index, why="known_on_delivery", source=PLAN, memory_kind=kind, **readings)


def _nvml_name(row: GpuRow, typed: str) -> str:
    """Give the name that NVML will report, where the row has one; else the row's own."""
    if re.fullmatch(row.nvml_name, typed):
        return typed
    return row.name if re.search(r"[\\()|*\[]", row.nvml_name) else row.nvml_name


def _row_named(name: str) -> GpuRow:
    found = gpu_row(name) or _row_called(name)
    if found is not None:
        return found
    wanted = name.casefold()
    near = [row for row in gpus() if wanted and wanted in row.name.casefold()]
    if len(near) == 1:
        return near[0]
    names = ", ".join(row.name for row in near[:8])
    if near:
        raise UsageError(f'"{name}" is not one GPU of the catalogue but several.', f"Write one of: {names}.")
    raise UsageError(
        f'There is no GPU "{name}" in the catalogue.',
        "Write a name such as H100 SXM5 80GB, or the name that nvidia-smi shows.",
    )


def _row_called(name: str) -> GpuRow | None:
    return next((row for row in gpus() if row.name.casefold() == name.casefold()), None)
