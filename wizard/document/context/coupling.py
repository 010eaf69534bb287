"""What a change does to each line: in words with this budget's items, and in the person's own days for each line."""

import re
from typing import Any, NamedTuple

from wizard.budget import EngineLine, RuntimeLine
from wizard.budget.items import base_id
from wizard.budget.migration import ChangeCost, Work, engine_changes, runtime_changes
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context.common import Context, sources
from wizard.document.markdown import NOT_GIVEN, Table

_COLUMNS = ("Change", "Engine line", "Runtime line", "Evidence that lapses")
_WORK = ("Change", "Work", "Why", "Stands in", "Days", "Amount", "Source")
_NAMED_WORK = ("Change", "Work, and the items that it stands in", "Source")
_CHANGES = {"engine": "another engine", "hardware": "other hardware"}


class _Change(NamedTuple):
    """One change: what it does to each line, the items it touches there, and which measurements lapse."""

    name: str
    engine: str
    engine_items: tuple[str, ...]
    runtime: str
    runtime_items: tuple[str, ...]
    lapses: str = "all runs"


_PER_GPU = ("E1", "E2")
_CAPACITY = ("R1", "R2")
_ALL_R = ("R1", "R2", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12")

# The keep-test sorts what is paid again; the rows follow from which half of the decision a change replaces.
_ROWS: tuple[_Change, ...] = (
    _Change(
        "Engine, same GPUs",
        "paid again",
        ("E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E10"),
        "the number of replicas is derived again",
        _CAPACITY,
    ),
    _Change(
        "GPU model, same engine",
        "tuned and checked again; what is counted by GPU follows the new count",
        ("E4", *_PER_GPU),
        "priced anew; commitments end early",
        ("R1", "R2", "R4", "R10", "R12"),
    ),
    _Change(
        "Number of GPUs, same model of GPU",
        "what is counted by GPU follows the count",
        _PER_GPU,
        "the quantity follows the count",
        ("R1", "R2", "R4", "R5", "R10"),
        "all runs if the GPUs of a replica change; none if only replicas are added",
    ),
    _Change(
        "Provider, same GPU",
        "the image is integrated again; a licence bought through the provider changes its price",
        ("E1", "E3"),
        "priced anew, with both providers at once for a while",
        _ALL_R,
    ),
    _Change(
        "Rented to owned",
        "a licence that comes with the cards may replace one that is bought",
        ("E1",),
        "capacity is written off instead of rented; energy, space and maintenance appear",
        ("R1", "R2", "R10"),
        "none by itself",
    ),
    _Change(
        "Minor version of the engine",
        "requalification",
        ("E7",),
        "none unless the driver must follow",
        (),
        "every run of the old version",
    ),
    _Change(
        "Model",
        "evaluated and reviewed again, its architecture checked",
        ("E5", "E6", "E9"),
        "GPUs per replica may change",
        (*_CAPACITY, "R5"),
        "all runs, quality gate",
    ),
    _Change(
        "Quantisation",
        "quantised and evaluated again",
        ("E5", "E6"),
        "GPUs per replica may change; the GPU-hours that the evaluation uses",
        (*_CAPACITY, "R13"),
        "all runs, quality gate",
    ),
    _Change(
        "Latency ceiling tightened",
        "tuning",
        ("E4",),
        "more serving replicas, or more GPUs in each",
        _CAPACITY,
        "none; results are read again at the new ceiling",
    ),
    _Change(
        "Peak above the measured capacity",
        "what is counted by GPU grows",
        _PER_GPU,
        "one more serving replica",
        (*_CAPACITY, "R6"),
        "none",
    ),
)


def coupling(selection: Selection) -> Context:
    """Everything that "What moves which line" says."""
    lines = selection.answers.budget
    return {
        "moves": moves(selection),
        "engine": _work(selection, engine_changes(lines.engine), selection.engine_line, "budget.engine"),
        "engine_sums": [_sum(cost) for cost in engine_changes(lines.engine)],
        "runtime": _work(selection, runtime_changes(lines.runtime), selection.runtime_line, "budget.runtime"),
        "runtime_sums": [_sum(cost) for cost in runtime_changes(lines.runtime)],
    }


def moves(selection: Selection) -> Table:
    """What each change does to each line. Without a run there is no evidence that could lapse, which it says."""
    measured = selection.smoke is not None and bool(selection.smoke.points)
    rows = [
        (
            row.name,
            _with_items(row.engine, row.engine_items, selection.engine_line),
            _with_items(row.runtime, row.runtime_items, selection.runtime_line),
            row.lapses if measured else "none yet, nothing was measured",
        )
        for row in _ROWS
    ]
    return Table(_COLUMNS, tuple(rows))


def _with_items(words: str, families: tuple[str, ...], line: EngineLine | RuntimeLine) -> str:
    """The words with the items of this budget; where it has none of them, they stand alone."""
    named = _items(families, line)
    return f"{words}: {', '.join(named)}" if named else words


def _items(families: tuple[str, ...], line: EngineLine | RuntimeLine) -> list[str]:
    """The items of a line that belong to these catalogue ids, in the order of the ids."""
    rows = [row for row in line.rows if row.state != "not_needed"]
    return [f"{row.id} {_short(row.title)}".strip() for name in families for row in rows if base_id(row.id) == name]


def _short(title: str) -> str:
    """What an item is, without the figures that a person wrote behind it."""
    return re.split("[:,]", title, maxsplit=1)[0].strip()


def _work(selection: Selection, costs: tuple[ChangeCost[Any], ...], line: EngineLine | RuntimeLine, at: str) -> Table:
    """The work of both changes in one line; amounts stand there only where days and rate were given.

    Without a single day or a rate there is nothing to recompute, and one row a change names all of its work.
    """
    if not any(work.days is not None for cost in costs for work in cost.works):
        return _named_work(costs, line)
    rows = []
    for cost in costs:
        for work in cost.works:
            given = work.days is not None
            words = sources(selection, f"{at}.migration.day_rate", f"{at}.currency") if given else "missing"
            rows.append(
                (
                    _CHANGES[cost.change],
                    f"{work.row.name}: {work.row.what}",
                    work.row.evidence,
                    ", ".join(_stands_in(work, line)) or "no item of this budget",
                    NOT_GIVEN if work.days is None else formats.number(work.days),
                    NOT_GIVEN if work.amount is None else work.amount.text(),
                    f"catalogue, {'derived F-1, ' if work.amount is not None else ''}{words}",
                )
            )
    return Table(_WORK, tuple(rows))


def _named_work(costs: tuple[ChangeCost[Any], ...], line: EngineLine | RuntimeLine) -> Table:
    rows = []
    for cost in costs:
        works = []
        for work in cost.works:
            items = _stands_in(work, line)
            works.append(f"{work.row.name} ({', '.join(items)})" if items else work.row.name)
        rows.append((_CHANGES[cost.change], "; ".join(works), "catalogue"))
    return Table(_NAMED_WORK, tuple(rows))


def _stands_in(work: Work[Any], line: EngineLine | RuntimeLine) -> list[str]:
    return [text.split()[0] for text in _items(work.row.items, line)]


def _sum(cost: ChangeCost[Any]) -> str:
    """What one change costs the line, or why that is not stated."""
    name = f"a change to {_CHANGES[cost.change]}"
    if cost.sum is not None:
        days = sum(work.days for work in cost.works if work.days is not None)
        return f"{name}: {cost.sum.text()} for {formats.number(days)} days"
    missing = len(cost.without_days)
    if missing:
        return f"{name}: not stated, days are missing for {missing} of {len(cost.works)} pieces of work"
    return f"{name}: not stated, the day rate or the currency is not given"
