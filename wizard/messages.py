"""What the parts of the face tell each other. Screens say what was typed or chosen; only the app acts on it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from collections import Counter

    from probes.machine import Machine
    from probes.smoke.plan import SmokePlan
    from probes.smoke.result import SmokeResult
    from wizard.asking.provenance import SourceWord
    from wizard.decision.compare import Comparison
    from wizard.decision.selection import Selection


@dataclass
class Answered(Message):
    """A person finished typing into the field of `key`."""

    key: str
    raw: str


@dataclass
class MachineRead(Message):
    """The probe ended: with a machine, or with the reason why there is none."""

    machine: "Machine | None"
    seconds: float
    problem: str = ""


@dataclass
class Checked(Message):
    """The rules were run on the answers as they were; `problem` says why they could not be.

    `since` is what changed since the earlier selection, where the session began from one.
    `serial` counts the checks: one that a newer check has overtaken says nothing any more.
    """

    serial: int
    selection: "Selection | None"
    problem: str = ""
    since: "Comparison | None" = None


@dataclass
class Counted(Message):
    """How many rows of the document of a selection rest on which source."""

    selection: "Selection"
    counts: "Counter[SourceWord]"


@dataclass
class SmokePlanned(Message):
    """What a smoke would do is known, or why there can be none."""

    plan: "SmokePlan | None"
    problem: str = ""
    leftovers: int = 0
    kept: tuple[str, ...] = ()
    """The points that a stopped run of the same kind left."""


@dataclass
class SmokeTold(Message):
    """One event of the running smoke: the name of the observer's call and what it was given."""

    what: str
    given: tuple[Any, ...]


@dataclass
class SmokeEnded(Message):
    """The smoke ended: with a result, stopped (both None), or with a problem."""

    result: "SmokeResult | None"
    problem: str = ""
    folder: str = ""
    """Where the result lies."""
