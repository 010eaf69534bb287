"""Mutations of the rules on the two lines: B2 to B20."""

import datetime
from decimal import Decimal
from typing import Any

from tests.unit.rule_mutations.row import E, R, Row

_LINE_E, _LINE_R = "budget.engine", "budget.runtime"
_COMMERCIAL: dict[str, Any] = {f"{E}[0].quantity": 4, "engine.licence_kind": "commercial"}


def priced(item: str, **changes: Any) -> dict[str, Any]:
    """Make a priced item of a line."""
    return {
        "id": item,
        "item": "Item",
        "quantity": 4,
        "unit": "Person-Days",
        "unit_price": "1.00",
        "frequency": "yearly",
        "basis": "quote",
        "observed_on": datetime.date(2026, 11, 20),
    } | changes


#: A price in dollars, and the rate that would convert it.
_USD: dict[str, Any] = {f"{E}[1].currency": "USD"}
_RATE: dict[str, Any] = {
    "currency": "USD",
    "rate": "0.86",
    "source_ref": "reference rate (invented)",
    "observed_on": datetime.date(2026, 11, 27),
}


def _rate(**changes: Any) -> dict[str, Any]:
    """The dollar price with this rate; a change of None takes a part of the rate away."""
    return _USD | {
        f"{_LINE_E}.rates": [{name: value for name, value in (_RATE | changes).items() if value is not None}]
    }


