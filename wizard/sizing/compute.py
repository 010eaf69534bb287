"""Does it fit, and how many requests at a time: one question, one answer, in a few milliseconds."""

import functools
from collections import Counter
from dataclasses import dataclass, replace

from probes.models.configuration import LAYERS, ModelConfiguration
from probes.models.weights import WeightFiles
from wizard.sizing.answer import Floor, Sizing, Term
from wizard.sizing.dtypes import CACHE_TYPES, DTYPE_BYTES, model_dtype
from wizard.sizing.families import model_tensors
from wizard.sizing.floors import Passed, floors, passed
from wizard.sizing.formats import ONLINE, WeightFormat, cache_type_of_checkpoint, stored, weight_format
from wizard.sizing.layers import Attention, CacheShape, NotCovered, cache_shape
from wizard.sizing.memory import batch_defaults, overheads, reserved_bytes
from wizard.sizing.planner import CachePlan, PlannerInputs, concurrency, plan, stage_bounds
from wizard.sizing.request import SizeRequest, check
from wizard.sizing.tensors import Ranks, Tensor, on_rank, on_stage


@dataclass(frozen=True)
class _Weights:
    """Weights whole and on each stage; None where they are not known."""

    parameters: int | None = None
    whole: int | None = None
    stages: tuple[int, ...] | None = None
    method: str = ""
    form: WeightFormat | None = None
    way: Passed | None = None
    because: str | None = None


@dataclass(frozen=True)
class _Cache:
    """The plan of the asked layout, the one without any, the one of the workload's length, and of its own tokens."""

    layout: CachePlan
    alone: CachePlan
    workload: CachePlan | None
    own: CachePlan | None


def compute(configuration: ModelConfiguration, request: SizeRequest, weights: WeightFiles | None = None) -> Sizing:
    """Answer one question by the formula. Raises `UsageError` and `ProbeError` for what cannot be asked or read."""
    missing: list[str] = []
    shape = _shape(configuration)
    context = check(request, configuration, None if isinstance(shape, NotCovered) else shape)
    held = _weights(configuration, request, weights)
    if held.because:
        missing.append(f"weights: {held.because}")
    cache, kv_token = None, 0.0
    if isinstance(shape, NotCovered):
        missing.append(f"KV cache: {shape.because}")
    else:
        cache = _cache(configuration, shape, request, context)
        kv_token = _token_bytes(configuration, shape, request)
    _say_what_is_left_out(configuration, request, held, missing)
    floor = floors(held.way, held.form, kv_token, request)
    return _answer(configuration, request, context, held, cache, floor, tuple(missing))


# A question is asked again and again with one thing changed; what does not depend on that thing is remembered.
_shape = functools.lru_cache(maxsize=16)(cache_shape)
_tensors = functools.lru_cache(maxsize=16)(model_tensors)
_plan = functools.lru_cache(maxsize=1024)(plan)


def _weights(configuration: ModelConfiguration, request: SizeRequest, files: WeightFiles | None) -> _Weights:
    experts = request.tensor_parallel * request.data_parallel
    ranks = Ranks(request.tensor_parallel, experts, request.expert_parallel)
    held = _by_formula(configuration, request.quantization, ranks, request.pipeline_parallel)
    if held.whole is not None or files is None:
        return held
    # What the files take, as far as nothing is divided.
    stages = (files.total_bytes,) if request.ranks == 1 else None
    return replace(held, whole=files.total_bytes, stages=stages, method="headers of the safetensors files")


@functools.lru_cache(maxsize=512)
def _by_formula(configuration: ModelConfiguration, quantization: str | None, ranks: Ranks, stages: int) -> _Weights:
    tensors, form = _tensors(configuration), weight_format(configuration)
    if isinstance(tensors, NotCovered):
        return _Weights(because=tensors.because)
    if form is None and quantization:
        form = ONLINE.get(quantization) or NotCovered(
            f"the formula does not know the bytes of unquantised weights under --quantization {quantization}"
        )
    parameters = sum(tensor.elements for tensor in tensors)
    if isinstance(form, NotCovered):
        return _Weights(parameters, because=form.because)
    own = DTYPE_BYTES[model_dtype(configuration)]
    count = configuration.needed(*LAYERS)
    tensors, alike = _alike(configuration, form)
    held = []
    for first, last in stage_bounds(count, stages):
        times = Counter(alike[id(tensor)] for tensor in on_stage(tensors, first, last, count))
        held.append(sum(number * stored([on_rank(tensors[at], ranks)], own, form) for at, number in times.items()))
    whole, way = _whole(configuration, form)
    method = f"vLLM's own matrices in {form.name}" if form else "vLLM's own matrices"
    return _Weights(parameters, whole, tuple(held), method, form, way)


