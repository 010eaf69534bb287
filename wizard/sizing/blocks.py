"""The building blocks of a decoder, as tensors: attention, feed-forward, experts, states.

Names are those of the checkpoint as far as lists of unquantised modules use them. Sources: vLLM 0.32.0
`model_executor/models/*.py`, one class an architecture.
"""

from dataclasses import dataclass

from wizard.sizing.tensors import Split, Tensor, Where, vocabulary_rows


@dataclass(frozen=True)
class At:
    """Where a block stands: the prefix of its names, and its layer."""

    prefix: str
    layer: int

    @property
    def name(self) -> str:
        """Prefix of the names of this layer's modules."""
        return f"{self.prefix}.{self.layer}"


def linear(at: At, module: str, rows: int, columns: int, split: Split, *, bias: bool = False) -> list[Tensor]:
    """A matrix, and its bias, which is whole on every rank behind a row-parallel layer (split by columns)."""
    name = f"{at.name}.{module}"
    found = [Tensor(name, rows, columns, split, layer=at.layer, linear=True)]
    if bias:
        found.append(Tensor(name, rows, split="none" if split == "columns" else split, layer=at.layer))
    return found


def vector(at: At, module: str, size: int, split: Split = "none", element_bytes: int | None = None) -> Tensor:
    """A norm, a scale or a bias of its own."""
    return Tensor(f"{at.name}.{module}", size, split=split, layer=at.layer, element_bytes=element_bytes)


def attention(
    at: At,
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    gate: bool = False,
    qkv_bias: bool = False,
    out_bias: bool = False,
    module: str = "self_attn",
) -> list[Tensor]:
    """Queries (twice with an output gate), keys, values and the way out."""
    query = heads * head_dim * (2 if gate else 1)
    kv = kv_heads * head_dim
    found = linear(at, f"{module}.q_proj", query, hidden, "rows", bias=qkv_bias)
    for name in ("k_proj", "v_proj"):
        full = f"{at.name}.{module}.{name}"
        found.append(Tensor(full, kv, hidden, "kv", layer=at.layer, linear=True, kv_heads=kv_heads))
        if qkv_bias:
            found.append(Tensor(full, kv, split="kv", layer=at.layer, kv_heads=kv_heads))
    return found + linear(at, f"{module}.o_proj", hidden, heads * head_dim, "columns", bias=out_bias)


def head_norms(at: At, head_dim: int, module: str = "self_attn") -> list[Tensor]:
    """A norm over each head's queries and one over its keys, shared by the heads."""
    return [vector(at, f"{module}.{name}", head_dim) for name in ("q_norm", "k_norm")]


def feed_forward(
    at: At, hidden: int, inner: int, *, gated: bool = True, bias: bool = False, module: str = "mlp"
) -> list[Tensor]:
    """Up, with a gate beside it in most families, and down."""
    names = ("gate_proj", "up_proj") if gated else ("up_proj",)
    found: list[Tensor] = []
    for name in names:
        found += linear(at, f"{module}.{name}", inner, hidden, "rows", bias=bias)
    return found + linear(at, f"{module}.down_proj", hidden, inner, "columns", bias=bias)


def experts(
    at: At, hidden: int, inner: int, count: int, *, module: str = "mlp.experts", bias: bool = False
) -> list[Tensor]:
    """All experts of a layer: gate and up fused, and down."""
    name = f"{at.name}.{module}"
    found = [
        Tensor(f"{name}.gate_up_proj", 2 * inner, hidden, "expert_rows", count, at.layer, linear=True),
        Tensor(f"{name}.down_proj", hidden, inner, "expert_columns", count, at.layer, linear=True),
    ]
    if bias:
        found += [
            Tensor(f"{name}.gate_up_proj", 2 * inner, split="expert_rows", copies=count, layer=at.layer),
            Tensor(f"{name}.down_proj", hidden, split="expert_none", copies=count, layer=at.layer),
        ]
    return found


def router(
    at: At, hidden: int, count: int, *, module: str = "mlp.gate", bias: bool = False, element_bytes: int | None = None
) -> list[Tensor]:
    """The router, which every rank holds whole and no format quantises."""
    found = [Tensor(f"{at.name}.{module}", count, hidden, layer=at.layer, element_bytes=element_bytes)]
    return [*found, vector(at, module, count)] if bias else found


def norms(at: At, hidden: int, *names: str) -> list[Tensor]:
    """Norms of the hidden size."""
    return [vector(at, name, hidden) for name in names or ("input_layernorm", "post_attention_layernorm")]


@dataclass(frozen=True)
class EveryStage:
    """What a family's class builds on every pipeline stage, needed or not; without it only where it is used."""

    embedding: bool = False
    norm: bool = False
    head: bool = False


ALL_EVERYWHERE = EveryStage(embedding=True, norm=True, head=True)


def ends(
    prefix: str,
    vocabulary: int,
    hidden: int,
    *,
    tied: bool,
    norm: str = "norm",
    every: EveryStage = EveryStage(),  # frozen
) -> list[Tensor]:
    """Embedding, last norm and head; a tied head is the embedding itself, which the last stage then holds too."""
    rows = vocabulary_rows(vocabulary)
    place: Where = "every" if every.embedding else "ends" if tied else "first"
    found = [
        Tensor(f"{prefix}.embed_tokens", rows, hidden, "vocabulary", where=place),
        Tensor(f"{prefix}.{norm}", hidden, where="every" if every.norm else "last"),
    ]
    if not tied:
        where: Where = "every" if every.head else "last"
        found.append(Tensor("lm_head", rows, hidden, "vocabulary", where=where))
    return found