TABLE: list[Row] = [
    ("an item of line R in line E", {f"{E}[1].id": "R8"}, ("B2", "block", f"{E}[1].id")),
    ("GPU-hours in line E", {f"{E}[1].unit": "GPU-Hours"}, ("B2", "block", f"{E}[1].unit")),
    (
        "an item of line R in line E, not needed",
        {f"{E}[1]": {"id": "R8", "state": "not_needed", "reason": "x"}},
        ("B2", "block", f"{E}[1].id"),
    ),
    ("an item of line E in line R", {f"{R}[1].id": "E2"}, ("B3", "block", f"{R}[1].id")),
    (
        "an item of line E in line R, not needed",
        {f"{R}[1]": {"id": "E2", "state": "not_needed", "reason": "x"}},
        ("B3", "block", f"{R}[1].id"),
    ),
    ("a fee for free software", {f"{E}[0].unit_price": "10.00"}, ("B4", "warn", f"{E}[0].unit_price")),
    ("no fee for commercial software", _COMMERCIAL, ("B4", "warn", f"{E}[0].unit_price")),
    ("accelerators of one replica only", {f"{E}[0].quantity": 2}, ("B5", "block", f"{E}[0].quantity")),
    ("a bundle in nothing", {f"{R}[1].included_in": "R77"}, ("B6", "block", f"{R}[1].included_in")),
    ("a bundle in itself", {f"{R}[1].included_in": "R4"}, ("B6", "block", f"{R}[1].included_in")),
    ("a price without a date", {f"{E}[1].observed_on": ...}, ("B7", "block", f"{E}[1].observed_on")),
    ("a price without a unit", {f"{E}[1].unit": ...}, ("B7", "block", f"{E}[1].unit")),
    ("a price without a basis", {f"{R}[0].basis": ...}, ("B7", "block", f"{R}[0].basis")),
    ("prices without a currency", {f"{_LINE_E}.currency": ...}, ("B7", "block", f"{_LINE_E}.currency")),
    (
        "a price out of date",
        {f"{R}[0].valid_until": datetime.date(2026, 11, 29)},
        ("B7", "warn", f"{R}[0].valid_until"),
    ),
    (
        "a price of 91 days ago",
        {f"{R}[0].observed_on": datetime.date(2026, 8, 31)},
        ("B7", "warn", f"{R}[0].observed_on"),
    ),
    (
        "all capacity at a spot price",
        {f"{R}[0].pricing": "Dynamic", f"{R}[2].pricing": "Dynamic"},
        ("B9", "warn", f"{R}[0].pricing"),
    ),
    (
        "a commitment without a term",
        {f"{E}[1].pricing": "Committed"},
        ("B9", "warn", f"{E}[1].term_months"),
    ),
    (
        "a commitment without a way out",
        {f"{R}[0].pricing": "Committed", f"{R}[0].term_months": 12},
        ("B9", "warn", R),
    ),
    (
        "a spare that nobody pays for",
        {f"{R}[2]": {"id": "R2", "state": "not_needed", "reason": "x"}},
        ("B10", "block", R),
    ),
    (
        "an availability target without a spare",
        {"runtime.layout.spare_replicas": 0, f"{E}[0].quantity": 2,
         f"{R}[2]": {"id": "R2", "state": "not_needed", "reason": "x"}},
        ("B10", "block", "runtime.layout.spare_replicas"),
    ),
    (
        "no yearly volume",
        {"runtime.workload.calls_per_year": ...},
        ("B11", "warn", "runtime.workload.calls_per_year"),
    ),
    (
        "GPUs rented and bought",
        {f"{R}[3]": priced("R1b", unit="Servers", frequency="one-time")},
        ("B12", "block", f"{R}[3].unit"),
    ),
    ("energy of rented GPUs", {f"{R}[3]": priced("R10", unit="kWh")}, ("B12", "block", f"{R}[3].id")),
    ("the spare paid twice", {f"{R}[0].quantity": 35040}, ("B12", "block", f"{R}[0].quantity")),
    (
        "a spare that is not proposed is paid",
        {"runtime.layout.spare_replicas": 0, f"{E}[0].quantity": 2, "runtime.operations.availability": ...},
        ("B12", "block", f"{R}[2].id"),
    ),
    (
        "no contingency",
        {f"{_LINE_R}.contingency_percent": ...},
        ("B13", "warn", f"{_LINE_R}.contingency_percent"),
    ),
    (
        "more contingency than line",
        {f"{_LINE_R}.contingency_percent": Decimal(150)},
        ("B13", "warn", f"{_LINE_R}.contingency_percent"),
    ),
    (
        "a contingency for nothing",
        {f"{_LINE_E}.contingency_basis": ...},
        ("B13", "warn", f"{_LINE_E}.contingency_basis"),
    ),
    (
        "a pooled contingency",
        {f"{_LINE_E}.contingency_basis": "pooled with the runtime"},
        ("B13", "warn", f"{_LINE_E}.contingency_basis"),
    ),
    (
        "a contingency on a cautious figure",
        {f"{E}[1].assumption": "days are the P80 estimate"},
        ("B13", "warn", f"{E}[1].assumption"),
    ),
    (
        "prices with and without tax",
        {f"{R}[0].tax": "included", f"{R}[2].tax": "excluded"},
        ("B14", "warn", f"{R}[0].tax"),
    ),
    ("a price in another currency", _USD, ("B14", "block", f"{_LINE_E}.rates")),
    ("a rate without a value", _rate(rate=None), ("B14", "block", f"{_LINE_E}.rates[0].rate")),
    ("a rate without a source", _rate(source_ref=None), ("B14", "block", f"{_LINE_E}.rates[0].source_ref")),
    ("a rate without a day", _rate(observed_on=None), ("B14", "block", f"{_LINE_E}.rates[0].observed_on")),
    (
        "two rates for one currency",
        _USD | {f"{_LINE_E}.rates": [_RATE, _RATE | {"rate": "0.9"}]},
        ("B14", "block", f"{_LINE_E}.rates[1].currency"),
    ),
    (
        "a rate of 91 days ago",
        _rate(observed_on=datetime.date(2026, 8, 31)),
        ("B14", "warn", f"{_LINE_E}.rates[0].observed_on"),
    ),
    ("a price that is sold for more GPUs", {f"{R}[0].min_gpus": 8}, ("B15", "warn", f"{R}[0].min_gpus")),
    ("a price for another product", {f"{R}[0].product": "H100 PCIe"}, ("B15", "warn", f"{R}[0].product")),
    (
        "a price for another form factor",
        {f"{R}[0].source_ref": "quote C-1, H100 PCIe"},
        ("B15", "warn", f"{R}[0].source_ref"),
    ),
    ("a price for another chip", {f"{R}[0].item": "GPUs, H200"}, ("B15", "warn", f"{R}[0].item")),
    (
        "a commercial product without a licence",
        {f"{E}[0]": priced("E2", unit="Accelerators"), "runtime.product": "NVIDIA NIM", "runtime.version": "2.1.6",
         "runtime.inner_engine": "vLLM", "runtime.inner_version": "0.33.0", "engine.strategies": {}, "smoke": None},
        ("B19", "block", E),
    ),
    ("an AGPL engine without legal", {"engine.licence": "AGPL-3.0"}, ("B19", "block", "governance.approvals")),
    (
        "not needed but priced",
        {f"{E}[1].state": "not_needed", f"{E}[1].reason": "x"},
        ("B20", "block", f"{E}[1].state"),
    ),
    ("bundled with a price of its own", {f"{R}[1].unit_price": "1.00"}, ("B20", "block", f"{R}[1].basis")),
    ("not given but priced", {f"{E}[1].state": "not_given"}, ("B20", "block", f"{E}[1].state")),
    ("priced without a price", {f"{E}[1].state": "priced", f"{E}[1].unit_price": ...},
     ("B20", "block", f"{E}[1].unit_price")),
    (
        "not needed without a reason",
        {f"{E}[1]": {"id": "E4", "state": "not_needed"}},
        ("B20", "warn", f"{E}[1].reason"),
    ),
]  # fmt: skip
