"""`vllm bench serve` as a child: run it, follow it, read its result file, and work out a point.

The exit code is 0 even when every request failed and the printed text is not for machines, so the file
decides.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probes.smoke.children import Children, quiet_environment
from probes.smoke.load_failures import LoadFailed as LoadFailed
from probes.smoke.load_failures import no_result, none_answered
from probes.smoke.plan import Ceiling, PlannedRun
from probes.smoke.processes import read_process
from probes.smoke.result import CeilingResult, Latency, OutputLengths, Point, PointKind
from probes.smoke.scrub import without_secrets
from probes.smoke.search import Look
from probes.smoke.statistics import (
    halves_agree,
    interval_of,
    percentile_if_claimed,
    percentile_of,
    requests_needed,
    verdict,
)
from probes.smoke.stopping import Stopper
from probes.smoke.traces import HASH_SEED

POLL_S = 0.1
CLIENT_LIMIT = 0.90
"""Share of one core from which on the load process itself bounds the figures."""
_MOST_ERRORS = 20
_PROGRESS = re.compile(r"(\d+)/(\d+) \[")
_TAIL_BYTES = 2000
_LOG_END_BYTES = 100_000
"""A library reports its leaks after the error, over dozens of lines."""
GREATEST_COUNT = 10_000_000
"""Tokens of one prompt or answer; no context is as long, so a server that counts more does not count."""


@dataclass(frozen=True)
class Measured:
    """The raw result of one load run and what was watched beside it."""

    raw: dict[str, Any] = field(repr=False)
    cpu_core_share: float | None
    wall_s: float


class _CpuWatch:
    """CPU time of the load process from its first request on; its start-up would dilute the share."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._first: tuple[float, float] | None = None
        self._last: tuple[float, float] | None = None

    def look(self) -> None:
        """Note the CPU seconds used so far."""
        found = read_process(self._pid)
        if found is not None and found.state not in "ZX":
            now = (time.monotonic(), found.cpu_ticks * self._tick_s)
            self._first = self._first or now
            self._last = now

    def share(self) -> float | None:
        """Return CPU seconds per second, None when the run was too short to say."""
        if self._first is None or self._last is None or self._last[0] - self._first[0] < 2 * POLL_S:
            return None
        return (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])


def _tail(path: Path, most_bytes: int = _TAIL_BYTES) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - most_bytes))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def run_load(
    children: Children,
    command: tuple[str, ...],
    name: str,
    extra_environment: dict[str, str],
    stopper: Stopper,
    deadline: float,
    on_progress: Callable[[int, int | None], None],
    on_tick: Callable[[], None],
) -> Measured:
    """Run one load to its end. Raises `LoadFailed`, or `Stopped` with the child left to `children`."""
    log = children.folder / f"load-{name}.log"
    result = children.folder / "bench" / f"{name}.json"
    # The load tool sends OPENAI_API_KEY to whatever it loads, so that it has only the secrets that are meant for it.
    environment = without_secrets(quiet_environment(children.folder, children.run_id)) | extra_environment
    environment["PYTHONHASHSEED"] = HASH_SEED
    started = time.monotonic()
    try:
        child = children.spawn(command, environment, log)
    except OSError as problem:
        raise LoadFailed(
            "load_failed", f"the load tool cannot be executed: {problem}", "name vLLM with --vllm"
        ) from None
    watch = _CpuWatch(child.pid)
    done = -1
    while child.poll() is None:
        if time.monotonic() > deadline:
            raise LoadFailed(
                "time_limit",
                f"the load run {name} did not end within the time limit",
                "give it more time with --time-limit, or ask for fewer callers or tokens",
            )
        found = _PROGRESS.findall(_tail(log))
        if found:
            # The file is written when the last answer is in; what follows is the tool's own clearing up.
            if not result.exists():
                watch.look()
            if int(found[-1][0]) != done:
                done = int(found[-1][0])
                on_progress(done, int(found[-1][1]))
        on_tick()
        stopper.wait(POLL_S)
    try:
        raw = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise no_result(name, _tail(log, _LOG_END_BYTES).replace("\r", "\n").splitlines(), child.returncode) from None
    return Measured(raw=raw, cpu_core_share=watch.share(), wall_s=time.monotonic() - started)


