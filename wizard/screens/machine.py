"""Everything that was read of this machine."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from wizard.screens.page import Page


class MachineScreen(Page):
    """The machine, live: what is still being read says so."""

    DECISION = "RUNTIME"
    WHERE = "This machine"
    LABELS = {"f1": "", "f4": "", "f6": ""}
    BINDINGS = [Binding("r", "again", "read again", show=False)]
    DEFAULT_CSS = "MachineScreen VerticalScroll { padding: 1; } MachineScreen Static { height: auto; }"

    def compose(self) -> ComposeResult:
        """Frame, text, keys."""
        yield self.frame
        with VerticalScroll():
            yield Static("", id="all", markup=False)
            yield Static("\nr reads it again", markup=False)
        yield self.keybar

    def show(self) -> None:
        """Show what is known now."""
        super().show()
        self.query_one("#all", Static).update(self.wizard.machine_table)

    def action_again(self) -> None:
        """Read the machine again."""
        self.wizard.read_machine()

    def action_next(self) -> None:
        """Back, as there is nothing after it."""
        self.wizard.back()
