"""The items of one budget line as its screen shows them, with their amounts and the subtotals of that line only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wizard.asking.answers_file import Tree
from wizard.asking.tree import path_of
from wizard.budget.items import catalogue_item, counts_gpus
from wizard.decision.proof import gpus_in_all
from wizard.printable import fitted, printable

if TYPE_CHECKING:
    from wizard.budget.lines import EngineLine, RuntimeLine
    from wizard.decision.selection import Selection

_WHEN = {"one-time": "once", "monthly": "month", "yearly": "year", "usage-yearly": "usage"}
#: The state of an item by the letter that sets it.
STATES = {"n": "not_given", "z": "not_needed"}
#: Screens of fewer columns show no quantity and no unit price.
NARROW = 72
#: What stands on a line besides the name of its item, in columns: with all the figures, and with the amount only.
_ALL_COLUMNS, _AMOUNT_COLUMNS, _LONGEST_NAME = 58, 36, 44
HINT = "a add  Enter edit  Delete remove   price unknown: k ask  n not given  z not needed"


def line_of(rows_key: str, selection: "Selection | None") -> "EngineLine | RuntimeLine | None":
    """The line that a list of items belongs to, as it was worked out last."""
    if selection is None:
        return None
    return selection.engine_line if rows_key.startswith("budget.engine") else selection.runtime_line


def item_lines(rows_key: str, rows: Sequence[Tree], selection: "Selection | None", width: int) -> list[str]:
    """One line for each item, or one that says how to add the first; a missing price is said and never 0.

    `width` is that of the screen in columns; where it is narrow, quantity and unit price give way to the amount.
    """
    amounts = _amounts(rows_key, rows, selection)
    lines = [f"{number:>2} {_line(row, amounts.get(number - 1, ''), width)}" for number, row in enumerate(rows, 1)]
    return lines or ["   none yet: Enter adds one"]


def subtotal_lines(rows_key: str, selection: "Selection | None") -> list[str]:
    """The two subtotals of the line, or what each of them lacks; no figure of the other line."""
    line = line_of(rows_key, selection)
    if line is None:
        return []
    found = []
    for words, subtotal in (("once", line.one_time), ("yearly", line.recurring)):
        if subtotal.money is not None:
            text = f"{subtotal.money.amount:,} {subtotal.money.currency}"
        elif subtotal.unpriced:
            text = f"incomplete: {len(subtotal.unpriced)} of {len(subtotal.rows)} unpriced"
        else:
            text = "no item"
        found.append(f"{words}, line {line.line}: {text}")
    return found


def follows_gpus(row: Tree) -> bool:
    """Whether the quantity of an item follows section 2; rule B5 holds it against the GPUs there."""
    return str(row.get("id", "")).startswith("E") and counts_gpus(str(row.get("unit") or ""))


def about_item(row: Tree, selection: "Selection | None") -> list[str]:
    """What is said of one item: what its id pays for, and what its quantity follows."""
    known = catalogue_item(str(row.get("id") or ""))
    title = printable(str(row.get("item") or row.get("id") or "an item"))
    pays = f"{known.id} pays for: {known.what}." if known else "Its id is none of the catalogue."
    lines = [title, "", pays]
    if follows_gpus(row):
        gpus = gpus_in_all(selection) if selection else None
        counted = "not known yet" if gpus is None else f"{gpus}"
        lines[2] += f" The quantity follows section 2: {counted} GPUs with the spare ones; change it there."
    return [
        *lines,
        "",
        "Enter opens the row. A price that you do not know: k asks a colleague, n leaves it not given, z says why",
        "it is not needed.",
    ]


def _amounts(rows_key: str, rows: Sequence[Tree], selection: "Selection | None") -> dict[int, str]:
    """The amounts by the number of the row; those of rows that were changed since stay away."""
    line = line_of(rows_key, selection)
    if line is None or selection is None:
        return {}
    budget = selection.answers.budget
    items = budget.engine.items if line.line == "E" else budget.runtime.items
    found = {}
    for row in line.rows:
        number = path_of(row.key)[-1]
        if not isinstance(number, int) or number >= min(len(rows), len(items)):
            continue
        typed = [str(rows[number].get(name, "")) for name in ("quantity", "unit_price")]
        known = ["" if value is None else str(value) for value in (items[number].quantity, items[number].unit_price)]
        if typed == known:
            found[number] = f"{row.amount.amount:,}" if row.amount is not None else "not given"
    return found


def _line(row: Tree, amount: str, width: int) -> str:
    narrow = width < NARROW
    room = min(max(width - (_AMOUNT_COLUMNS if narrow else _ALL_COLUMNS), 10), _LONGEST_NAME)

    def said(name: str, width: int, absent: str = "not given") -> str:
        return fitted(printable(str(row.get(name) or absent)), width)

    name = f"{said('id', 4, '?'):<5}{said('item', room, ''):<{room + 1}}"
    if row.get("state") == "not_needed":
        return f"{name}not needed: {said('reason', 200, 'no reason given yet')}"
    if row.get("basis") == "bundled":
        return f"{name}in the price of {said('included_in', 40, 'another item')}"
    if row.get("owned_part"):
        return f"{name}{said('quantity', 9):>9} GPU-Years, {said('owned_part', 20)}, worked out"
    quantity = said("quantity", 9)
    if follows_gpus(row):
        quantity = f"{said('quantity', 4)} GPUs"
    when = _WHEN.get(str(row.get("frequency")), "?")
    if narrow:
        return f"{name}{when:<6}{amount:>12}"
    return f"{name}{when:<6}{quantity:>9} x {said('unit_price', 10):>10} = {amount:>12}".rstrip(" =")
