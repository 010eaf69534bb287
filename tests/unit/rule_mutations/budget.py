"""Mutations of the rules on the two lines: B2 to B24."""

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


_INPUTS = {
    "purchase_price": "240000",
    "residual_value": "40000",
    "life_years": "4",
    "gpus": "4",
    "average_kw": "3.5",
    "pue": "1.3",
    "price_kwh": "0.21",
    "space_kw": "5",
    "space_kw_month": "140",
    "maintenance_percent": "4",
    "insurance_year": "2000",
    "staff_year": "0",
}
OWNED = "budget.runtime.owned"


def owned_inputs(**changes: Any) -> list[dict[str, Any]]:
    """The inputs of four owned GPUs, each with its source; a value of None takes one away."""
    seen = {"source_ref": "quote H-1 (invented)", "observed_on": datetime.date(2026, 11, 20)}
    return [{"name": name, "value": value} | seen for name, value in (_INPUTS | changes).items() if value is not None]


def _part(item: str, part: str, quantity: int = 4) -> dict[str, Any]:
    return {"id": item, "item": "Owned", "owned_part": part, "quantity": quantity}


def owned(*more: dict[str, Any], **inputs: Any) -> dict[str, Any]:
    """The good selection with owned hardware, and rows that pay each part once."""
    rows = [
        _part("R1", "depreciation", 2),
        {"id": "R4", "item": "Hosts", "basis": "bundled", "included_in": "R1", "frequency": "yearly"},
        _part("R2", "depreciation", 2),
        _part("R10a", "energy"),
        _part("R10b", "space"),
        _part("R10c", "maintenance"),
        _part("R10d", "insurance"),
        *more,
    ]
    return {
        "runtime.hardware.ownership": "owned",
        f"{_LINE_R}.view": "amortised",
        R: rows,
        OWNED: owned_inputs(**inputs),
    }


def _owned_without(field: str) -> dict[str, Any]:
    """Owned hardware whose PUE lacks its source or its day."""
    inputs = [{k: v for k, v in row.items() if row["name"] != "pue" or k != field} for row in owned_inputs()]
    return owned() | {OWNED: inputs}


_OPTION = "budget.runtime.alternatives"


def _option(**changes: Any) -> dict[str, Any]:
    """One price of another option of line R; a change of None takes a part of it away."""
    price = priced("x", unit="GPU-Hours", source_ref="quote", name="GPU-hours", option="H200", replaces=["R1", "R4"])
    price = {
        name: value for name, value in (price | changes).items() if value is not None and name not in ("id", "item")
    }
    return {_OPTION: [price]}


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
    ("hardware in a price of line E", {f"{R}[1].included_in": "E4"}, ("B6", "block", f"{R}[1].included_in")),
    ("a bundle in itself", {f"{R}[1].included_in": "R4"}, ("B6", "block", f"{R}[1].included_in")),
    ("a price without a date", {f"{E}[1].observed_on": ...}, ("B7", "block", f"{E}[1].observed_on")),
    ("a price without a unit", {f"{E}[1].unit": ...}, ("B7", "block", f"{E}[1].unit")),
    ("a price without a quantity", {f"{E}[1].quantity": ...}, ("B7", "block", f"{E}[1].quantity")),
    ("a price without a frequency", {f"{E}[1].frequency": ...}, ("B7", "block", f"{E}[1].frequency")),
    (
        "a price of tomorrow",
        {f"{R}[0].observed_on": datetime.date(2026, 12, 1)},
        ("B7", "warn", f"{R}[0].observed_on"),
    ),
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
    ("half of the serving GPUs paid", {f"{R}[0].quantity": 8760}, ("B24", "warn", f"{R}[0].quantity")),
    ("a tenth of the spare paid", {f"{R}[2].quantity": 1752}, ("B24", "warn", f"{R}[2].quantity")),
    (
        "a spare in a price that holds the serving GPUs only",
        {f"{R}[2]": {"id": "R2", "item": "Spare", "basis": "bundled", "included_in": "R1", "frequency": "yearly"}},
        ("B24", "warn", f"{R}[0].quantity"),
    ),
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
    ("a part of owned hardware without inputs", owned() | {OWNED: []}, ("B21", "block", OWNED)),
    ("an input that is missing", owned(pue=None), ("B21", "block", OWNED)),
    ("an input without a source", _owned_without("source_ref"), ("B21", "block", f"{OWNED}[5].source_ref")),
    ("an input without a day", _owned_without("observed_on"), ("B21", "block", f"{OWNED}[5].observed_on")),
    ("a data centre that takes less than its computers", owned(pue="0.9"), ("B21", "block", f"{OWNED}[5].value")),
    ("hardware that lives no time", owned(life_years="0"), ("B21", "block", f"{OWNED}[2].value")),
    ("hardware that gains value", owned(residual_value="240001"), ("B21", "block", f"{OWNED}[1].value")),
    ("depreciation in cash", owned() | {f"{_LINE_R}.view": "cash"}, ("B21", "block", f"{_LINE_R}.view")),
    ("a typed price beside a worked-out one", owned() | {f"{R}[3].unit_price": "1.00"},
     ("B21", "block", f"{R}[3].unit_price")),
    ("a part counted in hours", owned() | {f"{R}[3].unit": "GPU-Hours"}, ("B21", "block", f"{R}[3].unit")),
    ("a part paid twice", owned() | {f"{R}[3].quantity": 8}, ("B21", "block", f"{R}[3].quantity")),
    ("a part that nobody pays", owned(staff_year="9000"), ("B21", "block", R)),
    ("inputs of other GPUs", owned(gpus="5") | {f"{R}[{n}].quantity": 5 for n in (3, 4, 5, 6)}
     | {f"{R}[0].quantity": 3}, ("B21", "warn", f"{OWNED}[3].value")),
    (
        "written off and bought",
        owned(priced("R1b", unit="Servers", frequency="one-time")),
        ("B21", "block", f"{R}[0].owned_part"),
    ),
    ("a part of owned hardware that is rented", owned() | {"runtime.hardware.ownership": "rented"},
     ("B12", "block", f"{R}[0].owned_part")),
    ("an option without a source", _option(source_ref=None), ("B22", "warn", f"{_OPTION}[0].source_ref")),
    ("an option without a basis", _option(basis=None), ("B22", "warn", f"{_OPTION}[0].basis")),
    ("an option out of date", _option(valid_until=datetime.date(2026, 11, 1)),
     ("B22", "warn", f"{_OPTION}[0].valid_until")),
    ("an option of 91 days ago", _option(observed_on=datetime.date(2026, 8, 31)),
     ("B22", "warn", f"{_OPTION}[0].observed_on")),
    ("an option in a currency without a rate", _option(currency="USD"), ("B22", "warn", f"{_OPTION}[0].currency")),
    ("an input of 91 days ago", owned() | {OWNED: [row | {"observed_on": datetime.date(2026, 8, 31)} if row["name"]
     == "price_kwh" else row for row in owned_inputs()]}, ("B21", "warn", f"{OWNED}[6].observed_on")),
    ("an option in place of nothing", _option(replaces=["R1", "R4", "R77"]), ("B22", "warn", f"{_OPTION}[0].replaces")),
    ("an option that leaves a bundle alone", _option(replaces=["R1"]), ("B22", "warn", f"{_OPTION}[0].replaces")),
]  # fmt: skip
