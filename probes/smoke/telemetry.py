"""What is watched once a second while a load runs, and what it sums up to. Pure.

Times are `time.monotonic` in seconds: on Linux one clock for all processes, vLLM's load client included. What was not
told is None, and a figure that would rest on it is None too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from probes.smoke.metrics import Metrics, hit_rate
from probes.smoke.result import Frozen, GpuUse, Point, Telemetry

MOST_SAMPLES_KEPT = 20_000
"""About 40 minutes on eight GPUs; the evidence of a longer run keeps every second, third … sample."""


class GpuSample(Frozen):
    """One GPU at one moment."""

    at: float
    gpu: int
    power_w: float | None = None
    energy_j: float | None = None
    """The GPU's own counter since its driver was loaded; only differences mean something."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    throttle_reasons: str | None = None
    sm_percent: int | None = None
    pids: tuple[int, ...] | None = None


class ServerSample(Frozen):
    """The server at one moment; rates are over the time since the sample before."""

    at: float
    run: str
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    preemptions: int | None = None
    """The server's counter."""
    output_tok_s: float | None = None
    prefix_hit_rate: float | None = None


@dataclass(frozen=True)
class Window:
    """From the first request of one load run to its last answer, and the output tokens in it."""

    begin: float
    end: float
    output_tokens: int


@dataclass(frozen=True)
class Live:
    """One second of a run, as a screen shows it. `power_w` is that of all watched GPUs together."""

    server: ServerSample
    power_w: float | None
    gpus: int


@dataclass
class Watched:
    """Everything that was watched in one run."""

    gpu: list[GpuSample] = field(default_factory=list)
    server: list[ServerSample] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    before_until: float | None = None
    """Until when nothing of ours was on the GPUs; None where that was never so (a server of somebody else)."""
    after_from: float | None = None
    """From when on nothing of ours was on the GPUs any more."""


