"""The two budget lines: two types of money, one implementation of a line, and no way to add them."""

from wizard.budget.items import CATALOGUE, CatalogueItem, base_id, catalogue_item, item_order
from wizard.budget.lines import (
    EngineContingency,
    EngineLine,
    EngineRow,
    EngineSubtotal,
    RuntimeContingency,
    RuntimeLine,
    RuntimeRow,
    RuntimeSubtotal,
    engine_line,
    runtime_line,
)
from wizard.budget.money import EngineMoney, RuntimeMoney
from wizard.budget.unit_cost import (
    RuntimeUnitCosts,
    UnitCostRow,
    engine_unit_cost,
    hourly_r1,
    idle_memo,
    runtime_unit_costs,
    tokens_per_year,
)

__all__ = [
    "CATALOGUE",
    "CatalogueItem",
    "EngineContingency",
    "EngineLine",
    "EngineMoney",
    "EngineRow",
    "EngineSubtotal",
    "RuntimeContingency",
    "RuntimeLine",
    "RuntimeMoney",
    "RuntimeRow",
    "RuntimeSubtotal",
    "RuntimeUnitCosts",
    "UnitCostRow",
    "base_id",
    "catalogue_item",
    "engine_line",
    "engine_unit_cost",
    "hourly_r1",
    "idle_memo",
    "item_order",
    "runtime_line",
    "runtime_unit_costs",
    "tokens_per_year",
]
