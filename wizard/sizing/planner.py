"""How vLLM shares cache memory out in blocks: a reproduction of its planner, to the byte.

Sources: vLLM 0.32.0 `v1/core/kv_cache_utils.py` (`get_kv_cache_groups`, `_get_kv_cache_groups_uniform_page_size`,
`unify_kv_cache_spec_page_size`, `_max_memory_usage_bytes_from_groups`, `get_max_concurrency_for_kv_cache_config`),
`v1/kv_cache_interface.py` (`max_memory_usage_bytes` of each kind) and `platforms/interface.py`
(`_align_hybrid_block_size`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from wizard.sizing.dtypes import CACHE_TYPES, DTYPE_BYTES
from wizard.sizing.layers import Attention, CacheShape, Layer, State

Planner = Literal["cuda", "cpu"]

#: Blocks that the attention kernels take are multiples of this (FlashAttention on CUDA, the CPU build's kernel).
KERNEL_BLOCK: dict[Planner, int] = {"cuda": 16, "cpu": 32}
DEFAULT_BLOCK: dict[Planner, int] = {"cuda": 16, "cpu": 128}


@dataclass(frozen=True)
class PlannerInputs:
    """What the plan depends on besides the model. `block_size` is what was asked for; None: the runtime chooses.

    `batches_in_flight` None is the planner's own: on CUDA two without pipeline stages (asynchronous scheduling), one
    more than the stages with them; on the CPU as many as stages.
    """

    context: int
    planner: Planner = "cuda"
    block_size: int | None = None
    kv_cache_dtype: str = "auto"
    max_num_batched_tokens: int = 8192
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    batches_in_flight: int | None = None
    sliding_block_size: int | None = None
    prefix_caching: bool = True

    @property
    def batches(self) -> int:
        """Batches that may be in flight at a time."""
        if self.batches_in_flight is not None:
            return self.batches_in_flight
        return self.pipeline_parallel + 1 if self.planner == "cuda" else self.pipeline_parallel


@dataclass(frozen=True)
class Group:
    """Layers that share one block table: their indices, tokens a block, and blocks of one request."""

    layers: tuple[int, ...]
    kind: str
    block_size: int
    blocks_per_request: int


@dataclass(frozen=True)
class CachePlan:
    """The plan of one request: its blocks, and what a block takes on each pipeline stage."""

    groups: tuple[Group, ...]
    block_size: int
    sliding_block_size: int
    batches_in_flight: int
    bytes_per_block: tuple[int, ...]

    @property
    def blocks_per_request(self) -> int:
        """Blocks of one request, of all groups, which draw from one pool."""
        return sum(group.blocks_per_request for group in self.groups)

    @property
    def bytes_per_request(self) -> tuple[int, ...]:
        """Bytes of one request on one rank of each pipeline stage."""
        return tuple(block * self.blocks_per_request for block in self.bytes_per_block)

    @property
    def state_bytes_per_request(self) -> int:
        """The part that recurrent layers hold, on the widest stage."""
        blocks = sum(group.blocks_per_request for group in self.groups if group.kind == "state")
        return blocks * max(self.bytes_per_block, default=0)


@dataclass(frozen=True)
class _Spec:
    """One layer's cache: what it is, tokens a block, bytes a page, and what else sets it apart."""

    kind: str
    block_size: int
    page: int
    window: int | None
    layer: Layer