@dataclass(frozen=True)
class Request:
    """One completed request: times in seconds, lengths in tokens."""

    start_s: float
    ttft_s: float
    e2e_s: float
    input_tokens: int
    output_tokens: int
    gaps_s: tuple[float, ...]

    @property
    def tpot_ms(self) -> float | None:
        """(E2E - TTFT) / (output tokens - 1), None with fewer than two output tokens."""
        if self.output_tokens < 2:
            return None
        return (self.e2e_s - self.ttft_s) / (self.output_tokens - 1) * 1000


def is_count(value: Any) -> bool:
    """Whether a value can be the number of tokens of one prompt or answer."""
    return type(value) is int and 0 <= value <= GREATEST_COUNT


def is_answered(error: str | None, latency_s: float) -> bool:
    """Whether the load tool counts a request as completed."""
    return not error and latency_s > 0


def last_line(error: str | None, most_characters: int = 200) -> str:
    """Return what an error says in its last line, which is where a traceback names it; empty without an error."""
    said = str(error or "").strip().splitlines()
    return said[-1][:most_characters].encode("utf-8", "replace").decode() if said else ""


def completed_requests(raw: dict[str, Any]) -> tuple[Request, ...]:
    """Return the requests without an error and with counts that can be, in the order of their start."""
    rows = zip(
        raw["start_times"],
        raw["ttfts"],
        raw["latencies"],
        raw["input_lens"],
        raw["output_lens"],
        raw["itls"],
        raw["errors"],
        strict=True,
    )
    found = [
        Request(start, ttft, latency, inputs, outputs, tuple(gaps))
        for start, ttft, latency, inputs, outputs, gaps, error in rows
        if is_answered(error, latency) and is_count(inputs) and is_count(outputs)
    ]
    return tuple(sorted(found, key=lambda request: request.start_s))


def full_load_rate(requests: tuple[Request, ...], concurrency: int) -> float | None:
    """Return output tokens per second while `concurrency` requests were in flight, None if that never lasted.

    Tokens of a request are spread evenly over its chunks, because a chunk may carry several.
    """
    if len(requests) <= concurrency:
        return None
    begin = requests[concurrency - 1].start_s
    end = min(
        request.start_s + request.e2e_s
        for request in requests
        if request.start_s + request.e2e_s > requests[-1].start_s
    )
    if end <= begin:
        return None
    tokens = 0.0
    for request in requests:
        at = request.start_s + request.ttft_s
        weight = request.output_tokens / (len(request.gaps_s) + 1)
        for gap in (0.0, *request.gaps_s):
            at += gap
            if begin <= at <= end:
                tokens += weight
    return tokens / (end - begin)


def latency_of(values: list[float]) -> Latency:
    """Summarise one latency in milliseconds."""
    low, high = interval_of(values, 50)
    p95 = percentile_if_claimed(values, 95)
    return Latency(
        n=len(values),
        p50=percentile_of(values, 50),
        p50_ci=(low, high) if low is not None and high is not None else None,
        p95=p95,
        p95_upper=interval_of(values, 95)[1] if p95 is not None else None,
        p99=percentile_if_claimed(values, 99),
    )


def ceiling_result(ceiling: Ceiling, values: list[float], *, judged: bool) -> CeilingResult:
    """Test one ceiling on the values of its metric; what is not judged is counted and claims nothing."""
    over = sum(value > ceiling.limit_ms for value in values)
    return CeilingResult(
        metric=ceiling.metric,
        percentile=ceiling.percentile,
        limit=ceiling.limit_ms,
        over=over,
        n=len(values),
        verdict=verdict(over, len(values), ceiling.percentile) if judged else "not_claimed",
        n_needed=requests_needed(ceiling.percentile, over) if judged else None,
    )


def _lengths(values: list[int]) -> OutputLengths | None:
    middle = percentile_of(values, 50)
    return None if middle is None else OutputLengths(min=min(values), p50=middle, max=max(values))


@dataclass(frozen=True)
class Watched:
    """What /metrics showed beside one run."""

    hit_rate: float | None
    kv_usage_peak: float | None
    preemptions: int | None
    cpu_core_share: float | None = None


