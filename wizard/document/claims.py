"""What a short measurement may say, in sentences: the one place for them.

A smoke is a closed loop of few requests. It can refute a choice and cannot confirm one, so no sentence here speaks of
production, of concurrencies that were not run, or of a percentile that the number of requests does not reach.
"""

from probes.smoke.result import CeilingResult, Metric, Mode, Point
from probes.smoke.statistics import requests_needed
from wizard.decision.proof import Limit, Qualifier
from wizard.document import formats

METRICS: dict[Metric, str] = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}

#: What each way of running is evidence for, and what it is not.
MODES: dict[Mode, str] = {
    "local": "the weights of the model, from disk: evidence of start, memory and speed",
    "dummy": (
        "random weights in the shape of the model: evidence of memory and speed, not of start time from disk, "
        "speculation or the balance of experts"
    ),
    "endpoint": "a server that was already running: evidence of speed; its flags are answer, not verified by this run",
    "tiny": (
        "a model of a few megabytes that stands in for the one selected: evidence that the chain works on this "
        "machine, never of the speed of the selection"
    ),
}

NO_MEASUREMENT = (
    "No measurement was made. This document does not show that the selection starts, how fast it is, or that it "
    "keeps a ceiling."
)
ASYMMETRY = "A smoke run can refute a choice; it cannot confirm it."
CLOSED_LOOP = "Closed loop, C = {C}; not an arrival-rate test; not comparable to published benchmark results."
INDEPENDENCE = (
    "The formulas assume independent requests; batching makes neighbours alike, so true intervals are wider. All "
    "results hold for these prompt and output lengths, this concurrency and this hour."
)
PER_CEILING = "Confidence is per ceiling, not jointly for all of them."
NOT_SHOWN = (
    "Not shown: real prompts, quality after quantisation, hours of load, the network beyond the path named here, loss "
    "of a node."
)
ATTRIBUTION = "The server was already running: the engine and hardware behind it are answer, not verified by this run."
#: The same where NVML showed the server's processes: its GPUs are then known, and nothing else of it.
ATTRIBUTION_ON_SEEN_GPUS = (
    "The server was already running: the engine behind it is answer, not verified by this run; its GPUs are verified, "
    "because NVML shows its processes on them."
)

_LOAD = "closed loop, {C} concurrent requests, {n} measured after {w} warm-up, {T} s"
_SCOPE = "This is a smoke measurement: {load}, on {where}. {limit}"
_AGAIN = "{load}, on the same server and with the same limit."
#: What a run may say of the selection as a whole, by what limits it. Only a run as proposed can refute anything.
_LIMITS: dict[Limit | None, str] = {
    None: "It can refute this selection; it cannot prove production capacity.",
    "pipeline only": (
        "It shows that the chain works; it can neither refute this selection nor prove anything of its speed."
    ),
    "other hardware": (
        "It was not made on the proposed hardware, so it can neither refute this selection nor prove its capacity."
    ),
    "other model": "It was not of the proposed model, so it can neither refute this selection nor prove its capacity.",
}
_P99 = "p99 is not claimed: {n} requests; a 95 % one-sided statement needs {needed}."
_CEILING = (
    "{t} of {n} requests exceeded {L} ms. At 95 % confidence this {verb} p{p} ≤ {L} ms "
    "(needs n ≥ {needed} for t = {t})."
)
_UNCLAIMED = (
    "{t} of {n} requests exceeded {L} ms. p{p} is not claimed: {n} requests; a 95 % one-sided statement needs {needed}."
)
_UNJUDGED = "{t} of {n} requests exceeded {L} ms. p{p} is not claimed: the run counted tokens that it did not ask for."
_VERBS = {
    "supported": "supports",
    "not_supported": "does not support",
    "contradicted": "contradicts",
}


def scope(point: Point, where: str, limit: Limit | None) -> str:
    """What one measured run was, and the limit of what it may say."""
    return _SCOPE.format(load=_load(point), where=where, limit=_LIMITS[limit])


def scope_again(point: Point) -> str:
    """What a further run of the same server was; its limit is the first one's."""
    return _AGAIN.format(load=_load(point))


def _load(point: Point) -> str:
    return _LOAD.format(
        C=formats.number(point.concurrency),
        n=formats.number(point.requests),
        w="an unknown number of" if point.warmups is None else formats.number(point.warmups),
        T=formats.number(point.duration_s, 0),
    )


def capacity_of(limit: Limit | None) -> str:
    """Whose capacity a search has found: the selection's only where the run was of it."""
    if limit == "pipeline only":
        return "Capacity of the stand-in, none of the selection"
    return "Capacity of one replica" if limit is None else f"Capacity of one replica, {limit}"


def closed_loop(concurrency: int) -> str:
    """That callers waited for one another, with the number of them."""
    return CLOSED_LOOP.format(C=formats.number(concurrency))


def p99_not_claimed(n: int) -> str | None:
    """That p99 is not claimed, where `n` requests do not reach it; else None."""
    needed = requests_needed(99)
    return None if n >= needed else _P99.format(n=formats.number(n), needed=formats.number(needed))


def ceiling(result: CeilingResult) -> str:
    """What one run says about one ceiling: how many requests exceeded it, and what that shows at 95 % confidence."""
    claimed = result.verdict != "not_claimed"
    needed = requests_needed(result.percentile, result.over if claimed else 0)
    unclaimed = _UNCLAIMED if result.n < needed else _UNJUDGED
    return (_CEILING if claimed else unclaimed).format(
        t=formats.number(result.over),
        n=formats.number(result.n),
        L=formats.limit_ms(result.limit),
        p=formats.number(result.percentile),
        needed=formats.number(needed),
        verb=_VERBS.get(result.verdict, ""),
    )


def grade(results: tuple[CeilingResult, ...], *, interval: bool, limit: Qualifier | None, client_limited: bool) -> str:
    """Return the grade of one measured row: the worst verdict of its ceilings, or how a bare value is known.

    `limit` is what limits the whole run: one that only shows that the chain works claims nothing about a ceiling.
    Qualifiers follow the grade.
    """
    order = ("contradicted", "not_supported", "not_claimed", "supported")
    if results:
        worst = min((result.verdict for result in results), key=order.index)
        word = "not claimed" if limit == "pipeline only" else worst.replace("_", " ")
    else:
        word = "bounded" if interval else "observed"
    return ", ".join([word, *([limit] if limit else []), *(["client-limited"] if client_limited else [])])
