from typing import Any

import pytest

from probes.smoke.load import (
    LoadFailed,
    Watched,
    completed_requests,
    full_load_rate,
    look_of,
    make_point,
    without_texts,
)
from probes.smoke.load_failures import no_result, none_answered
from probes.smoke.plan import Ceiling, PlannedRun, Workload
from probes.smoke.result import Point

RUN = PlannedRun(
    name="unshared",
    kind="asked_unshared",
    requests=4,
    workload=Workload(concurrency=2, input_tokens=10, output_tokens=5),
)


def raw(**changes: Any) -> dict[str, Any]:
    """A result file as the load tool writes it: four requests in two rows, of 0.1 s to the first token."""
    values: dict[str, Any] = {
        "duration": 1.0,
        "start_times": [0.5, 0.0, 0.0, 0.5],
        "ttfts": [0.1] * 4,
        "latencies": [0.5] * 4,
        "input_lens": [10] * 4,
        "output_lens": [5] * 4,
        "itls": [[0.1] * 4] * 4,
        "errors": [""] * 4,
        "generated_texts": ["secret"] * 4,
    }
    return values | changes


def point(values: dict[str, Any], *ceilings: Ceiling) -> Point:
    """The point of a result."""
    return make_point(RUN, "asked_unshared", values, ceilings, 4, Watched(0.0, 0.1, 0))


def test_tpot_leaves_the_first_token_out() -> None:
    assert point(raw()).tpot_ms.p50 == pytest.approx(100)


def test_requests_with_one_token_have_no_tpot_and_are_counted() -> None:
    found = point(raw(output_lens=[1, 5, 5, 5]))
    assert (found.excluded, found.tpot_ms.n, found.ttft_ms.n) == (1, 3, 4)


def test_failed_requests_are_in_no_latency() -> None:
    found = point(raw(errors=["Traceback\nTimeoutError: late", "", "", ""], latencies=[0.0, 0.5, 0.5, 0.5]))
    assert (found.failed, found.completed, found.ttft_ms.n, found.errors) == (1, 3, 3, ("TimeoutError: late",))


def test_no_answer_at_all_is_a_failure_with_its_reason() -> None:
    with pytest.raises(LoadFailed, match="none of 4 requests was answered: Not Found"):
        point(raw(errors=["Not Found"] * 4))


def test_no_percentile_is_claimed_from_four_requests() -> None:
    found = point(raw()).ttft_ms
    assert (found.p50_ci, found.p95, found.p95_upper, found.p99) == (None, None, None, None)


def test_a_ceiling_counts_what_is_over_it() -> None:
    found = point(raw(ttfts=[0.1, 0.1, 0.3, 0.2]), Ceiling(metric="ttft_ms", limit_ms=200)).ceilings[0]
    assert (found.over, found.n, found.verdict, found.n_needed) == (1, 4, "not_claimed", 93)


TTFT = Ceiling(metric="ttft_ms", limit_ms=200)
#: 72 requests that all keep the ceiling.
MANY = {name: values * 18 for name, values in raw().items() if isinstance(values, list)}


@pytest.mark.parametrize(
    ("judged", "asked", "verdict"),
    [
        (True, 5, "supported"),
        (True, 8, "supported"),  # a server may end early, which M4 tells
        (True, None, "supported"),
        (True, 4, "not_claimed"),
        (False, 5, "not_claimed"),
    ],
)
def test_a_stand_in_and_answers_counted_longer_than_asked_claim_nothing(
    judged: bool, asked: int | None, verdict: str
) -> None:
    run = RUN.model_copy(update={"requests": 72})
    values, watched = raw(**MANY), Watched(0.0, 0.1, 0)
    found = make_point(run, "asked_unshared", values, (TTFT,), 4, watched, judged=judged, asked_tokens=asked)
    assert [(one.verdict, one.over, one.n) for one in found.ceilings] == [(verdict, 0, 72)]


@pytest.mark.parametrize("count", [-3, 10**30, 10**9, True, 2.5, "8", None])
def test_a_request_whose_count_cannot_be_has_failed(count: object) -> None:
    found = point(raw(output_lens=[count, 5, 5, 5]))
    assert (found.failed, found.output_tokens, found.errors) == (1, 15, (f"the endpoint counts {count!s:.20} tokens",))


def test_the_search_is_tried_on_a_stand_in_too() -> None:
    run = RUN.model_copy(update={"requests": 72})
    found = make_point(run, "asked_unshared", raw(**MANY), (TTFT,), 4, Watched(0.0, 0.1, 0), judged=False)
    assert look_of(found, raw(**MANY), 1.0).held is True


def test_requests_are_put_in_the_order_of_their_start() -> None:
    assert [request.start_s for request in completed_requests(raw())] == [0.0, 0.0, 0.5, 0.5]


def test_the_rate_at_full_load_counts_the_window_in_which_all_callers_wait() -> None:
    # From 0 s on two are in flight; after 0.5 s no further request starts, and the first ends at 1.0 s.
    assert full_load_rate(completed_requests(raw()), 2) == pytest.approx(20.0)


def test_too_short_a_run_has_no_rate_at_full_load() -> None:
    assert full_load_rate(completed_requests(raw()), 4) is None


def test_texts_are_dropped() -> None:
    assert "generated_texts" not in without_texts(raw())


def test_a_run_that_slows_down_is_not_steady() -> None:
    assert point(raw(latencies=[0.9, 0.5, 0.5, 0.9])).steady is False


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ("Unauthorized", "endpoint_refused", "refused it for the load"),
        ("Forbidden", "endpoint_refused", "refused it for the load"),
        ("Too Many Requests", "endpoint_refused", "takes no more requests"),
        ("aiohttp.client_exceptions.ClientPayloadError: not completed", "endpoint_refused", "breaks its answers off"),
        ("json.decoder.JSONDecodeError: Expecting value", "endpoint_refused", "is no JSON"),
        ("aiohttp.client_exceptions.ClientConnectorError: Cannot connect", "endpoint_unreachable", "any more"),
        ("something else", "all_requests_failed", "was answered: something else"),
    ],
)
def test_the_advice_is_that_of_what_all_requests_failed_with(error: str, kind: str, said: str) -> None:
    problem = none_answered(4, [error])
    assert (problem.kind, said in problem.message) == (kind, True)


LEAKS = ["nanobind: leaked 4 instances!", *[f' - leaked type "t{number}"' for number in range(60)]]


@pytest.mark.parametrize(
    ("lines", "message", "advice"),
    [
        (["Traceback (most recent call last):", "ValueError: odd"], "ValueError: odd", "see load-warmup.log"),
        (
            ['  File "/x/serve.py", line 208, in fetch_spec_decode_metrics', "UnicodeDecodeError: invalid start byte"],
            "UnicodeDecodeError",
            "/metrics is no text",
        ),
        (["vllm serve: error: argument --dataset-name: invalid choice: 'x'"], "invalid choice", "0.32 or later"),
        (["nothing"], "exit code 1", "see load-warmup.log"),
    ],
)
def test_why_the_load_tool_gave_no_result_is_what_its_log_says(lines: list[str], message: str, advice: str) -> None:
    problem = no_result("warmup", [*lines, *LEAKS], 1)
    assert (message in problem.message, advice in problem.advice) == (True, True)