@functools.lru_cache(maxsize=64)
def _alike(configuration: ModelConfiguration, form: WeightFormat | None) -> tuple[list[Tensor], dict[int, int]]:
    """The tensors, and for each (by identity) the place of the first that takes the same bytes: layers repeat."""
    tensors = _tensors(configuration)
    assert not isinstance(tensors, NotCovered)  # noqa: S101  # the caller has looked
    firsts: dict[tuple[object, ...], int] = {}
    found = {}
    for at, tensor in enumerate(tensors):
        kind = (
            (tensor.rows, tensor.columns, tensor.split, tensor.copies, tensor.kv_heads),
            (tensor.element_bytes, form is not None and form.applies(tensor)),
        )
        found[id(tensor)] = firsts.setdefault(kind, at)
    return tensors, found


@functools.lru_cache(maxsize=64)
def _whole(configuration: ModelConfiguration, form: WeightFormat | None) -> tuple[int, Passed]:
    tensors = _tensors(configuration)
    assert not isinstance(tensors, NotCovered)  # noqa: S101  # the caller has looked
    own = DTYPE_BYTES[model_dtype(configuration)]
    return stored(tensors, own, form), passed(tensors, configuration, form, own)


def _cache(configuration: ModelConfiguration, shape: CacheShape, request: SizeRequest, context: int) -> _Cache:
    inputs = PlannerInputs(
        context=context,
        planner=request.planner,
        block_size=request.block_size,
        kv_cache_dtype=_cache_type(configuration, request),
        max_num_batched_tokens=batch_defaults(request)[0],
        tensor_parallel=request.tensor_parallel,
        pipeline_parallel=request.pipeline_parallel,
        prefix_caching=request.prefix_caching,
    )
    layout = _plan(shape, inputs)
    alone = _plan(shape, replace(inputs, tensor_parallel=1, pipeline_parallel=1))
    length = _workload_tokens(request)
    workload = _plan(shape, replace(inputs, context=min(length, context))) if length else None
    shared = request.shared_prefix_tokens if request.prefix_caching else 0
    own = _plan(shape, replace(inputs, context=max(1, min(length, context) - shared))) if length else None
    return _Cache(layout, alone, workload, own)


def _cache_type(configuration: ModelConfiguration, request: SizeRequest) -> str:
    if request.kv_cache_dtype != "auto":
        return request.kv_cache_dtype
    return cache_type_of_checkpoint(configuration) or "auto"


def _workload_tokens(request: SizeRequest) -> int | None:
    if request.input_tokens is None and request.output_tokens is None:
        return None
    return (request.input_tokens or 0) + (request.output_tokens or 0)


def _token_bytes(configuration: ModelConfiguration, shape: CacheShape, request: SizeRequest) -> float:
    """What one token of context is read back for at least, on one rank: layers that see everything, no window."""
    name = _cache_type(configuration, request)
    element = CACHE_TYPES.get(shape.dtype if name == "auto" else name, (2.0, 0))[0]
    total = 0.0
    for layer in shape.layers:
        if isinstance(layer, Attention) and layer.kind in ("full", "mla"):
            total += layer.kv_heads * (layer.key_dim + layer.value_dim) * element
    return total / request.tensor_parallel  # context parallelism may share even a latent out


def _say_what_is_left_out(
    configuration: ModelConfiguration, request: SizeRequest, held: _Weights, missing: list[str]
) -> None:
    if request.gpu is not None and request.gpu.reserve_bytes is None:
        missing.append("what the driver keeps of the GPU's memory is not known: the reserved share may be 1 % too high")
    if request.speculative_tokens != 0:
        missing.append("weights and cache of a draft model")
    if configuration.vision is not None:
        missing.append("the cache of encoded pictures")
    if held.form and held.form.expert_steps:
        missing.append("which MXFP4 kernel is used: the widest padding is counted, others take up to 7 % less")
    if held.form and configuration.count("kv_lora_rank"):
        missing.append("the unquantised copy of the latent projections that MLA kernels keep")


