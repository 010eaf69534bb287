"""The greatest concurrency at which every ceiling holds: which load to look at next, and when to stop.

Pure: looks go in, the next concurrency or the outcome comes out. A load *holds* when every ceiling is supported at
95 % confidence; it *fails clearly* when a ceiling is contradicted or requests failed. Between the two nothing is shown,
and such a load bounds the search from above like a failure. The search first brackets the edge, then closes in on it
where the looks so far say that it lies: the logarithm of the latency is taken as linear in the logarithm of the
concurrency between two looks, and every step cuts the bracket by a fifth at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from probes.smoke.result import Capacity

MOST_LOOKS = 8
"""Looks of a search, the one at the asked concurrency not counted."""
CONFIDENCE = 0.90
"""Least share of searches that name no greater concurrency than the true edge, over the simulated shapes and noises.

Each look may be wrong in 5 % of cases for each ceiling and a search has several looks, so it is less than 95 %. The
simulation is tests/unit/test_smoke_search.py.
"""
STEP_SHARE = 8
"""The edge is found to a step of max(1, concurrency ÷ 8)."""
_SATURATED_GAIN = 0.03
"""Growth of throughput below which more callers only wait."""
_SATURATED_STEP = 1.5
_AIM = 0.95
"""Share of the limit to aim at: a load exactly at its limit is supported in one of twenty looks only."""
_LEAST_GROWTH, _FLAT_GROWTH, _GREATEST_GROWTH = 2.0, 4.0, 6.0
_FLAT_SLOPE = 0.3
"""Below it the latency hardly depends on the load yet, and bigger steps are taken."""
_LEAST_CUT = 0.2


@dataclass(frozen=True)
class Look:
    """One measured load. `ratio` is the greatest of observed percentile ÷ limit over the ceilings, None if unknown."""

    concurrency: int
    held: bool
    clear: bool
    ratio: float | None
    output_tok_s: float
    seconds: float
    requests: int
    client_limited: bool = False


@dataclass(frozen=True)
class Limits:
    """What bounds a search from outside. `greatest` is the server's own limit, with the reason; None if not known."""

    greatest: int | None = None
    greatest_because: str = ""
    seconds_left: float = math.inf
    most_looks: int = MOST_LOOKS


