"""Planning for a machine that is not here: a recorded one, or a type from the catalogue; SIM then stands everywhere."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from probes.errors import ProbeError
from wizard.errors import SelwizError
from wizard.machine import counted_name, machine_at
from wizard.printable import printable
from wizard.screens.modals import WINDOW_CSS
from wizard.serving.known import gpu_types_like
from wizard.widgets.listing import Listing

if TYPE_CHECKING:
    from wizard.app import WizardApp

HERE = "This machine again, without SIM"


class ElsewhereScreen(ModalScreen[str | None]):
    """Takes a file or a type and a number; dismisses with what `--machine` would be given, empty for this machine."""

    DEFAULT_CSS = WINDOW_CSS.format(name="ElsewhereScreen") + "ElsewhereScreen Listing { max-height: 8; }"
    BINDINGS = [
        Binding("escape,f3", "dismiss(None)", show=False),
        Binding("down", "types", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def compose(self) -> ComposeResult:
        """Two fields, the types that fit what is typed, and what is wrong."""
        with Vertical():
            yield Static("Plan for a machine that is not here\n", markup=False)
            yield Static("GPU type, or a file of `selwiz probe --record`", markup=False)
            yield Input(placeholder="such as H100 SXM5 80GB, or 2 x H100", compact=True, id="name")
            yield Static("How many GPUs", markup=False)
            yield Input("1", compact=True, id="count")
            yield Listing()
            yield Static("", id="problem", markup=False)
            yield Static("Enter goes on and takes it   ↓ types   Tab next field   Esc closes", markup=False)

    def on_mount(self) -> None:
        """All types, before anything is typed."""
        self._list("")

    def _list(self, typed: str) -> None:
        names = gpu_types_like(typed)
        self.query_one(Listing).say(([HERE] if self._where else []) + names)
        self._say("" if names else "No type of the catalogue; a file may have any name.")

    def _say(self, text: str) -> None:
        self.query_one("#problem", Static).update(printable(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Only the types whose name has what is typed; a number before it is taken over."""
        if event.input.id == "name":
            name, count = counted_name(event.value)
            if count:
                self.query_one("#count", Input).value = count
            self._list(name)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """From a type on to its number, or to the types that it may mean; a file needs no number."""
        event.stop()
        typed = self.query_one("#name", Input).value.strip()
        name = typed if _is_file(typed) else counted_name(typed)[0]
        if not name:
            self._say("Nothing is typed yet: type a GPU or a file, or take a type from the list (↓).")
            self.query_one("#name", Input).focus()
        elif _is_file(typed):
            self._take(name)
        elif problem := self._problem_of(f"plan:{name}x1"):
            if gpu_types_like(name):
                self._say(f"{name} stands for several types: choose one of them.")
                self.action_types()
            else:
                self._say(problem)
        elif event.input.id == "count":
            self._take(name)
        else:
            self.query_one("#count", Input).focus()

    def action_types(self) -> None:
        """Go to the list, past this machine where a type is typed."""
        listing, typed = self.query_one(Listing), self.query_one("#name", Input).value.strip()
        if listing.option_count:
            listing.highlighted = int(bool(self._where and typed and listing.option_count > 1))
            listing.focus()

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
        if problem := self._problem_of(where):
            self._say(problem)
        else:
            self.dismiss(where)

    def _problem_of(self, where: str) -> str:
        """Why there is no such machine, in words; empty where there is."""
        try:
            machine_at(where)
        except (SelwizError, ProbeError) as error:
            return f"{error.message} {error.remedy}"
        return ""


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
