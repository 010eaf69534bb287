"""What a row of the mutation table is."""

from typing import Any

#: What is broken, the changes, and the expected (rule, severity, where).
Row = tuple[str, dict[str, Any], tuple[str, str, str]]

A = "engine.strategies"
M = "engine.models[0]"
E = "budget.engine.items"
R = "budget.runtime.items"


def replica_of(gpus: int) -> dict[str, Any]:
    """The good selection with other replicas: one that serves and one spare, their GPUs paid for in both lines."""
    return {
        "runtime.hardware.gpus_per_replica": gpus,
        f"{E}[0].quantity": 2 * gpus,
        f"{R}[0].quantity": 8760 * gpus,
        f"{R}[2].quantity": 8760 * gpus,
    }
