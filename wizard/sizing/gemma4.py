"""The tensors of Gemma 4 with experts and a vision encoder. Source: vLLM 0.32.0 `model_executor/models/gemma4*.py`."""

from probes.models.configuration import ModelConfiguration, count_in
from wizard.sizing.blocks import (
    ALL_EVERYWHERE,
    At,
    attention,
    ends,
    experts,
    feed_forward,
    head_norms,
    norms,
    router,
    vector,
)
from wizard.sizing.layers import Attention, NotCovered, cache_shape
from wizard.sizing.tensors import Tensor

_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
_EXPERT_NORMS = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")


def gemma4(c: ModelConfiguration) -> list[Tensor] | NotCovered:
    """All weights; variants with audio, inputs a layer or layers without experts are not covered."""
    shape = cache_shape(c)
    if isinstance(shape, NotCovered):
        return shape
    if c.whole.get("audio_config") or c.count("hidden_size_per_layer_input", least=0):
        return NotCovered("the formula does not know the weights of this variant of Gemma 4 (audio, inputs a layer)")
    if not c.flag("enable_moe_block") or c.flag("use_double_wide_mlp"):
        return NotCovered("the formula knows the weights of Gemma 4 with experts in every layer only")
    hidden, heads, count = c.needed("hidden_size"), c.needed("num_attention_heads"), c.needed("num_experts")
    tied = c.text.get("tie_word_embeddings", True)
    found = ends("model.language_model", c.needed("vocab_size"), hidden, tied=bool(tied), every=ALL_EVERYWHERE)
    for index, kind in enumerate(shape.layers):
        if not isinstance(kind, Attention):
            continue
        at = At("model.language_model.layers", index)
        found += attention(at, hidden, heads, kind.kv_heads, kind.key_dim) + head_norms(at, kind.key_dim)
        found += feed_forward(at, hidden, c.needed("intermediate_size"))
        found += norms(at, hidden, *_NORMS, *_EXPERT_NORMS)
        found += router(at, hidden, count, module="router.proj")
        found += [vector(at, "router.scale", hidden), vector(at, "router.per_expert_scale", count)]
        found += experts(at, hidden, c.needed("moe_intermediate_size"), count, module="experts")
    return found + _vision(c)


def _vision(c: ModelConfiguration) -> list[Tensor]:
    part = c.vision
    if part is None:
        return []

    def count(name: str, default: int) -> int:
        return count_in(c.source, part, (name,)) or default

    hidden, inner, depth = count("hidden_size", 1152), count("intermediate_size", 4304), count("num_hidden_layers", 27)
    size, heads, kv = count("head_dim", 72), count("num_attention_heads", 16), count("num_key_value_heads", 16)
    table = count("position_embedding_size", 10240)
    found = [
        Tensor("vision_tower.position_embedding_table", 2 * table, hidden),
        Tensor("vision_tower.input_proj", hidden, 3 * count("patch_size", 16) ** 2),
        Tensor("embed_vision.embedding_projection", c.needed("hidden_size"), hidden),
    ]
    for block in range(depth):
        at = f"vision_tower.encoder.layers.{block}"
        for rows, columns in (
            (heads * size, hidden),
            (kv * size, hidden),
            (kv * size, hidden),
            (hidden, heads * size),
            (inner, hidden),
            (inner, hidden),
            (hidden, inner),
        ):
            found.append(Tensor(at, rows, columns))
        found.append(Tensor(at, 2 * size + 4 * hidden))
    return found
