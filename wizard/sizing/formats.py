"""How many bytes a quantised checkpoint takes for a matrix, its scales included, and which matrices it leaves alone.

Sources: vLLM 0.32.0 `model_executor/layers/quantization/*.py`, function `create_weights` of each method.
"""

import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal

from probes.models.configuration import ModelConfiguration
from wizard.sizing.layers import NotCovered
from wizard.sizing.tensors import Tensor

Rate = Literal["bf16", "fp8", "int8", "fp4"]


@dataclass(frozen=True)
class WeightFormat:
    """Bytes of an element, and of the scales: one for each `block` of rows × columns (0: the whole side).

    `rate` is the fastest arithmetic that a kernel may use with it. Modules that `skipped` matches stay as they are;
    with `experts_only` everything but the experts does. `expert_steps` are what kernels round the experts' inner and
    hidden size up to.
    """

    name: str
    element_bytes: float
    block: tuple[int, int]
    scale_bytes: float
    rate: Rate
    skipped: tuple[str, ...] = ()
    experts_only: bool = False
    expert_steps: tuple[int, int] | None = None

    def applies(self, tensor: Tensor) -> bool:
        """Whether the checkpoint stores this tensor in the format."""
        if not tensor.linear or (self.experts_only and not tensor.split.startswith("expert")):
            return False
        return not _matches(tensor.module, self.skipped)

    def padded(self, tensor: Tensor) -> Tensor:
        """The tensor as the kernels lay it out."""
        if self.expert_steps is None or not tensor.split.startswith("expert"):
            return tensor
        inner, hidden = self.expert_steps
        if tensor.split == "expert_rows":  # gate and up, each of the inner size
            rows = 2 * (ceil(tensor.rows / 2 / inner) * inner)
            return replace(tensor, rows=rows, columns=_up(tensor.columns, hidden))
        return replace(tensor, rows=_up(tensor.rows, hidden), columns=_up(tensor.columns, inner))

    def stored_bytes(self, tensor: Tensor) -> int:
        """Bytes of the tensor with its scales."""
        rows, columns = (side or whole for side, whole in zip(self.block, (tensor.rows, tensor.columns), strict=True))
        scales = ceil(tensor.rows / rows) * ceil(tensor.columns / columns)
        return tensor.copies * round(tensor.rows * tensor.columns * self.element_bytes + scales * self.scale_bytes)


def weight_format(configuration: ModelConfiguration) -> WeightFormat | NotCovered | None:
    """The format of the checkpoint; None where it is not quantised."""
    settings = _settings(configuration)
    if settings is None:
        return None
    method = str(settings.get("quant_method") or settings.get("quant_algo") or "").casefold()
    builder = _METHODS.get(method)
    if builder is None:
        return NotCovered(f"the formula does not know the bytes of the weight format {method or 'left out'}")
    return builder(settings, _skipped(settings))


def cache_type_of_checkpoint(configuration: ModelConfiguration) -> str | None:
    """The cache type that a checkpoint asks for under `auto`: FP8 where it carries scales for it."""
    settings = _settings(configuration) or {}
    scheme = settings.get("kv_cache_scheme")
    if isinstance(scheme, dict) and scheme.get("type") == "float" and scheme.get("num_bits") == 8:
        return "fp8"
    algorithms = (settings.get("kv_cache_quant_algo"), _modelopt_part(configuration).get("kv_cache_quant_algo"))
    return "fp8" if "FP8" in algorithms else None


def _up(size: int, step: int) -> int:
    return size if size == 1 else ceil(size / step) * step  # a vector has one column and keeps it


def stored(tensors: Iterable[Tensor], own_bytes: int, form: WeightFormat | None, *, padded: bool = True) -> int:
    """Bytes of tensors in the model's own type (`own_bytes` an element) and, where it applies, in the format.

    Without `padded` only what the checkpoint itself says, which is the least that a kernel must read.
    """
    total = 0
    for tensor in tensors:
        if form is not None and padded:
            tensor = form.padded(tensor)
        if form is not None and form.applies(tensor):
            total += form.stored_bytes(tensor)
        else:
            total += tensor.elements * (tensor.element_bytes or own_bytes)
    return total


def _settings(configuration: ModelConfiguration) -> dict[str, Any] | None:
    for part in (configuration.whole, configuration.text):
        for key in ("quantization_config", "compression_config"):
            if isinstance(part.get(key), dict):
                return dict(part[key])
    inner = _modelopt_part(configuration)
    return inner if inner.get("quant_algo") else None


def _modelopt_part(configuration: ModelConfiguration) -> dict[str, Any]:
    inner = (configuration.modelopt or {}).get("quantization")
    return dict(inner) if isinstance(inner, dict) else {}


def _skipped(settings: Mapping[str, Any]) -> tuple[str, ...]:
    for key in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"):
        value = settings.get(key)
        if isinstance(value, list):
            return tuple(item for item in value if isinstance(item, str))
    return ()


@functools.lru_cache(maxsize=1 << 16)
def _matches(module: str, patterns: tuple[str, ...]) -> bool:
    exact, expression = _compiled(patterns)
    if module in exact or any(part in exact for part in module.split(".")):
        return True
    return expression is not None and expression.search(module) is not None


