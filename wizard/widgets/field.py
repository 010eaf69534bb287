"""The field of one question: its title, what is typed, and its state in words."""

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from wizard.asking.place import Place
from wizard.asking.typed import NO, YES
from wizard.messages import Answered
from wizard.printable import fitted, printable


class TextField(Input):
    """A field of one line. Pasted lines become one, so that nothing of a paste is lost."""

    DEFAULT_CSS = "TextField { width: 1fr; background: $boost; }"

    def __init__(self, place: Place) -> None:
        # A blinking cursor is a stream of redraws over a slow line.
        super().__init__(value=printable(place.raw), placeholder=placeholder(place), compact=True)
        self.cursor_blink = False
        self.key = place.key
        self.shown = self.value
        self.unusable, self.fallback = place.problem is not None, place.fallback

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape" and (self.changed or self.unusable):
            # The first Esc takes back what was typed and is not an answer; the next one goes back a screen.
            if self.changed:
                self.value = self.shown
            else:
                self.post_message(Answered(self.key, self.fallback))
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def on_mount(self) -> None:
        """A text that is longer than the field shows its beginning."""
        self.cursor_position = 0

    def _on_blur(self, event: events.Blur) -> None:
        super()._on_blur(event)
        self.cursor_position = 0  # a long text shows its beginning

    def _on_paste(self, event: events.Paste) -> None:
        if event.text:
            self.replace(printable(event.text.strip("\n")), *sorted(self.selection))
        event.stop()
        event.prevent_default()

    def show(self, place: Place) -> None:
        """Show what the session holds, unless the person is typing something else."""
        text = printable(place.raw)
        if self.value == self.shown and self.value != text:
            self.value = text
            if not self.has_focus:
                self.cursor_position = 0
        self.shown = text
        self.placeholder = placeholder(place)
        self.unusable, self.fallback = place.problem is not None, place.fallback

    @property
    def changed(self) -> bool:
        """Whether something was typed that nobody has taken yet."""
        return self.value != self.shown


class ChoiceField(Widget, can_focus=True):
    """A choice of a few words in one line; the chosen one is marked by a sign."""

    BINDINGS = [
        Binding("left", "step(-1)", "previous", show=False),
        Binding("right", "step(1)", "next", show=False),
        Binding("delete,backspace", "clear", "none", show=False),
        Binding("enter", "confirm", "next field", show=False),
    ]
    DEFAULT_CSS = "ChoiceField { height: 1; width: 1fr; }"

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.key = place.key
        self._place = place
        self.choices = place.question.choices or (YES, NO)

    def show(self, place: Place) -> None:
        """Show what the session holds."""
        self._place = place
        self.refresh()

    def action_step(self, by: int) -> None:
        """Choose the next or the previous word."""
        now = self._place.raw if self._place.raw in self.choices else self._place.fallback
        index = self.choices.index(now) + by if now in self.choices else (0 if by > 0 else -1)
        self.post_message(Answered(self.key, self.choices[index % len(self.choices)]))

    async def action_confirm(self) -> None:
        """Take the default that is shown as an answer, if there is one, and go on."""
        if default := to_confirm(self._place):
            self.post_message(Answered(self.key, default))
        await self.screen.run_action("screen.next_field")

    def action_clear(self) -> None:
        """Choose nothing."""
        self.post_message(Answered(self.key, ""))

    def on_click(self, event: events.Click) -> None:
        """A click chooses the word under it."""
        at = 0
        for choice in self.choices:
            at += len(choice) + 4
            if event.x < at:
                self.post_message(Answered(self.key, choice))
                return

    def render(self) -> Content:
        """All the words if they fit, else the chosen one between arrows."""
        chosen = self._place.raw or self._place.fallback
        words = "  ".join(f"{'●' if choice == chosen else '○'} {choice}" for choice in self.choices)
        unknown = self._place.raw if self._place.raw and self._place.raw not in self.choices else ""
        if unknown:
            words = f"{printable(unknown)} ?  {words}"
        if len(words) > self.size.width:
            words = f"< {printable(chosen) or 'not given'} >  ← → change"
        return Content(fitted(words, self.size.width))


