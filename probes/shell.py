"""What the shell lets a CUDA program see; NVML shows every GPU whatever it says.

The rules are those of CUDA's programming guide, part "CUDA environment variables": an empty list hides all GPUs, the
first entry that is no GPU hides what follows, a GPU may be named by its number, by its UUID or by an unambiguous
beginning of it, a name given twice hides everything, and of MIG slices only the first counts.
"""

import os
import re
from collections.abc import Mapping, Sequence

from probes.machine import Gpu, Shell
from probes.reading import Reading

VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"


def read_shell(gpus: Sequence[Gpu], environ: Mapping[str, str] = os.environ) -> Shell:
    """Tell which of `gpus` a CUDA program started from this shell would see, in CUDA's order."""
    raw, order = environ.get(VISIBLE), environ.get(ORDER)
    visible, slices = _visible(raw, tuple(gpus), mixed=order is None and is_mixed(gpus))
    return Shell(
        cuda_visible_devices=_variable(VISIBLE, raw),
        cuda_device_order=_variable(ORDER, order),
        visible_gpus=visible,
        visible_slices=slices,
    )


def is_mixed(gpus: Sequence[Gpu]) -> bool:
    """Whether the GPUs differ in model, so that CUDA's own order (the fastest first) need not be NVML's."""
    return len({gpu.name.value for gpu in gpus if gpu.usable}) > 1


def _variable(name: str, value: str | None) -> Reading[str]:
    if value is None:
        return Reading.absent("not_supported", f"env:{name}")
    return Reading.of(value.encode(errors="replace").decode(), f"env:{name}")


_Visible = tuple[Reading[tuple[int, ...]], Reading[tuple[str, ...]]]


def _visible(raw: str | None, gpus: tuple[Gpu, ...], *, mixed: bool) -> _Visible:
    source = f"env:{VISIBLE}"
    # CUDA counts in the order of the bus where CUDA_DEVICE_ORDER says so, and else where all are alike.
    counted = sorted((gpu for gpu in gpus if gpu.usable), key=lambda gpu: (gpu.pci_bus_id.value or "", gpu.index))
    none: Reading[tuple[str, ...]] = Reading.of((), source)
    if raw is None:
        order = tuple(gpu.index for gpu in counted)
        return (Reading.absent("unknown", source) if mixed else Reading.of(order, source)), none
    entries = [entry.strip() for entry in raw.split(",")]
    if entries[0].startswith("MIG-"):
        found = _slice(entries[0], gpus)
        return Reading.of((), source), Reading.of((found,) if found else (), source)
    chosen: list[int] = []
    for entry in entries:
        position = _position(entry, counted)
        if position is None:
            break
        if position in chosen:
            return Reading.of((), source), none
        chosen.append(position)
    if mixed and any(entry.isdecimal() for entry in entries[: len(chosen)]):
        return Reading.absent("unknown", source), none
    return Reading.of(tuple(counted[position].index for position in chosen), source), none


def _position(entry: str, counted: list[Gpu]) -> int | None:
    """Find the GPU that an entry names; None where it names none, or more than one."""
    if entry.startswith("GPU-"):
        found = [place for place, gpu in enumerate(counted) if (gpu.uuid.value or "").startswith(entry)]
        return found[0] if len(found) == 1 else None
    digits = re.match(r"\d+", entry)  # as C reads a number: what follows it is not looked at
    number = int(digits[0]) if digits else -1
    return number if 0 <= number < len(counted) else None


def _slice(entry: str, gpus: tuple[Gpu, ...]) -> str | None:
    """Find a MIG slice by its UUID, a beginning of it, or the older MIG-GPU-<uuid>/<instance>/<instance>."""
    found = []
    for gpu in gpus:
        for part in gpu.mig.instances:
            old = f"MIG-{gpu.uuid.value}/{part.gpu_instance_id.value}/{part.compute_instance_id.value}"
            if part.uuid.value and (part.uuid.value.startswith(entry) or entry == old):
                found.append(part.uuid.value)
    return found[0] if len(found) == 1 else None
