"""What a model's weights take, exactly, from the headers of its safetensors files; no weight is read."""

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.models.configuration import shown
from probes.paths import expanded

_MOST_HEADER_BYTES = 100_000_000  # the format's own limit
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class WeightFiles:
    """The weights of a folder: bytes and elements by data type as safetensors names it (`BF16`, `F8_E4M3`, …)."""

    bytes_by_dtype: dict[str, int]
    elements_by_dtype: dict[str, int]
    files: int

    @property
    def total_bytes(self) -> int:
        """All tensors together, without the headers."""
        return sum(self.bytes_by_dtype.values())


def read_weights(path: Path) -> WeightFiles | None:
    """Read the headers of all safetensors files in the folder `path`; None where there are none.

    Raises `ProbeError` where a header is damaged, or the index names files that are missing.
    """
    folder = expanded(path)
    names = _named_by_index(folder) or tuple(sorted(file.name for file in folder.glob("*.safetensors")))
    if not names:
        return None
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise ProbeError(
            f"The index of the weights in {shown(folder)} names {len(missing)} of {len(names)} files that are missing, "
            f"{missing[0]} first.",
            "Finish the download, or fetch these files again.",
        )
    sizes: dict[str, int] = {}
    elements: dict[str, int] = {}
    for name in names:
        for tensor in _header(folder / name):
            dtype = tensor["dtype"]
            start, end = tensor["data_offsets"]
            sizes[dtype] = sizes.get(dtype, 0) + end - start
            elements[dtype] = elements.get(dtype, 0) + math.prod(tensor["shape"])
    return WeightFiles(sizes, elements, len(names))


def _named_by_index(folder: Path) -> tuple[str, ...]:
    index = folder / "model.safetensors.index.json"
    try:
        parts = json.loads(index.read_bytes())["weight_map"].values()
        names = sorted({name for name in parts if isinstance(name, str)})
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise ProbeError(f"{shown(index)} is no index of weights.", "Download the file again.") from None
    if any("/" in name or name.startswith(".") for name in names):
        raise ProbeError(
            f"{shown(index)} names files outside its folder.", "Take the model from its publisher, not from elsewhere."
        )
    return tuple(names)


def _header(file: Path) -> list[dict[str, Any]]:
    damaged = ProbeError(
        f"{shown(file)} has no readable safetensors header.", "Download the file again; it may be cut off."
    )
    try:
        with file.open("rb") as stream:
            (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
            size = file.stat().st_size
            if length > min(_MOST_HEADER_BYTES, size):
                raise damaged
            header = json.loads(stream.read(length))
        tensors = [value for key, value in header.items() if key != "__metadata__"]
        if any(not _possible(tensor, size) for tensor in tensors):
            raise damaged
    except (OSError, ValueError, struct.error, AttributeError, RecursionError):
        raise damaged from None
    return tensors


def _possible(tensor: Any, file_bytes: int) -> bool:
    if not isinstance(tensor, dict) or not isinstance(tensor.get("dtype"), str):
        return False
    offsets, shape = tensor.get("data_offsets"), tensor.get("shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not isinstance(shape, list):
        return False
    if not all(isinstance(number, int) and number >= 0 for number in (*offsets, *shape)):
        return False
    return int(offsets[0]) <= int(offsets[1]) <= file_bytes
