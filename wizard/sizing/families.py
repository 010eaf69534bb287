"""The tensors of each architecture that the formula covers. Sources: vLLM 0.32.0 `model_executor/models/*.py`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from probes.models.configuration import LAYERS, ModelConfiguration
from wizard.sizing.blocks import (
    ALL_EVERYWHERE,
    At,
    EveryStage,
    attention,
    ends,
    experts,
    feed_forward,
    head_norms,
    linear,
    norms,
    router,
    vector,
)
from wizard.sizing.layers import Attention, NotCovered, State, cache_shape, head_dim, kv_heads
from wizard.sizing.tensors import Tensor
from wizard.sizing.vision import llama4_vision, qwen3_vision

_FLOAT32 = 4


@dataclass(frozen=True)
class _Sizes:
    """The counts that nearly every family needs."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool


def model_tensors(configuration: ModelConfiguration) -> list[Tensor] | NotCovered:
    """All weights of the model as vLLM holds them, or why they are not known."""
    name = configuration.architecture or ""
    builder = _BUILDERS.get(name)
    if builder is None:
        return NotCovered(f"the formula does not know the weights of the architecture {name or 'left out'}")
    return builder(configuration)


def _sizes(c: ModelConfiguration) -> _Sizes:
    tied = c.text.get("tie_word_embeddings", c.whole.get("tie_word_embeddings"))
    family = str(c.whole.get("model_type"))
    default = family.startswith("gemma")  # Gemma ties its head unless told otherwise, the others do not
    return _Sizes(
        layers=c.needed(*LAYERS),
        hidden=c.needed("hidden_size", "n_embd"),
        heads=c.needed("num_attention_heads", "n_head"),
        kv_heads=kv_heads(c),
        head_dim=head_dim(c),
        vocabulary=c.needed("vocab_size"),
        tied=tied if isinstance(tied, bool) else default,
    )


def _decoder(
    c: ModelConfiguration,
    layer: Callable[[At, _Sizes], Iterable[Tensor]],
    prefix: str,
    every: EveryStage = EveryStage(),  # noqa: B008  # frozen
) -> list[Tensor]:
    sizes = _sizes(c)
    found = ends(prefix, sizes.vocabulary, sizes.hidden, tied=sizes.tied, every=every)
    for index in range(sizes.layers):
        found += layer(At(f"{prefix}.layers", index), sizes)
    return found


def _dense(
    c: ModelConfiguration,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    mlp_bias: bool = False,
    qk_norm: bool = False,
    prefix: str = "model",
) -> list[Tensor]:
    inner = c.needed("intermediate_size")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim, qkv_bias=qkv_bias, out_bias=out_bias)
        found += feed_forward(at, s.hidden, inner, bias=mlp_bias) + norms(at, s.hidden)
        return found + head_norms(at, s.head_dim) if qk_norm else found

    return _decoder(c, layer, prefix)


def _llama(c: ModelConfiguration) -> list[Tensor]:
    bias = c.flag("attention_bias")
    return _dense(c, qkv_bias=bias, out_bias=bias, mlp_bias=c.flag("mlp_bias"))


def _qwen2(c: ModelConfiguration) -> list[Tensor]:
    return _dense(c, qkv_bias=True)


def _qwen3(c: ModelConfiguration) -> list[Tensor]:
    return _dense(c, qkv_bias=c.flag("attention_bias"), qk_norm=True)


def _qwen3_vl(c: ModelConfiguration) -> list[Tensor]:
    text = _dense(c, qkv_bias=c.flag("attention_bias"), qk_norm=True, prefix="model.language_model")
    return text + qwen3_vision(c)


def _mixtral(c: ModelConfiguration) -> list[Tensor]:
    inner, count = c.needed("intermediate_size"), c.needed("num_local_experts", "num_experts")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim) + norms(at, s.hidden)
        found += router(at, s.hidden, count, module="block_sparse_moe.gate")
        return found + experts(at, s.hidden, inner, count, module="block_sparse_moe.experts")

    return _decoder(c, layer, "model", ALL_EVERYWHERE)


