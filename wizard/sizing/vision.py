"""The vision encoders of the multimodal architectures that the formula covers; vLLM builds one on every stage.

Sources: vLLM 0.32.0 `model_executor/models/qwen3_vl.py` and `mllama4.py`; sizes that a Llama 4 configuration leaves
out are the defaults of transformers 5.19 `Llama4VisionConfig`.
"""

from probes.models.configuration import ModelConfiguration, count_in
from wizard.sizing.tensors import Split, Tensor

_LLAMA4 = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "intermediate_size": 5632,
    "num_channels": 3,
    "image_size": 448,
    "patch_size": 14,
    "vision_output_dim": 7680,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
}


def _biased(module: str, rows: int, columns: int, split: Split) -> list[Tensor]:
    """A linear layer with its bias, which is whole behind a row-parallel one."""
    return [
        Tensor(module, rows, columns, split, linear=True),
        Tensor(module, rows, split="none" if split == "columns" else split),
    ]


def _norm(module: str, size: int) -> Tensor:
    return Tensor(module, 2 * size)  # weight and bias


def qwen3_vision(configuration: ModelConfiguration) -> list[Tensor]:
    """The encoder of Qwen3-VL and Qwen3.5, with one merger a deep-stack level besides the last."""
    part = configuration.vision
    if part is None:
        return []

    def count(name: str, default: int) -> int:
        return count_in(configuration.source, part, (name,)) or default

    hidden, inner, depth = count("hidden_size", 1152), count("intermediate_size", 4304), count("depth", 27)
    patch = count("in_channels", 3) * count("temporal_patch_size", 2) * count("patch_size", 16) ** 2
    merged = hidden * count("spatial_merge_size", 2) ** 2
    out = count("out_hidden_size", 3584)
    levels = part.get("deepstack_visual_indexes")
    name = "model.visual"
    found = _biased(f"{name}.patch_embed.proj", hidden, patch, "none")
    found.append(Tensor(f"{name}.pos_embed", count("num_position_embeddings", 2304), hidden))
    for block in range(depth):
        at = f"{name}.blocks.{block}"
        found += [_norm(f"{at}.norm1", hidden), _norm(f"{at}.norm2", hidden)]
        found += _biased(f"{at}.attn.qkv", 3 * hidden, hidden, "rows")
        found += _biased(f"{at}.attn.proj", hidden, hidden, "columns")
        found += _biased(f"{at}.mlp.linear_fc1", inner, hidden, "rows")
        found += _biased(f"{at}.mlp.linear_fc2", hidden, inner, "columns")
    mergers = ["merger", *(f"deepstack_merger_list.{i}" for i in range(len(levels) if isinstance(levels, list) else 0))]
    for merger in mergers:
        at = f"{name}.{merger}"
        found.append(_norm(f"{at}.norm", hidden if merger == "merger" else merged))
        found += _biased(f"{at}.linear_fc1", merged, merged, "rows")
        found += _biased(f"{at}.linear_fc2", out, merged, "columns")
    return found


def llama4_vision(configuration: ModelConfiguration) -> list[Tensor]:
    """The encoder of Llama 4 and the projection into the language model."""
    part = configuration.vision or {}

    def count(name: str) -> int:
        return count_in(configuration.source, part, (name,)) or _LLAMA4[name]

    hidden, inner, depth = count("hidden_size"), count("intermediate_size"), count("num_hidden_layers")
    patch, tokens = count("patch_size"), (count("image_size") // count("patch_size")) ** 2 + 1
    middle, out = count("projector_input_dim"), count("projector_output_dim")
    name = "vision_model"
    found = [
        Tensor(f"{name}.class_embedding", hidden),
        Tensor(f"{name}.positional_embedding_vlm", tokens, hidden),
        Tensor(f"{name}.patch_embedding.linear", hidden, count("num_channels") * patch**2, "rows"),
        _norm(f"{name}.layernorm_pre", hidden),
        _norm(f"{name}.layernorm_post", hidden),
    ]
    for block in range(depth):
        at = f"{name}.model.layers.{block}"
        found += [_norm(f"{at}.input_layernorm", hidden), _norm(f"{at}.post_attention_layernorm", hidden)]
        found += _biased(f"{at}.self_attn.qkv_proj", 3 * hidden, hidden, "rows")
        found += _biased(f"{at}.self_attn.o_proj", hidden, hidden, "columns")
        found += _biased(f"{at}.mlp.fc1", inner, hidden, "rows")
        found += _biased(f"{at}.mlp.fc2", hidden, inner, "columns")
    text = configuration.needed("hidden_size")
    found += [
        Tensor(f"{name}.vision_adapter.mlp.fc1", middle, inner, "rows", linear=True),
        Tensor(f"{name}.vision_adapter.mlp.fc2", out, middle, "columns", linear=True),
        Tensor("multi_modal_projector.linear_1", text, count("vision_output_dim"), "none", linear=True),
    ]
    return found
