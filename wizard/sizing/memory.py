"""What a GPU's memory goes to besides weights and cache, and what the runtime reserves of it.

Sources: vLLM 0.32.0 `v1/worker/utils.py` (`request_memory`), `v1/worker/gpu_worker.py`
(`determine_available_memory`), `engine/arg_utils.py` (`get_batch_defaults`). The runtime measures activations and
graphs while it starts; before that they can only be estimated, and each estimate says how far it may be off.
"""

from math import ceil

from probes.models.configuration import ModelConfiguration
from wizard.sizing.answer import Term
from wizard.sizing.request import GIB, GpuFacts, SizeRequest

_MIB = 1024**2


def batch_defaults(request: SizeRequest) -> tuple[int, int]:
    """Tokens a step and requests at a time, as given, or what the server chooses by the GPU's memory."""
    memory = request.gpu.memory_bytes if request.gpu else 80 * GIB
    if request.planner == "cpu" or 70 * GIB <= memory < 160 * GIB:
        tokens, seqs = 8192, 1024
    elif memory >= 160 * GIB:
        tokens, seqs = 16384, 1024
    else:
        tokens, seqs = 2048, 256
    if request.gpu is not None and "A100" in request.gpu.name.upper():
        tokens, seqs = 2048, 256
    return request.max_num_batched_tokens or tokens, request.max_num_seqs or seqs


def cuda_total_bytes(gpu: GpuFacts) -> int:
    """What CUDA counts as the GPU's memory: NVML's total less what the driver keeps."""
    return gpu.memory_bytes - (gpu.reserve_bytes or 0)


def reserved_bytes(gpu: GpuFacts, utilization: float) -> int:
    """What the runtime takes for itself."""
    return ceil(cuda_total_bytes(gpu) * utilization)


def overheads(configuration: ModelConfiguration, request: SizeRequest) -> tuple[Term, ...]:
    """Activations, graphs and the rest of one GPU, all estimated."""
    tokens, seqs = batch_defaults(request)
    hidden = configuration.count("hidden_size", "n_embd") or 0
    inner = max(
        configuration.count("intermediate_size", least=0) or 0, configuration.count("moe_intermediate_size") or 0
    )
    vocabulary = configuration.count("vocab_size") or 0
    chosen = configuration.count("num_experts_per_tok", "top_k_experts", "experts_per_token") or 1
    routed = configuration.count("moe_intermediate_size") or 0
    width = 4 * hidden + 3 * max(inner, chosen * routed) // request.tensor_parallel + chosen * hidden * bool(routed)
    activations = 2 * tokens * width + 6 * seqs * vocabulary  # half precision; logits in float32 beside their half form
    terms = [Term("activations", activations, "estimate from the widest layer and the logits; may be off by half")]
    if not request.enforce_eager:
        terms.append(Term("CUDA graphs", 700 * _MIB, "estimate, not derived from the model; may be 0.2 to 2 GiB"))
    other = 300 * _MIB + (500 * _MIB if request.ranks > 1 else 0)
    terms.append(Term("libraries and communication", other, "estimate, not derived; may be off by half"))
    return tuple(terms)