def _minimax_m2(c: ModelConfiguration) -> list[Tensor]:
    inner, count = c.needed("intermediate_size"), c.needed("num_local_experts")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        kv = s.kv_heads * s.head_dim
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim) + norms(at, s.hidden)
        found.append(vector(at, "self_attn.q_norm", s.heads * s.head_dim, "rows"))
        found.append(Tensor(f"{at.name}.self_attn.k_norm", kv, split="kv", layer=at.layer, kv_heads=s.kv_heads))
        found += router(at, s.hidden, count, module="block_sparse_moe.gate", element_bytes=_FLOAT32)
        found.append(vector(at, "block_sparse_moe.e_score_correction_bias", count, element_bytes=_FLOAT32))
        return found + experts(at, s.hidden, inner, count, module="block_sparse_moe.experts")

    return _decoder(c, layer, "model")


def _moe_layers(c: ModelConfiguration) -> Callable[[int], bool]:
    """Which layers have experts, in the words of the Qwen families."""
    dense = c.text.get("mlp_only_layers")
    step = c.count("decoder_sparse_step") or 1
    without = set(dense) if isinstance(dense, list) else set()
    return lambda index: index not in without and (index + 1) % step == 0


def _qwen3_moe(c: ModelConfiguration, prefix: str = "model") -> list[Tensor]:
    count, inner = c.needed("num_experts"), c.needed("moe_intermediate_size")
    sparse = _moe_layers(c)

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        bias = c.flag("attention_bias")
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim, qkv_bias=bias)
        found += head_norms(at, s.head_dim) + norms(at, s.hidden)
        if sparse(at.layer):
            return found + router(at, s.hidden, count) + experts(at, s.hidden, inner, count)
        return found + feed_forward(at, s.hidden, c.needed("intermediate_size"))

    return _decoder(c, layer, prefix, ALL_EVERYWHERE)


def _qwen3_vl_moe(c: ModelConfiguration) -> list[Tensor]:
    return _qwen3_moe(c, "model.language_model") + qwen3_vision(c)


def _gated_delta(c: ModelConfiguration, prefix: str = "model", *, every_head: bool = True) -> list[Tensor] | NotCovered:
    """Qwen3-Next and Qwen3.5: linear attention in most layers, gated attention in the others."""
    shape = cache_shape(c)
    if isinstance(shape, NotCovered):
        return shape
    count, sparse = c.count("num_experts", least=0), _moe_layers(c)
    key_heads = c.needed("linear_num_key_heads")
    key, value = c.needed("linear_key_head_dim"), c.needed("linear_value_head_dim")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        kind = shape.layers[at.layer]
        found = norms(at, s.hidden)
        if isinstance(kind, State):
            values = kind.heads
            inner = values * value
            name = "linear_attn"
            for module, rows in (
                ("in_proj_qkv", 2 * key_heads * key + inner),
                ("in_proj_z", inner),
                ("in_proj_b", values),
                ("in_proj_a", values),
            ):
                found += linear(at, f"{name}.{module}", rows, s.hidden, "rows")
            found.append(
                Tensor(f"{at.name}.{name}.conv1d", kind.conv_channels, kind.conv_length + 1, "rows", layer=at.layer)
            )
            found.append(vector(at, f"{name}.dt_bias", values, "rows"))
            found.append(vector(at, f"{name}.A_log", values, "rows", _FLOAT32))
            found.append(vector(at, f"{name}.norm", value))
            found += linear(at, f"{name}.out_proj", s.hidden, inner, "columns")
        else:
            bias = c.flag("attention_bias")
            gate = c.flag("attn_output_gate", True)
            found += attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim, gate=gate, qkv_bias=bias)
            found += head_norms(at, s.head_dim)
        if not count or not sparse(at.layer):
            return found + feed_forward(at, s.hidden, c.needed("intermediate_size"))
        found += router(at, s.hidden, count)
        found += experts(at, s.hidden, c.needed("moe_intermediate_size"), count)
        if shared := c.count("shared_expert_intermediate_size", least=0):
            found += router(at, s.hidden, 1, module="mlp.shared_expert_gate")
            found += feed_forward(at, s.hidden, shared, module="mlp.shared_expert")
        return found

    return _decoder(c, layer, prefix, EveryStage(embedding=True, head=every_head))


