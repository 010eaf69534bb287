"""The built-in examples, dated by the document that is made from it."""

import datetime
import re
import tomllib
from importlib.resources import files
from typing import Any

from wizard.answers import NumberText
from wizard.errors import UsageError

_DAY = re.compile(r"today([+-]\d+)")


#: The examples by name, each with the files that make it: the second lies over the first.
EXAMPLES = {
    "one-node": ("example.toml",),
    "two-nodes": ("example.toml", "example-two-nodes.toml"),
}


def example_tree(today: datetime.date, name: str = "one-node") -> dict[str, Any]:
    """The answers of an example as a tree of TOML values, its dates counted from `today`."""
    tree: dict[str, Any] = {}
    for file in EXAMPLES[name]:
        text = (files("wizard.catalogue") / file).read_text(encoding="utf-8")
        tree = _laid_over(tree, tomllib.loads(text, parse_float=NumberText))
    dated: dict[str, Any] = _dated(tree, today)
    return dated


def _laid_over(base: Any, change: Any) -> Any:
    """`change` over `base`, key by key; rows that have an id by it (a new one comes last), others by their place."""
    if isinstance(base, dict) and isinstance(change, dict):
        return base | {key: _laid_over(base.get(key), value) for key, value in change.items()}
    if not (isinstance(base, list) and change and all(isinstance(row, dict) for row in change)):
        return change
    rows = list(base)
    for place, row in enumerate(change):
        same = [at for at, old in enumerate(rows) if "id" in row and old.get("id") == row["id"]]
        at = same[0] if same else place if "id" not in row and place < len(rows) else len(rows)
        rows[at : at + 1] = [_laid_over(rows[at] if at < len(rows) else {}, row)]
    return rows


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
