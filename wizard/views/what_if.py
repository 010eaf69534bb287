"""What if: the figures of the answers as they are beside those of other hardware, layout or load. Nothing is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from wizard.answers import Answers
from wizard.asking.defaults import answer_at
from wizard.asking.questions import question_of
from wizard.asking.typed import shown
from wizard.paths import cache_dir
from wizard.serving.known import not_known
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
GPUS, TENSOR = "runtime.hardware.gpus_per_replica", "runtime.layout.tensor_parallel"


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
    """Both columns, what would be written to keep the second one, and by question what is wrong with some texts.

    `problems` are texts that cannot be used and are not in `changes`; `doubts` are names that nobody knows.
    """

    rows: tuple[Row, ...]
    changes: dict[str, str]
    problems: dict[str, str]
    doubts: dict[str, str]


def title_of(key: str) -> str:
    """The title of one of the questions."""
    question = question_of(key)
    return question.title if question else key


def shown_now(session: Session, key: str) -> str:
    """The text of a question now: the answer, or what holds without one."""
    place = session.place(key)
    return place.raw or place.fallback


def tensor_for(session: Session, gpus: str) -> str:
    """The tensor parallel size that the second column shows beside this number of GPUs, unless somebody typed one.

    Another number of GPUs takes it along: all of them, over the stages and copies that there are.
    """
    now, layout = shown_now(session, TENSOR), session.in_force.runtime.layout
    if not gpus.strip().isdigit() or gpus.strip() == shown_now(session, GPUS):
        return now
    tensor = int(gpus) // ((layout.pipeline_parallel or 1) * (layout.data_parallel or 1))
    return str(tensor) if tensor else now


def suppose(session: Session, texts: Mapping[str, str]) -> Supposition:
    """Size the answers with these texts, one for each of `KEYS`, in place of theirs; the session stays as it is.

    A text that nobody changed holds too, also where it came from the machine and another GPU would take it away: the
    figures are those of the fields that are shown, and keeping writes it.
    """
    changes = {key: text.strip() for key, text in texts.items() if text.strip() != shown_now(session, key)}
    answers, problems = _with(session, changes)
    for key in KEYS:
        shown_text = texts.get(key, "").strip()
        held = key in changes or key in session.rejected
        if shown_text and not held and shown(answer_at(answers, key)) != shown_text:
            changes[key] = shown_text
            answers, problems = _with(session, changes)
    now = figures(live_sizing(session.in_force, session.machine), session.in_force)
    then = figures(live_sizing(answers, session.machine), answers)
    rows = tuple(Row(name, now.get(name, "-"), then.get(name, "-")) for name in dict.fromkeys((*now, *then)))
    usable = {key: text for key, text in changes.items() if key not in problems}
    known = {key: not_known(key, text, answers, session.machine, cache_dir() / "vllm") for key, text in usable.items()}
    return Supposition(rows, usable, problems, {key: why for key, why in known.items() if why})


def _with(session: Session, changes: Mapping[str, str]) -> tuple[Answers, dict[str, str]]:
    return supposed(session, changes) if changes else (session.in_force, {})


def keep(session: Session, supposition: Supposition) -> list[str]:
    """Write the second column into the answers; returns what was changed to what, and from what, in words."""
    said = []
    for key, text in supposition.changes.items():
        before = shown_now(session, key)
        session.set(key, text)
        was = "" if before == text else f" (was {before or 'not given'})"
        said.append(f"{title_of(key)} {text or 'not given'}{was}")
    return said
