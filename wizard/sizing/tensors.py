"""Weights as a list of matrices that know how they are split: parameters and bytes of a model, whole and a rank.

Sources: vLLM 0.32.0 `model_executor/layers/linear.py` (columns and rows are divided, what follows a row-parallel layer
is whole on every rank, KV heads are repeated beyond their number), `vocab_parallel_embedding.py` (rows padded to 64),
`fused_moe/layer.py` (experts divided by intermediate size, or whole experts with expert parallelism).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

VOCABULARY_STEP = 64  # vLLM 0.32.0 DEFAULT_VOCAB_PADDING_SIZE

Split = Literal["none", "rows", "columns", "kv", "vocabulary", "expert_rows", "expert_columns", "expert_none"]
Where = Literal["first", "last", "ends", "every"]


@dataclass(frozen=True)
class Tensor:
    """`copies` matrices of `rows` (outputs) × `columns` (inputs); a vector has one column.

    `split` says what tensor parallelism divides, `kv_heads` into how many parts at most (0: as many as ranks). `layer`
    is the layer it belongs to; without one, `where` says on which pipeline stage it lies. `linear` tensors are those
    that a quantised checkpoint may store in fewer bits.
    """

    module: str
    rows: int
    columns: int = 1
    split: Split = "none"
    copies: int = 1
    layer: int | None = None
    where: Where = "every"
    linear: bool = False
    element_bytes: int | None = None
    kv_heads: int = 0

    @property
    def elements(self) -> int:
        """Elements of the whole model."""
        return self.copies * self.rows * self.columns


@dataclass(frozen=True)
class Ranks:
    """How the weights are divided: tensor parallelism, and over how many ranks the experts are, whole or cut."""

    tensor: int = 1
    experts: int = 1
    whole_experts: bool = False


def vocabulary_rows(size: int) -> int:
    """Rows of an embedding as vLLM keeps it."""
    return -(-size // VOCABULARY_STEP) * VOCABULARY_STEP


def on_rank(tensor: Tensor, ranks: Ranks) -> Tensor:
    """The part of a tensor that one rank holds."""
    copies, rows, columns = tensor.copies, tensor.rows, tensor.columns
    if tensor.split in ("rows", "vocabulary"):
        rows = -(-rows // ranks.tensor)
    elif tensor.split == "columns":
        columns = -(-columns // ranks.tensor)
    elif tensor.split == "kv":
        rows = -(-rows // min(ranks.tensor, tensor.kv_heads))
    elif tensor.split.startswith("expert"):
        if ranks.whole_experts:
            copies = -(-copies // ranks.experts)
        elif tensor.split == "expert_rows":
            rows = -(-rows // ranks.experts)
        elif tensor.split == "expert_columns":
            columns = -(-columns // ranks.experts)
    return Tensor(
        tensor.module,
        rows,
        columns,
        tensor.split,
        copies,
        tensor.layer,
        tensor.where,
        tensor.linear,
        tensor.element_bytes,
        tensor.kv_heads,
    )


def on_stage(tensors: Iterable[Tensor], first: int, last: int, layers: int) -> list[Tensor]:
    """The tensors of one pipeline stage: its layers, and what lies before the first or behind the last."""
    found = []
    for tensor in tensors:
        if tensor.layer is not None:
            here = first <= tensor.layer < last
        elif tensor.where == "first":
            here = first == 0
        elif tensor.where == "last":
            here = last == layers
        elif tensor.where == "ends":
            here = first == 0 or last == layers
        else:
            here = True
        if here:
            found.append(tensor)
    return found
