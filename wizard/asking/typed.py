"""What a person types into a field, and the value that it stands for in an answers file; and the way back."""

import datetime
import re
from typing import Any

from wizard.answers import NumberText
from wizard.asking.questions import Question
from wizard.asking.units import AmbiguousError, Understood, understand
from wizard.printable import LINE_BREAK, printable

SEPARATOR = "; "
YES, NO = "yes", "no"
_NUMBERS = ("integer", "number", "amount")

#: A number that TOML writes in the same way.
_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


class UnusableError(ValueError):
    """The text stands for no value of that kind; the message says what would, in plain words."""


def parse(question: Question, raw: str) -> Any:
    """Return the value as TOML holds it; None where nothing was typed.

    Raises `UnusableError` for text that cannot be a value of the question's kind. Limits are the answer models'
    business: what this returns still has to be validated.
    """
    text = raw.replace(LINE_BREAK, "\n").encode("utf-8", "replace").decode()
    if not text.strip():
        return None
    if question.kind in _NUMBERS:
        return _number(question, text)
    parser = {
        "date": _date,
        "yes_no": _yes_no,
        "texts": _texts,
        "choices_by_name": _by_name,
    }.get(question.kind)
    return parser(text.strip()) if parser else text


def understood(question: Question, raw: str) -> str:
    """What was made of a number with a unit, a scale or marks in it ("3,500 ms"); empty where it is taken as it is."""
    if question.kind not in _NUMBERS:
        return ""
    try:
        found = _understand(question, raw)
    except AmbiguousError:
        return ""
    return found.words if found else ""


def shown(value: Any) -> str:
    """Return a value as a person would type it; an absent one is an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return SEPARATOR.join(shown(item) for item in value)
    if isinstance(value, dict):
        return SEPARATOR.join(f"{name}={shown(item)}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value).replace("\r\n", "\n").replace("\n", LINE_BREAK)


def _understand(question: Question, text: str) -> Understood | None:
    return understand(text, question.unit, whole=question.kind == "integer", amount=question.kind == "amount")


def _number(question: Question, text: str) -> Any:
    whole = question.kind == "integer"
    try:
        found = _understand(question, text)
    except AmbiguousError as error:
        raise UnusableError(str(error)) from None
    if found is None or (whole and "." in found.digits):
        of_unit = f" in {question.unit}" if question.unit else ""
        given = f"{printable(text.strip())[:40]}{'…' if len(text.strip()) > 40 else ''}"
        raise UnusableError(f"must be a {'whole ' if whole else ''}number{of_unit} (given: {given})")
    if whole:
        return int(found.digits)
    return NumberText(found.digits) if _PLAIN.fullmatch(found.digits) else found.digits


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UnusableError("must be a date such as 2027-01-31") from None


def _yes_no(text: str) -> bool:
    word = text.casefold()
    if word not in (YES, NO, "true", "false"):
        raise UnusableError("must be yes or no")
    return word in (YES, "true")


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(SEPARATOR.strip()) if part.strip()]


def _by_name(text: str) -> dict[str, Any]:
    pairs = {}
    for part in _texts(text):
        name, equals, value = part.rpartition("=")
        if not equals or not name.strip():
            raise UnusableError("must be name=value, several with ; between them")
        word = value.strip()
        pairs[name.strip()] = int(word) if re.fullmatch(r"[0-9]{1,18}", word) else word
    return pairs
