"""The literals are those of exact binomial order statistics, computed independently."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.smoke.statistics import (
    as_fraction,
    binomial_at_most,
    error_rate_bound,
    halves_agree,
    interval_of,
    percentile_if_claimed,
    percentile_of,
    rank_interval,
    requests_needed,
    requests_to_send,
    two_sided_requests,
    verdict,
    warmups_to_send,
)


@pytest.mark.parametrize(
    ("percentile", "one_sided_95", "one_sided_99", "two_sided_95"),
    [(50, 5, 7, 6), (90, 29, 44, 36), (95, 59, 90, 72), (99, 299, 459, 368), (99.9, 2995, 4603, 3688)],
)
def test_least_number_of_requests(percentile: float, one_sided_95: int, one_sided_99: int, two_sided_95: int) -> None:
    found = (
        requests_needed(percentile),
        requests_needed(percentile, 0, Fraction(1, 100)),
        two_sided_requests(percentile),
    )
    assert found == (one_sided_95, one_sided_99, two_sided_95)


@pytest.mark.parametrize(
    ("n", "percentile", "interval"),
    [
        (32, 50, (10, 23)),
        (32, 95, (28, None)),
        (64, 50, (24, 41)),
        (64, 90, (53, 63)),
        (64, 95, (57, None)),
        (72, 95, (64, 72)),
        (100, 95, (90, 100)),
        (100, 99, (97, None)),
        (128, 95, (116, 127)),
        (200, 95, (184, 197)),
        (368, 99, (360, 368)),
        (1000, 95, (936, 964)),
        (1000, 99, (983, 997)),
    ],
)
def test_rank_intervals(n: int, percentile: float, interval: tuple[int, int | None]) -> None:
    assert rank_interval(n, percentile) == interval


@pytest.mark.parametrize(
    ("percentile", "alpha", "needed"),
    [
        (95, Fraction(1, 20), [59, 93, 124, 153, 181, 208]),
        (99, Fraction(1, 20), [299, 473, 628, 773, 913, 1049]),
        (90, Fraction(1, 100), [44, 64, 81, 97, 113, 127]),
        (99, Fraction(1, 100), [459, 662, 838, 1001, 1157, 1307]),
    ],
)
def test_requests_needed_for_a_number_of_misses(percentile: float, alpha: Fraction, needed: list[int]) -> None:
    assert [requests_needed(percentile, over, alpha) for over in range(6)] == needed


@pytest.mark.parametrize(
    ("over", "n", "percentile", "expected"),
    [
        (0, 59, 95, "supported"),
        (0, 58, 95, "not_claimed"),
        (1, 93, 95, "supported"),
        (1, 92, 95, "not_supported"),
        (0, 299, 99, "supported"),
        (0, 298, 99, "not_claimed"),
        (2, 240, 95, "supported"),
        (119, 240, 95, "contradicted"),
        (7, 72, 95, "not_supported"),
        (8, 72, 95, "contradicted"),
        (58, 58, 95, "not_claimed"),
    ],
)
def test_verdicts(over: int, n: int, percentile: float, expected: str) -> None:
    assert verdict(over, n, percentile) == expected


def test_a_verdict_refuses_an_impossible_count() -> None:
    with pytest.raises(ValueError, match="cannot be over"):
        verdict(3, 2, 95)


@given(n=st.integers(59, 400), over=st.integers(0, 400))
def test_more_misses_never_improve_a_verdict(n: int, over: int) -> None:
    order = ["supported", "not_supported", "contradicted"]
    over = min(over, n - 1)
    assert order.index(verdict(over, n, 95)) <= order.index(verdict(over + 1, n, 95))


@given(n=st.integers(1, 120), k=st.integers(-1, 121), percentile=st.sampled_from([50, 90, 95, 99.9]))
def test_the_binomial_sum_is_a_probability_and_grows(n: int, k: int, percentile: float) -> None:
    p = as_fraction(percentile)
    assert 0 <= binomial_at_most(k, n, p) <= binomial_at_most(k + 1, n, p) <= 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(1, 99))
def test_a_percentile_lies_between_the_extremes(values: list[float], percentile: float) -> None:
    found = percentile_of(values, percentile)
    assert found is not None
    assert min(values) <= found <= max(values) * (1 + 1e-12)


@pytest.mark.parametrize(("percentile", "expected"), [(50, 2.5), (25, 1.75), (95, 3.85), (99, 3.97)])
def test_percentiles_are_interpolated_as_numpy_does(percentile: float, expected: float) -> None:
    assert percentile_of([4.0, 1.0, 3.0, 2.0], percentile) == pytest.approx(expected)


def test_no_value_has_no_percentile() -> None:
    assert percentile_of([], 50) is None


@pytest.mark.parametrize(("n", "claimed"), [(58, False), (59, True)])
def test_p95_is_claimed_from_59_requests_on(n: int, claimed: bool) -> None:
    assert (percentile_if_claimed([1.0] * n, 95) is not None) is claimed


def test_an_interval_is_given_in_values() -> None:
    assert interval_of([float(value) for value in range(1, 101)], 95) == (90.0, 100.0)


@pytest.mark.parametrize(("n", "percent"), [(32, 8.9), (64, 4.6), (100, 3.0), (300, 1.0), (1000, 0.3)])
def test_no_error_in_n_requests_still_leaves_an_error_rate(n: int, percent: float) -> None:
    assert round(error_rate_bound(n) * 100, 1) == percent


@pytest.mark.parametrize(
    ("values", "agree"), [([10.0, 10.0, 12.0, 12.0], True), ([10.0, 10.0, 12.1, 12.1], False), ([5.0], True)]
)
def test_halves_of_a_steady_run_agree_within_a_fifth(values: list[float], agree: bool) -> None:
    assert halves_agree(values) is agree


@pytest.mark.parametrize(
    ("concurrency", "percentiles", "expected"),
    [(1, [], 72), (24, [95], 240), (4, [99], 299), (8, [95, 90], 80)],
)
def test_requests_to_send(concurrency: int, percentiles: list[float], expected: int) -> None:
    assert requests_to_send(concurrency, percentiles) == expected


@pytest.mark.parametrize(("concurrency", "expected"), [(1, 4), (2, 4), (24, 48)])
def test_warmups_to_send(concurrency: int, expected: int) -> None:
    assert warmups_to_send(concurrency) == expected


@pytest.mark.parametrize(("n", "errors", "percent"), [(100, 0, 3.0), (100, 1, 4.7), (72, 2, 8.5), (10, 10, 100.0)])
def test_errors_raise_the_bound_of_the_error_rate(n: int, errors: int, percent: float) -> None:
    assert round(error_rate_bound(n, errors) * 100, 1) == percent


@pytest.mark.parametrize(("n", "errors"), [(1_000_000, 999_928), (50_000, 49_928), (1_000_000, 1)])
def test_the_bound_of_many_requests_is_the_rate_that_has_so_few_errors_in_a_twentieth(n: int, errors: int) -> None:
    # The normal approximation, with the usual correction, is a second way that holds for many requests.
    bound = error_rate_bound(n, errors)
    assert errors / n < bound < errors / n + 6 * math.sqrt((errors + 1) * (n - errors) / n) / n


@pytest.mark.parametrize("percentile", [50, 95, 99])
def test_large_numbers_of_requests_are_judged_as_exact_sums_judge_them(
    percentile: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, p = 1200, as_fraction(percentile)
    exact = rank_interval(n, percentile), [float(binomial_at_most(k, n, p)) for k in range(0, n, 50)]
    monkeypatch.setattr("probes.smoke.statistics.EXACT_N", 100)
    assert rank_interval(n, percentile) == exact[0]
    assert [float(binomial_at_most(k, n, p)) for k in range(0, n, 50)] == pytest.approx(exact[1], rel=1e-9, abs=1e-300)


def test_a_million_requests_are_judged_at_once() -> None:
    # Exact sums of so many would not end while the tests run.
    assert (verdict(40_000, 1_000_000, 95), verdict(60_000, 1_000_000, 95)) == ("supported", "contradicted")
    assert rank_interval(1_000_000, 95) == (949_572, 950_428)


def test_more_errors_than_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be"):
        error_rate_bound(3, 4)


#: Latencies of synthetic requests, with the quantile function of each distribution.
DISTRIBUTIONS: dict[str, tuple[Callable[[random.Random], float], Callable[[float], float]]] = {
    "exponential": (lambda draw: draw.expovariate(1.0), lambda p: -math.log(1 - p)),
    "uniform": (lambda draw: draw.random(), lambda p: p),
    "two humps": (
        lambda draw: draw.random() if draw.random() < 0.9 else 10 + draw.random(),
        lambda p: p / 0.9 if p < 0.9 else 10 + (p - 0.9) / 0.1,
    ),
}
TRIALS = 1500


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(("n", "percentile"), [(32, 50), (72, 50), (72, 95), (200, 95), (368, 99)])
def test_the_intervals_cover_the_true_percentile_as_often_as_they_say(name: str, n: int, percentile: float) -> None:
    draw, (sample, quantile) = random.Random(f"{name} {n} {percentile}"), DISTRIBUTIONS[name]
    truth = quantile(percentile / 100)
    lower, upper = rank_interval(n, percentile)
    covered = 0
    for _ in range(TRIALS):
        values = sorted(sample(draw) for _ in range(n))
        covered += (lower is None or values[lower - 1] <= truth) and (upper is None or truth <= values[upper - 1])
    # Three standard errors of a share of 95 %.
    assert covered / TRIALS >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / TRIALS)


@pytest.mark.parametrize(("n", "percentile"), [(59, 95), (72, 95), (240, 95), (299, 99)])
@pytest.mark.parametrize("wrong", ["supported", "contradicted"])
def test_a_ceiling_at_the_true_percentile_is_judged_wrongly_in_a_twentieth_at_most(
    n: int, percentile: float, wrong: str
) -> None:
    # The number of requests over a ceiling that is the true percentile is binomial, so the error is a sum.
    miss = 1 - as_fraction(percentile)
    error = sum(
        binomial_at_most(over, n, miss) - binomial_at_most(over - 1, n, miss)
        for over in range(n + 1)
        if verdict(over, n, percentile) == wrong
    )
    assert error <= Fraction(1, 20)
