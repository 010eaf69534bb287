"""Exchange rates of one line: which of them may be used, and which prices need one. No rate is ever assumed."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from wizard.answers.budget import Item, Rate


class UsableRate(NamedTuple):
    """One unit of `currency` in the currency of the line; the answer it is from stands at `position` of the rates."""

    currency: str
    rate: Decimal
    position: int


def usable_rates(rates: Sequence[Rate]) -> dict[str, UsableRate]:
    """The rates that have value, source and day, by currency. Two for one currency cancel: which holds is unknown."""
    named = [rate.currency for rate in rates]
    return {
        rate.currency: UsableRate(rate.currency, rate.rate, position)
        for position, rate in enumerate(rates)
        if rate.currency is not None
        and rate.rate is not None
        and rate.source_ref is not None
        and rate.observed_on is not None
        and named.count(rate.currency) == 1
    }


def foreign_currency(item_currency: str | None, line_currency: str | None) -> str | None:
    """The currency that a price has to be converted from; None where it is the line's own, or the line has none."""
    return item_currency if line_currency is not None and item_currency not in (None, line_currency) else None


def quoted_in(items: Iterable[Item], line_currency: str | None) -> dict[str, list[Item]]:
    """The items whose price is in another currency than the line's, by that currency, in order."""
    found: dict[str, list[Item]] = {}
    for item in items:
        currency = foreign_currency(item.currency, line_currency)
        if currency is not None and item.unit_price is not None:
            found.setdefault(currency, []).append(item)
    return found
