"""The built-in example, dated by the document that is made from it."""

import datetime
import re
import tomllib
from importlib.resources import files
from typing import Any

from wizard.answers import NumberText
from wizard.errors import UsageError

_DAY = re.compile(r"today([+-]\d+)")


def example_tree(today: datetime.date) -> dict[str, Any]:
    """The answers of the example as a tree of TOML values, its dates counted from `today`."""
    text = (files("wizard.catalogue") / "example.toml").read_text(encoding="utf-8")
    tree: dict[str, Any] = _dated(tomllib.loads(text, parse_float=NumberText), today)
    return tree


def _dated(value: Any, today: datetime.date) -> Any:
    if isinstance(value, dict):
        return {key: _dated(item, today) for key, item in value.items()}
    if isinstance(value, list):
        return [_dated(item, today) for item in value]
    if isinstance(value, str) and (match := _DAY.fullmatch(value)):
        try:
            return today + datetime.timedelta(days=int(match[1]))
        except OverflowError:
            raise UsageError(
                f"The dates of the example cannot be counted from {today}.", "Give --date a nearer day."
            ) from None
    return value
