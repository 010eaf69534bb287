"""Rules on owned hardware: every input given, each part paid once, and no depreciation among payments."""

from collections.abc import Iterator
from decimal import Decimal
from typing import get_args

from wizard.answers import RuntimeItem
from wizard.answers.budget import OwnedInput, OwnedName, OwnedPart
from wizard.budget.owned import MONEY, UNIT, OwnedYear, owned_year
from wizard.decision.finding import Finding
from wizard.decision.proof import gpus_in_all
from wizard.decision.selection import Selection
from wizard.rules.budget import STALE_DAYS, unit_of
from wizard.rules.rule import Rule, finding, listed, number

_PERIODS = {"monthly": 12, "yearly": 1, "usage-yearly": 1, None: 1}
_OWNED = "budget.runtime.owned"
_BOUGHT = ("servers", "gpus", "nodes", "systems", "accelerators")

_Rows = list[tuple[str, RuntimeItem]]


def owned_hardware_is_worked_out(selection: Selection) -> list[Finding]:
    """B21: parts of owned hardware have all their inputs, are paid once, and are no payments of a line in cash."""
    # Cost of ownership = depreciation + energy x PUE + space + maintenance + insurance + staff, each from its inputs;
    # GAO cost guide, comprehensive: nothing is left out and nothing counted twice.
    answers = selection.answers.budget.runtime
    rows = [
        (f"budget.runtime.items[{index}]", item)
        for index, item in enumerate(answers.items)
        if item.owned_part is not None and item.state not in ("not_needed", "not_given")
    ]
    year = owned_year(answers)
    if year is None and not rows:
        return []
    return [
        *_inputs(rows, year, answers.owned),
        *_old_prices(selection),
        *_ways(rows, selection),
        *_coverage(rows, year, selection),
    ]


def _inputs(rows: _Rows, year: OwnedYear | None, given: tuple[OwnedInput, ...]) -> Iterator[Finding]:
    """What the rows lack; an input that is given and cannot be used is told even where no row needs it."""
    remedy = "Give each input once, with its value, source and day; what has none of it is given as 0."
    if year is None:
        names = listed([item.id or "an item" for _, item in rows])
        message = f"{names} of line R is a part of owned hardware, and no input of it is given."
        yield finding("B21", "block", message, _OWNED, remedy)
        return
    for name, why in year.unusable.items():
        place = next((index for index, row in reversed(list(enumerate(given))) if row.name == name), None)
        needing = [
            item.id or "an item" for _, item in rows if item.owned_part and name in year.missing(item.owned_part)
        ]
        if place is None and not needing:
            continue
        for_what = f", and {listed(needing)} of line R {'needs' if len(needing) == 1 else 'need'} it" if needing else ""
        message = f"The input {_words(name)} of owned hardware {why}{for_what}."
        where = _OWNED if place is None else f"{_OWNED}[{place}].{_field(given[place])}"
        yield finding("B21", "block", message, where, remedy)


def _old_prices(selection: Selection) -> Iterator[Finding]:
    """A price ages; a useful life or a PUE does not."""
    for index, row in enumerate(selection.answers.budget.runtime.owned):
        age = 0 if row.observed_on is None else (selection.prepared_on - row.observed_on).days
        if row.name in MONEY and age > STALE_DAYS:
            message = f"The input {_words(row.name)} of owned hardware is {age} days old."
            remedy = "Confirm the price, with the new date."
            yield finding("B21", "warn", message, f"{_OWNED}[{index}].observed_on", remedy)


def _words(name: OwnedName) -> str:
    return name.replace("_", " ")


def _field(row: OwnedInput) -> str:
    return next((name for name in ("value", "source_ref", "observed_on") if getattr(row, name) is None), "value")


