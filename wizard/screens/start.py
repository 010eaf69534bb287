"""The first screen: this machine, and the ways in. It needs no answer models, so that it is there at once."""

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import OptionList, Static

from wizard import __version__
from wizard.printable import fitted
from wizard.sessions.session_store import Saved, listed
from wizard.widgets.frame import Frame, KeyBar
from wizard.widgets.listing import Listing

if TYPE_CHECKING:
    from wizard.app import WizardApp

SHOWN_SESSIONS = 3


class StartScreen(Screen[None]):
    """Machine and ways in; digits choose."""

    DEFAULT_CSS = """
    StartScreen #machine { height: auto; max-height: 45%; padding: 0 1; margin-top: 1; }
    StartScreen #machine Static { height: auto; }
    StartScreen #ask { padding: 0 1; margin-top: 1; text-style: bold; }
    StartScreen Listing { height: 1fr; min-height: 3; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StartScreen #promise { dock: bottom; margin-bottom: 1; padding: 0 1; color: $text-muted; }
    StartScreen KeyBar { dock: bottom; }
    """
    BINDINGS = [
        Binding("f10,ctrl+c,ctrl+q,escape", "app.ask_quit", "Quit", show=False),
        Binding("f1", "why", "Why", show=False),
        *(Binding(str(number), f"pick({number})", show=False) for number in range(10)),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.frame = Frame("PROJECT", f"selwiz {__version__}: engine and runtime, decided apart")
        self.saved: list[Saved] = listed()[:SHOWN_SESSIONS]
        self.ready = False

    def compose(self) -> ComposeResult:
        """Machine, question, ways in, promise, keys."""
        yield self.frame
        with VerticalScroll(id="machine", can_focus=False):
            yield Static("", id="found", markup=False)
        yield Static("WHAT WOULD YOU LIKE TO DO?", id="ask", markup=False)
        yield Listing(*self.lines())
        yield KeyBar(f3="", f4="", f6="")
        yield Static(
            "Nothing is downloaded, started or sent before you saw it and said yes.",
            id="promise",
            markup=False,
        )

    def on_mount(self) -> None:
        """Show what is known of the machine; the list has the focus."""
        self.query_one(OptionList).focus()
        self.query_one(OptionList).highlighted = 0
        self.ready = True
        self.show()

    def on_screen_resume(self) -> None:
        """Show what changed."""
        if self.ready:
            self.show()

    def show(self) -> None:
        """Show what is known of the machine now."""
        app = cast("WizardApp", self.app)
        self.frame.say("", "", sim=bool(app.where))
        self.query_one("#found", Static).update(app.machine_words)

    def commit(self) -> None:
        """There is nothing to hand over."""

    def lines(self) -> list[str]:
        """The ways in, numbered."""
        lines = [_session_line(saved) for saved in self.saved]
        lines += [
            "New selection, short   9 questions, about 4 minutes, the rest stays open",
            "New selection, full    every question in 11 steps, most may stay open",
            "Open                   answers, an earlier selection, a colleague's reply",
            "Another machine        plan for one that is not here, marked SIM",
            "Check a delivery       an approved selection against what runs",
            "Explain a vLLM log     why did it not start, in plain words",
            "This machine           everything that was read, and what is wrong",
        ]
        return [f"{number % 10}  {line}" for number, line in enumerate(lines, 1)]

    def action_pick(self, number: int) -> None:
        """Choose by digit; 0 is the tenth."""
        self._take((number - 1) % 10)

    def action_why(self) -> None:
        """Say what the program is for."""
        cast("WizardApp", self.app).explain(
            [
                "selwiz writes one document with two decisions.",
                "",
                "The engine is a design: which optimisations, which models. The runtime is what is bought and",
                "run: product, version, hardware, load, latency. Each has its own budget line.",
                "",
                "Every answer is saved as you go; every question may be left open and is then listed with its",
                "owner. F1 says why a question is asked, F2 offers the ways out of one you cannot answer.",
            ]
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose by Enter."""
        event.stop()
        self._take(event.option_index)

    def _take(self, index: int) -> None:
        app = cast("WizardApp", self.app)
        begin = (app.new_short, app.new_full, app.open_file)
        ways = (*begin, app.ask_machine, app.ask_delivery, app.ask_log, app.show_machine)
        if index < len(self.saved):
            app.resume(self.saved[index])
        elif index - len(self.saved) < len(ways):
            ways[index - len(self.saved)]()


def _session_line(saved: Saved) -> str:
    if saved.problem:
        return f"(cannot be continued)    {saved.title}"
    when = saved.saved_at.replace("T", " ")[:16]
    step = f", at {saved.step}" if saved.step else ""
    return f'Continue "{fitted(saved.title, 26)}"   saved {when}, {saved.answered} values{step}'
