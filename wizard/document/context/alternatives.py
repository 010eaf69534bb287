"""The same line under the other options, where prices were given: one line, and never a sum of lines."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.budget import EngineLine, RuntimeLine
from wizard.budget.alternatives import OptionLine, OptionPrice, engine_options, runtime_options
from wizard.document import formats
from wizard.document.context.common import Context
from wizard.document.markdown import NOT_GIVEN, Table

_LINES = ("Option", "In place of", "One-time", "Recurring per year", "Against this line", "Pays back after", "Source")
PRICES = ("Option", "What is priced", "Quantity and unit", "Unit price", "Amount", "Basis and reference", "Source")
_OFTEN = {"one-time": "one-time", "monthly": "a year, 12 × monthly", "yearly": "a year", "usage-yearly": "a year"}


def other_options(
    line: EngineLine | RuntimeLine, answers: EngineBudget | RuntimeBudget, said: Callable[..., str]
) -> Context:
    """The two tables and what they leave open; None where no option has a price."""
    options: Sequence[OptionLine[Any]] = ()
    if isinstance(line, EngineLine) and isinstance(answers, EngineBudget):
        options = engine_options(line, answers)
    elif isinstance(line, RuntimeLine) and isinstance(answers, RuntimeBudget):
        options = runtime_options(line, answers)
    if not options:
        return {"options": None, "option_prices": None, "option_notes": []}
    return {
        "options": _table(line, options),
        "option_prices": Table(
            PRICES, tuple(_price(option.option, price, said) for option in options for price in option.prices)
        ),
        "option_notes": [
            f"{option.option}: {', '.join(option.orphans)} lies in a price that the option replaces, and it is not "
            "said whether the option's price holds it"
            for option in options
            if option.orphans
        ],
    }


def _table(line: EngineLine | RuntimeLine, options: Sequence[OptionLine[Any]]) -> Table:
    rows = [
        (
            "this selection",
            "nothing",
            _subtotal(line.one_time),
            _subtotal(line.recurring),
            "not applicable",
            "not applicable",
            _word(line.one_time, line.recurring),
        )
    ]
    rows += [
        (
            option.option,
            ", ".join(option.replaced) or "nothing",
            _subtotal(option.one_time),
            _subtotal(option.recurring),
            _against(option, line.currency),
            _payback(option),
            _word(option.one_time, option.recurring),
        )
        for option in options
    ]
    return Table(_LINES, tuple(rows))


def _subtotal(subtotal: Any) -> str:
    if not subtotal.rows:
        return "none"
    return NOT_GIVEN if subtotal.money is None else str(subtotal.money.text())


def _word(*subtotals: Any) -> str:
    words = {"missing" if part.money is None else "derived F-1" for part in subtotals if part.rows}
    return ", ".join(sorted(words)) or "missing"


def _against(option: OptionLine[Any], currency: str | None) -> str:
    less = option.less_a_year
    once = _difference(option.more_once, currency, "one-time")
    yearly = _difference(None if less is None else -less, currency, "a year")
    return f"{once}; {yearly}"


def _difference(amount: Decimal | None, currency: str | None, often: str) -> str:
    if amount is None or currency is None:
        return f"{NOT_GIVEN} {often}"
    if amount == 0:
        return f"the same {often}"
    return f"{currency} {formats.number(abs(amount))} {'more' if amount > 0 else 'less'} {often}"


def _payback(option: OptionLine[Any]) -> str:
    months = option.payback_months
    if months is not None:
        return f"{formats.number(months, 1)} months (F-18)"
    if option.more_once is None or option.less_a_year is None:
        return NOT_GIVEN
    return "not applicable"


def _price(option: str, price: OptionPrice[Any], said: Callable[..., str]) -> tuple[str, ...]:
    answer, row = price.answer, price.row
    unit_price = NOT_GIVEN if row.unit_price is None else row.unit_price.exact_text()
    unit_price += f" × {formats.number(row.rate)}" if row.rate is not None else ""
    shown = row.amount if row.yearly is None else row.yearly
    amount = NOT_GIVEN if shown is None else f"{shown.text()} {_OFTEN[row.frequency or 'one-time']}"
    reference = (
        answer.basis or "basis not given",
        answer.source_ref or "source not given",
        f"observed {formats.day(answer.observed_on)}",
        f"valid until {formats.day(answer.valid_until)}",
    )
    quantity = NOT_GIVEN if row.quantity is None else formats.number(row.quantity)
    word = said(f"{row.key}.quantity", f"{row.key}.unit_price")
    return (
        option,
        answer.name or NOT_GIVEN,
        f"{quantity} {row.unit or 'units not named'}",
        unit_price,
        amount,
        "; ".join(reference),
        f"derived F-1, {word}" if shown is not None else "missing",
    )
