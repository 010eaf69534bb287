"""A result file of `vllm bench serve` that somebody else made, as a smoke result.

The file holds what the load tool saw and nothing of the server, so the result is that of an endpoint: hardware and
flags stay answers. With `--save-detailed` ceilings can be tested; without it only the tool's own medians are there.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.smoke.children import new_run_id
from probes.smoke.evidence import write_atomically, write_evidence
from probes.smoke.load import LoadFailed, Watched, make_point, without_texts
from probes.smoke.plan import PlannedRun, SmokeRequest
from probes.smoke.prepare import RESULT_NAME, check_out_dir
from probes.smoke.result import Latency, Load, Point, Runtime, Server, SmokeResult, StrategySeen, Telemetry
from probes.smoke.scrub import Scrubber

MOST_BYTES = 512 * 1024 * 1024
_TOOL = "vllm bench serve"
_ALWAYS = ("completed", "num_prompts", "duration", "total_input_tokens", "total_output_tokens", "max_concurrency")
_DETAILED = ("start_times", "ttfts", "latencies", "input_lens", "output_lens", "itls", "errors")
_DATE = re.compile(r"^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$")


class NotAResult(ProbeError):  # noqa: N818 - reads as a sentence where it is caught
    """The file is no result of `vllm bench serve` that can be used."""


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    advice = f"give the file that `{_TOOL} --save-result --save-detailed` wrote"
    try:
        if path.stat().st_size > MOST_BYTES:
            raise NotAResult(f"{path} is larger than any result of {_TOOL}", advice)
        data = path.read_bytes()
    except OSError as error:
        raise NotAResult(f"{path} cannot be read: {error.strerror}", advice) from None
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise NotAResult(f"{path} is cut off, holds several results, or is no JSON at all", advice) from None
    missing = [name for name in _ALWAYS if not isinstance(raw, dict) or name not in raw]
    if missing:
        raise NotAResult(f"{path} is no result of {_TOOL}: it has no {missing[0]}", advice)
    numbers = {name: raw[name] for name in _ALWAYS}
    if raw["max_concurrency"] is None:
        raise NotAResult(f"{path} is of an open load without --max-concurrency, so it shows no concurrency", advice)
    wrong = [name for name, value in numbers.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if wrong or any(value < 0 for value in numbers.values()) or not raw["duration"] > 0:
        raise NotAResult(f"{path} is damaged: {wrong[0] if wrong else 'a figure'} is no usable number", advice)
    if not 1 <= raw["completed"] <= raw["num_prompts"] or raw["max_concurrency"] < 1:
        raise NotAResult(f"{path} shows no completed request", advice)
    return raw, data


def _median(raw: dict[str, Any], metric: str) -> Latency:
    value = raw.get(f"median_{metric}_ms")
    known = float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
    n = 0 if known is None else int(raw["completed"])
    return Latency(n=n, p50=known, p50_ci=None, p95=None, p95_upper=None, p99=None)


def _point(raw: dict[str, Any], request: SmokeRequest) -> Point:
    concurrency, sent = int(raw["max_concurrency"]), int(raw["num_prompts"])
    load = request.workload.model_copy(update={"concurrency": concurrency, "shared_prefix_tokens": 0, "turns": 1})
    if all(isinstance(raw.get(name), list) for name in _DETAILED):
        run = PlannedRun(name="imported", kind="asked_unshared", requests=sent, workload=load)
        return make_point(run, "asked_unshared", raw, request.ceilings, None, Watched(None, None, None))
    done = int(raw["completed"])
    return Point(
        kind="asked_unshared",
        prefix_hit_rate=None,
        excluded=0,
        output_len=None,
        concurrency=concurrency,
        requests=sent,
        completed=done,
        failed=sent - done,
        warmups=None,
        duration_s=float(raw["duration"]),
        input_tokens=int(raw["total_input_tokens"]),
        output_tokens=int(raw["total_output_tokens"]),
        output_tok_s=int(raw["total_output_tokens"]) / float(raw["duration"]),
        steady=None,
        ttft_ms=_median(raw, "ttft"),
        tpot_ms=_median(raw, "tpot"),
        e2e_ms=_median(raw, "e2el"),
        ceilings=(),
    )


def _time(raw: dict[str, Any]) -> str | None:
    found = _DATE.match(str(raw.get("date", "")))
    return "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else None


def import_result(path: Path, request: SmokeRequest, now: str) -> SmokeResult:
    """Read a result file, write the evidence into `request.out_dir`, and return it as a smoke result.

    `now` is the time of the import in UTC. Raises `NotAResult` with one sentence, `CannotWriteEvidence`.
    """
    raw, data = _read(path)
    check_out_dir(request)
    try:
        point = _point(raw, request)
    except (LoadFailed, ValueError, TypeError, KeyError, ArithmeticError):
        raise NotAResult(
            f"{path} is damaged: its lists of requests do not fit together", "make the run again"
        ) from None
    at = _time(raw)
    scrub = Scrubber([], [])
    notes = [
        f"Imported from {path.name}, SHA-256 {hashlib.sha256(data).hexdigest()}: selwiz neither made nor watched this "
        "run. What its prompts shared, its warm-up and its hardware are not in the file.",
        f"The file's own time {at} has no zone and is shown as UTC."
        if at
        else "The file has no time; that of the import is shown.",
    ]
    if not point.ceilings:
        notes.append(
            "The file has no single requests (--save-detailed), so no ceiling, percentile or steadiness is tested."
        )
    files = {"bench-imported.json": scrub(json.dumps(without_texts(raw)) + "\n")}
    result = SmokeResult(
        run_id=new_run_id(),
        mode="endpoint",
        started_at=at or now,
        ended_at=at or now,
        runtime=Runtime(product="unknown", version=None, command=None),
        load=Load(tool=_TOOL, command=(), imported=True),
        server=Server(ready_s=None, kv_cache_size_tokens=None, kv_cache_max_concurrency=None, phases=()),
        points=(point,),
        strategies=tuple(
            StrategySeen(id=wanted.id, decision=wanted.decision, seen="not_visible", because="the run was imported")
            for wanted in request.strategies
        ),
        memory=(),
        capacity=None,
        telemetry=Telemetry(gpu=(), energy_j=None, joule_per_output_token=None, kv_usage_peak=None, preemptions=None),
        clean_stop=None,
        files=write_evidence(request.out_dir, files),
        model=scrub(str(raw["model_id"])) if isinstance(raw.get("model_id"), str) else None,
        notes=tuple(notes),
    )
    write_atomically(request.out_dir / RESULT_NAME, result.to_json().encode("utf-8"))
    return result
