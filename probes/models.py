"""A model's facts from its `config.json`; what the file does not state stays unknown."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from probes.errors import ProbeError
from probes.paths import expanded, home, is_dir, is_file

_NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")
_MOST_BYTES = 32 * 1024 * 1024  # the greatest config.json of a public model is far below this
_GREATEST = 10**9  # no count in a model's configuration comes near it

# The names that model families use for one fact, the usual one first.
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
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
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
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
    quantization: str | None
    dtype: str | None
    is_moe: bool
    experts: int | None
    experts_per_token: int | None
    source: str


def read_model_folder(path: Path) -> ModelFacts:
    """Read the facts of the model in the folder `path`; raises `ProbeError` without a usable config.json."""
    folder = expanded(path)
    if not is_dir(folder):
        raise ProbeError(f"There is no folder {path}.", "Give the folder that holds the model's config.json.")
    file = folder / "config.json"
    whole = _read_json(file)
    text = _language_part(whole)
    facts = {
        "layers": _count(file, text, _LAYERS),
        "attention_heads": _count(file, text, _HEADS),
        "kv_heads": _count(file, text, _KV_HEADS),
        "head_dim": _count(file, text, _HEAD_DIM),
        "hidden_size": _count(file, text, _HIDDEN),
        "vocab_size": _count(file, text, _VOCABULARY),
        "max_position_embeddings": _count(file, text, _POSITIONS),
    }
    experts = _count(file, text, _EXPERTS, least=0)
    if facts["layers"] is None and facts["hidden_size"] is None:
        raise ProbeError(
            f"{_shown(file)} states neither layers nor a hidden size, so it describes no language model.",
            "Give the folder of the model itself, not of an adapter, a tokenizer or a pipeline.",
        )
    architectures = whole.get("architectures")
    return ModelFacts(
        name=_name(folder),
        architecture=next((a for a in architectures if isinstance(a, str)), None)
        if isinstance(architectures, list)
        else None,
        model_type=_word(whole, "model_type"),
        quantization=_quantization(folder, whole, text),
        dtype=_word(text, "dtype")
        or _word(text, "torch_dtype")
        or _word(whole, "dtype")
        or _word(whole, "torch_dtype"),
        is_moe=(experts or 0) > 1,
        experts=experts or None,
        experts_per_token=_count(file, text, _EXPERTS_PER_TOKEN) if experts else None,
        source=_shown(file),
        **facts,
    )


def has_weights(path: Path) -> bool:
    """Tell whether the folder holds weights: safetensors or PyTorch files that are not empty."""
    folder = expanded(path)
    patterns = ("*.safetensors", "pytorch_model*.bin", "consolidated*.pth", "model*.bin")
    return any(is_file(file) and file.stat().st_size > 0 for pattern in patterns for file in folder.glob(pattern))


def _read_json(file: Path) -> dict[str, Any]:
    shown = _shown(file)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ProbeError(f"{shown} is too large to be a model's configuration.", "Give the model's own folder.")
        whole = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise ProbeError(
            f"There is no config.json in {_shown(file.parent)}.",
            "Give the folder that holds the model's config.json; a GGUF file alone is not enough.",
        ) from None
    except OSError as error:
        raise ProbeError(f"{shown} cannot be read: {error.strerror}.", "Look at its permissions.") from None
    except (ValueError, RecursionError):
        raise ProbeError(
            f"{shown} is not JSON.", "Download the file again; a pointer of Git LFS looks like this too."
        ) from None
    if not isinstance(whole, dict):
        raise ProbeError(f"{shown} is JSON, but not an object.", "Download the file again.")
    return whole


def _language_part(config: dict[str, Any]) -> dict[str, Any]:
    """Find the part that describes the language model: all of it, or a part in a multimodal model."""
    for key in _NESTED:
        part = config.get(key)
        if isinstance(part, dict) and not any(name in config for name in _LAYERS):
            return _language_part(part)
    return config


def _count(file: Path, part: dict[str, Any], names: tuple[str, ...], least: int = 1) -> int | None:
    for name in names:
        value = part.get(name)
        if value is None or isinstance(value, list | dict):
            continue  # one value a layer: no single number states the fact
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _GREATEST:
            raise ProbeError(
                f'{_shown(file)} states "{name}": {json.dumps(value)[:40]}, which is no possible count.',
                "Correct the file, or download it again.",
            )
        return value
    return None


def _word(part: dict[str, Any], name: str) -> str | None:
    value = part.get(name)
    return value if isinstance(value, str) and value else None


def _quantization(folder: Path, whole: dict[str, Any], text: dict[str, Any]) -> str | None:
    """Name the quantization method, of the configuration or of the file of NVIDIA's Model Optimizer."""
    for part in (whole, text):
        for key in ("quantization_config", "compression_config"):
            settings = part.get(key)
            if isinstance(settings, dict):
                return _word(settings, "quant_method") or "unknown"
    beside = folder / "hf_quant_config.json"
    try:
        settings = json.loads(beside.read_bytes()).get("quantization")
    except (OSError, ValueError, AttributeError):
        return None
    return "modelopt" if isinstance(settings, dict) and _word(settings, "quant_algo") else None


def _name(folder: Path) -> str:
    """Name the model after its folder; in the Hub's cache (`models--owner--name/…`) after the repository."""
    resolved = folder.absolute()
    cached = next((part for part in reversed(resolved.parts) if part.startswith("models--")), None)
    return cached.removeprefix("models--").replace("--", "/", 1) if cached else resolved.name


def _shown(path: Path) -> str:
    absolute, own = path.absolute(), home()
    return str("~" / absolute.relative_to(own)) if own and absolute.is_relative_to(own) else str(absolute)
