"""Bytes of the data types that configurations and cache types name."""

from collections.abc import Mapping

from probes.models.configuration import ModelConfiguration

DTYPE_BYTES: Mapping[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2, "half": 2, "float": 4}

#: Bytes of one element of a cache type, and what each head keeps besides for K and V together (vLLM 0.32
#: `config/cache.py` and `v1/attention/backends/triton_attn.py`, function `customize_spec`).
CACHE_TYPES: Mapping[str, tuple[float, int]] = {
    "bfloat16": (2, 0),
    "float16": (2, 0),
    "fp8": (1, 0),
    "fp8_e4m3": (1, 0),
    "fp8_e5m2": (1, 0),
    "fp8_per_token_head": (1, 8),
    "int8_per_token_head": (1, 8),
    "int4_per_token_head": (0.5, 8),
}


def model_dtype(configuration: ModelConfiguration) -> str:
    """The type that vLLM loads the model in: as stated; float32, and none at all, becomes a half type."""
    for part in (configuration.text, configuration.whole):
        for key in ("dtype", "torch_dtype"):
            stated = part.get(key)
            if isinstance(stated, str) and stated.removeprefix("torch.") in DTYPE_BYTES:
                name = stated.removeprefix("torch.")
                return {"float32": "bfloat16", "float": "bfloat16", "half": "float16"}.get(name, name)
    return "bfloat16"
