"""What a row of the mutation table is."""

from typing import Any

#: What is broken, the changes, and the expected (rule, severity, where).
Row = tuple[str, dict[str, Any], tuple[str, str, str]]

A = "engine.strategies"
M = "engine.models[0]"
E = "budget.engine.items"
R = "budget.runtime.items"
