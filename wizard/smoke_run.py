"""A smoke as a screen shows it: one state that events change, and the observer that makes the events."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wizard.printable import printable

if TYPE_CHECKING:
    from probes.smoke.plan import SmokePlan
    from probes.smoke.result import Point, Remedy, SmokeResult
    from probes.smoke.telemetry import Live
    from wizard.session import Session

Status = Literal["none", "planning", "planned", "cannot", "running", "stopping", "stopped", "failed", "done"]

WORDS: dict[Status, str] = {
    "none": "not planned yet",
    "planning": "looking at what would be started",
    "planned": "waits for your yes",
    "cannot": "cannot be run",
    "running": "running",
    "stopping": "stopping, the GPUs are freed",
    "stopped": "stopped; nothing was kept",
    "failed": "failed",
    "done": "done",
}


class TellingObserver:
    """Passes every event of a smoke on; called from the thread that runs it."""

    def __init__(self, tell: Callable[[str, tuple[Any, ...]], object]) -> None:
        self._tell = tell

    def on_plan(self, plan: "SmokePlan") -> None:
        """The plan was shown and confirmed before; there is nothing to tell."""

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        """Pass a phase on."""
        self._tell("phase", (phase, detail, elapsed_s))

    def on_progress(self, name: str, done: int, total: int | None) -> None:
        """Pass the progress on."""
        self._tell("progress", (name, done, total))

    def on_log(self, line: str) -> None:
        """Pass a line of the server's log on."""
        self._tell("log", (line,))

    def on_point(self, point: "Point") -> None:
        """Pass a measured point on."""
        self._tell("point", (point,))

    def on_live(self, live: "Live") -> None:
        """Pass what the last second showed on."""
        self._tell("live", (live,))

    def on_note(self, text: str) -> None:
        """Pass a sentence on."""
        self._tell("note", (text,))


@dataclass
class SmokeRun:
    """What is known of the smoke of this session. Times are seconds since its start."""

    status: Status = "none"
    plan: "SmokePlan | None" = None
    problem: str = ""
    leftovers: int = 0
    phases: list[tuple[str, str, float]] = field(default_factory=list)
    progress: tuple[str, int, int | None] | None = None
    points: list["Point"] = field(default_factory=list)
    live: deque["Live"] = field(default_factory=lambda: deque(maxlen=600))
    log: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    notes: list[str] = field(default_factory=list)
    result: "SmokeResult | None" = None

    @property
    def active(self) -> bool:
        """Whether children of ours may be alive."""
        return self.status in ("running", "stopping")

    @property
    def remedy(self) -> "Remedy | None":
        """The change to an answer that the failure of the run suggests."""
        failure = self.result.failure if self.result else None
        return failure.remedy if failure else None

    def take(self, what: str, given: tuple[Any, ...]) -> None:
        """Change the state by one event of the observer."""
        if what == "phase":
            self.phases.append(given)
            self.progress = None
        elif what == "progress":
            self.progress = given
        elif what == "live":
            self.live.append(given[0])
        elif what == "log":
            self.log.append(printable(given[0]))
        elif what == "point":
            self.points.append(given[0])
        else:
            self.notes.append(printable(given[0]))


def apply_remedy(session: "Session", remedy: "Remedy") -> str | None:
    """Change the answer as the failed run suggests. Returns why it cannot be used, None if it is in force."""
    from wizard.typed import SEPARATOR

    before = session.raw(remedy.key) if remedy.how == "add" else ""
    return session.set(remedy.key, SEPARATOR.join([before, remedy.value]) if before else remedy.value)


def smoke_lines(run: SmokeRun, elapsed_s: float, width: int, height: int) -> list[str]:
    """What the smoke screen shows, at most `height` lines; the log gives way first, then the oldest phases."""
    lines = [f"Smoke: {WORDS[run.status]}" + (f", {elapsed_s:.0f} s" if run.active else "")]
    if run.problem:
        lines += ["", *run.problem.splitlines()]
        if run.remedy is not None:
            sign = "=" if run.remedy.how == "set" else "+="
            lines.append(f"a changes the answer: {run.remedy.key} {sign} {printable(run.remedy.value)}")
    if run.status in ("planned", "planning", "none", "cannot") or run.plan is None:
        return [*lines, "", *_plan_lines(run)]
    rows = _phase_lines(run)
    tail = _point_lines(run) + [f"! {note}" for note in run.notes]
    room = height - len(lines) - len(tail) - 3
    lines += ["", *(rows[-max(3, room) :] if len(rows) > max(3, room) else rows)]
    if run.active:
        lines += _progress_lines(run, width)
    lines += ["", *tail] if tail else []
    left = height - len(lines) - 1
    if left > 1 and run.log:
        lines += ["", *(f"server  {line[: width - 10]}" for line in list(run.log)[-(left - 1) :])]
    return lines


def _plan_lines(run: SmokeRun) -> list[str]:
    if run.plan is None:
        return []
    lines = list(run.plan.description)
    if run.leftovers:
        lines += ["", f"! {run.leftovers} processes of an earlier run that was killed are still there (e ends them)."]
    return lines


def _phase_lines(run: SmokeRun) -> list[str]:
    rows = []
    for number, (phase, detail, start_s) in enumerate(run.phases):
        last = number == len(run.phases) - 1
        end_s = None if last else run.phases[number + 1][2]
        took = "" if end_s is None else f"{end_s - start_s:>5.0f} s"
        rows.append(f"{'now ' if last and run.active else 'done'}  {phase:<10}{took:>8}  {printable(detail)}")
    return rows


def _progress_lines(run: SmokeRun, width: int) -> list[str]:
    name, done, total = run.progress or ("", 0, None)
    if not total:
        return []
    filled = round(min(done / total, 1) * 28)
    return [f"      {name:<10}{'█' * filled}{'░' * (28 - filled)}  {done} of {total}"[:width]]


def _point_lines(run: SmokeRun) -> list[str]:
    lines = []
    pipeline_only = run.plan is not None and run.plan.request.mode == "tiny"
    for point in run.points:
        lines.append(
            f"{point.kind.replace('_', ' ')}: {point.completed} of {point.requests} requests, "
            f"{point.concurrency} at a time, {point.output_tok_s:,.0f} output tokens/s"
        )
        for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
            latency = getattr(point, name)
            ceiling = next((c for c in point.ceilings if c.metric == name), None)
            if latency.p50 is None:
                continue
            p95 = "not claimed" if latency.p95 is None else f"{latency.p95:,.1f}"
            words = f"  {name[:-3].upper():<5}{latency.p50:>9,.1f} ms, p95 {p95}"
            if ceiling is not None:
                verdict = "not claimed (pipeline only)" if pipeline_only else ceiling.verdict.replace("_", " ")
                words += f"; ceiling {ceiling.limit:,.0f}: {ceiling.over} of {ceiling.n} over, {verdict}"
            lines.append(words)
    return lines
