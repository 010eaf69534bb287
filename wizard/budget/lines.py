"""Line E and line R, computed from the answers by one implementation that is told which money to use.

The shared models are generic over the money type, so that nothing of line E fits where line R is wanted;
the tag `line` keeps them apart in files too.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, field_serializer

from wizard.answers.budget import (
    EngineBudget,
    Frequency,
    Item,
    ItemState,
    Line,
    OwnedPart,
    PriceBasis,
    RuntimeBudget,
    RuntimeItem,
)
from wizard.budget.items import catalogue_item, item_order
from wizard.budget.money import ARITHMETIC, EngineMoney, RuntimeMoney
from wizard.budget.owned import owned_year, with_owned_price
from wizard.budget.rates import UsableRate, foreign_currency, usable_rates

M = TypeVar("M", EngineMoney, RuntimeMoney)

#: The two subtotals of a line. Usage-based rows count as recurring.
Period = Literal["one-time", "recurring"]

_YEARLY_FACTOR: dict[Frequency, int] = {"monthly": 12, "yearly": 1, "usage-yearly": 1}
_WHAT_IS_MISSING = ("quantity", "unit_price", "frequency", "currency", "rate")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Frozen, Generic[M]):
    """One item of a line.

    `key` is the answer it was made from (`budget.engine.items[0]`). `state` is the state after the price was looked
    at: an item with neither price nor stated state is not given, and `missing` names what it lacks. `amount` is per
    period of `frequency`, rounded once; `yearly` is the same per year, None for a one-time row. `unit_price` is in
    the currency that it was quoted in; where that is not the line's, `rate` is what one unit of it is in the
    line's, and without a rate the row is not given. A row with `included_in` is paid by that item: it counts as
    priced, adds nothing and has no amount. `memo` rows are never added. `usual_frequency` says that nobody gave the
    frequency of an item stated as not given, and that it is the one such an item has by its nature: only that
    period is then incomplete.
    """

    key: str
    id: str
    title: str
    state: ItemState
    reason: str | None
    missing: tuple[str, ...]
    quantity: Decimal | None
    unit: str | None
    unit_price: M | None
    rate: Decimal | None = None
    frequency: Frequency | None
    amount: M | None
    yearly: M | None
    basis: PriceBasis | None
    included_in: str | None
    cause: str | None
    memo: bool
    owned_part: OwnedPart | None = None
    usual_frequency: bool = False

    @field_serializer("quantity", "rate")
    def _plain_number(self, value: Decimal | None) -> str | None:
        return None if value is None else format(value, "f")

    def counts_in(self, period: Period) -> bool:
        """Whether the row belongs to the subtotal of `period`; without a frequency it might be either."""
        if self.memo or self.state == "not_needed":
            return False
        return self.frequency is None or (self.frequency == "one-time") == (period == "one-time")

    def added_to(self, period: Period) -> M | None:
        """Return what the row adds to the subtotal of `period`."""
        if not self.counts_in(period):
            return None
        return self.amount if period == "one-time" else self.yearly


class Subtotal(_Frozen, Generic[M]):
    """The sum of the rounded row amounts of one period; None if one of its rows is unpriced.

    `rows` are the ids that count in it, `unpriced` those of them that have no price. No rows and no money
    means that the line has nothing of this period.
    """

    period: Period
    money: M | None
    rows: tuple[str, ...]
    unpriced: tuple[str, ...]


class _Contingency(_Frozen, Generic[M]):
    """`percent` of the subtotal of `period`: a row of its own, in no subtotal. None where the subtotal is."""

    period: Period
    percent: Decimal
    money: M | None

    @field_serializer("percent")
    def _plain_percent(self, value: Decimal) -> str:
        return format(value, "f")


class _Line(_Frozen, Generic[M]):
    """One budget line: its rows in the order of the catalogue, its two subtotals and its contingency."""

    currency: str | None
    rows: tuple[Row[M], ...]
    one_time: Subtotal[M]
    recurring: Subtotal[M]
    contingency: tuple[_Contingency[M], ...]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The ids of all rows without a price, in order."""
        return tuple(row.id for row in self.rows if row.state == "not_given" and not row.memo)

    def priced_so_far(self, period: Period) -> M | None:
        """What the priced rows of a period that has unpriced ones come to: no subtotal. None where nothing is priced.

        None too where the period is complete: then its subtotal says it.
        """
        if self.currency is None or not (self.one_time if period == "one-time" else self.recurring).unpriced:
            return None
        found: M | None = None
        for row in self.rows:
            added = row.added_to(period)
            if added is not None:
                found = added if found is None else found + added
        return found

    @property
    def added_rows(self) -> tuple[Row[M], ...]:
        """The rows of the amounts table: everything but memo rows and what is not needed."""
        return tuple(row for row in self.rows if not row.memo and row.state != "not_needed")

    @property
    def memo_rows(self) -> tuple[Row[M], ...]:
        """The rows that are shown and never added."""
        return tuple(row for row in self.rows if row.memo and row.state != "not_needed")

    @property
    def not_needed_rows(self) -> tuple[Row[M], ...]:
        """The rows that are listed below the table with their reason."""
        return tuple(row for row in self.rows if row.state == "not_needed")