def server_sample(at: float, run: str, last: tuple[float, Metrics] | None, now: Metrics) -> ServerSample:
    """Make a sample from one reading of /metrics and the reading before it, with its time."""
    rate = None
    if last is not None and now.generation_tokens is not None and last[1].generation_tokens is not None:
        seconds = at - last[0]
        made = now.generation_tokens - last[1].generation_tokens
        rate = made / seconds if seconds > 0 and made >= 0 else None
    return ServerSample(
        at=at,
        run=run,
        running=_whole(now.running),
        waiting=_whole(now.waiting),
        kv_usage=now.kv_usage,
        preemptions=_whole(now.preemptions),
        output_tok_s=rate,
        prefix_hit_rate=hit_rate(last[1], now) if last is not None else None,
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def power_now(samples: Sequence[GpuSample]) -> tuple[float | None, int]:
    """Return the newest power of all GPUs together in watts, None where one does not tell, and how many they are."""
    newest = {sample.gpu: sample.power_w for sample in samples}
    known = [power for power in newest.values() if power is not None]
    return (sum(known) if known and len(known) == len(newest) else None), len(newest)


def window_of(raw: Mapping[str, Any], output_tokens: int) -> Window | None:
    """Return when the load of a result file ran; vLLM's client stamps its requests with the same clock."""
    ends = [start + latency for start, latency in zip(raw["start_times"], raw["latencies"], strict=True) if latency > 0]
    return Window(min(raw["start_times"]), max(ends), output_tokens) if ends else None


def energy_between(samples: Sequence[GpuSample], begin: float, end: float) -> float | None:
    """Return the joules of one GPU between two moments, its counter interpolated linearly between the samples.

    None where the counter was not read before the begin and after the end, or went backwards.
    """
    first, last = _counter_at(samples, begin), _counter_at(samples, end)
    return last - first if first is not None and last is not None and last >= first else None


def _counter_at(samples: Sequence[GpuSample], at: float) -> float | None:
    told = [(sample.at, sample.energy_j) for sample in samples if sample.energy_j is not None]
    for (early, low), (late, high) in pairwise(told):
        if early <= at <= late:
            return low + (high - low) * (at - early) / (late - early) if late > early else high
    return None


def _use(gpu: int, samples: Sequence[GpuSample], watched: Watched) -> GpuUse:
    load = [sample for sample in samples if any(w.begin <= sample.at <= w.end for w in watched.windows)]
    energies = [energy_between(samples, window.begin, window.end) for window in watched.windows]
    joules = [energy for energy in energies if energy is not None]
    power = [sample.power_w for sample in load if sample.power_w is not None]
    clocks = [sample.sm_clock_mhz for sample in load if sample.sm_clock_mhz is not None]
    reasons = [sample.throttle_reasons for sample in load if sample.throttle_reasons is not None]
    until, since = watched.before_until, watched.after_from
    return GpuUse(
        gpu=gpu,
        samples=len(load),
        memory_before_bytes=_memory([s for s in samples if until is not None and s.at <= until][-1:]),
        memory_peak_bytes=_memory(samples),
        memory_after_bytes=_memory([s for s in samples if since is not None and s.at >= since][-1:]),
        power_mean_w=sum(power) / len(power) if power else None,
        power_peak_w=max(power, default=None),
        sm_clock_least_mhz=min(clocks, default=None),
        temperature_peak_c=max((s.temperature_c for s in load if s.temperature_c is not None), default=None),
        throttle_reasons=_reasons(reasons) if reasons else None,
        energy_j=sum(joules) if joules and len(joules) == len(energies) else None,
    )


def _memory(samples: Sequence[GpuSample]) -> int | None:
    return max((s.memory_used_bytes for s in samples if s.memory_used_bytes is not None), default=None)


def _reasons(told: Iterable[str]) -> tuple[str, ...]:
    """Return what held the clocks down at some moment, without what is no throttling."""
    words = {word for text in told for word in text.split(", ")}
    return tuple(sorted(words - {"none", "idle", "application_clocks", "display_clocks", "sync_boost"}))


def summary(watched: Watched, points: Sequence[Point]) -> Telemetry:
    """Sum up a run. Energy is given only where every watched GPU told it for every measured load."""
    by_gpu: dict[int, list[GpuSample]] = {}
    for sample in watched.gpu:
        by_gpu.setdefault(sample.gpu, []).append(sample)
    uses = tuple(_use(gpu, samples, watched) for gpu, samples in sorted(by_gpu.items()))
    joules = [use.energy_j for use in uses if use.energy_j is not None]
    energy = sum(joules) if joules and len(joules) == len(uses) else None
    tokens = sum(window.output_tokens for window in watched.windows)
    usage = [point.kv_usage_peak for point in points if point.kv_usage_peak is not None]
    preemptions = [point.preemptions for point in points if point.preemptions is not None]
    return Telemetry(
        gpu=uses,
        energy_j=energy,
        joule_per_output_token=energy / tokens if energy is not None and tokens else None,
        kv_usage_peak=max(usage, default=None),
        preemptions=sum(preemptions) if preemptions else None,
        running_peak=max((s.running for s in watched.server if s.running is not None), default=None),
        waiting_peak=max((s.waiting for s in watched.server if s.waiting is not None), default=None),
    )


def as_lines(watched: Watched, begin: float) -> str:
    """Return the samples as JSON lines in the order of their time, in seconds since `begin`; ids of processes go."""
    samples: list[GpuSample | ServerSample] = [*watched.gpu, *watched.server]
    every = -(-len(samples) // MOST_SAMPLES_KEPT) or 1
    lines = []
    for sample in sorted(samples, key=lambda one: one.at)[::every]:
        told = sample.model_dump(mode="json", exclude={"at", "pids"}, exclude_none=True)
        lines.append(json.dumps({"at_s": round(sample.at - begin, 2)} | told))
    return "".join(f"{line}\n" for line in lines)
