"""How numbers, times and lists are written in the document: 1,234.56, whole milliseconds, GiB, ISO dates.

Nothing here asks the locale or the time zone of the machine, so a selection has one rendering.
"""

import datetime
import json
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from wizard.document.markdown import NOT_GIVEN

GIB = 1024**3
YEAR_HOURS = 8760


def number(value: Decimal | float, places: int | None = None) -> str:
    """`value` with thousands separated by commas, rounded half up to `places` decimals; None keeps those it has."""
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    if places is not None:
        exact = exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    elif exact == exact.to_integral_value() and not isinstance(value, Decimal):
        exact = exact.quantize(Decimal(1))
    return f"{exact:,f}"


def milliseconds(value: float) -> str:
    """A latency in ms: one decimal below 100, none from there on, where tenths are noise."""
    return number(value, 1 if abs(value) < 100 else 0)


def limit_ms(value: float) -> str:
    """A latency limit as it was asked for, without a decimal that nobody typed."""
    return number(value)


def gib(size_bytes: int) -> str:
    """A memory size in GiB, without the unit."""
    return number(Decimal(size_bytes) / GIB, 2)


def share(value: float, places: int = 1) -> str:
    """A share of one as a percentage."""
    return f"{number(Decimal(str(value)) * 100, places)} %"


def day(value: datetime.date | None) -> str:
    """An ISO date, or "not given"."""
    return NOT_GIVEN if value is None else value.isoformat()


def utc(text: str) -> str:
    """An ISO time in UTC to the minute, without the letters: 2026-11-26 09:12."""
    return text.replace("T", " ")[:16]


def listed(texts: Iterable[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; of nothing, "none"."""
    items = list(texts)
    if len(items) < 2:
        return items[0] if items else "none"
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def value(anything: object) -> str:
    """An answer as the text of a cell."""
    if anything is None:
        return NOT_GIVEN
    if isinstance(anything, bool):
        return "yes" if anything else "no"
    if isinstance(anything, int | float | Decimal):
        return number(anything)
    if isinstance(anything, datetime.date):
        return anything.isoformat()
    if isinstance(anything, tuple | list):
        return "; ".join(value(item) for item in anything) or NOT_GIVEN
    if isinstance(anything, dict):
        return json.dumps(anything, ensure_ascii=False, sort_keys=True)
    return str(anything)


def counted(count: int, noun: str) -> str:
    """`1 note`, `2 notes`, `0 notes`."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"
