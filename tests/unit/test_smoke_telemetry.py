"""What once a second was seen sums up to figures, and to none where a sample is missing."""

import json

import pytest

from probes.smoke.metrics import Metrics
from probes.smoke.telemetry import (
    GpuSample,
    ServerSample,
    Watched,
    Window,
    as_lines,
    energy_between,
    power_now,
    server_sample,
    summary,
    window_of,
)

GIB = 1024**3


def samples(gpu: int = 0, **without: None) -> list[GpuSample]:
    """Eleven seconds at 300 W; the memory goes 1, 60, …, 2 GiB."""
    memory = [1, *[60] * 9, 2]
    made = []
    for second in range(11):
        told = {"power_w": 300.0, "energy_j": 5000.0 + 300 * second, "sm_clock_mhz": 1980 - second}
        told |= {"at": 100.0 + second, "gpu": gpu, "memory_used_bytes": memory[second] * GIB}
        made.append(GpuSample.model_validate({**told, "throttle_reasons": "sw_power_cap, idle", **without}))
    return made


def watched(*gpus: list[GpuSample]) -> Watched:
    made = Watched(gpu=[sample for gpu in gpus for sample in gpu], before_until=100.0, after_from=110.0)
    made.windows = [Window(102.5, 104.5, 400), Window(106.0, 107.0, 200)]
    return made


def test_energy_is_the_counter_between_the_first_request_and_the_last_answer() -> None:
    assert energy_between(samples(), 102.5, 104.5) == pytest.approx(600)


@pytest.mark.parametrize(("begin", "end"), [(99.0, 104.0), (104.0, 111.0)])
def test_energy_is_not_known_beyond_the_samples(begin: float, end: float) -> None:
    assert energy_between(samples(), begin, end) is None


def test_a_counter_that_goes_backwards_is_no_energy() -> None:
    broken = [sample.model_copy(update={"energy_j": 9000 - (sample.energy_j or 0)}) for sample in samples()]
    assert energy_between(broken, 102.0, 104.0) is None


def test_joules_per_token_are_of_all_gpus_and_all_loads() -> None:
    found = summary(watched(samples(0), samples(1)), ())
    assert (found.energy_j, found.joule_per_output_token) == (1800, 3)


def test_without_one_gpu_s_energy_there_is_none() -> None:
    found = summary(watched(samples(0), samples(1, energy_j=None)), ())
    assert (found.energy_j, found.joule_per_output_token, found.gpu[0].energy_j) == (None, None, 900)


def test_memory_is_that_before_at_most_and_after() -> None:
    use = summary(watched(samples()), ()).gpu[0]
    assert (use.memory_before_bytes, use.memory_peak_bytes, use.memory_after_bytes) == (GIB, 60 * GIB, 2 * GIB)


def test_memory_before_a_foreign_server_is_not_known() -> None:
    made = watched(samples())
    made.before_until = made.after_from = None
    use = summary(made, ()).gpu[0]
    assert (use.memory_before_bytes, use.memory_after_bytes) == (None, None)


def test_clocks_and_reasons_are_those_during_the_loads() -> None:
    use = summary(watched(samples()), ()).gpu[0]
    assert (use.samples, use.sm_clock_least_mhz, use.throttle_reasons) == (4, 1973, ("sw_power_cap",))


def test_without_gpus_nothing_is_claimed() -> None:
    found = summary(Watched(), ())
    assert (found.gpu, found.energy_j, found.joule_per_output_token, found.waiting_peak) == ((), None, None, None)


def test_rates_are_over_the_time_since_the_last_reading() -> None:
    before = Metrics(generation_tokens=100, prefix_queries=10, prefix_hits=0)
    now = Metrics(generation_tokens=300, prefix_queries=30, prefix_hits=15, running=4, waiting=1)
    found = server_sample(12.0, "shared", (10.0, before), now)
    assert (found.output_tok_s, found.prefix_hit_rate, found.running, found.waiting) == (100, 0.75, 4, 1)


def test_the_first_reading_has_no_rate() -> None:
    assert server_sample(1.0, "shared", None, Metrics(generation_tokens=100)).output_tok_s is None


def test_power_of_all_is_not_known_where_one_does_not_tell() -> None:
    assert (power_now(samples(0)), power_now(samples(0) + samples(1, power_w=None))) == ((300, 1), (None, 2))


def test_the_window_is_from_the_first_request_to_the_last_answer() -> None:
    assert window_of({"start_times": [5.0, 4.0, 6.0], "latencies": [3.0, 1.0, 0.0]}, 7) == Window(4.0, 8.0, 7)


def test_the_evidence_holds_every_sample_in_order_without_process_ids() -> None:
    made = Watched(
        gpu=[GpuSample(at=12.0, gpu=1, power_w=3.0, pids=(7,))], server=[ServerSample(at=11.0, run="shared", running=2)]
    )
    assert [json.loads(line) for line in as_lines(made, 10.0).splitlines()] == [
        {"at_s": 1.0, "run": "shared", "running": 2},
        {"at_s": 2.0, "gpu": 1, "power_w": 3.0},
    ]