def step(concurrency: int) -> int:
    """Return how finely the edge is found at this concurrency."""
    return max(1, concurrency // STEP_SHARE)


def decide(looks: Sequence[Look], limits: Limits) -> int | Capacity:
    """Return the concurrency to look at next, or the outcome. The first look is that at the asked concurrency."""
    if not looks:
        raise ValueError("a search begins with a look at the asked concurrency")
    low, high = bracket(looks)
    reason = _enough(looks, limits, low, high)
    if reason is None:
        nearest = _next(looks, limits, low, high)
        least_s = _seconds_for(looks[-1], nearest)
        if least_s <= limits.seconds_left:
            return nearest
        reason = f"the next look would need about {least_s:.0f} s, more than the time limit leaves"
    at = low.concurrency if low else 0
    closed = high is not None and high.concurrency - at <= step(at)
    if high is not None and not closed:
        reason += f"; {high.concurrency} did not hold"
    return Capacity(concurrency=at, kind="edge" if closed else "at_least", stop_reason=reason, confidence=CONFIDENCE)


def bracket(looks: Sequence[Look]) -> tuple[Look | None, Look | None]:
    """Return the greatest load that held below every clear failure, and the least that did not hold above it."""
    wall = min((look.concurrency for look in looks if look.clear), default=None)
    held = [look for look in looks if look.held and (wall is None or look.concurrency < wall)]
    low = max(held, key=lambda look: look.concurrency, default=None)
    above = [look for look in looks if not look.held and (low is None or look.concurrency > low.concurrency)]
    return low, min(above, key=lambda look: look.concurrency, default=None)


def _enough(looks: Sequence[Look], limits: Limits, low: Look | None, high: Look | None) -> str | None:
    """Say why the search ends here, None if it goes on."""
    at = low.concurrency if low else 0
    if high is not None and high.concurrency - at <= step(at):
        return f"{high.concurrency} did not hold" if low else "one call at a time did not hold"
    if low is not None and limits.greatest is not None and at >= limits.greatest:
        return limits.greatest_because
    if low is not None and low.client_limited:
        return "the load tool used a whole CPU core, so that a greater load would measure the tool"
    if high is None and low is not None and _is_saturated(looks, low):
        return "throughput no longer grows with the load"
    if len(looks) - 1 >= limits.most_looks:
        return f"{limits.most_looks} looks are made"
    return None


def _is_saturated(looks: Sequence[Look], low: Look) -> bool:
    before = _before(looks, low)
    return (
        before is not None
        and low.concurrency >= _SATURATED_STEP * before.concurrency
        and low.output_tok_s < before.output_tok_s * (1 + _SATURATED_GAIN)
    )


def _next(looks: Sequence[Look], limits: Limits, low: Look | None, high: Look | None) -> int:
    if high is None:
        return _up(looks, limits, low or looks[0])
    bottom = low.concurrency if low else 0
    width = high.concurrency - bottom
    if low is None:
        # Nothing held yet: the latency at the failed load says how far down to go, at least to half.
        ratio = high.ratio if high.ratio and high.ratio > 1 else 2.0
        guess = min(high.concurrency / ratio, high.concurrency / 2)
        return min(max(1, math.floor(max(guess, high.concurrency / 8))), high.concurrency - 1)
    cut = max(1.0, width * _LEAST_CUT)
    # Where the line between two looks has misled once, the middle of the logarithms cuts more surely.
    guess = math.sqrt(low.concurrency * high.concurrency) if _misled(looks) else _interpolated(low, high)
    return min(max(math.floor(guess), math.ceil(bottom + cut)), math.floor(high.concurrency - cut))


def _up(looks: Sequence[Look], limits: Limits, low: Look) -> int:
    least = low.concurrency * (_FLAT_GROWTH if _is_flat(looks, low) else _LEAST_GROWTH)
    aimed = min(max(_extrapolated(looks, low), least), low.concurrency * _GREATEST_GROWTH)
    whole = max(low.concurrency + 1, math.floor(aimed))
    return whole if limits.greatest is None else min(whole, limits.greatest)


def _before(looks: Sequence[Look], low: Look) -> Look | None:
    """Return the greatest load that was looked at below `low`."""
    below = [look for look in looks if look.concurrency < low.concurrency]
    return max(below, key=lambda look: look.concurrency, default=None)


def _misled(looks: Sequence[Look]) -> bool:
    """Whether the last look inside a bracket left more than half of it, counted in logarithms."""
    low, high = bracket(looks[:-1])
    new_low, new_high = bracket(looks)
    if not (low and high and new_low and new_high):
        return False
    before = math.log(high.concurrency / low.concurrency)
    return math.log(new_high.concurrency / new_low.concurrency) > 0.55 * before


def _slope(low: Look, high: Look) -> float | None:
    """Return d log(latency) / d log(concurrency) between two looks, None where it is not known or not rising."""
    if not (low.ratio and high.ratio) or low.concurrency >= high.concurrency:
        return None
    slope = math.log(high.ratio / low.ratio) / math.log(high.concurrency / low.concurrency)
    return slope if slope > 0 else None


def _is_flat(looks: Sequence[Look], low: Look) -> bool:
    """Whether the latency hardly grew up to here; of a first look only its distance to the limit tells."""
    before = _before(looks, low)
    if before is None:
        return low.ratio is not None and low.ratio < 0.5
    return (_slope(before, low) or 0.0) < _FLAT_SLOPE


def _interpolated(low: Look, high: Look) -> float:
    slope = _slope(low, high)
    if slope is None or not low.ratio:
        return math.sqrt(low.concurrency * high.concurrency)
    return low.concurrency * math.exp(min(math.log(_AIM / low.ratio) / slope, 50.0))


def _extrapolated(looks: Sequence[Look], low: Look) -> float:
    if not low.ratio:
        return low.concurrency * _LEAST_GROWTH
    before = _before(looks, low)
    # Latency grows at most in proportion to the load before requests queue, and a little faster once they do.
    slope = max(_slope(before, low) or 1.0, 1.0) if before else 1.0
    return low.concurrency * math.exp(min(math.log(1 / low.ratio) / slope, 50.0)) * 1.1


def _seconds_for(last: Look, concurrency: int) -> float:
    """Return how long a look at `concurrency` takes, at the throughput of the last look."""
    requests = max(last.requests, 10 * concurrency)
    return last.seconds * requests / max(last.requests, 1)