def _answer(
    configuration: ModelConfiguration,
    request: SizeRequest,
    context: int,
    held: _Weights,
    cache: _Cache | None,
    floor: Floor,
    missing: tuple[str, ...],
) -> Sizing:
    gpu = request.gpu
    terms: list[Term] = []
    if held.stages is not None:
        terms.append(Term("weights", max(held.stages), held.method))
    if held.stages is not None or cache is not None:
        terms += overheads(configuration, request)
    beside = sum(term.bytes for term in terms if term.name != "weights")
    reserved = reserved_bytes(gpu, request.gpu_memory_utilization) if gpu else None
    room = None
    if reserved is not None and held.stages is not None:
        room = [reserved - weight - beside for weight in held.stages]
    required = fits = most = at_workload = start = least = None
    if cache is not None:
        kv = _kv_term(request, context, cache)
        terms.append(kv)
        if held.stages is not None:
            required = max(held.stages) + beside + kv.bytes
            start, least = _least(request, held.stages, cache)
        if room is not None:
            most = concurrency(cache.layout, room)
            if most is not None and cache.workload is not None:
                at_workload = most * cache.layout.blocks_per_request / cache.workload.blocks_per_request
        if required is not None and reserved is not None:
            fits = most is not None and required <= reserved
    elif held.stages is not None and reserved is not None and max(held.stages) > reserved:
        fits = False
    return Sizing(
        model=configuration.name,
        architecture=configuration.architecture,
        method="formula",
        method_note=None,
        context=context,
        parameters=held.parameters,
        weight_bytes=held.whole,
        weight_bytes_per_gpu=max(held.stages) if held.stages is not None else None,
        kv_bytes_per_request=max(cache.alone.bytes_per_request) if cache else None,
        kv_bytes_per_request_per_gpu=max(cache.layout.bytes_per_request) if cache else None,
        state_bytes_per_request=cache.alone.state_bytes_per_request if cache else None,
        block_size=cache.layout.block_size if cache else None,
        assumptions=_assumptions(request, cache),
        start_bytes_per_gpu=start,
        least_bytes_per_gpu=least,
        required_bytes_per_gpu=required,
        reserved_bytes_per_gpu=reserved,
        free_bytes_per_gpu=gpu.free_bytes if gpu else None,
        kv_room_bytes_per_gpu=max(0, min(room)) if room is not None else None,
        max_concurrency=most,
        max_concurrency_at_workload=at_workload,
        fits=fits,
        floor=floor,
        terms=tuple(terms),
        not_modelled=missing,
    )


def _calls(request: SizeRequest) -> int:
    """Calls in flight in one engine: data parallel ranks share them out."""
    return -(-(request.concurrency or 1) // request.data_parallel)


def _least(request: SizeRequest, stages: tuple[int, ...], cache: _Cache) -> tuple[int, int]:
    """What a start and the asked load need at least, on the GPU that needs most of it."""
    alone = cache.layout.blocks_per_request + 1
    blocks = alone
    if cache.workload is not None and cache.own is not None:
        calls = min(_calls(request), batch_defaults(request)[1])  # more than a batch wait and hold nothing
        shared = cache.workload.blocks_per_request - cache.own.blocks_per_request
        blocks = max(alone, shared + calls * cache.own.blocks_per_request + 1)
    pairs = list(zip(stages, cache.layout.bytes_per_block, strict=True))
    return max(held + alone * block for held, block in pairs), max(held + blocks * block for held, block in pairs)


def _kv_term(request: SizeRequest, context: int, cache: _Cache) -> Term:
    """The cache that all calls in flight need, and never less than one request of full length, which a start needs."""
    calls = _calls(request)
    each = cache.workload or cache.layout
    blocks = max(calls * each.blocks_per_request, cache.layout.blocks_per_request) + 1
    length = _workload_tokens(request) or context
    size = blocks * max(cache.layout.bytes_per_block, default=0)
    return Term("KV cache", size, f"vLLM's plan: {calls:,} × {length:,} tokens, and one block that is held back")


def _assumptions(request: SizeRequest, cache: _Cache | None) -> dict[str, int]:
    found = {"max_num_batched_tokens": batch_defaults(request)[0]}
    if cache is not None:
        found |= {
            "batches_in_flight": cache.layout.batches_in_flight,
            "sliding_block_size": cache.layout.sliding_block_size,
        }
    return found