EngineRow = Row[EngineMoney]
EngineSubtotal = Subtotal[EngineMoney]
EngineContingency = _Contingency[EngineMoney]
RuntimeRow = Row[RuntimeMoney]
RuntimeSubtotal = Subtotal[RuntimeMoney]
RuntimeContingency = _Contingency[RuntimeMoney]


class Kind(NamedTuple, Generic[M]):
    """The types of one line, so that one implementation builds both."""

    money: type[M]
    row: type[Row[M]]
    subtotal: type[Subtotal[M]]
    contingency: type[_Contingency[M]]


ENGINE = Kind(EngineMoney, EngineRow, EngineSubtotal, EngineContingency)
RUNTIME = Kind(RuntimeMoney, RuntimeRow, RuntimeSubtotal, RuntimeContingency)


class EngineLine(_Line[EngineMoney]):
    """Line E: what remains to be paid when the same design moves to other hardware."""

    line: Literal["E"] = "E"


class RuntimeLine(_Line[RuntimeMoney]):
    """Line R: what remains to be paid when another engine runs on the same hardware."""

    line: Literal["R"] = "R"


def _state(item: Item, missing: tuple[str, ...]) -> ItemState:
    if item.state in ("not_needed", "not_given"):
        return item.state
    return "not_given" if missing else "priced"


def _is_bundled(item: Item) -> bool:
    return item.basis == "bundled" and item.included_in is not None


def _missing(item: Item, currency: str | None, *, has_rate: bool) -> tuple[str, ...]:
    """Name what a priced row lacks; a bundled one needs only the item that pays for it."""
    if item.basis == "bundled":
        return () if item.included_in is not None else ("included_in",)
    has = (item.quantity, item.unit_price, item.frequency, currency, has_rate or None)
    return tuple(name for name, value in zip(_WHAT_IS_MISSING, has, strict=True) if value is None)


class LineMoney(NamedTuple):
    """What the prices of one line are in: its currency, and the rates into it."""

    currency: str | None
    rates: Mapping[str, UsableRate]


