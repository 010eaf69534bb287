"""The same line under the other options that a person priced: one line at a time, and nothing across lines.

An option's prices stand in place of the items that they replace; every other item stays as it is. The subtotals are
formed as those of the line are, so one unpriced row leaves none.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Generic, NamedTuple, TypeVar

from wizard.answers.budget import Alternative, EngineBudget, Item, RuntimeBudget
from wizard.budget.items import base_id
from wizard.budget.lines import (
    ENGINE,
    RUNTIME,
    EngineLine,
    Kind,
    LineMoney,
    Row,
    RuntimeLine,
    Subtotal,
    priced_row,
    subtotal_of,
)
from wizard.budget.money import ARITHMETIC, EngineMoney, RuntimeMoney
from wizard.budget.rates import usable_rates

M = TypeVar("M", EngineMoney, RuntimeMoney)


class OptionPrice(NamedTuple, Generic[M]):
    """One price of an option: the answer it is from, at `position` of the alternatives, and the row it makes."""

    position: int
    answer: Alternative
    row: Row[M]


class OptionLine(NamedTuple, Generic[M]):
    """The line under one option.

    `replaced` are the ids of the items that stand aside; `orphans` those that lie in the price of one of them and that
    the option does not name: whether its price holds them too is not known, so they count as unpriced. `more_once` and
    `less_a_year` compare with the line as it is; None where either side has no subtotal.
    """

    option: str
    prices: tuple[OptionPrice[M], ...]
    replaced: tuple[str, ...]
    orphans: tuple[str, ...]
    one_time: Subtotal[M]
    recurring: Subtotal[M]
    more_once: Decimal | None
    less_a_year: Decimal | None

    @property
    def payback_months(self) -> Decimal | None:
        """F-18: one-time amount more / (recurring amount less / 12); None where it is not more first and less later."""
        if not self.more_once or not self.less_a_year or self.more_once < 0 or self.less_a_year < 0:
            return None
        return ARITHMETIC.divide(ARITHMETIC.multiply(self.more_once, Decimal(12)), self.less_a_year)


def engine_options(line: EngineLine, answers: EngineBudget) -> tuple[OptionLine[EngineMoney], ...]:
    """Line E under each option that has a price."""
    return _options(ENGINE, line.rows, answers, "budget.engine")


def runtime_options(line: RuntimeLine, answers: RuntimeBudget) -> tuple[OptionLine[RuntimeMoney], ...]:
    """Line R under each option that has a price."""
    return _options(RUNTIME, line.rows, answers, "budget.runtime")


def option_name(alternative: Alternative) -> str | None:
    """The option that a price belongs to: its own name where it says none."""
    return alternative.option or alternative.name


def replaced_ids(rows: Sequence[Row[EngineMoney]] | Sequence[Row[RuntimeMoney]], named: str) -> tuple[str, ...]:
    """The items that an id stands for: the one of that id, else all of its kind (E6 for E6a and E6b)."""
    ids = tuple(row.id for row in rows)
    return (named,) if named in ids else tuple(name for name in ids if base_id(name) == named)


def _options(
    kind: Kind[M], rows: tuple[Row[M], ...], answers: EngineBudget | RuntimeBudget, table: str
) -> tuple[OptionLine[M], ...]:
    by_option: dict[str, list[OptionPrice[M]]] = {}
    money = LineMoney(answers.currency, usable_rates(answers.rates))
    for position, answer in enumerate(answers.alternatives):
        name = option_name(answer)
        if name is not None:
            row = priced_row(kind, _as_item(answer), f"{table}.alternatives[{position}]", position + 1, money)
            by_option.setdefault(name, []).append(OptionPrice(position, answer, row))
    return tuple(
        _option(kind, name, tuple(prices), rows, answers.currency)
        for name, prices in by_option.items()
        if any(price.row.unit_price is not None for price in prices)
    )


def _option(
    kind: Kind[M], name: str, prices: tuple[OptionPrice[M], ...], rows: tuple[Row[M], ...], currency: str | None
) -> OptionLine[M]:
    named = [identifier for price in prices for identifier in price.answer.replaces]
    replaced = dict.fromkeys(found for identifier in named for found in replaced_ids(rows, identifier))
    staying = [row for row in rows if row.id not in replaced]
    orphans = {row.id for row in staying if row.included_in in replaced}
    under = [row.model_copy(update={"state": "not_given"}) if row.id in orphans else row for row in staying]
    under += [price.row for price in prices]
    once = subtotal_of(kind, under, "one-time", currency)
    yearly = subtotal_of(kind, under, "recurring", currency)
    return OptionLine(
        option=name,
        prices=prices,
        replaced=tuple(replaced),
        orphans=tuple(row.id for row in staying if row.id in orphans),
        one_time=once,
        recurring=yearly,
        more_once=_difference(once, subtotal_of(kind, rows, "one-time", currency)),
        less_a_year=_difference(subtotal_of(kind, rows, "recurring", currency), yearly),
    )


def _difference(first: Subtotal[M], second: Subtotal[M]) -> Decimal | None:
    """The first less the second; a period without rows costs nothing, one with an unpriced row is not known."""
    amounts = [
        Decimal(0) if not subtotal.rows else None if subtotal.money is None else subtotal.money.amount
        for subtotal in (first, second)
    ]
    one, other = amounts
    return None if one is None or other is None else ARITHMETIC.subtract(one, other)


def _as_item(answer: Alternative) -> Item:
    shared = ("quantity", "unit", "unit_price", "currency", "frequency", "basis")
    return Item.model_construct(item=answer.name, **{name: getattr(answer, name) for name in shared})
