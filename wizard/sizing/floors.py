"""The least time that physics allows: bytes over bandwidth, operations over peak rate.

A floor must never refute wrongly, so everything that an engine may save is left out of it: weights of experts that one
token does not choose, what the greatest cache of a GPU may keep, further requests of a step, the attention itself, all
but the uncached tokens of a prompt, and with speculation all steps but one of the longest run of accepted tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from probes.models.configuration import ModelConfiguration
from wizard.sizing.answer import Floor
from wizard.sizing.formats import WeightFormat, stored
from wizard.sizing.request import SizeRequest
from wizard.sizing.tensors import Tensor

#: No GPU of the catalogue keeps more than this near its processors (256 MB, the last-level cache of AMD's MI300).
_CACHE_BYTES = 256 * 10**6
_VISION = ("visual", "vision", "multi_modal", "embed_vision")


@dataclass(frozen=True)
class Ceilings:
    """Latency limits in milliseconds, and the output tokens of a call, which E2E depends on; None is not given."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class BelowFloor:
    """A ceiling that no engine can keep on this hardware."""

    metric: str
    ceiling_ms: float
    floor_ms: float

    @property
    def name(self) -> str:
        """The metric as it is written: TTFT, TPOT, E2E."""
        return self.metric.removesuffix("_ms").upper()


@dataclass(frozen=True)
class Passed:
    """What every token must pass at least: bytes of weights, and their matrices' elements."""

    bytes: int
    elements: int


def passed(
    tensors: Sequence[Tensor], configuration: ModelConfiguration, form: WeightFormat | None, own_bytes: int
) -> Passed:
    """What one token passes of the weights, whatever the layout."""
    active = _active(tensors, configuration)
    matrices = sum(tensor.elements for tensor in active if tensor.layer is not None and tensor.columns > 1)
    return Passed(stored(active, own_bytes, form, padded=False), matrices)


def floors(way: Passed | None, form: WeightFormat | None, kv_token_bytes: float, request: SizeRequest) -> Floor:
    """The floors of one request.

    `kv_token_bytes` is what a step must read back for one token of context on one rank; 0 where it is not certain.
    """
    gpu = request.gpu
    if way is None:
        return Floor(None, None, "the weights of this architecture are not known")
    if gpu is None:
        return Floor(None, None, "no GPU was named")
    share = request.tensor_parallel * request.data_parallel  # data parallel ranks may share the experts
    moved = way.bytes / share - _CACHE_BYTES * request.pipeline_parallel
    moved += kv_token_bytes * (request.input_tokens or 0)
    tpot = ttft = step = None
    said = []
    if gpu.bandwidth_gb_s:
        step = max(moved, 0) / (gpu.bandwidth_gb_s * 1e9) * 1e3
        tpot = None if request.speculative_tokens is None else step / (1 + request.speculative_tokens)
        said.append(f"a step reads at least {max(moved, 0) / 1e9:.1f} GB a GPU at {gpu.bandwidth_gb_s:,.0f} GB/s")
    else:
        said.append("the memory bandwidth is not known")
    rate = _rate(gpu.tflops, form)
    fresh = uncached_tokens(request)
    if rate and fresh is not None:
        operations = 2 * way.elements * fresh
        ttft = max(operations / (rate * 1e12 * request.ranks) * 1e3, step or 0.0)
        said.append(
            f"{fresh:,} uncached prompt tokens need {operations / 1e12:,.1f} tera-operations at {rate:,.0f} TFLOPS"
        )
    elif step is not None:
        ttft = step
    return Floor(tpot, ttft, "; ".join(said))


def uncached_tokens(request: SizeRequest) -> int | None:
    """Prompt tokens that no cache can hold already: neither the shared prefix nor earlier turns."""
    if request.input_tokens is None:
        return None
    return max(0, request.input_tokens - request.shared_prefix_tokens) // max(1, request.turns)


def below_floor(floor: Floor, ceilings: Ceilings) -> list[BelowFloor]:
    """The ceilings that are below their floors, each a blocking finding. E2E is a first token and all that follow."""
    pairs = (
        ("ttft_ms", ceilings.ttft_ms, floor.ttft_ms),
        ("tpot_ms", ceilings.tpot_ms, floor.tpot_ms),
        ("e2e_ms", ceilings.e2e_ms, floor.e2e_ms(ceilings.output_tokens)),
    )
    return [
        BelowFloor(metric, ceiling, least)
        for metric, ceiling, least in pairs
        if ceiling is not None and least is not None and ceiling < least
    ]


def _active(tensors: Sequence[Tensor], configuration: ModelConfiguration) -> list[Tensor]:
    """The tensors that one token must pass: of experts the chosen ones, no vision encoder, no table of embeddings."""
    chosen = configuration.count("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts")
    tied = not any(tensor.module == "lm_head" for tensor in tensors)
    found = []
    for tensor in tensors:
        if any(word in tensor.module for word in _VISION):
            continue
        if tensor.module.endswith("embed_tokens") and not tied:
            continue
        if tensor.split.startswith("expert") and tensor.copies > 1:
            copies = min(tensor.copies, chosen or 1)
            tensor = Tensor(
                tensor.module,
                tensor.rows,
                tensor.columns,
                tensor.split,
                copies,
                tensor.layer,
                tensor.where,
                tensor.linear,
                tensor.element_bytes,
            )
        found.append(tensor)
    return found


def _rate(tflops: tuple[tuple[str, float], ...], form: WeightFormat | None) -> float | None:
    """The fastest arithmetic that a kernel may use: for quantised weights the fastest there is."""
    known = dict(tflops)
    names = ("bf16", "fp16") if form is None else tuple(known)
    return max((known[name] for name in names if name in known), default=None)
