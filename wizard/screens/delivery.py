"""Checking what was delivered: an approved selection against an endpoint, a log, a machine; then the differences."""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Static

from probes.errors import ProbeError
from wizard import __version__
from wizard.decision.selection_file import read_selection
from wizard.document.write import write_text
from wizard.errors import SelwizError
from wizard.printable import printable
from wizard.screens.modals import Field, FieldsScreen, PathScreen
from wizard.screens.page import Page
from wizard.verify.check import Check
from wizard.verify.compare import compare
from wizard.verify.readers import Sources, look
from wizard.verify.report import as_markdown, ordered, summary
from wizard.widgets.listing import Listing

if TYPE_CHECKING:
    from wizard.app import WizardApp

FIELDS = (
    Field("selection", "Approved selection", "NAME.selection.json beside the approved document"),
    Field("endpoint", "Endpoint", "URL of the delivered server, such as http://127.0.0.1:8000"),
    Field("api_key_env", "Its key", "name of the environment variable that holds it, if it asks for one"),
    Field("machine", "Its machine", "file of `selwiz probe --record`, made there"),
    Field("log", "Its log", "file of the server's start"),
)


@dataclass
class Looked(Message):
    """The delivery was looked at: the checks and the report, or why it could not be."""

    checks: tuple[Check, ...]
    report: str
    problem: str = ""


class DeliveryScreen(Page):
    """What was approved against what was found, differences first; F1 says all of the line, w writes the report."""

    DECISION = "REVIEW"
    WHERE = "Check what was delivered"
    LABELS = {"f4": "", "f6": ""}
    BINDINGS = [Binding("w", "write", "write a report", show=False)]
    DEFAULT_CSS = """
    DeliveryScreen #list { height: 1fr; border: none; text-wrap: nowrap; text-overflow: ellipsis; }
    DeliveryScreen #sum { height: auto; padding: 0 1; text-style: bold; margin: 1 0; }
    DeliveryScreen #keys { height: 1; padding: 0 1; }
    """

    def __init__(self, sources: Sources) -> None:
        super().__init__()
        self._sources = sources
        self._checks: list[Check] = []
        self._report = ""

    def compose(self) -> ComposeResult:
        """Frame, what came out, the checks, keys."""
        yield self.frame
        yield Static("looking at what was delivered …", id="sum", markup=False)
        yield Listing(id="list")
        yield Static("F1 says all of a line   w writes the report for the acceptance", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Look in a thread: an endpoint may take its time."""
        self.query_one(Listing).focus()
        self.look()

    @work(thread=True, group="look", exclusive=True, exit_on_error=False)
    def look(self) -> None:
        """Look at everything that was named, and compare."""
        moment = datetime.datetime.now(datetime.UTC)
        try:
            selection = read_selection(self._sources.selection)
            delivered = look(selection, self._sources)
            checks = compare(selection, delivered)
            report = as_markdown(selection, delivered, checks, moment, __version__)
            self.post_message(Looked(tuple(ordered(checks)), report))
        except (SelwizError, ProbeError) as error:
            self.post_message(Looked((), "", f"{error.message}\n{error.remedy}"))
        except Exception as error:
            self.post_message(Looked((), "", f"a fault of selwiz itself: {type(error).__name__}: {error}"))

    def on_looked(self, event: Looked) -> None:
        """Show what came out."""
        event.stop()
        self._checks, self._report = list(event.checks), event.report
        said = "\n".join(printable(line) for line in event.problem.splitlines()) or summary(self._checks)
        self.query_one("#sum", Static).update(said)
        self.query_one(Listing).say([_line(check) for check in self._checks])

    def action_why(self) -> None:
        """Say the check in full."""
        at = self.query_one(Listing).highlighted
        if at is not None and at < len(self._checks):
            self.wizard.explain(_lines(self._checks[at]))

    def on_option_list_option_selected(self) -> None:
        """Enter says the check in full as well."""
        self.action_why()

    def action_write(self) -> None:
        """Ask for the name of the report and write it; nothing that exists is replaced."""
        if not self._report:
            return

        def named(name: str | None) -> None:
            if not name:
                return
            try:
                write_text(Path(name).expanduser(), self._report, force=False)
            except SelwizError as error:
                self.wizard.explain([error.message, "", error.remedy])
            else:
                self.wizard.explain([f"Wrote {name}."])

        offered = self._sources.selection.name.removesuffix(".json").removesuffix(".selection")
        self.wizard.push_screen(PathScreen("Write the report", "name of the report", f"{offered}.acceptance.md"), named)


def _line(check: Check) -> str:
    word = check.verdict.replace("_", " ")
    found = printable(check.found or "nothing seen")
    return f"{word:<12}{check.what:<34} {printable(check.approved)} → {found}"


def _lines(check: Check) -> list[str]:
    lines = [check.what, "", f"approved  {printable(check.approved)}"]
    lines.append(
        f"found     {printable(check.found or 'nothing seen')}" + (f", in {check.seen_in}" if check.seen_in else "")
    )
    lines += [f"verdict   {check.verdict.replace('_', ' ')}", f"touches   {check.touches}"]
    return [*lines, *(["", f"What would show it: {check.would_show}"] if check.would_show else [])]


def ask_delivery(app: "WizardApp") -> None:
    """Ask what to look at, and show what came out."""

    def given(values: dict[str, str] | None) -> None:
        if values is None:
            return
        files = {name: Path(values[name]).expanduser() for name in ("selection", "machine", "log") if values[name]}
        sources = Sources(
            selection=files["selection"],
            endpoint=values["endpoint"] or None,
            api_key_env=values["api_key_env"] or None,
            machine=files.get("machine"),
            log=files.get("log"),
        )
        app.push_screen(DeliveryScreen(sources))

    offered = str(Path(app.written).with_suffix(".selection.json")) if app.written else ""
    app.push_screen(FieldsScreen("Check what was delivered, or leave out what there is not", FIELDS, offered), given)
