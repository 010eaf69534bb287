"""A result file of `vllm bench serve` that somebody else made, as a smoke result.

The file holds what the load tool saw and nothing of the server, so the result is that of an endpoint: hardware and
flags stay answers. With `--save-detailed` ceilings can be tested; without it only the tool's own medians are there.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.paths import regular_bytes
from probes.smoke.bench_file import ALWAYS, ImpossibleFigure, checked, started_at
from probes.smoke.children import new_run_id
from probes.smoke.evidence import write_atomically, write_evidence
from probes.smoke.load import Watched, make_point
from probes.smoke.plan import PlannedRun, SmokeRequest
from probes.smoke.prepare import RESULT_NAME, check_out_dir
from probes.smoke.result import Latency, Load, Point, Runtime, Server, SmokeResult, StrategySeen, Telemetry
from probes.smoke.scrub import Scrubber

MOST_BYTES = 512 * 1024 * 1024
_TOOL = "vllm bench serve"


class NotAResult(ProbeError):  # noqa: N818 - reads as a sentence where it is caught
    """The file is no result of `vllm bench serve` that can be used."""


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    advice = f"give the file that `{_TOOL} --save-result --save-detailed` wrote"
    try:
        data = regular_bytes(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotAResult(f"{path} cannot be read: {reason}", advice) from None
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise NotAResult(f"{path} is cut off, holds several results, or is no JSON at all", advice) from None
    missing = [name for name in ALWAYS if not isinstance(raw, dict) or name not in raw]
    if missing:
        raise NotAResult(f"{path} is no result of {_TOOL}: it has no {missing[0]}", advice)
    if raw["max_concurrency"] is None:
        raise NotAResult(f"{path} is of an open load without --max-concurrency, so it shows no concurrency", advice)
    try:
        return checked(raw), data
    except ImpossibleFigure as error:
        raise NotAResult(f"{path} is no result that a run can have: {error}", "make the run again") from None


def _median(raw: dict[str, Any], metric: str) -> Latency:
    # The tool writes 0 where no request had this latency.
    known = raw.get(f"median_{metric}_ms") or None
    n = 0 if known is None else raw["completed"]
    return Latency(n=n, p50=known, p50_ci=None, p95=None, p95_upper=None, p99=None)


def _point(raw: dict[str, Any], request: SmokeRequest) -> Point:
    concurrency, done = raw["max_concurrency"], raw["completed"]
    load = request.workload.model_copy(update={"concurrency": concurrency, "shared_prefix_tokens": 0, "turns": 1})
    if "errors" in raw:
        # A data set may hold fewer prompts than were asked for: the rows are what was sent.
        run = PlannedRun(name="imported", kind="asked_unshared", requests=len(raw["errors"]), workload=load)
        return make_point(run, "asked_unshared", raw, request.ceilings, None, Watched(None, None, None))
    failed = raw.get("failed", raw["num_prompts"] - done)
    return Point(
        kind="asked_unshared",
        prefix_hit_rate=None,
        excluded=0,
        output_len=None,
        concurrency=concurrency,
        requests=done + failed,
        completed=done,
        failed=failed,
        warmups=None,
        duration_s=raw["duration"],
        input_tokens=raw["total_input_tokens"],
        output_tokens=raw["total_output_tokens"],
        output_tok_s=raw["total_output_tokens"] / raw["duration"],
        steady=None,
        ttft_ms=_median(raw, "ttft"),
        tpot_ms=_median(raw, "tpot"),
        e2e_ms=_median(raw, "e2el"),
        ceilings=(),
    )


def import_result(path: Path, request: SmokeRequest, now: str) -> SmokeResult:
    """Read a result file, write the evidence into `request.out_dir`, and return it as a smoke result.

    `now` is the time of the import in UTC. Raises `NotAResult` with one sentence, `CannotWriteEvidence`.
    """
    raw, data = _read(path)
    check_out_dir(request)
    point = _point(raw, request)
    at = started_at(raw)
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
    files = {"bench-imported.json": scrub(json.dumps(raw) + "\n")}
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
        model=scrub(raw["model_id"]) if "model_id" in raw else None,
        notes=tuple(notes),
    )
    write_atomically(request.out_dir / RESULT_NAME, result.to_json().encode("utf-8"))
    return result
