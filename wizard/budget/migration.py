"""What a change of engine or of hardware costs, from a person's own days and day rate; each line for itself.

The work is the catalogue's, the days and the day rate are answers: no source gives them. The amounts of one line and
one change are summed; amounts of the two lines are of different types and never meet.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Generic, Literal, NamedTuple, TypeVar

from wizard.answers.budget import EngineBudget, Line, RuntimeBudget
from wizard.budget.money import EngineMoney, RuntimeMoney
from wizard.catalogue import Migration, migrations

M = TypeVar("M", EngineMoney, RuntimeMoney)
Change = Literal["engine", "hardware"]


class Work(NamedTuple, Generic[M]):
    """One piece of work in one line: the catalogue's row, the days that were given, and their amount."""

    row: Migration
    days: Decimal | None
    amount: M | None


class ChangeCost(NamedTuple, Generic[M]):
    """All work that one change brings to one line. `sum` is None while a day count, rate or currency is missing."""

    change: Change
    works: tuple[Work[M], ...]
    sum: M | None

    @property
    def without_days(self) -> tuple[str, ...]:
        """The ids of the work that nobody has estimated."""
        return tuple(work.row.id for work in self.works if work.days is None)


def engine_changes(line: EngineBudget) -> tuple[ChangeCost[EngineMoney], ...]:
    """The cost of both changes to line E."""
    return tuple(_cost(line, "E", change, EngineMoney) for change in ("engine", "hardware"))


def runtime_changes(line: RuntimeBudget) -> tuple[ChangeCost[RuntimeMoney], ...]:
    """The cost of both changes to line R."""
    return tuple(_cost(line, "R", change, RuntimeMoney) for change in ("engine", "hardware"))


def _cost(line: Line, name: Literal["E", "R"], change: Change, money: type[M]) -> ChangeCost[M]:
    works = tuple(_works(line, name, change, money))
    amounts = [work.amount for work in works if work.amount is not None]
    whole = sum(amounts[1:], amounts[0]) if amounts and len(amounts) == len(works) else None
    return ChangeCost(change, works, whole)


def _works(line: Line, name: Literal["E", "R"], change: Change, money: type[M]) -> Iterator[Work[M]]:
    rate, currency = line.migration.day_rate, line.currency
    for row in migrations().values():
        if row.line == name and row.change == change:
            days = line.migration.days.get(row.id)
            known = days is not None and rate is not None and currency is not None
            amount = money(amount=rate, currency=currency).times(days).rounded() if known else None  # type: ignore[arg-type]
            yield Work(row, days, amount)
