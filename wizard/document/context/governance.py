"""Risks, assumptions, open questions, and the approvals that people fill in."""

from wizard.answers.governance import OpenQuestion
from wizard.asking.open_answers import OpenAnswer
from wizard.asking.questions import question_of
from wizard.asking.ranges import ranged
from wizard.catalogue import strategies
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context.common import Context, answer, numbered, said, source
from wizard.document.context.front import place
from wizard.document.markdown import NOT_GIVEN, Table


def governance(selection: Selection) -> Context:
    """The register, how many answers are open beside it, and the approvals."""
    return {
        "register": _register(selection),
        "defaults": _defaults(selection),
        "ranges": _ranges(selection),
        "approvals": approvals_table(selection),
        "approvals_given": bool(selection.answers.governance.approvals),
        "small_team": selection.answers.governance.small_team,
    }


def _ranges(selection: Selection) -> Table | None:
    """What people know only between two ends: both, the value that the document calculates with, and its source."""
    rows = [
        (
            _named(given.key),
            f"{formats.value(given.low)} to {formats.value(given.high)}",
            said(selection, given.key),
            source(selection, given.key),
            _text(given.source_ref),
        )
        for given in selection.answers.governance.ranges
        if given.key and given.low is not None and given.high is not None and ranged(given.key)
    ]
    return Table(("Answer", "Range", "Used", "Source", "Rests on"), tuple(rows)) if rows else None


def _register(selection: Selection) -> Table | None:
    given = selection.answers.governance
    rows = [
        (numbered("RK", n), "risk", _text(r.text), _text(r.owner), formats.day(r.due), _text(r.consequence))
        for n, r in enumerate(given.risks)
    ]
    rows += [
        (
            numbered("AS", n),
            "assumption",
            _text(a.text),
            _text(a.owner),
            formats.day(a.due),
            _text(a.consequence),
        )
        for n, a in enumerate(given.assumptions)
    ]
    rows += [
        (
            numbered("OQ", n),
            f"open, before {question.phase}" if question.phase else "open",
            _question_text(question),
            _text(question.owner),
            formats.day(question.due),
            _text(question.consequence),
        )
        for n, question in enumerate(given.open_questions)
    ]
    first = len(given.open_questions)
    rows += [
        (
            numbered("OQ", first + n),
            "open answer" if len(group) == 1 else "open answers",
            _open_text(selection, group),
            _text(group[0].owner),
            formats.day(group[0].due),
            f"{'stays' if len(group) == 1 else 'stay'} not given in: {place(group[0].key)}",
        )
        for n, group in enumerate(_unasked(selection))
    ]
    columns = ("Id", "Type", "Text", "Owner", "Due", "If false or if it happens")
    return Table(columns, tuple(rows)) if rows else None


def _question_text(question: OpenQuestion) -> str:
    """The question; where it waits for an answer of this document, with the section that lacks it."""
    known = question_of(question.key) if question.key else None
    if known is None or question.key is None:
        return _text(question.text)
    words = question.text if question.text and question.text != known.title else f"{known.title}: {known.why}"
    return f"{words} ({place(question.key)})"


def _unasked(selection: Selection) -> list[list[OpenAnswer]]:
    """The open answers that nobody was asked for; those that one person owes for one row of a list stand together."""
    asked = {question.key for question in selection.answers.governance.open_questions}
    groups: dict[tuple[object, ...], list[OpenAnswer]] = {}
    for waiting in selection.open_answers:
        if waiting.key not in asked:
            place_of = _row_of(waiting.key) or waiting.key
            groups.setdefault((place_of, waiting.owner, waiting.due), []).append(waiting)
    return list(groups.values())


def _row_of(key: str) -> str | None:
    """The row of a list that a key stands in, such as `budget.engine.items[0]`."""
    row = key.rpartition(".")[0]
    return row if row.endswith("]") else None


def _open_text(selection: Selection, group: list[OpenAnswer]) -> str:
    """The questions, and for a row of a list which row it is: "Price basis, Valid until, R1e"."""
    titles, row = ", ".join(waiting.title for waiting in group), _row_of(group[0].key)
    if row is None:
        return titles
    names = (_maybe(selection, f"{row}.{name}") for name in ("id", "name", "role", "text"))
    words = next((f"{titles}, {name}" for name in names if name), titles)
    reason = _maybe(selection, f"{row}.reason") if ".items[" in row else None
    return f"{words} ({reason})" if reason else words


def _maybe(selection: Selection, key: str) -> object:
    try:
        return answer(selection, key)
    except AttributeError:
        return None


def _text(text: str | None) -> str:
    return text or NOT_GIVEN


#: Keys below which a default affects cost, latency or security.
_MATTERS = ("runtime.", "budget.", "engine.models", "engine.strategies")


def _defaults(selection: Selection) -> Table | None:
    """Values that nobody chose and that affect cost, latency or security: each is a question still open."""
    rows = [
        (_named(key), formats.value(answer(selection, key)), selection.origins[key].detail or NOT_GIVEN, "default")
        for key in sorted(selection.origins)
        if selection.origins[key].word == "default" and key.startswith(_MATTERS) and not key.endswith(".reason")
    ]
    columns = ("Answer", "Value", "Where the default comes from", "Source")
    return Table(columns, tuple(rows)) if rows else None


def _named(key: str) -> str:
    """A question by its title, with the key that an answers file knows it by."""
    question = question_of(key)
    title = question.title if question else ""
    strategy = strategies().get(key.removeprefix("engine.strategies.").removesuffix(".decision"))
    return f"{strategy.name if strategy else title} ({key})"


def approvals_table(selection: Selection) -> Table:
    """Who has to decide about what; decision and date are for people."""
    given = selection.answers.governance.approvals
    rows = [
        (
            _text(a.role),
            _text(a.name),
            _text(a.covers),
            "",
            "",
            f"proposed: {a.condition}" if a.condition else "none proposed",
        )
        for a in given
    ]
    if not rows and selection.answers.governance.small_team:
        covers = "engine, section 1; runtime, section 2; line E; line R: each for itself"
        rows = [(NOT_GIVEN, NOT_GIVEN, covers, "", "", "none proposed")]
    if not rows:
        lines = selection.answers.budget
        rows = [
            (NOT_GIVEN, NOT_GIVEN, "engine, section 1", "", "", "none proposed"),
            (NOT_GIVEN, NOT_GIVEN, "runtime, section 2", "", "", "none proposed"),
            (_text(lines.engine.approval_route), NOT_GIVEN, "line E", "", "", "none proposed"),
            (_text(lines.runtime.approval_route), NOT_GIVEN, "line R", "", "", "none proposed"),
        ]
    columns = ("Role", "Name", "Covers", "Decision", "Date", "Conditions")
    return Table(columns, tuple(rows), blank=("Decision", "Date"))
