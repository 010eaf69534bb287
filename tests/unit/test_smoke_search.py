"""The search is judged on a latency model whose edge is known, over shapes, edges, first looks and noise levels."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from probes.smoke.metrics import Metrics, greatest_useful
from probes.smoke.plan import Ceiling, Workload
from probes.smoke.planning import search_run
from probes.smoke.result import Capacity
from probes.smoke.search import CONFIDENCE, MOST_LOOKS, Limits, Look, decide, step
from probes.smoke.statistics import percentile_of, verdict

EDGES = (1, 3, 8, 17, 40, 100, 250)
FIRST_LOOKS = (1, 4, 8, 24, 64)
Z95 = 1.6448536269514722
"""The 95th percentile of the standard normal distribution."""
CEILING = Ceiling(metric="ttft_ms", percentile=95, limit_ms=1)
LOAD = Workload(concurrency=1, input_tokens=100, output_tokens=10)

#: The 95th percentile of the latency in shares of its limit, at a concurrency `c` for an edge just above `e`.
SHAPES: dict[str, Callable[[float, float], float]] = {
    "linear": lambda c, e: c / e,
    "affine": lambda c, e: 0.3 + 0.7 * c / e,
    "wall": lambda c, e: 0.5 if c <= e else 2.0,
    "knee": lambda c, e: 0.4 + 0.1 * c / e if c <= 0.9 * e else 0.49 + 5.1 * (c / e - 0.9),
    "square": lambda c, e: (c / e) ** 2,
    "root": lambda c, e: math.sqrt(c / e),
    "queue": lambda c, e: 0.2 / (1 - min(0.8 * c / e, 0.999)),
    "flat": lambda c, e: 0.9 + 0.1 * c / e,
}
RISING = ("linear", "affine", "wall", "knee", "square", "queue")
"""Shapes whose latency one step below the edge differs from the limit by more than the noise hides."""


@dataclass(frozen=True)
class Found:
    """One search: its outcome and the looks after the first."""

    capacity: Capacity
    looks: int


def look(shape: str, edge: int, concurrency: int, noise: float, draw: random.Random) -> Look:
    """Measure the model once; the noise is a factor with a lognormal distribution."""
    requests = search_run(1, LOAD, concurrency, (CEILING,)).requests
    base = SHAPES[shape](concurrency, edge + 0.5)
    values = [base * math.exp(noise * (draw.gauss(0, 1) - Z95)) for _ in range(requests)]
    said = verdict(sum(value > 1 for value in values), requests, 95)
    return Look(
        concurrency=concurrency,
        held=said == "supported",
        clear=said == "contradicted",
        ratio=percentile_of(values, 95),
        output_tok_s=10.0 * min(concurrency, 4 * edge),
        seconds=requests / 10,
        requests=requests,
    )


def search(shape: str, edge: int, first: int, noise: float = 1e-4, seed: int = 0) -> Found:
    """Search the model from a first look on."""
    draw = random.Random(f"{shape} {edge} {first} {seed}")
    looks = [look(shape, edge, first, noise, draw)]
    while isinstance(decision := decide(looks, Limits()), int):
        looks.append(look(shape, edge, decision, noise, draw))
    return Found(decision, len(looks) - 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("first", FIRST_LOOKS)
def test_the_edge_is_found_or_one_step_below(shape: str, edge: int, first: int) -> None:
    assert edge - step(edge) <= search(shape, edge, first).capacity.concurrency <= edge


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.15])
def test_no_search_has_more_than_eight_looks(shape: str, noise: float) -> None:
    assert max(search(shape, edge, first, noise).looks for edge in EDGES for first in FIRST_LOOKS) <= MOST_LOOKS


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.05, 0.15, 0.3])
def test_the_stated_confidence_is_kept(shape: str, noise: float) -> None:
    found = [
        search(shape, edge, first, noise, seed).capacity.concurrency <= edge
        for edge in (3, 17, 100)
        for first in (1, 8, 64)
        for seed in range(10)
    ]
    assert sum(found) / len(found) >= CONFIDENCE


@pytest.mark.parametrize("shape", RISING)
def test_noise_of_a_twentieth_hides_no_edge(shape: str) -> None:
    near = [
        edge - step(edge) <= search(shape, edge, first, 0.05, seed).capacity.concurrency <= edge
        for edge in EDGES
        for first in FIRST_LOOKS
        for seed in range(2)
    ]
    assert sum(near) / len(near) >= 0.95


def one(concurrency: int, *, held: bool = True, clear: bool = False, ratio: float | None = 0.5) -> Look:
    """One look as the search sees it."""
    return Look(concurrency, held, clear and not held, ratio, 100.0 * concurrency, 10, 100)


def test_an_edge_is_an_edge_only_when_a_higher_load_was_seen_to_fail() -> None:
    found = decide([one(8), one(9, held=False)], Limits())
    assert isinstance(found, Capacity)
    assert (found.concurrency, found.kind, found.stop_reason) == (8, "edge", "9 did not hold")


def test_the_servers_own_limit_ends_the_search() -> None:
    found = decide([one(8)], Limits(greatest=8, greatest_because="the server runs at most 8 requests at a time"))
    assert isinstance(found, Capacity)
    assert (found.kind, found.stop_reason) == ("at_least", "the server runs at most 8 requests at a time")


def test_no_look_is_taken_above_the_servers_own_limit() -> None:
    assert decide([one(8)], Limits(greatest=10)) == 10


def test_throughput_that_no_longer_grows_ends_the_search() -> None:
    found = decide([one(8), replace(one(32), output_tok_s=801.0)], Limits())
    assert isinstance(found, Capacity)
    assert (found.concurrency, found.stop_reason) == (32, "throughput no longer grows with the load")


def test_a_look_that_the_time_limit_would_cut_off_is_not_begun() -> None:
    found = decide([one(8)], Limits(seconds_left=5))
    assert isinstance(found, Capacity)
    assert (found.kind, "more than the time limit leaves" in found.stop_reason) == ("at_least", True)


def test_a_client_that_is_the_limit_ends_the_search() -> None:
    found = decide([replace(one(8), client_limited=True)], Limits())
    assert isinstance(found, Capacity)
    assert "measure the tool" in found.stop_reason


def test_used_up_looks_end_the_search_and_tell_what_did_not_hold() -> None:
    looks = [one(8), *(one(9 + number) for number in range(MOST_LOOKS - 1)), one(100, held=False)]
    found = decide(looks, Limits())
    assert isinstance(found, Capacity)
    assert (found.kind, found.stop_reason) == ("at_least", "8 looks are made; 100 did not hold")


def test_nothing_may_hold_at_all() -> None:
    found = decide([one(1, held=False, clear=True)], Limits())
    assert isinstance(found, Capacity)
    assert (found.concurrency, found.kind) == (0, "edge")


def test_a_load_above_a_clear_failure_never_counts() -> None:
    found = decide([one(8), one(9, held=False, clear=True), one(12)], Limits())
    assert isinstance(found, Capacity)
    assert found.concurrency == 8


def test_a_search_begins_with_a_look() -> None:
    with pytest.raises(ValueError, match="begins with"):
        decide([], Limits())


def test_max_num_seqs_limits_the_useful_load() -> None:
    config = {"scheduler_config": {"max_num_seqs": 64}}
    assert greatest_useful(config, Metrics(engines=2), LOAD) == (
        128,
        "the server runs at most 128 requests at a time",
    )


def test_the_cache_limits_the_useful_load_and_holds_a_shared_prefix_once() -> None:
    load = Workload(concurrency=1, input_tokens=900, output_tokens=100, shared_prefix_tokens=800)
    metrics = Metrics(cache_config={"kv_cache_size_tokens": "2800"}, engines=1)
    assert greatest_useful(None, metrics, load)[0] == 10


def test_a_server_that_tells_nothing_limits_nothing() -> None:
    assert greatest_useful(None, Metrics(), LOAD) == (None, "")
