"""A comparison of two selections as lines that a person reads."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from wizard.decision.compare import SECTIONS, Change, Comparison, Section, later_change
from wizard.printable import fitted

_TITLES: dict[Section, str] = {
    "project": "PROJECT",
    "engine": "SECTION 1, ENGINE",
    "runtime": "SECTION 2, RUNTIME",
    "budget_engine": "BUDGET LINE E",
    "budget_runtime": "BUDGET LINE R",
    "governance": "GOVERNANCE",
}
_ROW = re.compile(r"^[^\[]*\[.*?\](?=\.)")
_LONGEST = 60


def comparison_lines(found: Comparison) -> list[str]:
    """The changes by section, then what follows from them."""
    if not found.changes:
        return ["Nothing that was decided differs."]
    lines: list[str] = []
    for section in SECTIONS:
        changes = [change for change in found.changes if change.section == section]
        if changes:
            lines += [_TITLES[section], *(f"  {line}" for line in _changes(changes)), ""]
    lines.append(f"Lines touched: {' and '.join(found.lines_touched) or 'none'}.")
    if found.lapsed_measurements:
        lines.append("Measurements that lapse:")
        lines += [f"  {measurement}" for measurement in found.lapsed_measurements]
    if found.migration:
        lines.append("What the change of engine or hardware makes somebody do:")
        lines += [f"  line {row.line}  {row.name}: {row.what}" for row in found.migration]
    return lines


def later_lines(key: str) -> list[str]:
    """What a later change of one answer costs, for the person who answers it; nothing where it costs nothing."""
    later = later_change(key)
    said = []
    if later.lines_touched:
        said.append(f"touches line {' and line '.join(later.lines_touched)}")
    if later.lapses:
        said.append("voids what was measured before")
    lines = [f"Changed later, it {' and '.join(said)}."] if said else []
    for line in ("E", "R"):
        names = [row.name for row in later.migration if row.line == line]
        if names:
            lines.append(f"Paid again in line {line}: {', '.join(names)}.")
    return lines


def _changes(changes: list[Change]) -> Iterator[str]:
    """One line a change; a row that only one of the two has is one line."""
    for row, group in itertools.groupby(changes, key=_row):
        mine = list(group)
        if row and all(change.old is None for change in mine):
            yield f"{row} added"
        elif row and all(change.new is None for change in mine):
            yield f"{row} removed"
        else:
            yield from (f"{change.path}: {_shown(change.old)} → {_shown(change.new)}" for change in mine)


def _row(change: Change) -> str | None:
    found = _ROW.match(change.path)
    return found[0] if found else None


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        text = ", ".join(f"{key}: {item}" for key, item in value.items())
    else:
        text = ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
    return fitted(text, _LONGEST)