def _qwen3_5(c: ModelConfiguration) -> list[Tensor] | NotCovered:
    text = _gated_delta(c, "model.language_model", every_head=False)
    return text if isinstance(text, NotCovered) else text + qwen3_vision(c)


def _gpt_oss(c: ModelConfiguration) -> list[Tensor]:
    inner, count = c.needed("intermediate_size"), c.needed("num_local_experts", "num_experts")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim, qkv_bias=True, out_bias=True)
        found += [*norms(at, s.hidden), vector(at, "self_attn.sinks", s.heads, "rows")]
        found += router(at, s.hidden, count, module="mlp.router", bias=True)
        return found + experts(at, s.hidden, inner, count, bias=True)

    return _decoder(c, layer, "model", ALL_EVERYWHERE)


def _gemma3(c: ModelConfiguration) -> list[Tensor]:
    inner = c.needed("intermediate_size")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim) + head_norms(at, s.head_dim)
        found += norms(at, s.hidden) + norms(at, s.hidden, "pre_feedforward_layernorm", "post_feedforward_layernorm")
        return found + feed_forward(at, s.hidden, inner)

    return _decoder(c, layer, "model", ALL_EVERYWHERE)


def _llama4(c: ModelConfiguration, prefix: str = "model") -> list[Tensor]:
    inner, count = c.needed("intermediate_size"), c.needed("num_local_experts")
    step = c.count("interleave_moe_layer_step", least=0)
    named = c.text.get("moe_layers")

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        found = attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim) + norms(at, s.hidden)
        sparse = at.layer in named if isinstance(named, list) else bool(step) and (at.layer + 1) % (step or 1) == 0
        if not sparse:
            return found + feed_forward(at, s.hidden, c.needed("intermediate_size_mlp"), module="feed_forward")
        found += router(at, s.hidden, count, module="feed_forward.router")
        found += feed_forward(at, s.hidden, inner, module="feed_forward.shared_expert")
        return found + experts(at, s.hidden, inner, count, module="feed_forward.experts")

    return _decoder(c, layer, prefix)


def _llama4_vl(c: ModelConfiguration) -> list[Tensor]:
    return _llama4(c, "language_model.model") + llama4_vision(c)


def _deepseek(c: ModelConfiguration) -> list[Tensor] | NotCovered:
    """DeepSeek V2 and V3 and what is built like them: latent attention, shared and routed experts."""
    if c.count("index_topk"):
        return NotCovered("sparse attention with an indexer: no reference value is known, so none is given")
    nope, rope, value = c.needed("qk_nope_head_dim"), c.needed("qk_rope_head_dim"), c.needed("v_head_dim")
    rank, query_rank = c.needed("kv_lora_rank"), c.count("q_lora_rank")
    count, shared = c.count("n_routed_experts"), c.count("n_shared_experts", least=0) or 0
    dense, step = c.count("first_k_dense_replace", least=0) or 0, c.count("moe_layer_freq") or 1
    inner = c.count("moe_intermediate_size") or 0
    corrected = c.text.get("topk_method") == "noaux_tc"

    def layer(at: At, s: _Sizes) -> list[Tensor]:
        name = "self_attn"
        found = [*norms(at, s.hidden), vector(at, f"{name}.kv_a_layernorm", rank)]
        query = s.heads * (nope + rope)
        if query_rank:
            found += linear(at, f"{name}.q_a_proj", query_rank, s.hidden, "none")
            found.append(vector(at, f"{name}.q_a_layernorm", query_rank))
            found += linear(at, f"{name}.q_b_proj", query, query_rank, "rows")
        else:
            found += linear(at, f"{name}.q_proj", query, s.hidden, "rows")
        found += linear(at, f"{name}.kv_a_proj_with_mqa", rank + rope, s.hidden, "none")
        found += linear(at, f"{name}.kv_b_proj", s.heads * (nope + value), rank, "rows")
        found += linear(at, f"{name}.o_proj", s.hidden, s.heads * value, "columns")
        if not count or at.layer < dense or at.layer % step:
            return found + feed_forward(at, s.hidden, c.needed("intermediate_size"))
        found += router(at, s.hidden, count)
        if corrected:
            found.append(vector(at, "mlp.gate.e_score_correction_bias", count, element_bytes=_FLOAT32))
        if shared:
            found += feed_forward(at, s.hidden, inner * shared, module="mlp.shared_experts")
        return found + experts(at, s.hidden, inner, count)

    return _decoder_of_latent(c, layer)


