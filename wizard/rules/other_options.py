"""Rules on the prices of other options: complete, in date, and in place of items that the line has."""

from collections.abc import Iterator
from typing import Any

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.answers.budget import Alternative
from wizard.budget import EngineLine, RuntimeLine
from wizard.budget.alternatives import OptionLine, engine_options, option_name, replaced_ids, runtime_options
from wizard.budget.rates import foreign_currency, usable_rates
from wizard.decision.finding import Finding
from wizard.decision.selection import Selection
from wizard.rules.budget import STALE_DAYS
from wizard.rules.rule import Rule, finding, listed

_NEEDED = (
    ("name", "name"),
    ("quantity", "quantity"),
    ("unit", "unit"),
    ("unit_price", "unit price"),
    ("frequency", "frequency"),
    ("basis", "basis"),
    ("source_ref", "source"),
    ("observed_on", "date of observation"),
)


def other_options_are_comparable(selection: Selection) -> list[Finding]:
    """B22: a price of another option says what the line's own prices say, and what it stands in place of."""
    # Vendor matrices: only like is compared with like; FOCUS 1.2, pricing columns.
    budget = selection.answers.budget
    return [
        *_line("budget.engine", budget.engine, selection.engine_line, selection),
        *_line("budget.runtime", budget.runtime, selection.runtime_line, selection),
    ]


def _line(
    at: str, answers: EngineBudget | RuntimeBudget, line: EngineLine | RuntimeLine, selection: Selection
) -> Iterator[Finding]:
    for position, price in enumerate(answers.alternatives):
        key = f"{at}.alternatives[{position}]"
        yield from _price(key, price, selection)
        foreign = foreign_currency(price.currency, answers.currency)
        if foreign and price.unit_price is not None and foreign not in usable_rates(answers.rates):
            message = f"{_name(price)} is in {foreign}, for which line {line.line} has no dated rate."
            remedy = f"Give the rate with its source and its day, or ask for the price in {answers.currency}."
            yield finding("B22", "warn", message, f"{key}.currency", remedy)
        strange = [named for named in price.replaces if not replaced_ids(line.rows, named)]
        if strange:
            message = f"{_name(price)} stands in place of {listed(strange)}, which line {line.line} does not have."
            yield finding("B22", "warn", message, f"{key}.replaces", "Name items of this line, by their ids.")
    options: tuple[OptionLine[Any], ...] = ()
    if isinstance(line, EngineLine) and isinstance(answers, EngineBudget):
        options = engine_options(line, answers)
    elif isinstance(line, RuntimeLine) and isinstance(answers, RuntimeBudget):
        options = runtime_options(line, answers)
    for option in options:
        if option.orphans:
            message = (
                f"{listed(list(option.orphans))} lies in a price that the option {option.option} replaces, "
                "and the option does not say whether its own price holds it."
            )
            remedy = "Name it among the replaced items, with a price of its own under the option if it has one."
            key = f"{at}.alternatives[{option.prices[0].position}].replaces"
            yield finding("B22", "warn", message, key, remedy)


def _price(key: str, price: Alternative, selection: Selection) -> Iterator[Finding]:
    missing = [(field, word) for field, word in _NEEDED if getattr(price, field) is None]
    if missing:
        message = f"{_name(price)} has no {listed([word for _, word in missing])}."
        remedy = "Complete the price, or take it out of the comparison."
        yield finding("B22", "warn", message, f"{key}.{missing[0][0]}", remedy)
    elif price.valid_until is not None and price.valid_until < selection.prepared_on:
        message = f"{_name(price)} was valid until {price.valid_until.isoformat()}."
        yield finding("B22", "warn", message, f"{key}.valid_until", "Ask for the price again.")
    elif price.observed_on is not None and (selection.prepared_on - price.observed_on).days > STALE_DAYS:
        age = (selection.prepared_on - price.observed_on).days
        message = f"{_name(price)} was observed {age} days ago."
        yield finding("B22", "warn", message, f"{key}.observed_on", "Confirm the price, with the new date.")


def _name(price: Alternative) -> str:
    name = option_name(price)
    return f"The price of the option {name}" if name else "A price of another option"


RULES = (
    Rule(
        "B22",
        "Prices of other options are complete and stand in place of items of their line",
        ("warn",),
        "vendor matrices: like is compared with like; FOCUS 1.2, pricing columns",
        other_options_are_comparable,
        "Complete the price, and name the items of this line that it replaces.",
    ),
)
