"""Rules on how good a run was: what it had in common with the answers, and what its figures may carry."""

from itertools import pairwise

from probes.smoke.result import Point, SmokeResult
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import asked_points, qualifier
from wizard.decision.selection import Selection
from wizard.rules.lapses import Trigger, lapses
from wizard.rules.rule import Rule, finding, listed, number

#: Shares that a measurement may be off without a word.
_EXCLUDED, _SHORT, _RATE = 0.05, 0.05, 0.02
_RUN = "runtime.smoke.devices"
_STATES = {
    "asked_shared": "with the shared prefix cached",
    "asked_unshared": "without prefix reuse",
    "search": "of the capacity search",
}
#: So many differences are named, the others counted.
_MOST = 3


def _severity(selection: Selection) -> Severity:
    return "note" if qualifier(selection) else "warn"


def _measured(selection: Selection) -> SmokeResult | None:
    smoke = selection.smoke
    return smoke if smoke is not None and smoke.failure is None else None


def _state(point: Point) -> str:
    return f"{point.concurrency} calls {_STATES[point.kind]}"


def requests_were_whole(selection: Selection) -> list[Finding]:
    """M4: no request failed, the answers had the asked length, and few were left out."""
    # MLPerf inference rules: every query counts; a run that drops or shortens some measured something else.
    if _measured(selection) is None:
        return []
    target, found = selection.answers.runtime.workload.output_tokens, []
    for point in asked_points(selection):
        wrong = []
        if point.failed:
            wrong.append(f"{number(point.failed)} of {number(point.requests)} requests failed")
        if point.completed and point.excluded / point.completed > _EXCLUDED:
            wrong.append(f"{number(point.excluded)} of {number(point.completed)} had too few tokens for a TPOT")
        scaled = selection.smoke is not None and selection.smoke.scaled_down
        if target and point.completed and not scaled and point.output_tokens / point.completed < (1 - _SHORT) * target:
            mean = point.output_tokens / point.completed
            wrong.append(f"answers had {number(round(mean))} tokens and not {number(target)}")
        if wrong:
            message = f"At {_state(point)} {listed(wrong)}."
            remedy = "Look at the errors of the run and measure again; figures of the rest flatter."
            found.append(finding("M4", _severity(selection), message, _RUN, remedy))
    return found


def run_was_steady(selection: Selection) -> list[Finding]:
    """M5: the server was warm, the run steady, and the load tool not the bottleneck."""
    # MLPerf inference rules on warm-up; a client near a full core measures itself.
    smoke = _measured(selection)
    if smoke is None:
        return []
    found, severity = [], _severity(selection)
    for point in asked_points(selection):
        wrong = [] if point.warmups else ["there was no warm-up"]
        if point.warmups is None:
            wrong = ["it is not known whether there was a warm-up"]
        if point.steady is False:
            wrong.append("the second half of the run differs from the first by more than a fifth")
        elif point.steady is None:
            wrong.append("it is not known whether the run was steady")
        if wrong:
            message = f"At {_state(point)} {listed(wrong)}."
            remedy = "Measure again, longer or on a quiet machine."
            found.append(finding("M5", severity, message, _RUN, remedy))
    if smoke.load.client_limited:
        share = smoke.load.cpu_core_share
        used = f" ({number(round(share * 100))} % of a core)" if share is not None else ""
        message = f"The load tool was at its own limit{used}; the figures bound the client and not the runtime."
        found.append(finding("M5", severity, message, _RUN, "Send the load from a faster or a second computer."))
    return found


def prefix_state_is_known(selection: Selection) -> list[Finding]:
    """M6: what of the prompts came from the prefix cache is known and meant."""
    # A prompt that is in the cache is not computed: latency with an unknown hit rate belongs to no workload.
    smoke = _measured(selection)
    if smoke is None:
        return []
    shares = bool(selection.answers.runtime.workload.shared_prefix_tokens)
    unknown = [point for point in asked_points(selection) if point.prefix_hit_rate is None]
    if unknown:
        message = f"At {_state(unknown[0])} it is not known how much of the prompts came from the prefix cache."
        remedy = "Measure where the runtime's metrics can be read, or with prompts that share nothing."
        return [finding("M6", _severity(selection), message, _RUN, remedy)]
    hit = [point for point in asked_points(selection) if point.prefix_hit_rate]
    if not hit:
        return []
    rates = listed(
        [f"{number(round((point.prefix_hit_rate or 0) * 100))} % at {point.concurrency} calls" for point in hit]
    )
    if shares and all(point.kind == "asked_shared" for point in hit):
        message = f"Prompts share prefixes on purpose; the cache gave {rates}."
        remedy = "Nothing to do while real calls share as much; see the run without prefix reuse for the other case."
        return [finding("M6", "note", message, "runtime.workload.shared_prefix_tokens", remedy)]
    message = f"Prompts that should share nothing came from the prefix cache: {rates}."
    remedy = "Measure again after the cache was emptied, with prompts of their own."
    return [finding("M6", _severity(selection), message, _RUN, remedy)]


