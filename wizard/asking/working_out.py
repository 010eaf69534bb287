"""What people work out from what they know: calls in flight, and the E2E ceiling. No screen; see `screens.workout`."""

from collections.abc import Callable
from dataclasses import dataclass

from wizard.answers import Answers
from wizard.asking.defaults import calls_in_flight, concurrency_words, e2e_of_tokens_ms, e2e_words

CONCURRENCY, E2E = "runtime.workload.concurrency", "runtime.ceilings.e2e_ms"
_LOAD, _CEILINGS = "runtime.workload", "runtime.ceilings"


@dataclass(frozen=True)
class Working:
    """One way to work an answer out.

    `keys` are the answers that go in. `result` and `formula` say what comes out of them, None where one is missing;
    `chosen` is what has to be answered beside them so that this way holds.
    """

    title: str
    key: str
    keys: tuple[str, ...]
    result: Callable[[Answers], float | None]
    formula: Callable[[Answers], str]
    unit: str
    chosen: tuple[str, str] | None = None

    def lines(self, answers: Answers) -> list[str]:
        """The calculation with its result, or what is still missing."""
        result = self.result(answers)
        if result is None:
            return ["Fill in the figures above; the result appears here."]
        return [self.formula(answers), f"= {result:,.10g} {self.unit}, derived, with these figures in the document"]


def _task_ms(answers: Answers) -> float | None:
    load = answers.runtime.workload
    return load.task_seconds * 1000 / load.calls_per_task if load.task_seconds and load.calls_per_task else None


def _tokens_ms(answers: Answers) -> float | None:
    ceilings = answers.runtime.ceilings
    return e2e_of_tokens_ms(ceilings.ttft_ms, ceilings.tpot_ms, answers.runtime.workload.output_tokens)


WORKINGS = (
    Working(
        "Work out: calls in flight at peak",
        CONCURRENCY,
        tuple(
            f"{_LOAD}.{name}"
            for name in ("users_peak_hour", "tasks_per_user_hour", "calls_per_task", "call_seconds", "peak_factor")
        ),
        lambda answers: calls_in_flight(answers.runtime.workload),
        concurrency_words,
        "calls in flight",
    ),
    Working(
        "Work out: E2E ceiling from TTFT, TPOT and output tokens",
        E2E,
        (f"{_CEILINGS}.ttft_ms", f"{_CEILINGS}.tpot_ms", f"{_LOAD}.output_tokens"),
        _tokens_ms,
        lambda answers: e2e_words(answers, "tokens"),
        "ms",
        (f"{_CEILINGS}.e2e_from", "tokens"),
    ),
    Working(
        "Work out: E2E ceiling from the time of a task",
        E2E,
        (f"{_LOAD}.task_seconds", f"{_LOAD}.calls_per_task"),
        _task_ms,
        lambda answers: e2e_words(answers, "task"),
        "ms",
        (f"{_CEILINGS}.e2e_from", "task"),
    ),
)


def workings(key: str) -> tuple[Working, ...]:
    """The ways to work this answer out; none for most."""
    return tuple(working for working in WORKINGS if working.key == key)
