"""What the contexts share: looking up an answer with its source, and the tables made of such rows."""

import datetime
from collections.abc import Callable, Iterable

from pydantic import BaseModel

from wizard.document import formats
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.provenance import SourceWord
from wizard.selection import Selection

#: Weakest first, for the source word of a cell that was made from several values.
_STRENGTH: tuple[SourceWord, ...] = ("missing", "default", "answer", "catalogue", "probe", "measured")

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


def source(selection: Selection, *keys: str) -> SourceWord:
    """The source word of a cell made from these answers: the weakest of theirs.

    A value without an origin is one that nobody is known to have chosen, so it counts as a default.
    """
    return weakest(_word(selection, key) for key in keys)


def sources(selection: Selection, *keys: str) -> str:
    """The source words of a row whose cells have different ones, strongest first: "answer, missing"."""
    words = {source(selection, key) for key in keys}
    return ", ".join(word for word in reversed(_STRENGTH) if word in words) or "missing"


def _word(selection: Selection, key: str) -> SourceWord:
    if answer(selection, key) is None:
        return "missing"
    word = selection.origin(key).word
    return "default" if word == "missing" else word


def weakest(words: Iterable[SourceWord]) -> SourceWord:
    """The weakest of some source words; of none, missing."""
    return min(words, key=_STRENGTH.index, default="missing")


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
    if any(gpu.name.source == "plan" for gpu in machine.gpus):
        return "a machine that will be bought, from the catalogue; nothing was read from it"
    if any(gpu.name.source == "simulated" for gpu in machine.gpus):
        return f"a simulated machine of {taken} UTC, no real one"
    return f"{'recorded machine of' if machine.recorded else 'probe of'} {taken} UTC"
