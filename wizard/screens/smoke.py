"""The smoke: the exact command and its consequences first, then phases and live figures; one key stops it."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from wizard.screens.page import Page
from wizard.smoke_run import smoke_lines

_KEYS = {
    "none": "s look at what would be started   F4 do without it: the document then says not measured",
    "planning": "F4 do without it: the document then says not measured",
    "planned": "s Start this   F4 do without it: the document then says not measured",
    "cannot": "s try again   F4 do without it: the document then says not measured",
    "running": "x Stop and free the GPUs   leaving this screen does not stop it",
    "stopping": "ending the children",
    "stopped": "s plan it again   F4 do without it",
    "failed": "s plan it again   n do without it: the document then does not mention it   F4 goes on",
    "done": "F4 goes on to the review   s plan it again   n do without it",
}


class SmokeScreen(Page):
    """The measurement of the runtime; the run itself belongs to the app."""

    DECISION = "RUNTIME"
    WHERE = "Smoke: the short measurement"
    BINDINGS = [
        Binding("s", "start", "start", show=False),
        Binding("x", "stop", "stop", show=False),
        Binding("n", "without", "without", show=False),
        Binding("a", "apply_remedy", "change the answer", show=False),
        Binding("e", "end_leftovers", "end leftovers", show=False),
    ]
    DEFAULT_CSS = """
    SmokeScreen VerticalScroll { padding: 0 1; margin-top: 1; height: 1fr; }
    SmokeScreen #lines { height: auto; }
    SmokeScreen #keys { height: 1; padding: 0 1; text-style: bold; }
    """

    def compose(self) -> ComposeResult:
        """Frame, lines, keys of this screen, keys."""
        yield self.frame
        with VerticalScroll():
            yield Static("", id="lines", markup=False)
        yield Static("", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Look at what would be started, and keep the seconds going."""
        if self.wizard.smoke.status in ("none", "planned", "cannot"):  # the answers may have changed since
            self.wizard.plan_smoke()
        self.set_interval(1, self.tick)
        self.show()

    def tick(self) -> None:
        """A running smoke counts its seconds."""
        if self.wizard.smoke.active:
            self.show()

    def show(self) -> None:
        """Show the state of the run."""
        super().show()
        run = self.wizard.smoke
        width, height = max(self.size.width - 2, 40), max(self.size.height - 6, 8)
        self.query_one("#lines", Static).update("\n".join(smoke_lines(run, self.wizard.smoke_elapsed_s, width, height)))
        self.query_one("#keys", Static).update(_KEYS[run.status])

    def on_resize(self) -> None:
        """Another size, other lines."""
        if self.ready:
            self.show()

    def action_start(self) -> None:
        """Start what is shown, or plan it first."""
        self.wizard.start_or_plan_smoke()

    def action_stop(self) -> None:
        """Stop the run."""
        self.wizard.stop_smoke()

    def action_without(self) -> None:
        """Leave the measurement out of the document."""
        self.wizard.forget_smoke()

    def action_apply_remedy(self) -> None:
        """Change the answer that the failed run named."""
        self.wizard.apply_remedy()

    def action_end_leftovers(self) -> None:
        """End what an earlier run left."""
        self.wizard.end_leftovers()

    def action_why(self) -> None:
        """Say what a smoke is for."""
        self.wizard.explain(
            [
                "The smoke starts the proposed runtime with the flags of section 2 and measures it briefly.",
                "Where this machine cannot run the model, a stand-in of a few megabytes runs with those flags that",
                "mean the same for any model: that shows that the chain works here, and no speed.",
                "",
                "It can refute a choice, not confirm one. Without it the document says that nothing was measured.",
                "Nothing is downloaded. Only what is shown here is started, on this machine, and it ends by itself.",
            ]
        )
