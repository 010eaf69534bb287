"""What if: the figures of the answers as they are beside those of other hardware, layout or load. Nothing is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from wizard.asking.questions import question_of
from wizard.sessions.session import Session
from wizard.views.live import live_sizing, supposed
from wizard.views.sizing import figures

#: What can be supposed to be otherwise, in the order in which it is asked.
KEYS = (
    "runtime.hardware.gpu",
    "runtime.hardware.gpus_per_replica",
    "runtime.layout.tensor_parallel",
    "runtime.settings.max_model_len",
    "runtime.settings.kv_cache_dtype",
    "runtime.settings.quantization",
    "runtime.workload.concurrency",
)
_GPUS, _TENSOR = "runtime.hardware.gpus_per_replica", "runtime.layout.tensor_parallel"


@dataclass(frozen=True)
class Row:
    """One figure of both columns, in words."""

    name: str
    now: str
    then: str

    @property
    def differs(self) -> bool:
        """Whether the supposition changes it."""
        return self.now != self.then


@dataclass(frozen=True)
class Supposition:
    """Both columns, what would be written to keep the second one, and why some texts cannot be used."""

    rows: tuple[Row, ...]
    changes: dict[str, str]
    problems: dict[str, str]


def title_of(key: str) -> str:
    """The title of one of the questions."""
    question = question_of(key)
    return question.title if question else key


def shown_now(session: Session, key: str) -> str:
    """The text of a question now: the answer, or what holds without one."""
    place = session.place(key)
    return place.raw or place.fallback


def suppose(session: Session, texts: Mapping[str, str]) -> Supposition:
    """Size the answers with these texts in place of theirs; the session stays as it is.

    Another number of GPUs takes the tensor parallel size with it, unless that is given too.
    """
    changes = {key: text.strip() for key, text in texts.items() if text.strip() != shown_now(session, key)}
    layout = session.in_force.runtime.layout
    stages = (layout.pipeline_parallel or 1) * (layout.data_parallel or 1)
    if _GPUS in changes and _TENSOR not in changes and changes[_GPUS].isdigit():
        tensor = int(changes[_GPUS]) // stages
        if tensor >= 1 and str(tensor) != shown_now(session, _TENSOR):
            changes[_TENSOR] = str(tensor)
    answers, problems = supposed(session, changes) if changes else (session.in_force, {})
    now = figures(live_sizing(session.in_force, session.machine), session.in_force)
    then = figures(live_sizing(answers, session.machine), answers)
    rows = tuple(Row(name, now.get(name, "-"), then.get(name, "-")) for name in dict.fromkeys((*now, *then)))
    return Supposition(rows, {key: text for key, text in changes.items() if key not in problems}, problems)


def keep(session: Session, supposition: Supposition) -> list[str]:
    """Write the second column into the answers; returns the titles of what was changed."""
    for key, text in supposition.changes.items():
        session.set(key, text)
    return [title_of(key) for key in supposition.changes]
