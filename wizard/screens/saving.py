"""Preview, save-as and questions for colleagues: shown first, and nothing overwritten unasked."""

from pathlib import Path
from typing import TYPE_CHECKING

from wizard.document.write import outputs, write_text
from wizard.errors import CannotWriteError, SelwizError
from wizard.screens.modals import ChoiceScreen, PathScreen
from wizard.screens.preview import PreviewScreen
from wizard.sessions.writing import default_target, diff_of, draft_of, questions_for_colleagues, today

if TYPE_CHECKING:
    from wizard.app import WizardApp
    from wizard.sessions.drafting import Draft


def preview(app: "WizardApp") -> None:
    """Render the document and show its text."""
    drafted = _draft(app)
    if drafted is not None:
        app.push_screen(PreviewScreen(drafted.text))


def ask_target(app: "WizardApp") -> None:
    """Ask for the name of the document."""
    drafted = _draft(app)
    if drafted is None:
        return
    session = app.session
    offered = session.target or default_target(session.title, today())
    status = drafted.selection.status
    waiting = len(drafted.selection.open_answers)
    hint = (
        f"Write the document (status {status}, {waiting} answers open); "
        "its selection file and evidence folder stand beside it."
    )

    def named(path: str | None) -> None:
        if path:
            _write_to(app, drafted, path if path.endswith(".md") else f"{path}.md")

    app.push_screen(PathScreen(hint, "name of the document", offered), named)


def write_questions(app: "WizardApp") -> None:
    """Write the questions that were marked for colleagues, into the present folder."""
    files = questions_for_colleagues(app.session)
    if not files:
        app.explain(["No question is marked for a colleague yet.", "", "F2 on a question, then k, asks someone."])
        return
    lines = []
    for name, text in files.items():
        try:
            write_text(Path(name), text, force=False)
            lines.append(f"Wrote {name}: mail it; the reply is opened with Open on the first screen.")
        except CannotWriteError as error:
            lines.append(f"{error.message}")
    app.explain(lines)


def _draft(app: "WizardApp") -> "Draft | None":
    app.session.drop_empty_rows()
    try:
        return draft_of(app.session, app.machine)
    except SelwizError as error:
        app.explain([error.message, "", error.remedy])
        return None


def _write_to(app: "WizardApp", drafted: "Draft", name: str) -> None:
    target = Path(name).expanduser()
    places = outputs(target)
    if target.is_dir() or not (any(place.exists() for place in places)):
        _finish(app, drafted, name, force=False)
        return

    def answered(choice: int | None) -> None:
        if choice == 1:
            _finish(app, drafted, name, force=True)
        elif choice == 0:
            ask_target(app)

    choices = ["Write under another name", "Replace it", "Cancel"]
    app.push_screen(ChoiceScreen(f"{target} exists", choices, text=diff_of(places.document, drafted.text)), answered)


def _finish(app: "WizardApp", drafted: "Draft", name: str, *, force: bool) -> None:
    try:
        places = drafted.write(Path(name).expanduser(), force=force)
    except SelwizError as error:
        app.explain([error.message, "", error.remedy])
        return
    app.written = places.document
    app.session.target = name
    app.autosave()
    blocking = sum(1 for finding in drafted.selection.findings if finding.severity == "block")
    app.explain(
        [
            f"Wrote {places.document}",
            f"      {places.brief.name}, one page for the board",
            f"      {places.selection.name}",
            f"      {places.evidence.name}/",
            "",
            f"Status {drafted.selection.status}: {blocking} blocking of {len(drafted.selection.findings)} findings, "
            f"{len(drafted.selection.open_answers)} open answers.",
            "",
            "F10 leaves; the session is kept and can be continued.",
        ]
    )