def _ways(rows: _Rows, selection: Selection) -> Iterator[Finding]:
    """A typed price beside a worked-out one, a purchase beside its depreciation, and depreciation shown as cash."""
    answers = selection.answers.budget.runtime
    for key, item in rows:
        if item.unit_price is not None:
            message = f"{item.id} of line R has a typed price, and one that is worked out from owned hardware."
            yield finding("B21", "block", message, f"{key}.unit_price", "Take one of the two out.")
        if item.unit is not None and unit_of(item) != UNIT.casefold():
            message = f"{item.id} of line R is counted in {item.unit}, and a part of owned hardware in {UNIT}."
            yield finding("B21", "block", message, f"{key}.unit", f"Give the quantity in {UNIT}: GPUs times years.")
    written_off = [(key, item) for key, item in rows if item.owned_part == "depreciation"]
    if not written_off:
        return
    key, item = written_off[0]
    if answers.view == "cash":
        message = f"Line R is shown as cash, and {item.id} is depreciation, which nobody pays."
        remedy = "Show the line as amortised, or put the purchase in as a one-time row."
        yield finding("B21", "block", message, "budget.runtime.view", remedy)
    bought = [
        other.id or "a row"
        for other in answers.items
        if other.owned_part is None
        and other.frequency == "one-time"
        and other.state != "not_needed"
        and unit_of(other) in _BOUGHT
        and (other.id or "").startswith(("R1", "R2"))
    ]
    if bought:
        message = f"{item.id} writes the hardware off, and {listed(bought)} pays for it at once: it is paid twice."
        yield finding("B21", "block", message, f"{key}.owned_part", "Keep the purchase or its depreciation.")


def _coverage(rows: _Rows, year: OwnedYear | None, selection: Selection) -> Iterator[Finding]:
    """Each part is paid for as many GPU-years a year as GPUs were bought; all are those of section 2."""
    if year is None or year.gpus is None:
        return
    for part in get_args(OwnedPart):
        yield from _paid_once(part, [row for row in rows if row[1].owned_part == part], year, year.gpus)
    proposed = gpus_in_all(selection)
    given = selection.answers.budget.runtime.owned
    if proposed is not None and year.gpus != proposed:
        place = next(index for index, row in enumerate(given) if row.name == "gpus")
        message = f"The inputs of owned hardware are of {number(float(year.gpus))} GPUs, section 2 has {proposed}."
        remedy = "Give the inputs for all GPUs of section 2, the spare ones too."
        yield finding("B21", "warn", message, f"{_OWNED}[{place}].value", remedy)


def _paid_once(part: OwnedPart, rows: _Rows, year: OwnedYear, gpus: Decimal) -> Iterator[Finding]:
    money = year.parts[part]
    if money is None or (money.amount == 0 and not rows):
        return
    if not rows:
        message = f"The {part} of owned hardware is {money.text()} a year, and no row of line R pays it."
        remedy = f"Add a row that is this part, for {number(float(gpus))} {UNIT}, or give its inputs as 0."
        yield finding("B21", "block", message, "budget.runtime.items", remedy)
        return
    if any(item.quantity is None or item.frequency == "one-time" for _, item in rows):
        return
    paid = sum((item.quantity or Decimal(0)) * _PERIODS[item.frequency] for _, item in rows)
    if paid != gpus:
        names = listed([item.id or "an item" for _, item in rows])
        message = (
            f"{names} of line R pays the {part} of {number(float(paid))} GPUs a year, "
            f"the inputs are of {number(float(gpus))}."
        )
        remedy = f"Let the rows of this part pay for {number(float(gpus))} {UNIT} a year."
        yield finding("B21", "block", message, f"{rows[0][0]}.quantity", remedy)


RULES = (
    Rule(
        "B21",
        "Owned hardware is worked out from inputs that are all given, and each part is paid once",
        ("block", "warn"),
        "GAO-20-195G, comprehensive; cost of ownership: depreciation, energy, space, maintenance, insurance, staff",
        owned_hardware_is_worked_out,
        "Give every input with source and day, and one row of line R for each part.",
    ),
)