@functools.lru_cache(maxsize=32)
def _compiled(patterns: tuple[str, ...]) -> tuple[frozenset[str], re.Pattern[str] | None]:
    """Names to compare and one expression to search: lists of hundreds of names are asked for every tensor."""
    exact = {pattern for pattern in patterns if "*" not in pattern and not pattern.startswith("re:")}
    written = []
    for pattern in patterns:
        if pattern.startswith("re:"):
            written.append(f"^(?:{pattern.removeprefix('re:')})")
        elif "*" in pattern:
            written.append(f"^(?:{fnmatch.translate(pattern)})")
        else:
            written.append(f"^{re.escape(pattern)}\\.")  # a module stands for all below it
    try:
        expression = re.compile("|".join(f"(?:{part})" for part in written)) if written else None
    except re.error:
        expression = None
    return frozenset(exact), expression


def _fp8(settings: Mapping[str, Any], skipped: tuple[str, ...]) -> WeightFormat | NotCovered:
    block = settings.get("weight_block_size")
    if isinstance(block, list) and len(block) == 2 and all(isinstance(side, int) and side > 0 for side in block):
        return WeightFormat(f"fp8, blocks of {block[0]}×{block[1]}", 1, (block[0], block[1]), 4, "fp8", skipped)
    return WeightFormat("fp8, a scale a matrix", 1, (0, 0), 8, "fp8", skipped)


def _mxfp4(_: Mapping[str, Any], skipped: tuple[str, ...]) -> WeightFormat | NotCovered:
    # The steps of the Marlin and TensorRT-LLM kernels; Triton's are smaller on some GPUs.
    name = "mxfp4 experts, groups of 32, padded as the widest kernels do"
    return WeightFormat(name, 0.5, (1, 32), 1, "fp4", skipped, experts_only=True, expert_steps=(128, 256))


def _modelopt(settings: Mapping[str, Any], skipped: tuple[str, ...]) -> WeightFormat | NotCovered:
    algorithm = str(settings.get("quant_algo") or "").upper()
    if algorithm == "FP8":
        return WeightFormat("fp8, a scale a matrix", 1, (0, 0), 8, "fp8", skipped)
    if algorithm == "NVFP4":
        group = settings.get("group_size")
        size = group if isinstance(group, int) and group > 0 else 16
        return WeightFormat(f"nvfp4, groups of {size}", 0.5, (1, size), 1, "fp4", skipped)
    return NotCovered(f"the formula does not know the bytes of the weight format {algorithm or 'left out'}")


def _compressed(settings: Mapping[str, Any], skipped: tuple[str, ...]) -> WeightFormat | NotCovered:
    groups = settings.get("config_groups")
    listed = groups.values() if isinstance(groups, dict) else ()
    weights = [group.get("weights") for group in listed if isinstance(group, dict)]
    if len(weights) != 1 or not isinstance(weights[0], dict):
        return NotCovered("the formula knows checkpoints of compressed-tensors with one group of settings only")
    bits, kind, size = weights[0].get("num_bits"), weights[0].get("type"), weights[0].get("group_size")
    group = size if isinstance(size, int) and size > 0 else 0
    if kind == "float" and bits == 4:
        return WeightFormat(f"nvfp4, groups of {group or 16}", 0.5, (1, group or 16), 1, "fp4", skipped)
    if bits == 8:
        rate: Rate = "fp8" if kind == "float" else "int8"
        per_matrix = weights[0].get("strategy") == "tensor"
        return WeightFormat(f"{rate}, a scale a row", 1, (0, 0) if per_matrix else (1, 0), 4, rate, skipped)
    if kind == "int" and bits == 4:
        return WeightFormat(f"int4, groups of {group or 'a row'}", 0.5, (1, group), 2, "fp8", skipped)
    return NotCovered("the formula does not know the bytes of these settings of compressed-tensors")


def _grouped_int4(settings: Mapping[str, Any], skipped: tuple[str, ...]) -> WeightFormat | NotCovered:
    bits, size = settings.get("bits", settings.get("w_bit")), settings.get("group_size", settings.get("q_group_size"))
    if bits != 4 or not isinstance(size, int):
        return NotCovered("the formula knows AWQ and GPTQ with 4 bits only")
    group = size if size > 0 else 0
    return WeightFormat(f"int4, groups of {group or 'a row'}", 0.5, (1, group), 2.5, "fp8", skipped)  # scale and zero


_METHODS = {
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "gpt_oss_mxfp4": _mxfp4,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "nvfp4": _modelopt,
    "compressed-tensors": _compressed,
    "awq": _grouped_int4,
    "auto_awq": _grouped_int4,
    "gptq": _grouped_int4,
    "auto_gptq": _grouped_int4,
}

#: Formats that vLLM makes of unquantised weights while it loads them (`--quantization`).
ONLINE: Mapping[str, WeightFormat] = {
    "fp8": WeightFormat("fp8, a scale a matrix", 1, (0, 0), 4, "fp8"),
    "fp8_per_tensor": WeightFormat("fp8, a scale a matrix", 1, (0, 0), 4, "fp8"),
    "fp8_per_channel": WeightFormat("fp8, a scale a row", 1, (1, 0), 4, "fp8"),
    "fp8_per_block": WeightFormat("fp8, blocks of 128×128", 1, (128, 128), 4, "fp8"),
}
