"""A smoke of this session: one state that events change, and the observer that makes the events."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wizard.printable import printable

if TYPE_CHECKING:
    from probes.smoke.plan import SmokePlan
    from probes.smoke.result import Point, Remedy, SmokeResult, StrategySeen
    from probes.smoke.telemetry import Live
    from wizard.sessions.session import Session

Status = Literal["none", "planning", "planned", "cannot", "running", "stopping", "stopped", "failed", "done"]


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

    def on_strategies(self, strategies: "tuple[StrategySeen, ...]") -> None:
        """Pass on which strategies the server shows."""
        self._tell("strategies", (strategies,))

    def on_note(self, text: str) -> None:
        """Pass a sentence on."""
        self._tell("note", (text,))


@dataclass(frozen=True)
class SmokeChoices:
    """What a person chose for the next smoke beside the answers."""

    search: bool = False
    resume: bool = False
    prompts: str = ""
    """The file of own prompts; empty: the profile of the answers."""

    def words(self, kept: tuple[str, ...] = ()) -> str:
        """The choices in one line, each with its key; `kept` are the points that a stopped run left."""
        search, resume = ("yes" if given else "no" for given in (self.search, self.resume))
        words = [f"c search the greatest load: {search}"]
        if kept:
            words.append(f"r take over {', '.join(kept)} from the stopped run: {resume}")
        words.append(f"p prompts: {self.prompts or 'of the profile'}")
        return "   ".join(words)


DEFAULT_CHOICES = SmokeChoices()


@dataclass
class SmokeRun:
    """What is known of the smoke of this session. Times are seconds since its start."""

    status: Status = "none"
    plan: "SmokePlan | None" = None
    problem: str = ""
    leftovers: int = 0
    kept: tuple[str, ...] = ()
    """The points that a stopped run of the same kind left; they can be taken over."""
    phases: list[tuple[str, str, float]] = field(default_factory=list)
    progress: tuple[str, int, int | None] | None = None
    points: list["Point"] = field(default_factory=list)
    strategies: "tuple[StrategySeen, ...]" = ()
    live: deque["Live"] = field(default_factory=lambda: deque(maxlen=600))
    log: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    notes: list[str] = field(default_factory=list)
    result: "SmokeResult | None" = None

    @property
    def active(self) -> bool:
        """Whether children of ours may be alive."""
        return self.status in ("running", "stopping")

    @property
    def pipeline_only(self) -> bool:
        """Whether the stand-in is measured, so that no figure is one of the selection."""
        mode = self.result.mode if self.result else self.plan.request.mode if self.plan else ""
        return mode == "tiny"

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
        elif what == "strategies":
            self.strategies = given[0]
        else:
            self.notes.append(printable(given[0]))


def apply_remedy(session: "Session", remedy: "Remedy") -> str | None:
    """Change the answer as the failed run suggests. Returns why it cannot be used, None if it is in force."""
    from wizard.asking.typed import SEPARATOR

    before = session.raw(remedy.key) if remedy.how == "add" else ""
    return session.set(remedy.key, SEPARATOR.join([before, remedy.value]) if before else remedy.value)
