"""Owned hardware in the block of line R: the inputs with their source, the parts they give, and an hour's cost."""

from collections.abc import Callable
from decimal import Decimal
from typing import get_args

from wizard.answers import RuntimeBudget
from wizard.answers.budget import OwnedInput, OwnedName, OwnedPart
from wizard.budget import RuntimeLine
from wizard.budget.owned import INPUTS, MONEY, NAMES, OwnedYear, owned_year
from wizard.document import formats
from wizard.document.context.common import Context
from wizard.document.markdown import NOT_GIVEN, Table

#: What each input is, with its unit; prices have the currency as theirs.
_NAMES: dict[OwnedName, tuple[str, str]] = {
    "purchase_price": ("Purchase price of all GPUs and their hosts", ""),
    "residual_value": ("Residual value at the end of the life", ""),
    "life_years": ("Useful life", "years"),
    "gpus": ("GPUs that are bought, spare ones too", "GPUs"),
    "average_kw": ("Average power of the computers", "kW"),
    "pue": ("PUE of the data centre", "× the computers' power"),
    "price_kwh": ("Price of a kWh", ""),
    "space_kw": ("Space in the data centre", "kW"),
    "space_kw_month": ("Price of a kW of space and month", ""),
    "maintenance_percent": ("Maintenance a year", "% of the purchase price"),
    "insurance_year": ("Insurance and spare parts a year", ""),
    "staff_year": ("Staff for the hardware a year", ""),
}
_PARTS: dict[OwnedPart, tuple[str, str]] = {
    "depreciation": ("Depreciation", "(purchase price − residual value) / useful life"),
    "energy": ("Energy", "average power × PUE × 8,760 h × price of a kWh"),
    "space": ("Space", "price of a kW and month × kW × 12"),
    "maintenance": ("Maintenance", "% × purchase price"),
    "insurance": ("Insurance and spare parts", "as given"),
    "staff": ("Staff", "as given"),
}
_UTILISATIONS = ("0.25", "0.5", "0.75", "1.0")


def owned_block(line: RuntimeLine, answers: RuntimeBudget, said: Callable[..., str]) -> Context:
    """The tables of owned hardware; all None where nothing is said of it."""
    year = owned_year(answers)
    if year is None:
        return {"owned_inputs": None, "owned_parts": None, "owned_hours": None}
    return {
        "owned_inputs": _inputs(year, answers, said),
        "owned_parts": _parts(year, line),
        "owned_hours": _hours(year),
    }


def _inputs(year: OwnedYear, answers: RuntimeBudget, said: Callable[..., str]) -> Table:
    rows = []
    known = [(index, row) for index, row in enumerate(answers.owned) if row.name is not None]
    for name in NAMES:
        found = [(index, row) for index, row in known if row.name == name]
        title = _NAMES[name][0]
        if not found:
            rows.append((title, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, "missing"))
        for index, row in found:
            keys = [f"budget.runtime.owned[{index}].{field}" for field in ("value", "source_ref", "observed_on")]
            why = year.unusable.get(name)
            value = _value(row, name, answers.currency) + (f", not usable: it {why}" if why else "")
            rows.append((title, value, row.source_ref or NOT_GIVEN, formats.day(row.observed_on), said(*keys)))
    return Table(("Input", "Value", "Reference", "Observed on", "Source"), tuple(rows))


def _value(row: OwnedInput, name: OwnedName, currency: str | None) -> str:
    if row.value is None:
        return NOT_GIVEN
    if name in MONEY:
        return f"{row.currency or currency or 'currency not given'} {formats.number(row.value)}"
    return f"{formats.number(row.value)} {_NAMES[name][1]}"


def _parts(year: OwnedYear, line: RuntimeLine) -> Table:
    rows = []
    for part in get_args(OwnedPart):
        money, price = year.parts[part], year.price(part)
        paid = ", ".join(row.id for row in line.added_rows if row.owned_part == part) or "no row"
        lacks = [_NAMES[name][0].lower() for name in INPUTS[part] if name not in year.values]
        rows.append(
            (
                _PARTS[part][0],
                _PARTS[part][1] if not lacks else f"{_PARTS[part][1]}; lacks {formats.listed(lacks)}",
                NOT_GIVEN if money is None else money.text(),
                NOT_GIVEN if price is None or year.currency is None else f"{year.currency} {formats.number(price)}",
                paid,
                "missing" if money is None else "derived F-16",
            )
        )
    whole = year.all_parts
    rows.append(
        (
            "All parts of owned hardware",
            "the parts as shown",
            NOT_GIVEN if whole is None else whole.text(),
            "not applicable",
            "not applicable",
            "missing" if whole is None else "derived F-16",
        )
    )
    return Table(("Part", "Worked out as", "Amount a year", "For a GPU-Year", "Paid by", "Source"), tuple(rows))


def _hours(year: OwnedYear) -> Table | None:
    costs = [(text, year.per_delivered_hour(Decimal(text))) for text in _UTILISATIONS]
    rows = [(text, cost.text(4), "derived F-17") for text, cost in costs if cost is not None]
    return Table(("U", "Cost of a delivered GPU-hour", "Source"), tuple(rows)) if rows else None
