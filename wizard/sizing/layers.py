"""What each layer of a model keeps for a request, as vLLM 0.32 reads it out of config.json.

One function an architecture, because vLLM has one class an architecture; an architecture that is not here is answered
with a sentence, never with a number. Sources: vLLM 0.32.0 `model_executor/models/*.py`, function `get_kv_cache_spec` of
each layer, and `layers/mamba/mamba_utils.py` for the states.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from probes.errors import ProbeError
from probes.models.configuration import LAYERS, ModelConfiguration
from wizard.sizing.dtypes import DTYPE_BYTES, model_dtype


@dataclass(frozen=True)
class Attention:
    """A layer whose cache grows with tokens; `window` is the sliding window or the chunk, in tokens."""

    kind: Literal["full", "sliding", "chunked", "mla"]
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None


@dataclass(frozen=True)
class State:
    """A recurrent layer of fixed size: a convolution's last inputs and one matrix a head."""

    conv_channels: int  # of all ranks, before groups are repeated for tensor parallelism
    conv_length: int
    groups: int  # groups that are repeated where there are fewer than ranks; 0: none
    group_channels: int  # convolution channels of one group, keys and queries together
    heads: int
    head_elements: int
    conv_bytes: int
    head_bytes: int | None  # None: not stated, and the planner's own
    checkpoints: int  # blocks held for a checkpoint inside a prompt, besides the two of prefix caching


Layer = Attention | State | None


@dataclass(frozen=True)
class CacheShape:
    """The layers of a model in order; None is a layer that keeps nothing."""

    layers: tuple[Layer, ...]
    query_heads: int
    dtype: str

    @property
    def has_state(self) -> bool:
        """Whether recurrent layers are among them: their pages decide the block size."""
        return any(isinstance(layer, State) for layer in self.layers)


@dataclass(frozen=True)
class NotCovered:
    """Why there is no figure, as a sentence."""

    because: str


def cache_shape(configuration: ModelConfiguration) -> CacheShape | NotCovered:
    """The layers of the model, or why they are not known. Raises `ProbeError` for counts that are impossible."""
    name = configuration.architecture
    builder = _BUILDERS.get(name or "")
    if builder is None:
        known = _REASONS.get(name or "")
        return NotCovered(
            known or f"the formula does not cover the architecture {name or 'that config.json leaves out'}"
        )
    layers = builder(configuration)
    if isinstance(layers, NotCovered):
        return layers
    return CacheShape(layers, configuration.needed("num_attention_heads", "n_head"), model_dtype(configuration))


def head_dim(configuration: ModelConfiguration) -> int:
    """Elements of one head: stated, or the hidden size over the heads."""
    stated = configuration.count("head_dim", "attention_head_dim")
    if stated:
        return stated
    hidden, heads = configuration.needed("hidden_size"), configuration.needed("num_attention_heads")
    if hidden % heads:
        raise ProbeError(
            f"{configuration.source} states {heads} attention heads, which do not divide its hidden size of {hidden}.",
            "Correct the file, or download it again.",
        )
    return hidden // heads


def kv_heads(configuration: ModelConfiguration) -> int:
    """Heads that keep keys and values; all of them where the file names no fewer."""
    return configuration.count("num_key_value_heads") or configuration.needed("num_attention_heads")


def layer_kinds(configuration: ModelConfiguration) -> tuple[str, ...] | None:
    """`layer_types`, one word a layer; None where it is not stated."""
    kinds = configuration.text.get("layer_types")
    if kinds is None:
        return None
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise ProbeError(f'{configuration.source} states "layer_types" that are no words.', "Download the file again.")
    count = configuration.needed(*LAYERS)
    if len(kinds) != count:
        raise ProbeError(
            f'{configuration.source} states {count} layers, but "layer_types" names {len(kinds)}.',
            "Correct the file, or download it again.",
        )
    return tuple(kinds)


def _full_layer(configuration: ModelConfiguration) -> Attention:
    size = head_dim(configuration)
    return Attention("full", kv_heads(configuration), size, size)


