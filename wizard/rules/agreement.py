"""Rules on whether answers that speak of the same thing agree: load, ceilings, version, and who approves what."""

import re
from collections.abc import Iterator

from wizard.asking.defaults import calls_in_flight
from wizard.decision.finding import Finding
from wizard.decision.proof import carried_model
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, listed, number, shortened

_LOAD = "runtime.workload"
#: Room above what the users make that needs no word; capacity is bought for what is above it.
_ROOM = 1.5
#: Words that name whatever is newest, and signs that name a range of versions.
_MOVING = re.compile(
    r"\b(?:latest|newest|current|nightly|main|master|stable|any|tbd|or (?:later|newer|above))\b|[<>~^*]|\d\.x\b",
    re.IGNORECASE,
)
_PARTS = {
    "the engine decision": re.compile(r"\bengine\b|section 1\b", re.IGNORECASE),
    "the runtime decision": re.compile(r"\bruntime\b|section 2\b", re.IGNORECASE),
    "line E": re.compile(r"\blines? e\b|\bengine (?:budget|line)\b|\be and r\b", re.IGNORECASE),
    "line R": re.compile(r"\blines? r\b|\bruntime (?:budget|line)\b|\be and r\b", re.IGNORECASE),
}
_WHOLE = re.compile(r"\b(?:all|everything|whole|entire|both)\b", re.IGNORECASE)


def load_agrees_with_itself(selection: Selection) -> list[Finding]:
    """C33: shared and whole prompt, users and calls in flight, context and longest request agree."""
    # Little's law: calls in flight = calls that arrive per second x seconds that each stays.
    runtime, found = selection.answers.runtime, []
    load = runtime.workload
    shared, prompt = load.shared_prefix_tokens, load.input_tokens
    if shared is not None and prompt is not None and shared > prompt:
        message = f"The calls share {number(shared)} tokens of a prompt that has {number(prompt)}."
        remedy = f"Count the shared tokens within the prompt: at most {number(prompt)}."
        found.append(finding("C33", "block", message, f"{_LOAD}.shared_prefix_tokens", remedy))
    worked_out = calls_in_flight(load)
    if load.concurrency is not None and worked_out is not None and load.concurrency < worked_out:
        message = (
            f"{number(load.concurrency)} calls in flight are asked for, and users, tasks and seconds make "
            f"{number(worked_out)}."
        )
        remedy = "Ask for what the users make, or correct the figures that it is worked out from."
        found.append(finding("C33", "warn", message, f"{_LOAD}.concurrency", remedy))
    elif load.concurrency is not None and worked_out is not None and load.concurrency > _ROOM * worked_out:
        message = (
            f"{number(load.concurrency)} calls in flight are asked for, more than {_ROOM:g} times the "
            f"{number(worked_out)} that users, tasks and seconds make."
        )
        remedy = "Say in an assumption what the rest is for, or correct the figure that is wrong."
        found.append(finding("C33", "note", message, f"{_LOAD}.concurrency", remedy))
    carried, longest = carried_model(selection), runtime.settings.max_model_len
    needed = carried[1].context_tokens if carried else None
    # A longest request that does not even hold a call is C6's.
    a_call = (load.input_tokens or 0) + (load.output_tokens or 0)
    if needed is not None and longest is not None and a_call <= longest < needed:
        message = f"A context of {number(needed)} tokens is needed, and the longest request has {number(longest)}."
        remedy = f"Set the longest request to {number(needed)} tokens, or ask for less context."
        found.append(finding("C33", "warn", message, "runtime.settings.max_model_len", remedy))
    return found


