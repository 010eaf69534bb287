"""How one replica is spread over nodes, worked out in one place from the answers.

Tensor parallelism exchanges data in every layer and belongs inside a node; pipeline parallelism hands over once a stage
and data parallelism hardly at all, so these go across (vLLM 0.33.0 docs/serving/parallelism_scaling.md).
"""

from dataclasses import dataclass
from typing import Literal

from wizard.answers import Answers

Across = Literal["nothing", "tensor", "pipeline", "data"]


@dataclass(frozen=True)
class Spread:
    """The sizes of one replica. `gpus` are those of the replica, None where they are not given."""

    nodes: int
    gpus: int | None
    tensor: int
    pipeline: int
    data: int

    @property
    def world(self) -> int:
        """The ranks of the replica."""
        return self.tensor * self.pipeline * self.data

    @property
    def engine(self) -> int:
        """The ranks of one engine: one copy of the model."""
        return self.tensor * self.pipeline

    @property
    def is_even(self) -> bool:
        """Whether every node carries the same number of GPUs and of ranks."""
        return self.world % self.nodes == 0 and (self.gpus or 0) % self.nodes == 0

    @property
    def gpus_per_node(self) -> int | None:
        """GPUs of one node; of nodes that cannot be equal, those of the fullest."""
        return None if self.gpus is None else -(-self.gpus // self.nodes)

    @property
    def ranks_per_node(self) -> int:
        """Ranks of one node; of nodes that cannot be equal, those of the fullest."""
        return -(-self.world // self.nodes)

    @property
    def across(self) -> Across:
        """What goes across nodes: the closest kind of parallelism that no longer fits into one."""
        if self.nodes == 1:
            return "nothing"
        if self.ranks_per_node % self.tensor:
            return "tensor"
        return "data" if self.data > 1 and self.ranks_per_node % self.engine == 0 else "pipeline"


def spread(answers: Answers) -> Spread:
    """The spread of a replica; what is not given counts as 1."""
    layout = answers.runtime.layout
    return Spread(
        nodes=layout.nodes_per_replica or 1,
        gpus=answers.runtime.hardware.gpus_per_replica,
        tensor=layout.tensor_parallel or 1,
        pipeline=layout.pipeline_parallel or 1,
        data=layout.data_parallel or 1,
    )


def nodes_in_all(answers: Answers) -> int | None:
    """Nodes of all replicas, the spare ones too; None where the replicas are not given.

    Replicas that share a node are counted as one node each.
    """
    layout = answers.runtime.layout
    if layout.replicas is None or layout.spare_replicas is None:
        return None
    return (layout.replicas + layout.spare_replicas) * (layout.nodes_per_replica or 1)
