"""The steps of the wizard: which questions and which lists stand on which screen, from the one list of questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wizard.answers import Answers, Table
from wizard.asking.answers_file import Tree
from wizard.asking.questions import SECTIONS, Question, by_key, questions, table_type
from wizard.asking.tree import named

Decision = Literal["PROJECT", "ENGINE", "RUNTIME", "LINE E", "LINE R", "REVIEW"]

STRATEGIES = "engine.strategies"
OPTIONS, CRITERIA, GATES = "engine.options", "engine.criteria", "engine.gates"
#: The two lists whose rows have an id of the catalogue of budget items.
ITEMS = ("budget.engine.items", "budget.runtime.items")

#: The short way, one screen a section: at most nine questions; everything else stays open or takes its default.
SHORT = (
    "project.title",
    "engine.chosen",
    "engine.owner",
    "engine.models[0].name",
    "engine.models[0].context_tokens",
    "runtime.owner",
    "runtime.workload.concurrency",
    "runtime.workload.input_tokens",
    "runtime.workload.output_tokens",
)

#: What the short way says below a question, because an answer settles more than it asks.
SHORT_NOTES = {
    "engine.owner": "answers for line E too, unless you say otherwise later",
    "runtime.owner": "answers for line R too; the owner of the engine decision again means one small team: "
    "one person may approve both lines, and the document says so",
}

_DECISIONS: dict[str, Decision] = {
    "project": "PROJECT",
    "engine need": "ENGINE",
    "engine strategies": "ENGINE",
    "engine options": "ENGINE",
    "runtime product": "RUNTIME",
    "hardware and layout": "RUNTIME",
    "workload and ceilings": "RUNTIME",
    "security and operations": "RUNTIME",
    "budget line E": "LINE E",
    "budget line R": "LINE R",
    "governance": "PROJECT",
}


@dataclass(frozen=True)
class RowList:
    """A list of rows on a screen: its key, its title, and why it is asked for."""

    key: str
    title: str
    why: str


@dataclass(frozen=True)
class Step:
    """One screen of questions. `basic` are asked, `advanced` are shown on demand; `lists` hold rows."""

    name: str
    decision: Decision
    basic: tuple[str, ...]
    advanced: tuple[str, ...]
    lists: tuple[RowList, ...]


def decision_of(section: str) -> Decision:
    """The decision that a section belongs to."""
    return _DECISIONS[section]


def steps(*, short: bool) -> tuple[Step, ...]:
    """The steps of one of the two ways, in order."""
    return _short() if short else tuple(_full(section) for section in SECTIONS)


def row_step(rows_key: str, index: int | str, names: Mapping[str, Sequence[str]] | None = None) -> Step:
    """The screen of one row of a list, or of one strategy (`index` is its id then).

    `names` are those that a table of names has, by its field (`gates`): each is asked for itself.
    """
    pattern = f"{rows_key}.<id>." if rows_key == STRATEGIES else f"{rows_key}[]."
    at = f"{rows_key}.{index}" if rows_key == STRATEGIES else f"{rows_key}[{index}]"
    asked = [question for question in questions() if question.key.startswith(pattern)]
    title = about_list(rows_key)[0]
    which = str(index) if isinstance(index, str) else f"row {index + 1}"

    def keys(*, advanced: bool) -> Iterator[str]:
        for question in asked:
            field = question.key.removeprefix(pattern)
            given = (names or {}).get(field, ())
            if given and not advanced:
                yield from (named(f"{at}.{field}", name) for name in given)
            elif not given and question.advanced == advanced:
                yield f"{at}.{field}"

    return Step(
        name=f"{title}, {which}",
        decision=decision_of(asked[0].section),
        basic=tuple(keys(advanced=False)),
        advanced=tuple(keys(advanced=True)),
        lists=(),
    )


def about_list(rows_key: str) -> tuple[str, str]:
    """The title of a list and why it is asked for, as the answer models say it."""
    table: type[Table] | None = Answers
    *path, name = rows_key.split(".")
    for part in path:
        table = table_type(table.model_fields[part].annotation) if table else None
    field = table.model_fields.get(name) if table else None
    return (field.title or rows_key, field.description or "") if field else (rows_key, "")


def step_of(key: str, *, short: bool) -> int | None:
    """The number of the step on which a key is asked; None if it is asked on none."""
    ways = steps(short=short)
    for number, step in enumerate(ways):
        if any(key == asked or asked.startswith(f"{key}[") for asked in (*step.basic, *step.advanced)):
            return number
        if any(key == rows.key or key.startswith((f"{rows.key}[", f"{rows.key}.")) for rows in step.lists):
            return number
    return None


#: So many refining questions of one table may appear when somebody goes to one of them.
MOST_BESIDE = 8


def beside(step: Step, key: str | None) -> tuple[str, ...]:
    """The refining questions that are shown with one of them: those of its table, or it alone where they are many."""
    if key not in step.advanced:
        return ()
    table = key.rpartition(".")[0]
    together = tuple(other for other in step.advanced if other.rpartition(".")[0] == table)
    return together if len(together) <= MOST_BESIDE else (key,)


def row_of(key: str) -> tuple[str, int | str] | None:
    """The list and the row that a key stands in; None for a key outside any list."""
    if key.startswith(f"{STRATEGIES}."):
        return STRATEGIES, key.split(".")[2]
    rows, bracket, rest = key.partition("[")
    return (rows, int(rest.partition("]")[0])) if bracket and rest.partition("]")[0].isdigit() else None


def summary(rows_key: str, row: Tree) -> str:
    """One line about a row: the fields that name it."""
    names = _columns(rows_key)
    parts = [str(row[name]) for name in names if row.get(name) not in (None, "")]
    return " · ".join(" ".join(part.split()) for part in parts) or "nothing typed yet"


def _full(section: str) -> Step:
    plain = [question for question in questions() if question.section == section and not question.repeated]
    keys = dict.fromkeys(_list_key(q) for q in questions() if q.section == section and q.repeated)
    return Step(
        name=section,
        decision=decision_of(section),
        basic=tuple(question.key for question in plain if not question.advanced),
        advanced=tuple(question.key for question in plain if question.advanced),
        lists=tuple(RowList(key, *about_list(key)) for key in keys),
    )


def _short() -> tuple[Step, ...]:
    by_section: dict[str, list[str]] = {}
    for key in SHORT:
        pattern = key.replace("[0]", "[]")
        by_section.setdefault(by_key()[pattern].section, []).append(key)
    return tuple(Step(section, decision_of(section), tuple(keys), (), ()) for section, keys in by_section.items())


def _list_key(question: Question) -> str:
    return question.key.partition("[]")[0].partition(".<id>")[0]


def _columns(rows_key: str) -> tuple[str, ...]:
    if rows_key in ITEMS:
        return ("id", "item", "quantity", "unit_price", "frequency", "state")
    if rows_key == STRATEGIES:
        return ("decision", "reason")
    if rows_key == ASKED_KEY:
        return ("text", "owner", "due")
    pattern = f"{rows_key}[]."
    named = (q for q in questions() if q.key.startswith(pattern) and q.kind not in ("texts", "choices_by_name"))
    return tuple(q.key.removeprefix(pattern) for q in named)[:3]


ASKED_KEY = "governance.open_questions"
