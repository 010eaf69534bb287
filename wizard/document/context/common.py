"""What the contexts share: looking up an answer with its source, and the tables made of such rows."""

import datetime
from collections.abc import Callable, Iterable

from pydantic import BaseModel

from wizard.asking.provenance import SourceWord
from wizard.budget import EngineLine, RuntimeLine, base_id
from wizard.decision.proof import is_planned
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.markdown import NOT_GIVEN, Table

#: Strongest first, for rows whose cells have different sources.
_ORDER: tuple[SourceWord, ...] = (
    "measured",
    "probe",
    "derived",
    "catalogue",
    "answer",
    "default",
    "missing",
)
#: What is said beside the GPUs that serve where nobody said how many replicas wait.
SPARE_NOT_GIVEN = "spare ones not given"
#: The formula of Annex C behind each answer that selwiz works out from others.
_FORMULAS = {
    "runtime.ceilings.e2e_ms": "F-9",
    "runtime.workload.concurrency": "F-13",
    "runtime.settings.max_model_len": "F-14",
}

Row = tuple[str, str, str]
Context = dict[str, object]


def answer(selection: Selection, key: str) -> object:
    """The answer under a dotted key such as `runtime.layout.replicas` or `engine.models[0].name`; None if not given.

    Raises AttributeError for a key that no question has: a misspelt key must not read as a missing answer.
    """
    found: object = selection.answers
    for part in key.replace("[", ".").replace("]", "").split("."):
        if found is None:
            return None
        if isinstance(found, tuple):
            found = found[int(part)]
        elif isinstance(found, dict):
            found = found.get(part)
        else:
            found = getattr(found, part)
    return None if isinstance(found, BaseModel) or found == () else found


def source(selection: Selection, key: str) -> str:
    """The source of one answer as the Source column has it: its word, with the formula if it was derived."""
    word = _word(selection, key)
    return f"derived {_formula(selection, key)}" if word == "derived" else word


def _formula(selection: Selection, key: str) -> str:
    if any(given.key == key for given in selection.answers.governance.ranges):
        return "F-19"
    if key == "runtime.ceilings.e2e_ms" and selection.answers.runtime.ceilings.e2e_from == "tokens":
        return "F-20"
    return _FORMULAS[key]


def sources(selection: Selection, *keys: str) -> str:
    """The sources of a row whose cells have different ones, strongest first: "answer, missing"."""
    words = {_word(selection, key): source(selection, key) for key in reversed(keys)}
    return ", ".join(words[word] for word in _ORDER if word in words) or "missing"


def _word(selection: Selection, key: str) -> SourceWord:
    """The source word of one answer.

    A value without an origin is one that nobody is known to have chosen, so it counts as a default.
    """
    if answer(selection, key) is None:
        return "missing"
    word = selection.origin(key).word
    return "default" if word == "missing" else word


def said(selection: Selection, key: str, show: Callable[[object], str] = formats.value) -> str:
    """One answer as text; "not given" where there is none."""
    found = answer(selection, key)
    return NOT_GIVEN if found is None else show(found)


def row(selection: Selection, name: str, key: str, show: Callable[[object], str] = formats.value) -> Row:
    """A row of a table Field, Value, Source for one answer."""
    return name, said(selection, key, show), source(selection, key)


def facts(
    selection: Selection,
    fields: Iterable[tuple[str, str]],
    *,
    columns: tuple[str, str, str] = ("Field", "Value", "Source"),
) -> Table:
    """A table of answers: each field is its name and its key."""
    return Table(columns, tuple(row(selection, name, key) for name, key in fields))


def numbered(prefix: str, position: int) -> str:
    """DR-1 for the first driver, and so on; the ids that the document refers to itself with."""
    return f"{prefix}-{position + 1}"


def machine_kind(selection: Selection) -> str:
    """How the machine is known, in the words that stand wherever one of its readings appears."""
    machine = selection.machine
    if machine is None:
        return "no machine was probed"
    taken = machine.taken_at.astimezone(tz=datetime.UTC).strftime("%Y-%m-%d %H:%M")
    if is_planned(machine):
        return "a machine that will be bought, from the catalogue; nothing was read from it"
    if any(gpu.name.source == "simulated" for gpu in machine.gpus):
        return f"a simulated machine of {taken} UTC, no real one"
    return f"{'recorded machine of' if machine.recorded else 'probe of'} {taken} UTC"


def ids(line: EngineLine | RuntimeLine, families: tuple[str, ...]) -> list[str]:
    """The ids of one line that belong to these catalogue ids (E6a belongs to E6) and are needed."""
    return [row.id for row in line.rows if base_id(row.id) in families and row.state != "not_needed"]
