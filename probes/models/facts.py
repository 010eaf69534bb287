"""A model's facts from its `config.json`; what the file does not state stays unknown."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from probes.errors import ProbeError
from probes.models.configuration import LAYERS, ModelConfiguration, read_configuration
from probes.paths import expanded, is_file

# The names that model families use for one fact, the usual one first.
_HEADS = ("num_attention_heads", "n_head", "n_heads")
_KV_HEADS = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "num_attention_groups",
)
_HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels")
_HIDDEN = ("hidden_size", "n_embd", "d_model")
_VOCABULARY = ("vocab_size", "padded_vocab_size")
_POSITIONS = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "n_ctx",
)
#: Kinds of scaling whose stated positions are the scaled ones already, so that vLLM applies no factor to them.
_SCALED_ALREADY = (
    *("llama3", "longrope", "mrope", "su", "default", "proportional"),
    *("yarn", "deepseek_yarn", "deepseek_llama_scaling"),
)
_GREATEST_FACTOR = 10_000
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_MTP = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
_EXPERTS_PER_TOKEN = (
    "num_experts_per_tok",
    "experts_per_token",
    "num_experts_per_token",
    "top_k_experts",
    "moe_top_k",
    "moe_topk",
)


class ModelFacts(BaseModel):
    """What a model's configuration states; None is what it does not state.

    `quantization` is the method's name as vLLM calls it (`fp8`, `modelopt`, `compressed-tensors`, …).
    `mtp_layers` are layers that predict several tokens at once.
    `longest_request_tokens` counts scaled positions, which `max_position_embeddings` may leave out.
    `source` is the file, with `~` for the user's home.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    architecture: str | None
    model_type: str | None
    layers: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    hidden_size: int | None
    vocab_size: int | None
    max_position_embeddings: int | None
    longest_request_tokens: int | None = None
    quantization: str | None
    dtype: str | None
    is_moe: bool
    experts: int | None
    experts_per_token: int | None
    source: str
    mtp_layers: int | None = None


def read_model_folder(path: Path) -> ModelFacts:
    """Read the facts of the model in the folder `path`; raises `ProbeError` without a usable config.json."""
    return facts_of(read_configuration(path))


def facts_of(configuration: ModelConfiguration) -> ModelFacts:
    """The facts that a configuration states; raises `ProbeError` where it describes no language model."""
    source, whole, text = configuration.source, configuration.whole, configuration.text
    facts = {
        "layers": configuration.count(*LAYERS),
        "attention_heads": configuration.count(*_HEADS),
        "kv_heads": configuration.count(*_KV_HEADS),
        "head_dim": configuration.count(*_HEAD_DIM),
        "hidden_size": configuration.count(*_HIDDEN),
        "vocab_size": configuration.count(*_VOCABULARY),
        "max_position_embeddings": configuration.count(*_POSITIONS),
    }
    experts = configuration.count(*_EXPERTS, least=0)
    if facts["layers"] is None and facts["hidden_size"] is None:
        raise ProbeError(
            f"{source} states neither layers nor a hidden size, so it describes no language model.",
            "Give the folder of the model itself, not of an adapter, a tokenizer or a pipeline.",
        )
    return ModelFacts(
        name=configuration.name,
        architecture=configuration.architecture,
        model_type=_word(whole, "model_type"),
        quantization=_quantization(configuration),
        dtype=_word(text, "dtype")
        or _word(text, "torch_dtype")
        or _word(whole, "dtype")
        or _word(whole, "torch_dtype"),
        is_moe=(experts or 0) > 1,
        longest_request_tokens=longest_request(configuration),
        experts=experts or None,
        mtp_layers=configuration.count(*_MTP, least=0) or None,
        experts_per_token=configuration.count(*_EXPERTS_PER_TOKEN) if experts else None,
        source=source,
        **facts,
    )


def longest_request(configuration: ModelConfiguration) -> int | None:
    """Tokens of the longest request, scaled positions included, as vLLM derives it (0.32.0 `config/model.py`).

    A YaRN scaling that was added without raising `max_position_embeddings` lengthens nothing: vLLM takes the positions
    for scaled ones and refuses a longer request.
    """
    limit = configuration.count(*_POSITIONS)
    scaling = configuration.text.get("rope_parameters") or configuration.text.get("rope_scaling")
    if limit is None or not isinstance(scaling, dict):
        return limit
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor")
    if kind in _SCALED_ALREADY or isinstance(factor, bool) or not isinstance(factor, int | float):
        return limit
    if not 0 < factor <= _GREATEST_FACTOR:  # JSON as Python reads it has NaN and Infinity too
        return limit
    return int(limit * factor)


def has_weights(path: Path) -> bool:
    """Tell whether the folder holds weights: safetensors or PyTorch files that are not empty."""
    folder = expanded(path)
    patterns = ("*.safetensors", "pytorch_model*.bin", "consolidated*.pth", "model*.bin")
    return any(is_file(file) and file.stat().st_size > 0 for pattern in patterns for file in folder.glob(pattern))


def _word(part: dict[str, Any], name: str) -> str | None:
    value = part.get(name)
    return value if isinstance(value, str) and value else None


def _quantization(configuration: ModelConfiguration) -> str | None:
    """Name the quantization method, of the configuration or of the file of NVIDIA's Model Optimizer."""
    for part in (configuration.whole, configuration.text):
        for key in ("quantization_config", "compression_config"):
            settings = part.get(key)
            if isinstance(settings, dict):
                return _word(settings, "quant_method") or "unknown"
    settings = (configuration.modelopt or {}).get("quantization")
    return "modelopt" if isinstance(settings, dict) and _word(settings, "quant_algo") else None