def _decoder_of_latent(c: ModelConfiguration, layer: Callable[[At, _Sizes], Iterable[Tensor]]) -> list[Tensor]:
    """The same with no head size of its own: these families state the parts of one."""
    vocabulary, hidden = c.needed("vocab_size"), c.needed("hidden_size")
    heads, count = c.needed("num_attention_heads"), c.needed(*LAYERS)
    sizes = _Sizes(count, hidden, heads, heads, 0, vocabulary, c.flag("tie_word_embeddings"))
    found = ends("model", vocabulary, hidden, tied=sizes.tied)
    for index in range(count):
        found += layer(At("model.layers", index), sizes)
    return found


def _nemotron_h(c: ModelConfiguration) -> list[Tensor] | NotCovered:
    shape = cache_shape(c)
    if isinstance(shape, NotCovered):
        return shape
    inner, bias = c.needed("intermediate_size"), c.flag("use_bias")
    found = ends(
        "model",
        c.needed("vocab_size"),
        c.needed("hidden_size"),
        tied=c.flag("tie_word_embeddings"),
        norm="norm_f",
        every=ALL_EVERYWHERE,
    )
    s = _sizes(c)
    for index, kind in enumerate(shape.layers):
        at = At("model.layers", index)
        found.append(vector(at, "norm", s.hidden))
        if isinstance(kind, State):
            width = kind.conv_channels
            channels = width + kind.groups * kind.group_channels
            found += linear(at, "mixer.in_proj", width + channels + kind.heads, s.hidden, "rows", bias=bias)
            found.append(Tensor(f"{at.name}.mixer.conv1d", channels, kind.conv_length + 1, "rows", layer=index))
            if c.flag("use_conv_bias", True):
                found.append(vector(at, "mixer.conv1d", channels, "rows"))
            found += [vector(at, "mixer.D", kind.heads, "rows"), vector(at, "mixer.dt_bias", kind.heads, "rows")]
            found += [vector(at, "mixer.A", kind.heads, "rows", _FLOAT32), vector(at, "mixer.norm", width, "rows")]
            found += linear(at, "mixer.out_proj", s.hidden, width, "columns", bias=bias)
        elif isinstance(kind, Attention):
            found += attention(at, s.hidden, s.heads, s.kv_heads, s.head_dim, module="mixer")
        else:
            found += feed_forward(at, s.hidden, inner, gated=False, bias=c.flag("mlp_bias"), module="mixer")
    return found


def _gemma4(c: ModelConfiguration) -> list[Tensor] | NotCovered:
    from wizard.sizing.gemma4 import gemma4

    return gemma4(c)


Builder = Callable[[ModelConfiguration], list[Tensor] | NotCovered]

_BUILDERS: Mapping[str, Builder] = {
    "LlamaForCausalLM": _llama,
    "MistralForCausalLM": _llama,
    "MixtralForCausalLM": _mixtral,
    "MiMoForCausalLM": _qwen2,
    "MiniMaxM2ForCausalLM": _minimax_m2,
    "Qwen2ForCausalLM": _qwen2,
    "Qwen3ForCausalLM": _qwen3,
    "Qwen3MoeForCausalLM": _qwen3_moe,
    "Qwen3VLForConditionalGeneration": _qwen3_vl,
    "Qwen3VLMoeForConditionalGeneration": _qwen3_vl_moe,
    "Qwen3NextForCausalLM": _gated_delta,
    "Qwen3_5ForConditionalGeneration": _qwen3_5,
    "Qwen3_5MoeForConditionalGeneration": _qwen3_5,
    "DeepseekV2ForCausalLM": _deepseek,
    "DeepseekV3ForCausalLM": _deepseek,
    "GptOssForCausalLM": _gpt_oss,
    "Gemma3ForCausalLM": _gemma3,
    "Gemma4ForConditionalGeneration": _gemma4,
    "Llama4ForCausalLM": _llama4,
    "Llama4ForConditionalGeneration": _llama4_vl,
    "NemotronHForCausalLM": _nemotron_h,
}
