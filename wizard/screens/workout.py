"""Two windows for a number that nobody knows: work it out from what is known, or give a range."""

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from wizard.asking.ranges import give_range
from wizard.asking.working_out import Working
from wizard.messages import Answered
from wizard.printable import printable
from wizard.screens.modals import WINDOW_CSS
from wizard.views.live import answers_with
from wizard.widgets.field import QuestionRow, TextField

if TYPE_CHECKING:
    from wizard.app import WizardApp


class WorkOutScreen(ModalScreen[bool]):
    """The figures that go in, the formula, and what comes out. The figures are answers like any other."""

    DEFAULT_CSS = WINDOW_CSS.format(name="WorkOutScreen")
    BINDINGS = [
        Binding("escape,f3", "close", show=False),
        Binding("f4", "take", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, working: Working) -> None:
        super().__init__()
        self._working = working
        self.ready = False

    @property
    def wizard(self) -> "WizardApp":
        """The app, which holds the session."""
        return cast("WizardApp", self.app)

    def compose(self) -> ComposeResult:
        """One field for each figure, then the calculation."""
        with Vertical():
            yield Static(f"{self._working.title}\n", markup=False)
            for key in self._working.keys:
                yield QuestionRow(self.wizard.session.place(key))
            yield Static("", id="sum", markup=False)
            yield Static("\nEnter goes on   F4 takes the result   Esc keeps the answer as it was", markup=False)

    def on_mount(self) -> None:
        """Show what the figures give now."""
        self.ready = True
        self.show()

    def show(self) -> None:
        """Show the figures as the session holds them, and the result with what is being typed."""
        session, answers = self.wizard.session, self.wizard.session.in_force
        for row in self.query(QuestionRow):
            row.show(session.place(row.place.key))
            if isinstance(row.field, TextField) and row.field.changed:
                answers = answers_with(session, row.field.key, row.field.value)
        self.query_one("#sum", Static).update("\n" + "\n".join(self._working.lines(answers)))

    def on_input_changed(self) -> None:
        """Work it out with what is being typed."""
        if self.ready:
            self.show()

    def on_answered(self, event: Answered) -> None:
        """Each figure is an answer of its own."""
        event.stop()
        self.wizard.answer(event.key, event.raw)

    def on_question_row_done(self, event: QuestionRow.Done) -> None:
        """Go on to the next figure; after the last one take the result."""
        event.stop()
        following = self.focus_chain[self.focus_chain.index(self.focused) + 1 :] if self.focused else []
        if following:
            following[0].focus()
        else:
            self.action_take()

    def action_take(self) -> None:
        """Close, if there is a result."""
        self.commit()
        if self._working.result(self.wizard.session.in_force) is None:
            self.notify("A figure is still missing.", severity="warning", markup=False)
        else:
            self.dismiss(True)

    def action_close(self) -> None:
        """Close; what was typed into the figures stays, the answer is as it was."""
        self.commit()
        self.dismiss(False)

    def commit(self) -> None:
        """Hand over what is typed and not yet taken."""
        for row in self.query(QuestionRow):
            if isinstance(row.field, TextField) and row.field.changed:
                self.wizard.session.set(row.place.key, row.field.value)
                row.field.shown = row.field.value


class RangeScreen(ModalScreen[bool]):
    """Two ends of a number; the middle is used until somebody knows better."""

    DEFAULT_CSS = WINDOW_CSS.format(name="RangeScreen")
    BINDINGS = [
        Binding("escape,f3", "dismiss(False)", show=False),
        Binding("f4", "take", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, key: str, title: str, unit: str) -> None:
        super().__init__()
        self._key, self._title, self._unit = key, title, unit

    def compose(self) -> ComposeResult:
        """Three fields and what happens with them."""
        unit = f" [{self._unit}]" if self._unit else ""
        with Vertical():
            yield Static(f"A range for: {self._title}{unit}\n", markup=False)
            yield Input(placeholder="lowest", compact=True, id="low")
            yield Input(placeholder="highest", compact=True, id="high")
            yield Input(placeholder="what it rests on, such as last year's figures", compact=True, id="basis")
            yield Static("", id="problem", markup=False)
            yield Static(
                "The document states both ends and calculates with the middle.\nEnter takes it   Esc closes",
                markup=False,
            )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on, and takes the range after the last field."""
        event.stop()
        following = {"low": "#high", "high": "#basis"}.get(event.input.id or "")
        if following:
            self.query_one(following, Input).focus()
        else:
            self.action_take()

    def action_take(self) -> None:
        """Give the range, or say why it cannot be used."""
        low, high, basis = (self.query_one(f"#{name}", Input).value for name in ("low", "high", "basis"))
        problem = give_range(cast("WizardApp", self.app).session, self._key, low, high, basis)
        if problem is None:
            self.dismiss(True)
        else:
            self.query_one("#problem", Static).update(printable(problem))
