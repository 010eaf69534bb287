"""Mutations of the rules on replicas that span nodes: C28 to C32, S7 and B23."""

from typing import Any

from probes.machine import Machine
from probes.nodes import fleet
from tests.unit.rule_mutations.row import Row
from tests.unit.selections import FACTS, GPU, machine, with_driver

_LAYOUT = "runtime.layout"
_MOE = FACTS.model_copy(update={"is_moe": True, "experts": 128, "experts_per_token": 8})
#: A replica of two nodes with two GPUs each, its spare beside it: a good selection but for what a row breaks.
_TWO: dict[str, Any] = {
    f"{_LAYOUT}.nodes_per_replica": 2,
    f"{_LAYOUT}.pipeline_parallel": 2,
    "runtime.hardware.gpus_per_replica": 4,
    "runtime.security.node_network": "a VLAN of these nodes",
    "budget.engine.items[0].quantity": 8,
    "budget.runtime.items[0].quantity": 35_040,
    "budget.runtime.items[2].quantity": 35_040,
    "smoke": None,
    "machine": None,
}


def two_nodes(**changes: Any) -> dict[str, Any]:
    """The changes that make a good selection one over two nodes, and some more."""
    return _TWO | changes


def fleet_of(count: int, *others: Machine) -> Machine:
    """A fleet of `count` equal nodes of two GPUs each, and others."""
    return fleet([machine(GPU, GPU) for _ in range(count)] + list(others))


_DATA = {f"{_LAYOUT}.pipeline_parallel": 1, f"{_LAYOUT}.data_parallel": 2}

TABLE: list[Row] = [
    (
        "GPUs that do not divide over the nodes",
        two_nodes(**{f"{_LAYOUT}.nodes_per_replica": 3}),
        ("C28", "block", f"{_LAYOUT}.nodes_per_replica"),
    ),
    (
        "an engine cut by the edge of a node",
        two_nodes(**{f"{_LAYOUT}.data_parallel": 3, "runtime.hardware.gpus_per_replica": 12,
                     "budget.engine.items[0].quantity": 24, "budget.runtime.items[0].quantity": 105_120,
                     "budget.runtime.items[2].quantity": 105_120}),
        ("C28", "block", "runtime.layout.data_parallel"),
    ),
    (
        "tensor parallelism across nodes",
        two_nodes(**{f"{_LAYOUT}.tensor_parallel": 4, f"{_LAYOUT}.pipeline_parallel": 1}),
        ("C29", "warn", f"{_LAYOUT}.tensor_parallel"),
    ),
    (
        "a fleet without the spare's nodes",
        two_nodes(machine=fleet_of(3)),
        ("C30", "warn", f"{_LAYOUT}.nodes_per_replica"),
    ),
    (
        "a node with another driver",
        two_nodes(machine=fleet_of(3, with_driver(machine(GPU, GPU), "590.44.01"))),
        ("C31", "warn", f"{_LAYOUT}.nodes_per_replica"),
    ),
    (
        "experts split across nodes",
        two_nodes(facts=_MOE, **_DATA),
        ("C32", "warn", f"{_LAYOUT}.data_parallel"),
    ),
    (
        "nobody says what closes the network",
        two_nodes(**{"runtime.security.node_network": None}),
        ("S7", "warn", "runtime.security.node_network"),
    ),
    (
        "no row for the network of the nodes",
        two_nodes(**{"budget.runtime.items[1]": ...}),
        ("B23", "warn", "budget.runtime.items"),
    ),
]  # fmt: skip
