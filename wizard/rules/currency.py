"""Rules on whether the amounts of a line can be added at all: one currency or a dated rate, and tax alike."""

from collections.abc import Iterator

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.answers.budget import Rate
from wizard.budget.rates import quoted_in, usable_rates
from wizard.decision.finding import Finding
from wizard.decision.selection import Selection
from wizard.rules.budget import STALE_DAYS, is_priced, needed_items
from wizard.rules.rule import Rule, finding, listed


def amounts_can_be_added(selection: Selection) -> list[Finding]:
    """B14: prices in another currency have a dated rate, and prices with and without tax are not mixed."""
    budget = selection.answers.budget
    return [
        *_rates("budget.engine", "E", budget.engine, selection),
        *_rates("budget.runtime", "R", budget.runtime, selection),
        *_tax(selection),
    ]


def _rates(at: str, line: str, answers: EngineBudget | RuntimeBudget, selection: Selection) -> Iterator[Finding]:
    # FOCUS 1.2: a cost has one currency; GAO cost guide, well documented: what converts it has a source and a day.
    needed = [item for _, item in needed_items(selection, at.removeprefix("budget."))]
    usable = usable_rates(answers.rates)
    for currency, items in quoted_in(needed, answers.currency).items():
        names = listed([item.id or item.item or "an item" for item in items])
        if currency in usable:
            rate = answers.rates[usable[currency].position]
            age = (selection.prepared_on - rate.observed_on).days if rate.observed_on else 0
            if age > STALE_DAYS:
                message = f"The rate of {currency} behind {names} is {age} days old."
                where = f"{at}.rates[{usable[currency].position}].observed_on"
                yield finding("B14", "warn", message, where, "Look the rate up again, with its new day.")
            continue
        message = (
            f"{names} of line {line} {'is' if len(items) == 1 else 'are'} quoted in {currency} and not given in "
            f"{answers.currency}: {_why(answers.rates, currency)}."
        )
        remedy = f"Give the rate with its source and its day, or ask for the price in {answers.currency}."
        yield finding("B14", "block", message, f"{at}.{_place(answers.rates, currency)}", remedy)


def _found(rates: tuple[Rate, ...], currency: str) -> list[int]:
    return [position for position, rate in enumerate(rates) if rate.currency == currency]


def _why(rates: tuple[Rate, ...], currency: str) -> str:
    found = _found(rates, currency)
    if not found:
        return "there is no rate"
    if len(found) > 1:
        return f"there are {len(found)} rates"
    words = {"rate": "no value", "source_ref": "no source", "observed_on": "no day"}
    return f"its rate has {listed([word for name, word in words.items() if getattr(rates[found[0]], name) is None])}"


def _place(rates: tuple[Rate, ...], currency: str) -> str:
    found = _found(rates, currency)
    if not found:
        return "rates"
    last = found[-1]
    names = ("rate", "source_ref", "observed_on")
    name = next((name for name in names if getattr(rates[last], name) is None), "currency")
    return f"rates[{last}].{name}"


def _tax(selection: Selection) -> Iterator[Finding]:
    # FOCUS 1.2: tax is a charge of its own.
    for table, line in (("engine", "E"), ("runtime", "R")):
        rows = [(key, item) for key, item in needed_items(selection, table) if is_priced(item)]
        taxed = [(key, item) for key, item in rows if item.tax == "included"]
        untaxed = [item for _, item in rows if item.tax == "excluded"]
        if taxed and untaxed:
            with_tax, without = (
                listed([item.id or item.item or "an item" for item in group])
                for group in ([item for _, item in taxed], untaxed)
            )
            message = f"Line {line} adds prices with tax ({with_tax}) to prices without ({without})."
            remedy = "Give all prices of the line without tax, and the tax as a row of its own where it is paid."
            yield finding("B14", "warn", message, f"{taxed[0][0]}.tax", remedy)


RULES = (
    Rule(
        "B14",
        "The amounts of a line can be added: a dated rate for every other currency, and tax alike",
        ("block", "warn"),
        "FOCUS 1.2, ChargeCategory and currency columns; GAO-20-195G, well documented",
        amounts_can_be_added,
        "Give each rate with source and day, all prices of a line without tax, and tax as a row of its own.",
    ),
)
