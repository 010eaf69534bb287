"""Whether an endpoint counts the tokens of its answers: `max_tokens` bounds what a count can be."""

from __future__ import annotations

from probes.smoke.plan import PlannedRun
from probes.smoke.prompts import PromptForm
from probes.smoke.result import Point


def longest_answer(run: PlannedRun, forms: tuple[PromptForm, ...]) -> int:
    """Return how many tokens the longest answer of a run may have: the greatest `max_tokens` of its requests."""
    load = run.workload
    if forms:
        return max(form.output_tokens or load.output_tokens for form in forms)
    return max(load.output_mix or (load.output_tokens,))


def miscount(point: Point, asked_tokens: int) -> str | None:
    """Return a sentence where an answer was counted longer than it can have been, else None.

    vLLM's load tool takes the count of the endpoint, and where there is none it counts the answer's text with the
    tokenizer that it was given, which need not be the served model's.
    """
    if point.output_len is None or point.output_len.max <= asked_tokens:
        return None
    return (
        f"An answer of at most {asked_tokens:,} tokens was counted as {point.output_len.max:,}: the endpoint does not "
        "count its tokens, or counts others. No ceiling is judged on such a run."
    )