def run_is_recent(selection: Selection) -> list[Finding]:
    """M8: the run is not old, and was of the version, the weights and the driver branch that are proposed."""
    # Each trigger is explained where it is found (`lapses`).
    return [
        finding("M8", _severity(selection), f"{_capital(lapse.words)}.", lapse.key, _LAPSED[lapse.trigger])
        for lapse in lapses(selection)
        if lapse.trigger in _LAPSED
    ]


_LAPSED: dict[Trigger, str] = {
    "version": "Measure the version that is proposed: releases change defaults and kernels.",
    "revision": "Measure the weights that are proposed, and test their answers again.",
    "driver": "Measure with the proposed driver branch, or propose the one that was measured.",
    "age": "Measure again before the review.",
}


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def figures_agree(selection: Selection) -> list[Finding]:
    """M9: the figures of a run agree with each other."""
    # E2E holds the TTFT, a higher percentile is no lower, and tokens over time is the rate (vLLM benchmarks/serve.py).
    smoke = _measured(selection)
    if smoke is None:
        return []
    found = []
    for point in smoke.points:
        wrong = _disagreements(point)
        if wrong:
            message = f"The figures at {_state(point)} contradict each other: {listed(wrong)}."
            remedy = "Do not use this result; measure again and keep the files of the tool as it wrote them."
            found.append(finding("M9", "block", message, _RUN, remedy))
    return found


def _disagreements(point: Point) -> list[str]:
    wrong = []
    e2e, ttft = point.e2e_ms.p50, point.ttft_ms.p50
    if e2e is not None and ttft is not None and e2e < ttft:
        wrong.append(f"E2E {number(e2e)} ms is below TTFT {number(ttft)} ms")
    for name, latency in (("TTFT", point.ttft_ms), ("TPOT", point.tpot_ms), ("E2E", point.e2e_ms)):
        ladder = [value for value in (latency.p50, latency.p95, latency.p99) if value is not None]
        if any(high < low for low, high in pairwise(ladder)):
            wrong.append(f"a higher percentile of {name} is lower")
    if point.duration_s > 0:
        rate = point.output_tokens / point.duration_s
        if abs(point.output_tok_s - rate) > _RATE * rate:
            wrong.append(f"{number(point.output_tok_s)} tokens/s is not {number(round(rate, 1))}, tokens over time")
    return wrong


def run_had_these_answers(selection: Selection) -> list[Finding]:
    """M11: the run had the lengths, flags and ceilings that are in force."""
    # A result describes the load it was made with; answers that were changed afterwards are another selection.
    differing = [lapse for lapse in lapses(selection) if lapse.trigger in ("load", "ceilings", "settings")]
    if not differing:
        return []
    words = [lapse.words for lapse in differing[:_MOST]]
    words += [f"{len(differing) - _MOST} more"] if len(differing) > _MOST else []
    message = f"The run was made with other answers: {'; '.join(words)}."
    remedy = "Measure again with the answers in force, or take the former ones back."
    return [finding("M11", _severity(selection), message, differing[0].key, remedy)]


RULES = (
    Rule(
        "M4",
        "No request failed, was cut short or left out",
        ("warn", "note"),
        "MLCommons, MLPerf inference rules: every query counts",
        requests_were_whole,
        "Find out why requests failed or ended early, mend it and measure again.",
    ),
    Rule(
        "M5",
        "The run was warm, steady and not limited by its client",
        ("warn", "note"),
        "MLCommons, MLPerf inference rules: warm-up and load generator",
        run_was_steady,
        "Measure again, longer, on a quiet machine, and with a load tool that has CPU to spare.",
    ),
    Rule(
        "M6",
        "The share of prompts from the prefix cache is known and meant",
        ("warn", "note"),
        "vLLM 0.33.0, metrics vllm:prefix_cache_hits_total; a cached prompt is not computed",
        prefix_state_is_known,
        "Measure with prompts that share what real ones share, and read the hit rate from the runtime.",
    ),
    Rule(
        "M8",
        "The run is recent, and of the proposed version, weights and driver branch",
        ("warn", "note"),
        "InferenceX, README: benchmarks of a moment go stale",
        run_is_recent,
        "Measure what is proposed again before the review.",
    ),
    Rule(
        "M9",
        "The figures of a run agree with each other",
        ("block",),
        "definitions of vLLM 0.33.0, benchmarks/serve.py",
        figures_agree,
        "Throw the result away and measure again; never write figures by hand.",
    ),
    Rule(
        "M11",
        "The run had the lengths, flags and ceilings in force",
        ("warn", "note"),
        "MLCommons, MLPerf results messaging guidelines: a result names its load and system",
        run_had_these_answers,
        "Measure again after changing an answer, or take the change back.",
    ),
)