def _plain(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    """One full attention a layer; a window that the family switches off is off."""
    window = configuration.count("sliding_window", least=0)
    if window and configuration.text.get("use_sliding_window") is not False:
        if configuration.text.get("model_type") != "mistral":
            return NotCovered("the formula does not know which layers of this model use the sliding window")
        # vLLM's Mistral gives the one window of the configuration to every layer.
        return _all(configuration, _windowed(_full_layer(configuration), window))
    if any(kind != "full_attention" for kind in layer_kinds(configuration) or ()):
        return NotCovered("the formula does not know the kinds of layers that this model mixes")
    return _all(configuration, _full_layer(configuration))


def _all(configuration: ModelConfiguration, layer: Layer) -> tuple[Layer, ...]:
    return (layer,) * configuration.needed(*LAYERS)


def _windowed(layer: Attention, window: int) -> Attention:
    return Attention("sliding", layer.kv_heads, layer.key_dim, layer.value_dim, window)


def _mla(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    if configuration.count("index_topk"):
        return NotCovered("sparse attention with an indexer: no reference value is known, so none is given")
    latent = configuration.needed("kv_lora_rank") + configuration.needed("qk_rope_head_dim")
    return _all(configuration, Attention("mla", 1, latent, 0))


def _windows_by_kind(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    """`layer_types` names the sliding layers; where it is missing every n-th layer is full."""
    window = configuration.needed("sliding_window")
    full = _full_layer(configuration)
    kinds = layer_kinds(configuration)
    if kinds is None:
        every = configuration.count("sliding_window_pattern")
        if every is None:
            return NotCovered("config.json does not say which layers use the sliding window")
        count = configuration.needed(*LAYERS)
        kinds = tuple("sliding_attention" if (i + 1) % every else "full_attention" for i in range(count))
    if any(kind not in ("sliding_attention", "full_attention") for kind in kinds):
        return NotCovered("the formula does not know the kinds of layers that this model mixes")
    return tuple(_windowed(full, window) if kind == "sliding_attention" else full for kind in kinds)


def _gemma4(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    """Full layers have heads of their own size and number; the last layers may share an earlier one's cache."""
    if configuration.count("num_kv_shared_layers", least=0):
        return NotCovered("layers that share another layer's cache: no reference value is known, so none is given")
    kinds = layer_kinds(configuration)
    if kinds is None:
        return NotCovered("config.json does not say which layers use the sliding window")
    size = configuration.count("global_head_dim") or head_dim(configuration)
    heads = kv_heads(configuration)
    if configuration.flag("attention_k_eq_v"):
        heads = configuration.count("num_global_key_value_heads") or heads
    full = Attention("full", heads, size, size)
    sliding = _windowed(_full_layer(configuration), configuration.needed("sliding_window"))
    return tuple(sliding if kind == "sliding_attention" else full for kind in kinds)


def _llama4(configuration: ModelConfiguration) -> tuple[Layer, ...]:
    """Every fourth layer sees everything; the others see their chunk."""
    full = _full_layer(configuration)
    chunk = configuration.count("attention_chunk_size")
    rope = configuration.text.get("no_rope_layers")
    count = configuration.needed(*LAYERS)
    every = configuration.count("no_rope_layer_interval") or 4
    flags = rope if isinstance(rope, list) and len(rope) == count else [(i + 1) % every != 0 for i in range(count)]
    if chunk is None:
        return (full,) * count
    chunked = Attention("chunked", full.kv_heads, full.key_dim, full.value_dim, chunk)
    return tuple(chunked if uses_rope else full for uses_rope in flags)


def _gated_delta(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    kinds = layer_kinds(configuration)
    count = configuration.needed(*LAYERS)
    if kinds is None:
        every = configuration.count("full_attention_interval") or 4
        kinds = tuple("linear_attention" if (i + 1) % every else "full_attention" for i in range(count))
    if any(kind not in ("linear_attention", "full_attention") for kind in kinds):
        return NotCovered("the formula does not know the kinds of layers that this model mixes")
    key, value = configuration.needed("linear_key_head_dim"), configuration.needed("linear_value_head_dim")
    keys, values = configuration.needed("linear_num_key_heads"), configuration.needed("linear_num_value_heads")
    conv, ssm = _state_dtypes(configuration, "mamba_ssm_dtype", unstated=None)
    state = State(
        conv_channels=2 * key * keys + value * values,
        conv_length=configuration.needed("linear_conv_kernel_dim") - 1,
        groups=0,
        group_channels=0,
        heads=values,
        head_elements=key * value,
        conv_bytes=conv,
        head_bytes=ssm,
        checkpoints=0,
    )
    full = _full_layer(configuration)
    return tuple(state if kind == "linear_attention" else full for kind in kinds)


def _nemotron_h(configuration: ModelConfiguration) -> tuple[Layer, ...] | NotCovered:
    pattern = configuration.text.get("hybrid_override_pattern")
    if not isinstance(pattern, str):
        return NotCovered('config.json has no "hybrid_override_pattern", so its layers are not known')
    if "E" in pattern:
        return NotCovered("state-space layers with experts: no reference value is known, so none is given")
    if set(pattern) - set("M-*") or len(pattern) != configuration.needed(*LAYERS):
        return NotCovered('the formula does not know the layers that "hybrid_override_pattern" names')
    heads, size = configuration.needed("mamba_num_heads"), configuration.needed("mamba_head_dim")
    groups, elements = configuration.needed("n_groups"), configuration.needed("ssm_state_size")
    conv, ssm = _state_dtypes(configuration, "mamba_ssm_cache_dtype", unstated="float32")
    state = State(
        conv_channels=heads * size,
        conv_length=configuration.needed("conv_kernel") - 1,
        groups=groups,
        group_channels=2 * elements,
        heads=heads,
        head_elements=size * elements,
        conv_bytes=conv,
        head_bytes=ssm,
        checkpoints=1,
    )
    full = _full_layer(configuration)
    layers: dict[str, Layer] = {"M": state, "*": full, "-": None}
    return tuple(layers[sign] for sign in pattern)


def _state_dtypes(configuration: ModelConfiguration, key: str, *, unstated: str | None) -> tuple[int, int | None]:
    """Bytes of an element of the convolution (the model's type) and of the matrix (None: neither stated nor fixed).

    vLLM 0.32.0 `model_executor/models/config.py` fixes float32 for some architectures where nothing is stated.
    """
    own = DTYPE_BYTES[model_dtype(configuration)]
    stated = configuration.text.get(key, unstated)
    if stated is None:
        return own, None
    return own, DTYPE_BYTES.get(stated, own) if isinstance(stated, str) else own


Builder = Callable[[ModelConfiguration], tuple[Layer, ...] | NotCovered]

_BUILDERS: Mapping[str, Builder] = {
    "LlamaForCausalLM": _plain,
    "MistralForCausalLM": _plain,
    "MixtralForCausalLM": _plain,
    "MiMoForCausalLM": _plain,
    "MiniMaxM2ForCausalLM": _plain,
    "Qwen2ForCausalLM": _plain,
    "Qwen3ForCausalLM": _plain,
    "Qwen3MoeForCausalLM": _plain,
    "Qwen3VLForConditionalGeneration": _plain,
    "Qwen3VLMoeForConditionalGeneration": _plain,
    "DeepseekV2ForCausalLM": _mla,
    "DeepseekV3ForCausalLM": _mla,
    "KimiK25ForConditionalGeneration": _mla,
    "GptOssForCausalLM": _windows_by_kind,
    "Gemma3ForCausalLM": _windows_by_kind,
    "Gemma4ForConditionalGeneration": _gemma4,
    "Llama4ForCausalLM": _llama4,
    "Llama4ForConditionalGeneration": _llama4,
    "Qwen3NextForCausalLM": _gated_delta,
    "Qwen3_5ForConditionalGeneration": _gated_delta,
    "Qwen3_5MoeForConditionalGeneration": _gated_delta,
    "NemotronHForCausalLM": _nemotron_h,
}

_SPARSE = "sparse attention with an indexer: no reference value is known, so none is given"
_REASONS: Mapping[str, str] = {
    "DeciLMForCausalLM": "layers of different widths by custom code: no reference value is known, so none is given",
    "DeepseekV32ForCausalLM": _SPARSE,
    "DeepseekV4ForCausalLM": _SPARSE,
    "GlmMoeDsaForCausalLM": _SPARSE,
    "MiniMaxM3ForCausalLM": _SPARSE,
    "KimiK3ForConditionalGeneration": "linear attention beside MLA: no reference value is known, so none is given",
}
