"""One thing that was approved, what was found of it, and whether that is the same."""

from dataclasses import dataclass
from typing import Literal

from probes.machine import Machine
from probes.smoke.endpoint import Served
from probes.smoke.metrics import Metrics
from probes.smoke.result import SmokeResult
from probes.smoke.start_log import StartLog

Verdict = Literal["same", "different", "not_visible"]

ENDPOINT, METRICS, LOG, MACHINE, SMOKE = "the endpoint", "its metrics", "the start-up log", "the machine", "a new run"
DOCUMENT = "the document beside it"
#: The section of the document, and the budget line, that a difference touches; the first prefix that fits counts.
_TOUCHES = (
    ("document", "the whole document"),
    ("runtime.product", "2.1, line R"),
    ("runtime.version", "2.1"),
    ("engine.models", "1.2, line E"),
    ("engine.strategies", "1.3 and 2.4, line E"),
    ("runtime.hardware", "2.2, line R"),
    ("runtime.layout", "2.2 and 2.4, line R"),
    ("runtime.settings", "2.4"),
    ("runtime.cache_room", "2.5, line R"),
    ("runtime.ceilings", "2.3 and 2.5, line R"),
)


@dataclass(frozen=True)
class Check:
    """`what` is the key of the answer. `found` is None where nothing was seen; `seen_in` says where it was.

    `would_show` names what has to be given for a check that is not visible.
    """

    what: str
    approved: str
    found: str | None
    verdict: Verdict
    seen_in: str | None = None
    would_show: str = ""

    @property
    def touches(self) -> str:
        """The section and the budget line that a difference touches."""
        return next((place for prefix, place in _TOUCHES if self.what.startswith(prefix)), "2.4")


@dataclass(frozen=True)
class Delivered:
    """What was seen of a delivery; None, or empty, for what was not looked at or did not tell.

    `version` is what the endpoint says. `machine_is_here` means that the machine was not handed in but is this one,
    because the endpoint is on its loopback address. `printed_hash` is the content hash that the document beside the
    selection prints, `selection_hash` the one that the selection file has. `evidence` says of each evidence file
    whether it has the hash that the selection names. `looked_at` names the sources in words.
    """

    served: tuple[Served, ...] = ()
    version: str | None = None
    metrics: Metrics | None = None
    log: StartLog | None = None
    machine: Machine | None = None
    machine_is_here: bool = False
    smoke: SmokeResult | None = None
    selection_hash: str = ""
    printed_hash: str | None = None
    evidence: tuple[tuple[str, bool | None], ...] = ()
    looked_at: tuple[str, ...] = ()


def seen(
    what: str, approved: object, found: object, same: bool | None, seen_in: str | None, would_show: str = ""
) -> Check:
    """A check with its verdict: `same` None is not visible, whatever was found beside it."""
    verdict: Verdict = "not_visible" if same is None else "same" if same else "different"
    text = None if found is None else str(found)
    return Check(what, str(approved), text, verdict, seen_in if text is not None else None, would_show)
