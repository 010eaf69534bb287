"""Who watches a smoke: plain lines now, a screen later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from probes.smoke.plan import SmokePlan
from probes.smoke.result import Point, StrategySeen
from probes.smoke.telemetry import Live


class Observer(Protocol):
    """What a smoke tells while it runs. Called from the thread that runs it; must return quickly."""

    def on_plan(self, plan: SmokePlan) -> None:
        """Receive what will be done, before anything is started."""

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        """Receive the begin of a phase (preflight, start, warm-up, measure, stop), in plain words."""

    def on_progress(self, name: str, done: int, total: int | None) -> None:
        """Receive how far the present step is; `total` is None where it is not known."""

    def on_log(self, line: str) -> None:
        """Receive one line of the server's log, private parts removed."""

    def on_point(self, point: Point) -> None:
        """Receive one measured point."""

    def on_live(self, live: Live) -> None:
        """Receive what was seen in the last second of a load."""

    def on_strategies(self, strategies: tuple[StrategySeen, ...]) -> None:
        """Receive what the running server shows of the wanted strategies so far."""

    def on_note(self, text: str) -> None:
        """Receive a plain sentence that the user should read."""


class Silent:
    """Watches and says nothing; a base for observers that need only some of the calls."""

    def on_plan(self, plan: SmokePlan) -> None:
        """Ignore the plan."""

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        """Ignore the phase."""

    def on_progress(self, name: str, done: int, total: int | None) -> None:
        """Ignore the progress."""

    def on_log(self, line: str) -> None:
        """Ignore the line."""

    def on_point(self, point: Point) -> None:
        """Ignore the point."""

    def on_live(self, live: Live) -> None:
        """Ignore the second."""

    def on_strategies(self, strategies: tuple[StrategySeen, ...]) -> None:
        """Ignore them."""

    def on_note(self, text: str) -> None:
        """Ignore the note."""


class PlainLines(Silent):
    """Tells one line per event; progress at every quarter only, so a log stays short.

    `pipeline_only` is for a run of the stand-in: its numbers are no verdict on the selection.
    """

    def __init__(self, tell: Callable[[str], None], *, pipeline_only: bool = False) -> None:
        self._say = tell
        self._told: tuple[str, int] = ("", 0)
        self._pipeline_only = pipeline_only

    def on_plan(self, plan: SmokePlan) -> None:
        """Write the plan's description."""
        for line in plan.description:
            self._say(line)

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        """Write the phase with the time since the start."""
        self._say(f"[{elapsed_s:5.0f} s] {phase}: {detail}")

    def on_progress(self, name: str, done: int, total: int | None) -> None:
        """Write every quarter once."""
        if not total:
            return
        quarter = done * 4 // total
        if quarter and (name, quarter) != self._told:
            self._told = (name, quarter)
            self._say(f"          {name}: {done} of {total}")

    def on_point(self, point: Point) -> None:
        """Write the medians and the verdicts."""
        ttft, tpot = point.ttft_ms.p50, point.tpot_ms.p50
        medians = ", ".join(
            f"{name} {value:.1f} ms" for name, value in (("TTFT", ttft), ("TPOT", tpot)) if value is not None
        )
        self._say(f"          {point.kind}: {point.completed} of {point.requests} done, median {medians}")
        for ceiling in point.ceilings:
            word = "pipeline only, no verdict" if self._pipeline_only else ceiling.verdict.replace("_", " ")
            self._say(
                f"          {ceiling.metric} p{ceiling.percentile:g} <= {ceiling.limit:g}: "
                f"{ceiling.over} of {ceiling.n} over, {word}"
            )

    def on_note(self, text: str) -> None:
        """Write the sentence."""
        self._say(text)
