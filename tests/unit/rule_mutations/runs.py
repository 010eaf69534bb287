"""Mutations of the rules on what was measured: M1 to M11 and B17."""

from tests.unit.rule_mutations.row import M, Row
from tests.unit.selections import GPU, ceiling, machine, point, ran, smoke, with_driver

_MISSED = [ceiling(over=40, verdict="contradicted")]
_RUN = "runtime.smoke.devices"
_CPU = {"product": "vllm", "version": "0.33.0", "command": None, "build": "cpu"}
_LATENCY = {"n": 240, "p50": 300.0, "p50_ci": (290.0, 310.0), "p95": 500.0, "p95_upper": 600.0, "p99": None}


def _ran(**other: str) -> dict[str, object]:
    return {"product": "vllm", "version": "0.33.0", "build": "cuda", "command": ran(**other)}


TABLE: list[Row] = [
    (
        "ceiling missed in the workload's own state",
        {"smoke": smoke(point(ceilings=_MISSED))},
        ("M1", "block", "runtime.ceilings.ttft_ms"),
    ),
    (
        "ceiling missed without prefix reuse",
        {"smoke": smoke(point(), point("asked_unshared", ceilings=_MISSED))},
        ("M1", "warn", "runtime.ceilings.ttft_ms"),
    ),
    (
        "ceiling missed on the CPU build",
        {"smoke": smoke(point(ceilings=_MISSED), runtime=_CPU)},
        ("M1", "note", "runtime.ceilings.ttft_ms"),
    ),
    ("another model was run", {"smoke": smoke(model="Example/Dense-8B")}, ("M3", "block", f"{M}.name")),
    (
        "another layout was run",
        {"smoke": smoke(runtime=_ran(tensor_parallel_size="1"))},
        ("M3", "block", "runtime.layout.tensor_parallel"),
    ),
    ("the tiny model was run", {"smoke": smoke(mode="tiny", model=None)}, ("M3", "note", f"{M}.name")),
    ("requests failed", {"smoke": smoke(point(failed=3))}, ("M4", "warn", _RUN)),
    ("many requests left out", {"smoke": smoke(point(excluded=13))}, ("M4", "warn", _RUN)),
    (
        "answers too short",
        {"smoke": smoke(point(output_tokens=48_000, output_tok_s=625.0))},
        ("M4", "warn", _RUN),
    ),
    ("requests failed on other hardware", {"smoke": smoke(point(failed=3), runtime=_CPU)}, ("M4", "note", _RUN)),
    ("no warm-up", {"smoke": smoke(point(warmups=0))}, ("M5", "warn", _RUN)),
    ("no word of a warm-up", {"smoke": smoke(point(warmups=None))}, ("M5", "warn", _RUN)),
    ("no word of steadiness", {"smoke": smoke(point(steady=None))}, ("M5", "warn", _RUN)),
    ("not steady", {"smoke": smoke(point(steady=False))}, ("M5", "warn", _RUN)),
    ("not steady on other hardware", {"smoke": smoke(point(steady=False), runtime=_CPU)}, ("M5", "note", _RUN)),
    (
        "the client was at its limit",
        {"smoke": smoke(load={"tool": "x", "command": [], "cpu_core_share": 0.97, "client_limited": True})},
        ("M5", "warn", _RUN),
    ),
    ("the hit rate is not known", {"smoke": smoke(point(prefix_hit_rate=None))}, ("M6", "warn", _RUN)),
    (
        "prompts that should share nothing were cached",
        {"smoke": smoke(point(), point("asked_unshared", prefix_hit_rate=0.27))},
        ("M6", "warn", _RUN),
    ),
    ("fewer calls than asked", {"smoke": smoke(point(concurrency=8))}, ("M7", "warn", "runtime.workload.concurrency")),
    (
        "fewer calls than asked, in a smaller load",
        {"smoke": smoke(point(concurrency=8), scaled_down=True)},
        ("M7", "note", "runtime.workload.concurrency"),
    ),
    (
        "another version was run",
        {"smoke": smoke(runtime={**_ran(), "version": "0.32.0"})},
        ("M8", "warn", "runtime.version"),
    ),
    (
        "other weights were run",
        {"smoke": smoke(model="/hub/models--Example--Dense-32B-FP8/snapshots/0be21c7")},
        ("M8", "warn", f"{M}.revision"),
    ),
    (
        "the command of the run pins other weights",
        {"smoke": smoke(runtime={**_ran(), "command": [*ran(), "--revision", "0be21c7"]})},
        ("M8", "warn", f"{M}.revision"),
    ),
    (
        "another driver branch is proposed than was measured",
        {"machine": with_driver(machine(GPU, GPU), "580.105.08"), "runtime.hardware.driver": "branch 590"},
        ("M8", "warn", "runtime.hardware.driver"),
    ),
    (
        "the run is old",
        {"smoke": smoke(started_at="2026-06-01T09:12:00Z", ended_at="2026-06-01T09:47:00Z")},
        ("M8", "warn", _RUN),
    ),
    (
        "another version was run on other hardware",
        {"smoke": smoke(runtime={**_CPU, "version": "0.32.0"})},
        ("M8", "note", "runtime.version"),
    ),
    ("a whole call is shorter than its first token",
     {"smoke": smoke(point(e2e_ms=_LATENCY | {"p50": 200.0}))}, ("M9", "block", _RUN)),
    ("a higher percentile is lower", {"smoke": smoke(point(tpot_ms=_LATENCY | {"p95": 100.0}))}, ("M9", "block", _RUN)),
    ("a rate that is not tokens over time", {"smoke": smoke(point(output_tok_s=750.0))}, ("M9", "block", _RUN)),
    (
        "shorter prompts were sent",
        {"smoke": smoke(point(input_tokens=860_160))},
        ("M11", "warn", "runtime.workload.input_tokens"),
    ),
    (
        "less was shared",
        {"smoke": smoke(point(shared_prefix_tokens=1024))},
        ("M11", "warn", "runtime.workload.shared_prefix_tokens"),
    ),
    ("another ceiling was tested", {"runtime.ceilings.ttft_ms": 1500}, ("M11", "warn", "runtime.ceilings.ttft_ms")),
    (
        "another flag was set in the run",
        {"smoke": smoke(runtime=_ran(max_num_queued_reqs="16"))},
        ("M11", "warn", "runtime.settings.max_num_queued_reqs"),
    ),
    (
        "the run had a flag that is not proposed",
        {"smoke": smoke(runtime={**_ran(), "command": [*ran(), "--enforce-eager"]})},
        ("M11", "warn", "runtime.settings.extra_flags"),
    ),
    (
        "shorter prompts on other hardware",
        {"smoke": smoke(point(input_tokens=860_160), runtime=_CPU)},
        ("M11", "note", "runtime.workload.input_tokens"),
    ),
    (
        "a replica holds fewer calls than asked",
        {"smoke": smoke(capacity={"concurrency": 16, "kind": "edge", "stop_reason": "x", "confidence": 0.95})},
        ("B17", "warn", "runtime.layout.replicas"),
    ),
    (
        "a replica holds fewer calls on other hardware",
        {"smoke": smoke(capacity={"concurrency": 16, "kind": "edge", "stop_reason": "x", "confidence": 0.95},
                        runtime=_CPU)},
        ("B17", "note", "runtime.layout.replicas"),
    ),
]  # fmt: skip
