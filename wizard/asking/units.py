"""Numbers as people write them ("3,5 s", "32k", "1.5 M", "95 %"), brought to the unit of the question, and said back.

A text that could mean two numbers is refused with the two that it could be; nothing is guessed.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

#: No number of a selection is longer; a pasted page of digits is not worth a calculation.
LONGEST = 60

_SPLIT = re.compile(r"(-?)([0-9](?:[0-9.,_' \u00a0\u202f]*[0-9])?)\s*(.*)", re.DOTALL)
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SPACED = re.compile(r"[0-9]{1,3}(?:[_' \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?")
_COMMA_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_POINT_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,})")
_ONE_POINT_GROUP = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")

_MS_PER = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), Decimal(1)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1000)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Decimal(60_000)),
    **dict.fromkeys(("h", "hour", "hours"), Decimal(3_600_000)),
}
_MONTHS_PER = {
    **dict.fromkeys(("month", "months", "mo"), Decimal(1)),
    **dict.fromkeys(("year", "years", "y", "yr"), Decimal(12)),
}
_SCALES = {
    **dict.fromkeys(("k", "thousand"), Decimal(1000)),
    **dict.fromkeys(("M", "mio", "mln", "million", "millions"), Decimal(1_000_000)),
    "Ki": Decimal(1024),
    "Mi": Decimal(1024 * 1024),
    **dict.fromkeys(("bn", "billion", "billions"), Decimal(1_000_000_000)),
}
#: vLLM 0.33.0 reads 32k as 32,000 and 32K as 32,768 (engine/arg_utils.py, human_readable_int); so do token fields.
_TOKENS_PER_K = Decimal(1024)
_DAILY = ("a day", "per day", "/day", "daily")
_TIMES_A_YEAR = {
    **dict.fromkeys(_DAILY, Decimal(365)),
    **dict.fromkeys(("a month", "per month", "/month", "monthly"), Decimal(12)),
    **dict.fromkeys(("a year", "per year", "/year", "yearly"), Decimal(1)),
}


class AmbiguousError(ValueError):
    """The text could be two different numbers; the message says which, and how to write each."""


class Understood(NamedTuple):
    """A number in plain digits, in the unit of its question; `words` say what was made of the text, if anything was."""

    digits: str
    words: str


def understand(text: str, unit: str | None, *, whole: bool, amount: bool = False) -> Understood | None:
    """Read a number in the unit of its question; None for a text that is no number of that kind.

    `whole` is true of a count, `amount` of a price or a quantity, in which one mark before three digits is refused:
    a thousandfold error in a budget is worth a question. Raises `AmbiguousError`.
    """
    text, unit = text.strip(), unit or ""
    if len(text) > LONGEST:
        return None
    if unit == "percentile" and (match := re.fullmatch(r"[pP]?([0-9]{1,2})(?:th|\s*%)?", text)):
        return Understood(match[1], "" if match[1] == text else f"percentile {match[1]}")
    match = _SPLIT.fullmatch(text)
    if match and amount and _ONE_GROUP.fullmatch(match[2]):
        raise AmbiguousError(_thousands_or_point(match[2]))
    digits = _digits(match[2], whole=whole) if match else None
    if match is None or digits is None:
        return None
    sign, rest = match[1], match[3]
    if not rest:
        as_typed = sign + digits == text and not _ONE_POINT_GROUP.fullmatch(digits)
        return Understood(sign + digits, "" if as_typed else _worded(Decimal(sign + digits), unit))
    number = Decimal(sign + digits)
    value = _reader(unit)(number, rest, unit)
    if value is None:
        return None
    plain = format(value.normalize(), "f")
    return Understood(plain, f"{_worded(value, unit)}{_other_reading(number, rest, unit)}")


def _worded(value: Decimal, unit: str) -> str:
    return f"{value.normalize():,f} {unit}".strip()


def _thousands_or_point(number: str) -> str:
    """Both numbers that one mark before three digits may mean, each as it can be written without doubt."""
    whole, digits = re.split("[.,]", number)
    fraction = digits.removesuffix("0") if digits.endswith("0") else f"{digits}0"
    return f"could be {whole}{digits} or {whole}.{fraction}: write the one that is meant"


def _digits(number: str, *, whole: bool) -> str | None:
    """The number with a decimal point and nothing between its thousands; None where the marks make no number."""
    if _PLAIN.fullmatch(number):
        if whole and _ONE_POINT_GROUP.fullmatch(number):
            raise AmbiguousError(
                f"could be {number.replace('.', '')} or {Decimal(number).normalize():f}: "
                f"write thousands without a point, such as 1500 or 1.5k"
            )
        return number
    if _COMMA_GROUPED.fullmatch(number):
        return number.replace(",", "")
    if _POINT_GROUPED.fullmatch(number):
        return number.replace(".", "").replace(",", ".")
    if _SPACED.fullmatch(number):
        return re.sub(r"[_' \u00a0\u202f]", "", number).replace(",", ".")
    return number.replace(",", ".") if _DECIMAL_COMMA.fullmatch(number) else None


def _reader(unit: str) -> Callable[[Decimal, str, str], Decimal | None]:
    if unit in ("ms", "s"):
        return _time
    if unit == "months":
        return _months
    if unit.startswith(("share", "%")):
        return _share
    return _count


def _time(number: Decimal, rest: str, unit: str) -> Decimal | None:
    if rest.casefold() == "m":
        raise AmbiguousError(f"could be minutes or milliseconds: write {number} min or {number} ms")
    factor = _MS_PER.get(rest.casefold())
    return None if factor is None else number * factor / _MS_PER[unit]


def _months(number: Decimal, rest: str, _: str) -> Decimal | None:
    factor = _MONTHS_PER.get(rest.casefold())
    return None if factor is None else number * factor


def _share(number: Decimal, rest: str, unit: str) -> Decimal | None:
    if rest.casefold() not in ("%", "percent", "per cent"):
        return None
    return number / 100 if unit.startswith("share") else number


def _count(number: Decimal, rest: str, unit: str) -> Decimal | None:
    """A count with a scale, its own unit's word, or both; calls a year also from a day or a month."""
    factor = Decimal(1)
    for words, times in _TIMES_A_YEAR.items():
        if unit == "calls" and rest.casefold().endswith(words):
            rest, factor = rest[: -len(words)].strip(), times
            break
    own = {unit.casefold(), unit.casefold().removesuffix("s")} - {""}
    scale, _, word = ("", "", rest) if rest.casefold() in own else rest.partition(" ")
    if word and word.strip().casefold() not in own:
        return None
    if not scale:
        return number * factor
    if scale == "m":
        raise AmbiguousError(f"could be thousandths or millions: write {number}M for millions")
    if scale == "K":
        return number * factor * (_TOKENS_PER_K if unit == "tokens" else 1000)
    found = _SCALES.get(scale, _SCALES.get(scale.casefold()))
    return None if found is None else number * found * factor


def _other_reading(number: Decimal, rest: str, unit: str) -> str:
    """What the other spelling of a scale would have been, where a person may have meant it."""
    scale = rest.split(" ")[0]
    if unit == "tokens" and scale in ("k", "K"):
        other, times = ("K", _TOKENS_PER_K) if scale == "k" else ("k", Decimal(1000))
        return f" ({number}{other} is {_worded(number * times, '')})"
    return " in 365 days" if unit == "calls" and rest.casefold().endswith(_DAILY) else ""