def make_point(
    run: PlannedRun,
    kind: PointKind,
    raw: dict[str, Any],
    ceilings: tuple[Ceiling, ...],
    warmups: int | None,
    watched: Watched,
    *,
    judged: bool = True,
    asked_tokens: int | None = None,
) -> Point:
    """Work out a point from the load tool's result file. Raises `LoadFailed` when none was answered.

    No ceiling is judged without `judged`, nor where an answer is counted longer than the `asked_tokens` that
    `max_tokens` held it to: then something else was counted, and what was measured is not known.
    """
    requests = completed_requests(raw)
    errors = _errors(raw)
    if not requests:
        raise none_answered(run.requests, errors)
    ttft = [request.ttft_s * 1000 for request in requests]
    tpot = [value for request in requests if (value := request.tpot_ms) is not None]
    e2e = [request.e2e_s * 1000 for request in requests]
    values = {"ttft_ms": ttft, "tpot_ms": tpot, "e2e_ms": e2e}
    duration = float(raw["duration"])
    outputs = [request.output_tokens for request in requests]
    judged = judged and (asked_tokens is None or max(outputs) <= asked_tokens)
    return Point(
        kind=kind,
        prefix_hit_rate=watched.hit_rate,
        excluded=len(requests) - len(tpot),
        output_len=_lengths(outputs),
        input_len=_lengths([request.input_tokens for request in requests]),
        concurrency=run.workload.concurrency,
        requests=run.requests,
        completed=len(requests),
        failed=run.requests - len(requests),
        warmups=warmups,
        duration_s=duration,
        input_tokens=sum(request.input_tokens for request in requests),
        output_tokens=sum(outputs),
        output_tok_s=sum(outputs) / duration,
        output_tok_s_full_load=full_load_rate(requests, run.workload.concurrency),
        steady=all(halves_agree(each) for each in (ttft, tpot, e2e)),
        ttft_ms=latency_of(ttft),
        tpot_ms=latency_of(tpot),
        e2e_ms=latency_of(e2e),
        ceilings=tuple(ceiling_result(ceiling, values[ceiling.metric], judged=judged) for ceiling in ceilings),
        shared_prefix_tokens=run.workload.shared_prefix_tokens,
        kv_usage_peak=watched.kv_usage_peak,
        preemptions=watched.preemptions,
        cpu_core_share=watched.cpu_core_share,
        errors=errors,
    )


def _errors(raw: dict[str, Any]) -> tuple[str, ...]:
    """Return the different errors of the failed requests, a line each, with the counts of tokens that cannot be."""
    found = [said for error in raw["errors"] if (said := last_line(error))]
    counts = [*raw["input_lens"], *raw["output_lens"]]
    found += [f"the endpoint counts {str(count)[:20]} tokens" for count in counts if not is_count(count)]
    return tuple(dict.fromkeys(found))[:_MOST_ERRORS]


def look_of(point: Point, raw: dict[str, Any], seconds: float) -> Look:
    """Return what a capacity search needs of a point: whether it held, and how near it came to the limits.

    The verdicts are worked out anew, so that the search can be tried on the stand-in, whose point claims none.
    """
    requests = completed_requests(raw)
    verdicts = [verdict(one.over, one.n, one.percentile) for one in point.ceilings]
    values = {
        "ttft_ms": [request.ttft_s * 1000 for request in requests],
        "tpot_ms": [value for request in requests if (value := request.tpot_ms) is not None],
        "e2e_ms": [request.e2e_s * 1000 for request in requests],
    }
    ratios = [
        observed / result.limit
        for result in point.ceilings
        if (observed := percentile_of(values[result.metric], result.percentile)) is not None
    ]
    return Look(
        concurrency=point.concurrency,
        held=not point.failed and all(each == "supported" for each in verdicts),
        clear=bool(point.failed) or "contradicted" in verdicts,
        ratio=max(ratios, default=None),
        output_tok_s=point.output_tok_s,
        seconds=seconds,
        requests=point.requests,
        client_limited=point.cpu_core_share is not None and point.cpu_core_share >= CLIENT_LIMIT,
    )


def without_texts(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the result file's content without what the model wrote."""
    return {key: value for key, value in raw.items() if key != "generated_texts"}
