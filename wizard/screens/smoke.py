"""The smoke: the exact command and its consequences first, then phases and live figures; one key stops it."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from wizard.screens.modals import PathScreen
from wizard.screens.page import Page
from wizard.views.smoke import smoke_lines

_WITHOUT = "F4 do without it: the document then says not measured"
_KEYS = {
    "none": f"s look at what would be started   {_WITHOUT}",
    "planning": _WITHOUT,
    "planned": f"s Start this   {_WITHOUT}",
    "cannot": f"s try again   {_WITHOUT}",
    "running": "x Stop and free the GPUs   l log   leaving this screen does not stop it",
    "stopping": "ending the children   l log",
    "stopped": "s plan it again   l log   F4 do without it",
    "failed": "s plan it again   l log   n do without it: the document then does not mention it   F4 goes on",
    "done": "F4 goes on to the review   s plan it again   l log   n do without it",
}
#: Seconds between two drawings of a running smoke.
_DRAW_EVERY_S = 0.5


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
        Binding("c", "search", "search", show=False),
        Binding("r", "resume", "resume", show=False),
        Binding("p", "prompts", "own prompts", show=False),
        Binding("i", "import_result", "import", show=False),
        Binding("l", "log", "log", show=False),
    ]
    DEFAULT_CSS = """
    SmokeScreen VerticalScroll { padding: 0 1; margin-top: 1; height: 1fr; scrollbar-size-vertical: 1; }
    SmokeScreen #lines { height: auto; }
    SmokeScreen #choices { height: auto; padding: 0 1; }
    SmokeScreen #keys { height: auto; padding: 0 1; text-style: bold; }
    """

    def compose(self) -> ComposeResult:
        """Frame, lines, choices, keys of this screen, keys."""
        yield self.frame
        with VerticalScroll():
            yield Static("", id="lines", markup=False)
        yield Static("", id="choices", markup=False)
        yield Static("", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Look at what would be started, and keep the seconds going."""
        if self.wizard.smoke.status in ("none", "planned", "cannot"):  # the answers may have changed since
            self.wizard.plan_smoke()
        self.set_interval(_DRAW_EVERY_S, self.tick)
        self.show()

    def tick(self) -> None:
        """A running smoke counts its seconds and shows what was told since; not behind another screen."""
        if self.wizard.smoke.active and self.is_current:
            self.show()

    def show(self) -> None:
        """Show the state of the run."""
        super().show()
        run = self.wizard.smoke
        lines = smoke_lines(run, self.wizard.smoke_elapsed_s, max(self.size.width - 3, 30))
        self.query_one("#lines", Static).update("\n".join(lines))
        choices = self.query_one("#choices", Static)
        choices.display = not run.active
        choices.update(f"{self.wizard.smoke_choices.words(run.kept)}   i import a result")
        self.query_one("#keys", Static).update(_KEYS[run.status])

    def on_resize(self) -> None:
        """Another size, other lines."""
        if self.ready:
            self.show()

    def action_start(self) -> None:
        """Start what is shown, or plan it first."""
        self.wizard.start_or_plan_smoke()

    def action_search(self) -> None:
        """Search for the greatest load after the asked one, or do not."""
        self.wizard.choose_smoke(search=not self.wizard.smoke_choices.search)

    def action_resume(self) -> None:
        """Take over what a stopped run has measured, or measure everything."""
        run = self.wizard.smoke
        if run.kept or (run.status == "stopped" and run.points):
            self.wizard.choose_smoke(resume=not self.wizard.smoke_choices.resume)

    def action_prompts(self) -> None:
        """Name a file of own prompts; an empty field takes the profile again."""
        if not self.wizard.smoke.active:
            known = self.wizard.smoke_choices.prompts
            title = "File of own prompts (JSONL); only their lengths and shared beginnings are used"
            self.app.push_screen(
                PathScreen(title, "empty: the profile of the answers", known, may_be_empty=True), self._take_prompts
            )

    def _take_prompts(self, path: str | None) -> None:
        if path is not None:
            self.wizard.choose_smoke(prompts=path)

    def action_import_result(self) -> None:
        """Name a result of `vllm bench serve` that somebody else measured."""
        if not self.wizard.smoke.active:
            title = "Result of `vllm bench serve --save-result --save-detailed` to take over"
            self.app.push_screen(PathScreen(title, "result.json"), self._take_result)

    def _take_result(self, path: str | None) -> None:
        if path:
            self.wizard.import_smoke(path)

    def action_log(self) -> None:
        """Show the newest lines of the server's log."""
        self.wizard.explain(list(self.wizard.smoke.log) or ["The server has not said anything."])

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
