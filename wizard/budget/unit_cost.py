"""Cost per million output tokens: two numbers in two blocks, each from its own line and with its own formula.

F-8 spreads the recurring part of line E over the yearly output tokens. F-10 divides the hourly price of R1
by what the same capacity was measured to deliver at a utilisation U; U follows from the volume and is not
asked.
"""

from decimal import Decimal
from typing import NamedTuple

from wizard.budget.items import base_id
from wizard.budget.lines import EngineLine, RuntimeLine
from wizard.budget.money import ARITHMETIC, EngineMoney, RuntimeMoney

HOURS_PER_YEAR = 8760
SECONDS_PER_YEAR = 3600 * HOURS_PER_YEAR
_PER = 1_000_000
_UTILISATIONS = (Decimal("0.25"), Decimal("0.5"), Decimal("0.75"), Decimal("1.0"))
_PRICE_FACTORS = (Decimal("0.8"), Decimal(1), Decimal("1.2"))


class UnitCostRow(NamedTuple):
    """Line R per million output tokens at one utilisation, at 80 %, 100 % and 120 % of the price of R1."""

    utilisation: Decimal
    from_volume: bool
    low: RuntimeMoney
    quoted: RuntimeMoney
    high: RuntimeMoney


class RuntimeUnitCosts(NamedTuple):
    """F-10 at the utilisation that the volume gives and at four fixed ones.

    `utilisation` above 1 says that the measured rate does not carry the volume; it then has no row.
    """

    utilisation: Decimal
    rows: tuple[UnitCostRow, ...]


def tokens_per_year(calls_per_year: int | None, output_tokens: int | None) -> int | None:
    """Return the output tokens a year (F-8): calls times tokens per call; None if either is not given."""
    if calls_per_year is None or output_tokens is None:
        return None
    return calls_per_year * output_tokens


def engine_unit_cost(line: EngineLine, tokens: int | None) -> EngineMoney | None:
    """F-8: recurring subtotal of line E per million output tokens; None without a subtotal or a volume."""
    if line.recurring.money is None or not tokens:
        return None
    return line.recurring.money.times(_PER).over(tokens)


def hourly_r1(line: RuntimeLine) -> RuntimeMoney | None:
    """Return the hourly price of the serving capacity: R1 per year over 8,760 hours, spare not in it.

    Rows with a cause are left out. None if a row of R1 is unpriced, or none recurs.
    """
    rows = [row for row in line.rows if base_id(row.id) == "R1" and row.cause is None]
    rows = [row for row in rows if row.state != "not_needed" and row.frequency != "one-time"]
    yearly = [row.yearly for row in rows if row.yearly is not None]
    if not rows or len(yearly) < len(rows):
        return None
    total = yearly[0]
    for money in yearly[1:]:
        total = total + money
    return total.over(HOURS_PER_YEAR)


def _utilisation(output_tok_s: float, tokens: int) -> Decimal:
    delivered = ARITHMETIC.multiply(Decimal(repr(output_tok_s)), Decimal(SECONDS_PER_YEAR))
    return ARITHMETIC.divide(Decimal(tokens), delivered)


def runtime_unit_costs(
    hourly: RuntimeMoney | None, output_tok_s: float | None, tokens: int | None
) -> RuntimeUnitCosts | None:
    """F-10: hourly R1 x 1,000,000 / (3,600 x rate x U), with U = tokens a year / (rate x 31,536,000).

    `output_tok_s` is the measured rate of all the capacity that `hourly` pays for, at a load that keeps the
    ceilings, from a run of the proposed model on the proposed hardware. None if anything is missing: no
    rate is ever assumed.
    """
    if hourly is None or not output_tok_s or not tokens:
        return None
    rate = Decimal(repr(output_tok_s))
    utilisation = _utilisation(output_tok_s, tokens)
    shown = [(utilisation, True)] if utilisation <= 1 else []
    shown += [(value, False) for value in _UTILISATIONS]
    rows = []
    for value, from_volume in shown:
        per_hour = ARITHMETIC.multiply(ARITHMETIC.multiply(Decimal(3600), rate), value)
        low, quoted, high = (hourly.times(factor).times(_PER).over(per_hour) for factor in _PRICE_FACTORS)
        rows.append(UnitCostRow(value, from_volume, low, quoted, high))
    return RuntimeUnitCosts(utilisation, tuple(rows))


def idle_memo(line: RuntimeLine, output_tok_s: float | None, tokens: int | None) -> tuple[Decimal, RuntimeMoney] | None:
    """R3, a memo never added: U and (1 - U) x R1 per year; None if U or R1 is unknown or U is above 1."""
    hourly = hourly_r1(line)
    if hourly is None or not output_tok_s or not tokens:
        return None
    utilisation = _utilisation(output_tok_s, tokens)
    if utilisation > 1:
        return None
    idle = ARITHMETIC.subtract(Decimal(1), utilisation)
    return utilisation, hourly.times(HOURS_PER_YEAR).times(idle).rounded()
