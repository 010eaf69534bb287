"""The smoke: the exact command and its consequences first, then phases and live figures; one key stops it."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Sparkline, Static

from wizard.screens.modals import PathScreen
from wizard.screens.page import Page
from wizard.smoke_view import live_series, smoke_lines

MOST_FIGURES = 6
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
        Binding("c", "search", "search", show=False),
        Binding("r", "resume", "resume", show=False),
        Binding("p", "prompts", "own prompts", show=False),
        Binding("i", "import_result", "import", show=False),
    ]
    DEFAULT_CSS = """
    SmokeScreen VerticalScroll { padding: 0 1; margin-top: 1; height: 1fr; }
    SmokeScreen #lines { height: auto; }
    SmokeScreen #live { height: auto; margin-top: 1; }
    SmokeScreen #live Horizontal { height: 1; }
    SmokeScreen #live .name { width: 17; }
    SmokeScreen #live Sparkline { width: 1fr; max-width: 60; height: 1; margin-right: 1; }
    SmokeScreen #live .figure { width: 13; }
    SmokeScreen #choices { height: auto; padding: 0 1; }
    SmokeScreen #keys { height: 1; padding: 0 1; text-style: bold; }
    """

    def compose(self) -> ComposeResult:
        """Frame, lines, keys of this screen, keys."""
        yield self.frame
        with VerticalScroll():
            yield Static("", id="lines", markup=False)
            with Vertical(id="live"):
                for _ in range(MOST_FIGURES):
                    with Horizontal():
                        yield Static("", classes="name", markup=False)
                        yield Sparkline([])
                        yield Static("", classes="figure", markup=False)
        yield Static("", id="choices", markup=False)
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
        figures = self._show_live()
        lines = smoke_lines(run, self.wizard.smoke_elapsed_s, width, max(height - figures, 8))
        self.query_one("#lines", Static).update("\n".join(lines))
        choices = self.query_one("#choices", Static)
        choices.display = not run.active
        choices.update(f"{self.wizard.smoke_choices.words}   i import a result")
        self.query_one("#keys", Static).update(_KEYS[run.status])

    def _show_live(self) -> int:
        """Draw the figures of the running load, each with its newest value in words; return how many lines it took."""
        run = self.wizard.smoke
        series = live_series(run.live) if run.active else []
        for number, row in enumerate(self.query("#live Horizontal")):
            row.display = number < len(series)
            if row.display:
                row.query_one(".name", Static).update(series[number].name)
                row.query_one(Sparkline).data = series[number].values
                row.query_one(".figure", Static).update(series[number].words)
        self.query_one("#live").display = bool(series)
        return len(series) + 1 if series else 0

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
        """Take over what an unfinished run has measured, or measure everything."""
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