def plan(shape: CacheShape, inputs: PlannerInputs) -> CachePlan:
    """Plan the cache of one request of `inputs.context` tokens.

    The caller has seen to it that tensor parallelism divides the heads and that the cache type is known.
    """
    block_size, state_page = _resolved_block(shape, inputs)
    kernel = KERNEL_BLOCK[inputs.planner]
    sliding = inputs.sliding_block_size or max(kernel, block_size // kernel * kernel)
    specs = {
        index: _spec(layer, inputs, shape.dtype, block_size, sliding, state_page)
        for index, layer in enumerate(shape.layers)
        if layer is not None
    }
    grouped = _groups(specs)
    groups = tuple(
        Group(tuple(names), spec.kind, spec.block_size, _blocks(spec, inputs)) for names, spec in grouped if names
    )
    pages = {index: spec.page for index, spec in specs.items()}
    if len({spec.kind for spec in specs.values()}) > 1:  # pages were made equal
        pages = dict.fromkeys(specs, max(pages.values()))
    stages = stage_bounds(len(shape.layers), inputs.pipeline_parallel)
    per_block = tuple(
        max((sum(pages[i] for i in group.layers if first <= i < last) for group in groups), default=0)
        for first, last in stages
    )
    return CachePlan(groups, block_size, sliding, inputs.batches, per_block)


def stage_bounds(layers: int, stages: int) -> tuple[tuple[int, int], ...]:
    """First and last layer of each pipeline stage: a remainder goes to the stages before the last.

    vLLM 0.32.0 `distributed/utils.py`, function `get_pp_indices`.
    """
    sizes = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        sizes[-place] += 1
    starts = [sum(sizes[:stage]) for stage in range(stages)]
    return tuple((start, start + size) for start, size in zip(starts, sizes, strict=True))


def cache_dtype_of(name: str, model_dtype: str) -> str:
    """The cache type behind `auto`: the model's own."""
    return model_dtype if name == "auto" else name


def _token_bytes(layer: Attention, inputs: PlannerInputs, dtype: str) -> int:
    """Bytes of one token in one layer on one rank; a latent is kept whole on every rank, a KV head at least once."""
    element, beside = CACHE_TYPES.get(cache_dtype_of(inputs.kv_cache_dtype, dtype), (float(DTYPE_BYTES["bfloat16"]), 0))
    heads = 1 if layer.kind == "mla" else max(1, layer.kv_heads // inputs.tensor_parallel)
    return heads * (int((layer.key_dim + layer.value_dim) * element) + beside)


def _state_bytes(layer: State, inputs: PlannerInputs) -> int:
    tensor_parallel, repeated = inputs.tensor_parallel, layer.groups
    if layer.groups and layer.groups % tensor_parallel:
        repeated = tensor_parallel  # vLLM repeats groups until every rank has one
    channels = (layer.conv_channels + repeated * layer.group_channels) // tensor_parallel
    matrix = layer.heads // tensor_parallel * layer.head_elements
    head_bytes = layer.head_bytes
    if head_bytes is None:
        # `platforms/cpu.py`: float32 for the kernels of a processor with AVX-512 BF16; without them as on CUDA.
        head_bytes = DTYPE_BYTES["float32"] if inputs.planner == "cpu" else layer.conv_bytes
    return channels * layer.conv_length * layer.conv_bytes + matrix * head_bytes


def _resolved_block(shape: CacheShape, inputs: PlannerInputs) -> tuple[int, int | None]:
    """Tokens a block, and the page that states are padded to.

    With recurrent layers the block grows until a page of attention is at least a state.
    """
    block = inputs.block_size or DEFAULT_BLOCK[inputs.planner]
    attention = [layer for layer in shape.layers if isinstance(layer, Attention)]
    if inputs.planner == "cpu" and any(layer.kind == "mla" for layer in attention):
        block = 16  # the CPU build's MLA kernel takes no other
    states = [_state_bytes(layer, inputs) for layer in shape.layers if isinstance(layer, State)]
    if not states or not attention:
        return block, None
    kernel = KERNEL_BLOCK[inputs.planner]
    token = _token_bytes(attention[0], inputs, shape.dtype)
    step = max(kernel, block)
    needed = step * ceil(max(states) / (step * token))
    block = max(block, kernel * ceil(needed / kernel))
    return block, block * token


def _spec(layer: Layer, inputs: PlannerInputs, dtype: str, block: int, sliding: int, state_page: int | None) -> _Spec:
    if isinstance(layer, State):
        page = state_page or _state_bytes(layer, inputs)
        return _Spec("state", block, page, None, layer)
    assert layer is not None  # noqa: S101  # layers that keep nothing have no specification
    tokens = sliding if layer.kind == "sliding" else block
    return _Spec(layer.kind, tokens, tokens * _token_bytes(layer, inputs, dtype), layer.window, layer)


def _groups(specs: dict[int, _Spec]) -> list[tuple[list[int], _Spec]]:
    """Layers with the same cache in groups of equal length; one group where all take the same number of slots."""
    if not specs:
        return []
    every = list(specs.values())
    if len({(spec.kind, spec.block_size, spec.window) for spec in every}) == 1:
        return [(list(specs), every[0])]
    unified = _equal_pages(specs)
    buckets: dict[_Spec, list[int]] = {}
    for index, spec in unified.items():
        buckets.setdefault(spec, []).append(index)
    sizes = [len(names) for names in buckets.values()]
    # A group is as long as the rarest kind; where the kinds are nearly equal, as the commonest.
    size = max(sizes) if max(sizes) < min(sizes) * 1.5 else min(sizes)
    found: list[tuple[list[int], _Spec]] = []
    for spec, names in buckets.items():
        count = ceil(len(names) / size)
        found += [(names[place::count], spec) for place in range(count)]
    return found


def _equal_pages(specs: dict[int, _Spec]) -> dict[int, _Spec]:
    """All pages as large as the greatest: blocks of more tokens where that divides, else padding."""
    greatest = max(spec.page for spec in specs.values())
    unified = {}
    for index, spec in specs.items():
        if spec.page == greatest:
            unified[index] = spec
        elif spec.kind != "state" and greatest % spec.page == 0:
            unified[index] = replace(spec, block_size=spec.block_size * (greatest // spec.page), page=greatest)
        else:
            unified[index] = replace(spec, page=greatest)
    return unified


def _blocks(spec: _Spec, inputs: PlannerInputs) -> int:
    """Blocks that one request of full length may hold in a group."""
    in_flight = inputs.batches * inputs.max_num_batched_tokens
    if isinstance(spec.layer, State):
        return 2 + spec.layer.checkpoints if inputs.prefix_caching else 1
    if spec.kind == "sliding":
        held = min((spec.window or 0) - 1 + in_flight, inputs.context)
        return -(-held // spec.block_size) + 1  # a window seldom begins where a block does
    if spec.kind == "chunked":
        return -(-min((spec.window or 0) + in_flight, inputs.context) // spec.block_size)
    return -(-inputs.context // spec.block_size)


def concurrency(plan_: CachePlan, room: Sequence[int]) -> float | None:
    """`Maximum concurrency` as vLLM logs it, for the bytes of cache on each stage; None where it refuses to start.

    One block is held back for ever, so a request must fit into the others.
    """
    if not plan_.groups or not room:
        return None
    for free, block, needed in zip(room, plan_.bytes_per_block, plan_.bytes_per_request, strict=True):
        if block and (free <= 0 or needed > free - block):
            return None
    blocks = min(free // block for free, block in zip(room, plan_.bytes_per_block, strict=True) if block)
    return blocks / plan_.blocks_per_request
