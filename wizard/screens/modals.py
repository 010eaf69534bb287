"""Small windows: the reason, the ways out of a question, a path, a yes or no, a choice from a list."""

from dataclasses import dataclass
from typing import Literal

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

_CSS = """
{name} {{ align: center middle; }}
{name} > Vertical {{
    width: 76; max-width: 96%; height: auto; max-height: 90%; border: round $primary; padding: 0 1;
    background: $surface;
}}
{name} Static {{ height: auto; }}
{name} OptionList {{ height: auto; max-height: 12; border: none; margin: 1 0; }}
{name} Input {{ margin: 0 0; }}
"""


class WhyScreen(ModalScreen[None]):
    """The reason of a question, in full."""

    DEFAULT_CSS = _CSS.format(name="WhyScreen") + "WhyScreen VerticalScroll { height: auto; max-height: 18; }"
    BINDINGS = [Binding("escape,enter,f1,f3,q,space", "dismiss(None)", show=False), Binding("f10", "app.ask_quit")]

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Show the lines."""
        with Vertical():
            with VerticalScroll():
                yield Static("\n".join(self._lines), markup=False)
            yield Static("\nEsc closes   Ctrl+P goes to any question   ? all keys", markup=False)


@dataclass(frozen=True)
class WayOut:
    """What to do with a question that one cannot answer."""

    what: Literal["ask", "default", "open"]
    name: str = ""
    due: str = ""


class UnknownScreen(ModalScreen[WayOut | None]):
    """The ways out of one question: ask someone, take the default, leave it open."""

    DEFAULT_CSS = _CSS.format(name="UnknownScreen")
    BINDINGS = [
        Binding("escape,f3", "dismiss(None)", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, title: str, default: str, consequence: str, name: str = "") -> None:
        super().__init__()
        self._title, self._default, self._consequence, self._asked = title, default, consequence, name

    def compose(self) -> ComposeResult:
        """The list, and the two fields that asking needs."""
        with Vertical():
            yield Static(f"I do not know: {self._title}", markup=False)
            yield OptionList(
                Option("k  Ask someone: puts the question into a small file for them"),
                Option(f"d  Take the default: {self._default or 'there is none for this question'}"),
                Option(f"n  Leave it open: {self._consequence}"),
                markup=False,
                compact=True,
            )
            yield Static("Ask whom, and until when (both for k)", markup=False)
            yield Input(self._asked, placeholder="name or post, such as Ops lead", compact=True, id="name")
            yield Input(placeholder="day, such as 2027-01-31 (may stay empty)", compact=True, id="due")
            yield Static("\nNothing here stops you: F4 goes on, F6 lists what is open.   Esc closes", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Do what was chosen; asking needs a name first."""
        self._choose(event.option_index)

    def key_k(self) -> None:
        """Ask someone."""
        self._choose(0)

    def key_d(self) -> None:
        """Take the default."""
        self._choose(1)

    def key_n(self) -> None:
        """Leave it open."""
        self._choose(2)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A name is enough."""
        if event.input.id == "name" and not self.query_one("#due", Input).value:
            self.query_one("#due", Input).focus()
            return
        self._choose(0)

    def _choose(self, index: int) -> None:
        name = self.query_one("#name", Input).value.strip()
        if index == 0 and not name:
            self.query_one("#name", Input).focus()
            return
        ways: tuple[Literal["ask", "default", "open"], ...] = ("ask", "default", "open")
        self.dismiss(WayOut(ways[index], name, self.query_one("#due", Input).value))


class PathScreen(ModalScreen[str | None]):
    """Asks for the path of a file."""

    DEFAULT_CSS = _CSS.format(name="PathScreen")
    BINDINGS = [Binding("escape,f3", "dismiss(None)", show=False)]

    def __init__(self, title: str, hint: str, value: str = "") -> None:
        super().__init__()
        self._title, self._hint, self._value = title, hint, value

    def compose(self) -> ComposeResult:
        """One field."""
        with Vertical():
            yield Static(self._title, markup=False)
            yield Input(self._value, placeholder=self._hint, compact=True, id="path")
            yield Static("Enter takes it   Esc closes", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter takes the path."""
        self.dismiss(event.value.strip() or None)


class ChoiceScreen(ModalScreen[int | None]):
    """Asks one question with a few answers; dismisses with the number of the answer."""

    DEFAULT_CSS = _CSS.format(name="ChoiceScreen")
    BINDINGS = [Binding("escape,f3", "dismiss(None)", show=False)]

    def __init__(self, title: str, choices: list[str], *, text: str = "") -> None:
        super().__init__()
        self._title, self._choices, self._text = title, choices, text

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        with Vertical():
            yield Static(self._title, markup=False)
            if self._text:
                with VerticalScroll(can_focus=False, classes="text"):
                    yield Static(self._text, markup=False)
            yield OptionList(*(Option(choice) for choice in self._choices), markup=False, compact=True)

    def on_mount(self) -> None:
        """The list has the focus, a long text does not."""
        self.query_one(OptionList).focus()
        for text in self.query(".text"):
            text.styles.height = "auto"
            text.styles.max_height = 12

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the answer."""
        self.dismiss(event.option_index)