def ceilings_agree(selection: Selection) -> list[Finding]:
    """C34: no ceiling allows more than a wider one, so that each of them can decide something."""
    # A call ends after its first token and its further tokens; a task after its calls.
    ceilings, load = selection.answers.runtime.ceilings, selection.answers.runtime.workload
    found, call_ms = [], ceilings.e2e_ms
    if call_ms is not None and ceilings.ttft_ms is not None and ceilings.ttft_ms > call_ms:
        message = f"The first token may take {number(ceilings.ttft_ms)} ms, and the whole call {number(call_ms)} ms."
        remedy = "Lower the TTFT ceiling below the E2E ceiling, or leave one of them out."
        found.append(finding("C34", "warn", message, "runtime.ceilings.ttft_ms", remedy))
    elif call_ms is not None and ceilings.tpot_ms is not None and load.output_tokens is not None:
        tokens_ms = ceilings.tpot_ms * (load.output_tokens - 1)
        if tokens_ms > call_ms:
            message = (
                f"At {number(ceilings.tpot_ms)} ms a token the {number(load.output_tokens)} output tokens take "
                f"{number(round(tokens_ms))} ms, and the whole call may take {number(call_ms)} ms."
            )
            remedy = "Lower the TPOT ceiling, or raise the E2E ceiling."
            found.append(finding("C34", "warn", message, "runtime.ceilings.tpot_ms", remedy))
    if call_ms is not None and load.task_seconds is not None and load.calls_per_task is not None:
        calls_ms = call_ms * load.calls_per_task
        if calls_ms > load.task_seconds * 1001:  # a ceiling worked out from the task may be rounded
            message = (
                f"A task has {number(load.task_seconds)} s, and its {number(load.calls_per_task)} calls may take "
                f"{number(calls_ms / 1000)} s together."
            )
            remedy = "Lower the E2E ceiling to the seconds of a task divided by its calls, or give the task longer."
            found.append(finding("C34", "warn", message, "runtime.ceilings.e2e_ms", remedy))
    return found


def version_is_exact(selection: Selection) -> list[Finding]:
    """C35: the version of the runtime, and of the engine inside it, is one version."""
    # Flags, defaults and supported models are true for one version; what is newest moves under the approved document.
    runtime = selection.answers.runtime
    found = []
    for key, version in (("version", runtime.version), ("inner_version", runtime.inner_version)):
        if version is None or (re.search(r"\d", version) and not _MOVING.search(version)):
            continue
        message = f'The version "{shortened(version)}" names no one release, so what is approved may change.'
        remedy = "Name the exact release, as the package or the image calls it."
        found.append(finding("C35", "warn", message, f"runtime.{key}", remedy))
    return found


def every_part_is_approved(selection: Selection) -> list[Finding]:
    """G10: somebody approves each section and each line."""
    # Each line has its own approval route; a part that no signature covers is approved by nobody.
    rows = selection.answers.governance.approvals
    at = "governance.approvals"
    if not any(row.role or row.name for row in rows):
        message = "Nobody is named who approves the selection."
        return [finding("G10", "warn", message, at, "Name who signs for engine, runtime, line E and line R.")]
    missing = list(_uncovered([" ".join((row.covers or "").split()) for row in rows]))
    if not missing:
        return []
    message = f"No approval covers {listed(missing)}."
    return [finding("G10", "warn", message, at, "Name who signs for it, or say so in what an approval covers.")]


def _uncovered(covers: list[str]) -> Iterator[str]:
    for part, pattern in _PARTS.items():
        if not any(pattern.search(text) or _WHOLE.search(text) for text in covers):
            yield part


RULES = (
    Rule(
        "C33",
        "The figures of the load agree with each other",
        ("block", "warn", "note"),
        "Little's law (Operations Research 9(3), 1961); vLLM 0.33.0, config/model.py",
        load_agrees_with_itself,
        "Correct the figure that is wrong: shared and whole prompt, users and calls in flight, context and request.",
    ),
    Rule(
        "C34",
        "The ceilings agree with each other",
        ("warn",),
        "E2E = TTFT + TPOT x (output tokens - 1); a task is the sum of its calls",
        ceilings_agree,
        "Let no part of a call or of a task be allowed more time than the whole.",
    ),
    Rule(
        "C35",
        "The version is one version",
        ("warn",),
        "flags and defaults are read from one version of the runtime, and differ in the next",
        version_is_exact,
        "Name the exact release, as the package or the image calls it.",
    ),
    Rule(
        "G10",
        "Somebody approves each section and each line",
        ("warn",),
        "PRINCE2, project initiation: each product and each budget is authorised by somebody",
        every_part_is_approved,
        "Name a role for engine, runtime, line E and line R; one signature may cover several.",
    ),
)
