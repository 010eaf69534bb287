"""Small windows: the reason, the ways out of a question, a path, a yes or no, a choice from a list."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from wizard.printable import printable
from wizard.widgets.listing import Listing

#: How every window looks; `{name}` is its class.
WINDOW_CSS = """
{name} {{ align: center middle; }}
{name} > Vertical {{
    width: 76; max-width: 96%; height: auto; max-height: 90%; border: round $primary; padding: 0 1;
    background: $surface;
}}
{name} Static {{ height: auto; }}
{name} Listing {{ height: auto; max-height: 12; margin: 1 0; }}
{name} Input {{ margin: 0 0; }}
"""


class WhyScreen(ModalScreen[None]):
    """The reason of a question, in full."""

    DEFAULT_CSS = WINDOW_CSS.format(name="WhyScreen") + "WhyScreen VerticalScroll { height: auto; max-height: 18; }"
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
    """One thing to do with a question that one cannot answer: its letter, its words, and for asking whom and when."""

    what: Literal["ask", "work", "range", "default", "open"]
    letter: str
    words: str
    name: str = ""
    due: str = ""


class UnknownScreen(ModalScreen[WayOut | None]):
    """The ways out of one question, each on its letter."""

    DEFAULT_CSS = WINDOW_CSS.format(name="UnknownScreen")
    BINDINGS = [
        Binding("escape,f3", "dismiss(None)", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, title: str, ways: Sequence[WayOut], name: str = "", *, asking: bool = False) -> None:
        super().__init__()
        self._title, self._ways, self._asked, self._asking = title, tuple(ways), name, asking

    def compose(self) -> ComposeResult:
        """The list, and the two fields that asking needs."""
        with Vertical():
            yield Static(f"I do not know: {self._title}", markup=False)
            yield Listing(*(f"{way.letter}  {way.words}" for way in self._ways))
            yield Static("To ask someone: whom, and until when", markup=False)
            yield Input(self._asked, placeholder="name or post, such as Ops lead", compact=True, id="name")
            yield Input(placeholder="day, such as 2027-01-31 (may stay empty)", compact=True, id="due")
            yield Static("\nNothing here stops you: F4 goes on, F6 lists what is open.   Esc closes", markup=False)

    def on_mount(self) -> None:
        """Who came to ask a colleague types the name at once: its letters must not choose another way."""
        if self._asking:
            self.query_one("#name", Input).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Do what was chosen; asking needs a name first."""
        self._choose(self._ways[event.option_index])

    def on_key(self, event: events.Key) -> None:
        """A letter chooses while the list has the focus."""
        way = next((way for way in self._ways if way.letter == event.key), None)
        if way is not None and isinstance(self.focused, OptionList):
            event.stop()
            self._choose(way)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A name is enough."""
        if event.input.id == "name" and not self.query_one("#due", Input).value:
            self.query_one("#due", Input).focus()
            return
        self._choose(self._ways[0])

    def _choose(self, way: WayOut) -> None:
        name = self.query_one("#name", Input).value.strip()
        if way.what == "ask" and not name:
            self.query_one("#name", Input).focus()
            return
        self.dismiss(replace(way, name=name, due=self.query_one("#due", Input).value))


class PathScreen(ModalScreen[str | None]):
    """Asks for the path of a file."""

    DEFAULT_CSS = WINDOW_CSS.format(name="PathScreen")
    BINDINGS = [Binding("escape,f3", "dismiss(None)", show=False)]

    def __init__(self, title: str, hint: str, value: str = "", *, may_be_empty: bool = False) -> None:
        super().__init__()
        self._title, self._hint, self._value, self._may_be_empty = title, hint, value, may_be_empty

    def compose(self) -> ComposeResult:
        """One field."""
        with Vertical():
            yield Static(self._title, markup=False)
            yield Input(self._value, placeholder=self._hint, compact=True, id="path")
            yield Static("Enter takes it   Esc closes", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter takes the path."""
        path = printable(event.value.strip())
        self.dismiss(path if path or self._may_be_empty else None)


@dataclass(frozen=True)
class Field:
    """One field of a window: the name of its value, its title, and what belongs into it."""

    name: str
    title: str
    hint: str


class FieldsScreen(ModalScreen[dict[str, str] | None]):
    """Asks for a few texts, of which the first is needed; dismisses with them by their names."""

    DEFAULT_CSS = WINDOW_CSS.format(name="FieldsScreen")
    BINDINGS = [
        Binding("escape,f3", "dismiss(None)", show=False),
        Binding("f4", "take", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, title: str, fields: Sequence[Field], first: str = "") -> None:
        super().__init__()
        self._title, self._fields, self._first = title, tuple(fields), first

    def compose(self) -> ComposeResult:
        """A title and a field each."""
        with Vertical(), VerticalScroll(can_focus=False):
            yield Static(f"{self._title}\n", markup=False)
            for number, field in enumerate(self._fields):
                yield Static(field.title, markup=False)
                yield Input("" if number else self._first, placeholder=field.hint, compact=True, id=field.name)
            yield Static("\nEnter goes on, F4 looks at once   Esc closes", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go on to the next field; after the last one take them all."""
        event.stop()
        names = [field.name for field in self._fields]
        at = names.index(event.input.id or "")
        if at + 1 < len(names):
            self.query_one(f"#{names[at + 1]}", Input).focus()
        else:
            self.action_take()

    def action_take(self) -> None:
        """Take what is typed, if the first text is there."""
        texts = {field.name: self.query_one(f"#{field.name}", Input).value for field in self._fields}
        values = {name: printable(text.strip()) for name, text in texts.items()}
        if values[self._fields[0].name]:
            self.dismiss(values)
        else:
            self.query_one(f"#{self._fields[0].name}", Input).focus()


class ChoiceScreen(ModalScreen[int | None]):
    """Asks one question with a few answers; dismisses with the number of the answer."""

    DEFAULT_CSS = WINDOW_CSS.format(name="ChoiceScreen")
    BINDINGS = [Binding("escape,f3", "dismiss(None)", show=False)]

    def __init__(self, title: str, choices: list[str], *, text: str = "", first: int = 0) -> None:
        super().__init__()
        self._title, self._choices, self._text, self._first = title, choices, text, first

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        with Vertical():
            yield Static(self._title, markup=False)
            if self._text:
                with VerticalScroll(can_focus=False, classes="text"):
                    yield Static(self._text, markup=False)
            yield Listing(*self._choices)

    def on_mount(self) -> None:
        """The list has the focus, a long text does not."""
        self.query_one(OptionList).focus()
        self.query_one(OptionList).highlighted = self._first
        for text in self.query(".text"):
            text.styles.height = "auto"
            text.styles.max_height = 12

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the answer."""
        self.dismiss(event.option_index)
