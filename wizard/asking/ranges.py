"""Ranges that people give where they know no single number: what is calculated with, and what is wrong with one.

A range stands beside the answers (`[[governance.ranges]]`). Its middle holds where the answer itself is not given, is
derived, and the document states both ends.
"""

import copy
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from wizard.answers import NumberText
from wizard.answers.governance import Range
from wizard.asking import tree
from wizard.asking.typed import UnusableError, parse

if TYPE_CHECKING:
    from wizard.sessions.session import Session
from wizard.asking.questions import Question, by_key, question_of
from wizard.asking.tree import Tree

RANGES = "governance.ranges"
_NUMBERS = ("integer", "number", "amount")


def ranged(key: str) -> Question | None:
    """The question that a range may be given for; None for a key that is no number of its own."""
    question = question_of(key)
    return question if question and question.key in by_key() and question.kind in _NUMBERS else None


def middle(given: Range) -> Any:
    """(low + high) / 2 as the question wants it: a count is rounded up, an amount keeps six digits after the point."""
    question = ranged(given.key or "")
    if question is None or given.low is None or given.high is None:
        return None
    half = (given.low + given.high) / 2
    if question.kind == "integer":
        return int(half.to_integral_value(ROUND_CEILING))
    return float(half) if question.kind == "number" else half.quantize(Decimal("0.000001")).normalize() + Decimal(0)


def range_words(given: Range) -> str:
    """Where the value comes from: "the middle of 12 to 20, estimate of the team"."""
    words = f"the middle of {given.low} to {given.high}"
    return f"{words}, {given.source_ref}" if given.source_ref else words


def range_problems(answers: Tree) -> Iterator[tuple[str, str]]:
    """Every range that cannot be used, as the key of its place and what is wrong."""
    for number, row in enumerate(_rows(answers)):
        at = f"{RANGES}[{number}]"
        key = row.get("key")
        if key is not None and (not isinstance(key, str) or ranged(key) is None):
            yield f"{at}.key", f"is not the key of a number (given: {str(key)[:60]})"
            continue
        low, high = (_decimal(row.get(end)) for end in ("low", "high"))
        if low is not None and high is not None and low > high:
            yield f"{at}.high", f"must be {low} or more, the low end of the range (given: {high})"


def range_ends(answers: Tree) -> Iterator[tuple[str, str, Tree]]:
    """Each end of each range: its place, the key that it is a range of, and the answers with the end as the answer."""
    for number, row in enumerate(_rows(answers)):
        key = row.get("key")
        question = ranged(key) if isinstance(key, str) else None
        for name in ("low", "high"):
            end = _decimal(row.get(name))
            if question is None or key is None or end is None:
                continue
            whole = question.kind == "integer" and end == end.to_integral_value()
            tried = copy.deepcopy(answers)
            tree.put(tried, key, int(end) if whole else str(end) if question.kind == "amount" else float(end))
            yield f"{RANGES}[{number}].{name}", key, tried


def give_range(session: "Session", key: str, low: str, high: str, source_ref: str = "") -> str | None:
    """Take two ends in place of an answer; returns why they cannot be used, or None. What was typed gives way."""
    question = ranged(key)
    if question is None:
        return "a range is for numbers only"
    row: Tree = {"key": key}
    for name, raw in (("low", low), ("high", high)):
        try:
            value = parse(question, raw)
        except UnusableError as error:
            return f"the {name} end {error}"
        if value is None:
            return f"the {name} end is needed"
        row[name] = NumberText(value)
    if source_ref.strip():
        row["source_ref"] = source_ref.strip()
    problem = session.put_row(RANGES, row)
    if problem is None:
        session.set(key, "")
    return problem


def _rows(answers: Tree) -> list[Tree]:
    rows = tree.get(answers, RANGES)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _decimal(value: Any) -> Decimal | None:
    try:
        return None if value is None or isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None
