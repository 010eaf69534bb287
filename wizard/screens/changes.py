"""What changed since the selection that this one began from: shown when it is opened, and on `d` in the review."""

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from wizard.printable import printable
from wizard.screens.page import Page
from wizard.views.comparison import comparison_lines


class ChangesScreen(Page):
    """The differences, live: they change with the machine that is read and with every answer."""

    DECISION = "REVIEW"
    LABELS = {"f1": "", "f4": "To the questions"}
    DEFAULT_CSS = "ChangesScreen VerticalScroll { padding: 1; } ChangesScreen Static { height: auto; }"

    def __init__(self, earlier: str) -> None:
        self.WHERE = f"Changes since {printable(Path(earlier).name)}"
        super().__init__()

    def compose(self) -> ComposeResult:
        """Frame, lines, keys."""
        yield self.frame
        with VerticalScroll():
            yield Static("", id="lines", markup=False)
        yield self.keybar

    def show(self) -> None:
        """Show what differs now, once the machine is read: before that everything of it would seem to have gone."""
        super().show()
        wizard = self.wizard
        if wizard.check_problem:
            lines = [f"Cannot be compared: {printable(wizard.check_problem)}"]
        elif wizard.since is None or wizard.reading_machine:
            lines = ["comparing with the machine and the answers as they are now …"]
        else:
            lines = [
                "This session is the next version of that selection. What differs from it so far:",
                "",
                *(printable(line) for line in comparison_lines(wizard.since)),
            ]
        notices = [f"! {printable(notice)}" for notice in wizard.session.notices]
        lines = [*notices, *([""] if notices else []), *lines]
        self.query_one("#lines", Static).update("\n".join(lines))

    def action_next(self) -> None:
        """On to the questions."""
        self.wizard.show_step()
