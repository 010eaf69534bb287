"""What a handful of requests can say about a percentile: pure functions, exact binomial sums.

The formulas are distribution-free order statistics: with n independent requests the number of requests below
the p-quantile is binomial. Sums are exact rationals up to `EXACT_N` requests, so no result of a smoke depends on
floating point; beyond, where they would take minutes, a continued fraction stands for them. Requests that are
batched together are not independent: true intervals are wider, which the document says.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Literal

Verdict = Literal["supported", "not_supported", "contradicted", "not_claimed"]

ALPHA = Fraction(1, 20)
"""One-sided error probability of every verdict."""
EXACT_N = 2000
"""Greatest number of requests for which sums are exact; a smoke sends far fewer, an imported run may hold more."""
STEADY_LIMIT = 0.20
"""Greatest relative difference of the halves' medians of a steady run."""


def as_fraction(percentile: float) -> Fraction:
    """Return a percentile such as 95 or 99.9 as an exact probability. Raises ValueError outside (0, 100)."""
    fraction = Fraction(str(percentile)) / 100
    if not 0 < fraction < 1:
        raise ValueError(f"a percentile lies between 0 and 100, not {percentile}")
    return fraction


def _terms(n: int, first: int, last: int, p: Fraction) -> int:
    """Return P(first <= Bin(n, p) <= last) * denominator**n, an integer."""
    hit, miss = p.numerator, p.denominator - p.numerator
    return sum(math.comb(n, k) * hit**k * miss ** (n - k) for k in range(first, last + 1))


@cache
def _cumulative(n: int, numerator: int, denominator: int) -> tuple[int, ...]:
    """Return the integers P(Bin(n, p) <= k) * denominator**n for k = 0..n."""
    p = Fraction(numerator, denominator)
    return tuple(accumulate(_terms(n, k, k, p) for k in range(n + 1)))


def _beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), 0 < x < 1, by its continued fraction.

    Source: NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method. It takes about the
    square root of max(a, b) terms.
    """
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly its mirror image converges fast
        return 1 - _beta_share(1 - x, b, a)
    tiny = 1e-300
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    whole, m = d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            step = c * d
            whole *= step
        if abs(step - 1) < 1e-14:
            return front * whole


def binomial_at_most(k: int, n: int, p: Fraction) -> Fraction:
    """Return P(Bin(n, p) <= k), exactly up to `EXACT_N`, else to about ten digits."""
    if k < 0:
        return Fraction(0)
    if k >= n:
        return Fraction(1)
    if n > EXACT_N:
        return Fraction(_beta_share(float(1 - p), n - k, k + 1))
    whole = p.denominator**n
    if k < n // 2:  # the shorter of the two sums
        return Fraction(_terms(n, 0, k, p), whole)
    return Fraction(whole - _terms(n, k + 1, n, p), whole)


def rank_interval(n: int, percentile: float, alpha: Fraction = ALPHA) -> tuple[int | None, int | None]:
    """Return the ranks (from 1) of the two-sided 1 - alpha interval of a percentile; None where none exists.

    l is the largest rank with P(B <= l - 1) <= alpha / 2, u the smallest with P(B <= u - 1) >= 1 - alpha / 2,
    B ~ Bin(n, p).
    """
    p = as_fraction(percentile)
    if n < 1:
        return None, None
    if n > EXACT_N:
        ranks = range(1, n + 1)  # the probability rises with the rank
        below = bisect.bisect_right(ranks, alpha / 2, key=lambda rank: binomial_at_most(rank - 1, n, p))
        reached = bisect.bisect_left(ranks, 1 - alpha / 2, key=lambda rank: binomial_at_most(rank - 1, n, p))
        return below or None, reached + 1 if reached < n else None
    cumulative = _cumulative(n, p.numerator, p.denominator)
    whole = p.denominator**n
    low_limit, high_limit = alpha / 2 * whole, (1 - alpha / 2) * whole
    lower = max((rank for rank in range(1, n + 1) if cumulative[rank - 1] <= low_limit), default=None)
    upper = min((rank for rank in range(1, n + 1) if cumulative[rank - 1] >= high_limit), default=None)
    return lower, upper


@cache
def requests_needed(percentile: float, over: int = 0, alpha: Fraction = ALPHA) -> int:
    """Return the least n at which `over` requests above a ceiling still support it.

    That is the least n with P(Bin(n, 1-p) <= over) <= alpha.
    """
    miss = 1 - as_fraction(percentile)
    low, high = over + 1, over + 2
    while binomial_at_most(over, high, miss) > alpha:
        low, high = high, high * 2
    while low < high:  # the probability falls with n
        middle = (low + high) // 2
        if binomial_at_most(over, middle, miss) > alpha:
            low = middle + 1
        else:
            high = middle
    return low


def two_sided_requests(percentile: float, alpha: Fraction = ALPHA) -> int:
    """Return the least n at which a percentile's rank interval has an upper end: p**n <= alpha / 2."""
    p = as_fraction(percentile)
    n = 1
    while p**n > alpha / 2:
        n += 1
    return n


