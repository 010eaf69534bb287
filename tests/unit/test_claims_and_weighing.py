from decimal import Decimal
from typing import Any

import pytest

from probes.smoke.result import CeilingResult
from probes.smoke.statistics import verdict
from wizard.decision.weighing import first_place_stable, score
from wizard.document import claims


def result(over: int, n: int, percentile: float = 95) -> CeilingResult:
    return CeilingResult(
        metric="ttft_ms", percentile=percentile, limit=2000, over=over, n=n, verdict=verdict(over, n, percentile)
    )


SAID = [
    (
        0,
        59,
        "0 of 59 requests exceeded 2,000 ms. At 95 % confidence this supports p95 ≤ 2,000 ms (needs n ≥ 59 for t = 0).",
    ),
    (
        0,
        58,
        "0 of 58 requests exceeded 2,000 ms. p95 is not claimed: 58 requests; a 95 % one-sided statement needs 59.",
    ),
    (
        1,
        92,
        "1 of 92 requests exceeded 2,000 ms. "
        "At 95 % confidence this does not support p95 ≤ 2,000 ms (needs n ≥ 93 for t = 1).",
    ),
    (
        1,
        93,
        "1 of 93 requests exceeded 2,000 ms. At 95 % confidence this supports p95 ≤ 2,000 ms (needs n ≥ 93 for t = 1).",
    ),
    (
        60,
        72,
        "60 of 72 requests exceeded 2,000 ms. "
        "At 95 % confidence this contradicts p95 ≤ 2,000 ms (needs n ≥ 1,481 for t = 60).",
    ),
]


@pytest.mark.parametrize(("over", "n", "sentence"), SAID)
def test_what_is_said_of_a_ceiling(over: int, n: int, sentence: str) -> None:
    assert claims.ceiling(result(over, n)) == sentence


@pytest.mark.parametrize(("n", "claimed"), [(298, False), (299, True)])
def test_p99_is_claimed_from_299_requests_on(n: int, claimed: bool) -> None:
    assert (claims.p99_not_claimed(n) is None) is claimed


GRADES: list[tuple[dict[str, Any], str]] = [
    ({"results": (result(0, 59),)}, "supported"),
    ({"results": (result(0, 59), result(50, 59))}, "contradicted"),
    ({"results": (result(0, 58),)}, "not claimed"),
    ({"results": (result(1, 92),)}, "not supported"),
    ({"results": ()}, "bounded"),
    ({"results": (), "interval": False}, "observed"),
    ({"results": (result(0, 59),), "limit": "other hardware"}, "supported, other hardware"),
    ({"results": (result(0, 59),), "limit": "pipeline only"}, "not claimed, pipeline only"),
    ({"results": (result(0, 59),), "client_limited": True}, "supported, client-limited"),
]


@pytest.mark.parametrize(("given", "grade"), GRADES)
def test_the_grade_of_a_row(given: dict[str, Any], grade: str) -> None:
    assert claims.grade(**{"interval": True, "limit": None, "client_limited": False} | given) == grade


WEIGHTS = {"a": 60, "b": 40}


def test_a_score_is_the_weighted_mean() -> None:
    assert score(WEIGHTS, {"a": 5, "b": 2}) == Decimal("3.80")


def test_a_missing_score_gives_no_sum() -> None:
    assert score(WEIGHTS, {"a": 5}) is None


@pytest.mark.parametrize(
    ("options", "stable"),
    [
        ({"x": {"a": 5, "b": 5}, "y": {"a": 1, "b": 1}}, True),
        ({"x": {"a": 5, "b": 1}, "y": {"a": 2, "b": 5}}, False),
        ({"x": {"a": 5, "b": 5}}, None),
    ],
)
def test_whether_the_first_place_rests_on_one_weight(options: dict[str, dict[str, int]], stable: bool | None) -> None:
    assert first_place_stable(WEIGHTS, options) is stable
