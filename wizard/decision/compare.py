"""Two selections beside each other: what changed, which budget line it touches, and which measurements lapse."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from probes.machine import Machine
from wizard.asking.answers_file import row_identity
from wizard.asking.questions import leaves
from wizard.catalogue.loader import migrations
from wizard.catalogue.rows import Migration
from wizard.decision.selection import Selection

Line = Literal["E", "R"]
Section = Literal["project", "engine", "runtime", "budget_engine", "budget_runtime", "governance"]
SECTIONS: tuple[Section, ...] = ("project", "engine", "runtime", "budget_engine", "budget_runtime", "governance")


@dataclass(frozen=True)
class Change:
    """One value that is not the same in both; None where it is not given.

    A row of a list goes by its own id or name: `budget.runtime.items[R1].unit_price`.
    """

    path: str
    old: Any
    new: Any
    section: Section


@dataclass(frozen=True)
class Comparison:
    """What changed, in the order of the answers, and what follows from it.

    `migration` is the work that the changes of engine and hardware bring, as the catalogue lists it.
    """

    changes: tuple[Change, ...]
    lines_touched: tuple[Line, ...]
    lapsed_measurements: tuple[str, ...]
    migration: tuple[Migration, ...]

    def to_json(self) -> dict[str, Any]:
        """The shape of `diff --json`."""
        return {
            "schema_version": 1,
            "changes": [dict(change.__dict__) for change in self.changes],
            "lines_touched": list(self.lines_touched),
            "lapsed_measurements": list(self.lapsed_measurements),
            "migration": [
                {"id": row.id, "line": row.line, "what": row.what, "items": list(row.items)} for row in self.migration
            ],
        }


@dataclass(frozen=True)
class _Kind:
    """What a change of the keys that `pattern` matches does: lines it touches, whether runs of before lapse."""

    pattern: str
    lines: str
    lapses: bool
    migration: Literal["engine", "hardware"] | None = None


#: The first one that matches counts. By the keep-test of the split budget, what a change makes somebody do again is
#: paid by the line whose cost it is. A run holds for the model, product, hardware, settings and load that it had.
_KINDS = (
    _Kind(r"engine\.chosen|runtime\.product", "ER", lapses=True, migration="engine"),
    _Kind(r"runtime\.(version|image)", "E", lapses=True),
    _Kind(r"engine\.models\[[^]]*\]\.(name|path|revision|carried_by)", "ER", lapses=True),
    _Kind(r"engine\.models\[[^]]*\]\.context_tokens", "R", lapses=True),
    _Kind(r"engine\.models\[[^]]*\]\..*", "E", lapses=False),
    _Kind(r"engine\.strategies\.[^.]*\.decision", "E", lapses=True),
    _Kind(r"runtime\.hardware\.gpu", "ER", lapses=True, migration="hardware"),
    _Kind(r"runtime\.hardware\..*|runtime\.layout\.(tensor|pipeline|data)_parallel", "R", lapses=True),
    _Kind(r"runtime\.layout\.(spare_)?replicas", "R", lapses=False),
    _Kind(r"runtime\.settings\.quantization", "ER", lapses=True),
    _Kind(r"runtime\.settings\..*", "", lapses=True),
    _Kind(r"runtime\.ceilings\..*", "ER", lapses=False),
    _Kind(r"runtime\.workload\.(profile|concurrency|(input|output|shared_prefix)_tokens|turns)", "R", lapses=True),
    _Kind(r"runtime\.workload\..*", "R", lapses=False),
    _Kind(r"budget\.runtime\.items\[R[12][a-z]?\]\.provider", "ER", lapses=True),
    # What another option would cost changes no amount of the line.
    _Kind(r"budget\.(engine|runtime)\.alternatives\[.*", "", lapses=False),
    _Kind(r"budget\.engine(\..*)?", "E", lapses=False),
    _Kind(r"budget\.runtime(\..*)?", "R", lapses=False),
    _Kind(r"machine\..*", "", lapses=True),
)
_NOTHING = _Kind("", "", lapses=False)
#: Keys of which a row with a licence or support that is counted by GPU follows.
_COUNTS_GPUS = re.compile(r"runtime\.hardware\.gpus_per_replica|runtime\.layout\.(spare_)?replicas")


def compare(old: Selection, new: Selection) -> Comparison:
    """Compare two selections: their answers with defaults filled in, the machines, and the runs."""
    before, after = _values(old), _values(new)
    paths = [*before, *(path for path in after if path not in before)]
    changes = tuple(
        Change(path, before.get(path), after.get(path), _section(path))
        for path in paths
        if before.get(path) != after.get(path)
    )
    kinds = [_kind(change.path) for change in changes]
    lines = {line for kind in kinds for line in kind.lines}
    if any(_COUNTS_GPUS.fullmatch(change.path) for change in changes) and _pays_by_gpu(old, new):
        lines.add("E")
    return Comparison(
        changes=changes,
        lines_touched=tuple(line for line in ("E", "R") if line in lines),
        lapsed_measurements=_measurements(old) if any(kind.lapses for kind in kinds) else (),
        migration=_work(kind.migration for kind in kinds),
    )


class Later(NamedTuple):
    """What a later change of one answer does: the lines it touches, whether runs lapse, the work it brings."""

    lines_touched: str
    lapses: bool
    migration: tuple[Migration, ...]


def later_change(key: str) -> Later:
    """What a change of this answer would do, whatever its value."""
    kind = _kind(key)
    return Later(kind.lines, kind.lapses, _work([kind.migration]))


def _work(changes: Iterable[str | None]) -> tuple[Migration, ...]:
    wanted = set(changes)
    return tuple(row for row in migrations().values() if row.change in wanted)


def _kind(path: str) -> _Kind:
    return next((kind for kind in _KINDS if re.fullmatch(kind.pattern, path)), _NOTHING)


def _section(path: str) -> Section:
    if path.startswith("budget."):
        return "budget_engine" if path.startswith("budget.engine") else "budget_runtime"
    name = path.partition(".")[0]
    return next((section for section in SECTIONS if section == name), "runtime")


def _values(selection: Selection) -> dict[str, Any]:
    """Every value that is given, by its path; rows by their own names, machine and run by what they are known by."""
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for leaf in leaves(selection.answers):
        if leaf.value not in (None, (), {}):
            found[_ROW.sub(lambda at: _named(selection, at[0], names), leaf.key)] = _plain(leaf.value)
    return found | _machine(selection.machine) | _run(selection)


#: The key of a row up to its number: engine.models[0].
_ROW = re.compile(r"^[^\[]*\[[0-9]+\]")


def _named(selection: Selection, row_key: str, names: dict[str, str]) -> str:
    """The key of a row by its own name in place of its number; a name that stands twice counts up."""
    if row_key not in names:
        rows_key, _, number = row_key.removesuffix("]").rpartition("[")
        row: Any = selection.answers
        for part in rows_key.split("."):
            row = getattr(row, part)
        name = getattr(row[int(number)], row_identity(rows_key), None)
        path = f"{rows_key}[{name or int(number) + 1}]"
        taken = Counter(names.values())[path]
        names[row_key] = f"{rows_key}[{name or int(number) + 1} ({taken + 1})]" if taken else path
    return names[row_key]


def _plain(value: Any) -> Any:
    """A value as JSON carries it; an amount as the text of a plain decimal."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _machine(machine: Machine | None) -> dict[str, Any]:
    if machine is None:
        return {}
    each = [Counter(gpu.name.value or "unknown GPU" for gpu in kind.gpus) for kind in machine.kinds]
    names = sum((each[node.kind] for node in machine.nodes), Counter[str]()) if machine.nodes else each[0]
    gpus = ", ".join(f"{count} x {name}" for name, count in sorted(names.items()))
    found = {"machine.gpus": gpus or "none", "machine.driver": machine.driver.version.value}
    return {path: value for path, value in found.items() if value is not None}


def _run(selection: Selection) -> dict[str, Any]:
    return {} if selection.smoke is None else {"smoke.run_id": selection.smoke.run_id}


def _measurements(selection: Selection) -> tuple[str, ...]:
    """The measured points of a selection, as a person knows them."""
    smoke = selection.smoke
    if smoke is None:
        return ()
    return tuple(
        f"{smoke.run_id}: {point.kind.replace('_', ' ')} at {point.concurrency} calls" for point in smoke.points
    )


def _pays_by_gpu(old: Selection, new: Selection) -> bool:
    rows = (*old.engine_line.added_rows, *new.engine_line.added_rows)
    return any("accelerator" in (row.unit or "").casefold() for row in rows)