@cache
def verdict(over: int, n: int, percentile: float, alpha: Fraction = ALPHA) -> Verdict:
    """Test "the percentile lies at or below the ceiling" with `over` of `n` requests above it, one-sided.

    Supported when P(Bin(n, 1-p) <= over) <= alpha; contradicted when P(Bin(n, 1-p) >= over) <= alpha; else
    not supported. Below the least n of the percentile nothing is claimed.
    """
    if not 0 <= over <= n:
        raise ValueError(f"{over} of {n} requests cannot be over a ceiling")
    miss = 1 - as_fraction(percentile)
    if n < requests_needed(percentile, 0, alpha):
        return "not_claimed"
    if binomial_at_most(over, n, miss) <= alpha:
        return "supported"
    if 1 - binomial_at_most(over - 1, n, miss) <= alpha:
        return "contradicted"
    return "not_supported"


def percentile_of(values: Sequence[float], percentile: float) -> float | None:
    """Return the percentile, interpolated linearly as numpy does; None if there is no value."""
    if not values:
        return None
    ordered = sorted(values)
    position = (len(ordered) - 1) * percentile / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def percentile_if_claimed(values: Sequence[float], percentile: float) -> float | None:
    """Return the percentile when n reaches the least n of its one-sided 95 % statement, else None."""
    return percentile_of(values, percentile) if len(values) >= requests_needed(percentile) else None


def interval_of(values: Sequence[float], percentile: float) -> tuple[float | None, float | None]:
    """Return the two-sided 95 % rank interval of a percentile as values, None for an end it lacks."""
    lower, upper = rank_interval(len(values), percentile)
    ordered = sorted(values)
    return (
        None if lower is None else ordered[lower - 1],
        None if upper is None else ordered[upper - 1],
    )


def error_rate_bound(n: int, errors: int = 0, alpha: float = 0.05) -> float:
    """Return the one-sided upper bound of the error rate after `errors` in n requests (Clopper and Pearson).

    It is the rate q with P(Bin(n, q) <= errors) = alpha; without errors 1 - alpha ** (1 / n).
    """
    if not 0 <= errors <= n or n < 1:
        raise ValueError(f"{errors} errors in {n} requests cannot be")
    if errors == 0:
        return float(1 - alpha ** (1 / n))
    if errors == n:
        return 1.0
    low, high = errors / n, 1.0
    for _ in range(60):  # the probability falls with the rate; 60 halvings are more than a float holds
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_share(1 - middle, n - errors, errors + 1) > alpha else (low, middle)
    return high


def halves_agree(values_in_time_order: Sequence[float], limit: float = STEADY_LIMIT) -> bool:
    """Whether the medians of the first and the second half differ by at most `limit` of the smaller one."""
    half = len(values_in_time_order) // 2
    if half == 0:
        return True
    first = percentile_of(values_in_time_order[:half], 50)
    second = percentile_of(values_in_time_order[-half:], 50)
    if first is None or second is None:
        return True
    return abs(first - second) <= limit * min(first, second)


def requests_to_send(concurrency: int, percentiles: Sequence[float]) -> int:
    """Return how many requests to measure: 10 per caller, at least 72, at least what a ceiling needs."""
    return max(10 * concurrency, 72, *(requests_needed(percentile) for percentile in percentiles), 0)


def warmups_to_send(concurrency: int) -> int:
    """Return how many requests to send and throw away first: two per concurrent caller, at least four."""
    return max(2 * concurrency, 4)
