"""What is asked of the sizing, checked: each thing that cannot be is one sentence with its remedy."""

from dataclasses import dataclass

from probes.models.configuration import ModelConfiguration
from probes.models.facts import longest_request
from wizard.errors import UsageError
from wizard.sizing.dtypes import CACHE_TYPES
from wizard.sizing.layers import Attention, CacheShape, State
from wizard.sizing.planner import Planner

GIB = 1024**3
#: vLLM 0.32.0 `config/cache.py`.
DEFAULT_UTILIZATION = 0.92
_MOST_RANKS = 4096


@dataclass(frozen=True)
class GpuFacts:
    """What the sizing needs of a GPU. Memory is what NVML reports; rates are dense TFLOPS by precision.

    `reserve_bytes` is what the driver keeps of it (NVML `reserved`); None where nobody measured it. `free_bytes` is
    what is free now.
    """

    name: str
    memory_bytes: int
    reserve_bytes: int | None = None
    free_bytes: int | None = None
    bandwidth_gb_s: float | None = None
    tflops: tuple[tuple[str, float], ...] = ()
    nvlink: bool = False
    source: str = "answer"


@dataclass(frozen=True)
class SizeRequest:
    """One question to the sizing. None is "not given"; the context is then the model's own limit.

    `speculative_tokens` None says that there is speculation of a length that is not known.
    """

    context: int | None = None
    concurrency: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    shared_prefix_tokens: int = 0
    turns: int = 1
    speculative_tokens: int | None = 0
    gpu: GpuFacts | None = None
    gpus: int | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: bool = False
    kv_cache_dtype: str = "auto"
    quantization: str | None = None
    gpu_memory_utilization: float = DEFAULT_UTILIZATION
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    block_size: int | None = None
    planner: Planner = "cuda"
    enforce_eager: bool = False
    prefix_caching: bool = True

    @property
    def ranks(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel


def working_tensor_parallel(shape: CacheShape, most: int = 64) -> tuple[int, ...]:
    """The sizes of tensor parallelism that divide the heads: KV heads are divided, or whole copies of them."""
    heads = {layer.kv_heads for layer in shape.layers if isinstance(layer, Attention) and layer.kind != "mla"}
    states = {layer.heads for layer in shape.layers if isinstance(layer, State)}
    groups = {layer.groups for layer in shape.layers if isinstance(layer, State) and layer.groups}
    found = []
    for size in range(1, most + 1):
        if shape.query_heads % size:
            continue
        if all(count % size == 0 or size % count == 0 for count in heads | groups) and not any(
            count % size for count in states
        ):
            found.append(size)
    return tuple(found)


def check(request: SizeRequest, configuration: ModelConfiguration, shape: CacheShape | None) -> int:
    """See that the question can be answered, and return the context. Raises `UsageError` for the first that cannot."""
    _check_numbers(request)
    limit = longest_request(configuration)
    context = request.context if request.context is not None else limit
    if context is None:
        raise UsageError(f"{configuration.source} states no longest context.", "Say it with --context.")
    if limit is not None and context > limit:
        raise UsageError(
            f"A context of {context} tokens is beyond the model's limit of {limit}.",
            f"Ask for {limit} tokens or fewer, or set the scaling of its positions in config.json.",
        )
    if shape is not None:
        sizes = working_tensor_parallel(shape)
        if request.tensor_parallel not in sizes:
            raise UsageError(
                f"Tensor parallel size {request.tensor_parallel} does not divide the heads of {configuration.name}.",
                f"Sizes that work: {', '.join(map(str, sizes))}; pipeline parallelism takes any number of GPUs.",
            )
        if request.pipeline_parallel > len(shape.layers):
            raise UsageError(
                f"{request.pipeline_parallel} pipeline stages are more than the model's {len(shape.layers)} layers.",
                "Take fewer stages.",
            )
    return context


def _check_numbers(request: SizeRequest) -> None:
    if request.gpus is not None and request.gpus != request.ranks:
        raise UsageError(
            f"{request.gpus} GPUs are not the {request.tensor_parallel} × {request.pipeline_parallel} × "
            f"{request.data_parallel} of tensor × pipeline × data parallelism.",
            "Make the product of the three equal to the number of GPUs.",
        )
    if request.ranks > _MOST_RANKS:
        raise UsageError(f"{request.ranks} GPUs are more than any replica has.", "Look at --tp, --pp and --dp.")
    if request.kv_cache_dtype != "auto" and request.kv_cache_dtype not in CACHE_TYPES:
        raise UsageError(
            f"The cache type {request.kv_cache_dtype} is not known to the sizing.",
            f"Known: auto, {', '.join(CACHE_TYPES)}.",
        )
    step = 16
    if request.block_size is not None and request.block_size % step:
        raise UsageError(
            f"A block of {request.block_size} tokens is no multiple of {step}, which the kernels need.",
            f"Take a multiple of {step}.",
        )