def priced_row(kind: Kind[M], item: Item, key: str, number: int, money: LineMoney) -> Row[M]:
    """F-1 on one row: quantity x unit price x rate, rounded once, half up, to the minor unit of the currency."""
    known = catalogue_item(item.id)
    usual = bool(item.state == "not_given" and item.frequency is None and known and known.recurs)
    if usual:
        item = item.model_copy(update={"frequency": "yearly"})
    foreign = foreign_currency(item.currency, money.currency)
    rate = money.rates.get(foreign) if foreign else None
    missing = _missing(item, money.currency, has_rate=foreign is None or item.unit_price is None or rate is not None)
    state = _state(item, missing)
    price = amount = yearly = None
    quoted_in = item.currency or money.currency
    if quoted_in is not None and item.unit_price is not None:
        price = kind.money(amount=item.unit_price, currency=quoted_in)
    if state == "priced" and price is not None and item.quantity is not None and not _is_bundled(item):
        amount = price.times(item.quantity)
        if rate is not None and money.currency is not None:
            amount = kind.money(amount=amount.times(rate.rate).amount, currency=money.currency)
        amount = amount.rounded()
        if item.frequency is not None and item.frequency != "one-time":
            yearly = amount.times(_YEARLY_FACTOR[item.frequency])
    return kind.row(
        key=key,
        id=item.id or f"item {number}",
        title=item.item or (known.title if known else "not given"),
        state=state,
        reason=item.reason,
        missing=missing if state == "not_given" else (),
        quantity=item.quantity,
        unit=item.unit,
        unit_price=price,
        rate=None if rate is None else rate.rate,
        frequency=item.frequency,
        amount=amount,
        yearly=yearly,
        basis=item.basis,
        included_in=item.included_in if _is_bundled(item) else None,
        cause=item.cause,
        memo=bool(known and known.memo),
        owned_part=item.owned_part if isinstance(item, RuntimeItem) else None,
        usual_frequency=usual,
    )


def subtotal_of(kind: Kind[M], rows: Iterable[Row[M]], period: Period, currency: str | None) -> Subtotal[M]:
    """F-1: the rounded row amounts added as shown, so that a reader who adds the column finds the same."""
    counting = [row for row in rows if row.counts_in(period)]
    unpriced = tuple(row.id for row in counting if row.state == "not_given")
    total: M | None = None
    if counting and not unpriced and currency is not None:
        total = kind.money(amount=Decimal(0), currency=currency).rounded()
        for row in counting:
            added = row.added_to(period)
            total = total if added is None else total + added
    return kind.subtotal(period=period, money=total, rows=tuple(row.id for row in counting), unpriced=unpriced)


def _contingency(kind: Kind[M], answers: Line, subtotals: tuple[Subtotal[M], ...]) -> tuple[_Contingency[M], ...]:
    """F-7: rate x subtotal of the same line, for the periods it is said of; all that have rows where nothing is said.

    Never for an unpriced row: without a subtotal the amount is None.
    """
    percent = answers.contingency_percent
    if percent is None:
        return ()
    return tuple(
        kind.contingency(
            period=subtotal.period,
            percent=percent,
            money=None
            if subtotal.money is None
            else subtotal.money.times(ARITHMETIC.divide(percent, Decimal(100))).rounded(),
        )
        for subtotal in subtotals
        if subtotal.rows and answers.contingency_of in (None, "both", subtotal.period)
    )


def _parts(
    kind: Kind[M], answers: EngineBudget | RuntimeBudget, items: Sequence[Item], table: str
) -> dict[str, object]:
    money = LineMoney(answers.currency, usable_rates(answers.rates))
    rows = [priced_row(kind, item, f"{table}.items[{index}]", index + 1, money) for index, item in enumerate(items)]
    rows.sort(key=lambda row: item_order(row.id))
    one_time = subtotal_of(kind, rows, "one-time", answers.currency)
    recurring = subtotal_of(kind, rows, "recurring", answers.currency)
    return {
        "currency": answers.currency,
        "rows": tuple(rows),
        "one_time": one_time,
        "recurring": recurring,
        "contingency": _contingency(kind, answers, (one_time, recurring)),
    }


def engine_line(answers: EngineBudget) -> EngineLine:
    """Line E from the answers of `[budget.engine]`."""
    return EngineLine.model_validate(_parts(ENGINE, answers, answers.items, "budget.engine"))


def runtime_line(answers: RuntimeBudget) -> RuntimeLine:
    """Line R from the answers of `[budget.runtime]`; rows of owned hardware get the price that F-16 works out."""
    owned = owned_year(answers)
    items = [with_owned_price(item, owned) for item in answers.items]
    return RuntimeLine.model_validate(_parts(RUNTIME, answers, items, "budget.runtime"))
