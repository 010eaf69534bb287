"""Planning for a machine that is not here: a recorded one, or a type from the catalogue; SIM then stands everywhere."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from probes.errors import ProbeError
from wizard.catalogue import gpus
from wizard.errors import SelwizError
from wizard.machine import machine_at
from wizard.printable import printable
from wizard.screens.modals import WINDOW_CSS
from wizard.widgets.listing import Listing

if TYPE_CHECKING:
    from wizard.app import WizardApp

HERE = "This machine again, without SIM"


class ElsewhereScreen(ModalScreen[str | None]):
    """Takes a file or a type and a number; dismisses with what `--machine` would be given, empty for this machine."""

    DEFAULT_CSS = WINDOW_CSS.format(name="ElsewhereScreen") + "ElsewhereScreen Listing { max-height: 8; }"
    BINDINGS = [
        Binding("escape,f3", "dismiss(None)", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def compose(self) -> ComposeResult:
        """Two fields, the types that fit what is typed, and what is wrong."""
        with Vertical():
            yield Static("Plan for a machine that is not here\n", markup=False)
            yield Input(placeholder="GPU such as H100, or a file of `selwiz probe --record`", compact=True, id="name")
            yield Input("1", placeholder="how many GPUs", compact=True, id="count")
            yield Listing()
            yield Static("", id="problem", markup=False)
            yield Static("Enter goes on and takes it   ↓ to the list of types   Esc closes", markup=False)

    def on_mount(self) -> None:
        """All types, before anything is typed."""
        self._list("")

    def _list(self, typed: str) -> None:
        names = [row.name for row in reversed(gpus()) if typed.casefold().strip() in row.name.casefold()]
        self.query_one(Listing).say(([HERE] if self._where else []) + names)
        self.query_one("#problem", Static).update(
            "" if names else "No type of the catalogue; a file may have any name."
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        """Only the types whose name has what is typed."""
        if event.input.id == "name":
            self._list(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """From a type on to its number; a file needs none."""
        event.stop()
        name = self.query_one("#name", Input).value.strip()
        if event.input.id == "name" and name and not _is_file(name):
            self.query_one("#count", Input).focus()
        elif name:
            self._take(name)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the type over into the field."""
        event.stop()
        name = str(event.option.prompt)
        if name == HERE:
            self.dismiss("")
            return
        self.query_one("#name", Input).value = name
        self.query_one("#count", Input).focus()

    def _take(self, name: str) -> None:
        count = self.query_one("#count", Input).value.strip() or "1"
        where = str(Path(name).expanduser().resolve()) if _is_file(name) else f"plan:{name}x{count}"
        try:
            machine_at(where)
        except (SelwizError, ProbeError) as error:
            self.query_one("#problem", Static).update(f"{printable(error.message)} {printable(error.remedy)}")
        else:
            self.dismiss(where)


def _is_file(name: str) -> bool:
    """Whether a text names a file rather than a GPU."""
    try:
        return Path(name).expanduser().is_file() or name.endswith(".json")
    except (OSError, ValueError, RuntimeError):
        return False


def ask_machine(app: "WizardApp") -> None:
    """Ask which machine the selection is for, and go on with it."""

    def chosen(where: str | None) -> None:
        if where is not None:
            app.plan_for(where)

    app.push_screen(ElsewhereScreen(app.where), chosen)