def placeholder(place: Place) -> str:
    """What stands in an empty field: the value that holds without an answer."""
    if place.fallback:
        return printable(place.fallback)
    return ""


def to_confirm(place: Place) -> str:
    """The default that Enter turns into an answer; readings and derived values stay what they are."""
    return place.fallback if place.state == "default" and not place.raw else ""


class QuestionRow(Vertical):
    """One question: title, field, state; below it what is wrong with the text, if anything is."""

    DEFAULT_CSS = """
    QuestionRow { height: auto; }
    QuestionRow Horizontal { height: 1; }
    QuestionRow .title { width: 28; padding-right: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    QuestionRow .state { width: 15; text-align: right; color: $text-muted; }
    QuestionRow .unit { width: auto; padding: 0 1; color: $text-muted; }
    QuestionRow.-tight .unit { display: none; }
    QuestionRow .note { height: auto; margin-left: 2; color: $text-muted; display: none; }
    QuestionRow.-noted .note { display: block; }
    QuestionRow .problem { height: auto; margin-left: 2; color: $text-error; display: none; }
    QuestionRow.-wrong .problem { display: block; }
    QuestionRow.-wrong .state { color: $text-error; text-style: bold; }
    """

    class Focused(Message):
        """The focus came to this question."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Done(Message):
        """Enter was pressed, and the text can be used; `taken`: it was a new one, and what was made of it is shown."""

        def __init__(self, *, taken: bool) -> None:
            super().__init__()
            self.taken = taken

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        kind = place.question.kind
        self.field = ChoiceField(place) if kind in ("choice", "yes_no") else TextField(place)
        self._title = Static(place.question.title, classes="title", markup=False)
        self._state = Static(_state(place), classes="state", markup=False)
        self._problem = Static(place.problem or "", classes="problem", markup=False)
        self._note = Static(printable(place.note), classes="note", markup=False)
        self._going_on = False

    def compose(self) -> ComposeResult:
        """Lay the parts out in one line, the problem below."""
        with Horizontal():
            yield self._title
            yield self.field
            if self.place.question.unit:
                yield Static(fitted(self.place.question.unit, 9), classes="unit", markup=False)
            yield self._state
        yield self._problem
        yield self._note

    def on_mount(self) -> None:
        """Mark what is wrong from the first moment."""
        self._mark()

    def show(self, place: Place) -> None:
        """Show what the session holds now."""
        self.place = place
        self.field.show(place)
        self._state.update(_state(place))
        self._problem.update(printable(place.problem or ""))
        self._note.update(printable(place.note))
        self._mark()
        if self._going_on:
            self._going_on = False
            self._go_on(taken=True)

    def widen(self, width: int) -> None:
        """Give the title so many columns."""
        self._title.styles.width = width

    def _mark(self) -> None:
        self.set_class(self.place.problem is not None, "-wrong")
        self.set_class(bool(self.place.note), "-noted")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter takes the text, or confirms the default, and goes on once it is known that the text can be used."""
        event.stop()
        default = "" if event.value else to_confirm(self.place)
        if default:
            self.post_message(Answered(self.field.key, default))
        self._going_on = bool(default) or self._take()
        if not self._going_on:
            self._go_on(taken=False)

    def _go_on(self, *, taken: bool) -> None:
        # Who typed something that cannot be used corrects it here; the next keys must not land in another field.
        if self.place.problem is None and self.field.has_focus:
            self.post_message(self.Done(taken=taken))

    def on_input_blurred(self, event: Input.Blurred) -> None:
        """Leaving the field takes the text."""
        event.stop()
        self._take()

    def _take(self) -> bool:
        """Hand the text on if it was changed, and say whether it was."""
        # Posted by the row: a message stops on its way up at the one that sent it, and the row handles the key.
        if isinstance(self.field, TextField) and self.field.changed:
            self.post_message(Answered(self.field.key, self.field.value))
            return True
        return False

    def on_descendant_focus(self) -> None:
        """Say where the focus is, so that the reason can stand beside the question."""
        self.post_message(self.Focused(self.place.key))


def _state(place: Place) -> str:
    return fitted(place.state, 14)
