"""The result of a smoke: what `selwiz smoke --json` prints and `smoke.json` holds.

Every model is frozen and forbids unknown keys. Units are in the names. Absent values are None, never 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Mode = Literal["local", "dummy", "endpoint", "tiny"]
Metric = Literal["ttft_ms", "tpot_ms", "e2e_ms"]
PointKind = Literal["asked_shared", "asked_unshared", "search"]
Verdict = Literal["supported", "not_supported", "contradicted", "not_claimed"]
Decision = Literal["adopt", "reject", "defer"]
Seen = Literal["in_force", "not_in_force", "not_visible"]


class Frozen(BaseModel):
    """A value that cannot change and has no unknown keys."""

    # Most of these are never made in a run; the validator is built for those that are.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class NodeProcess(Frozen):
    """One process of a replica that spans nodes, named by its part: no host name is kept."""

    role: Literal["head", "headless"]
    rank: int
    where: Literal["this_machine", "elsewhere"]
    """Elsewhere: started by somebody else with the command that selwiz printed."""


class Runtime(Frozen):
    """The runtime that was measured; `command` is None for an endpoint that was already running."""

    product: str
    version: str | None
    command: tuple[str, ...] | None
    environment: tuple[str, ...] = ()
    """NAME=value pairs that were set for the server beyond the caller's own; never a secret."""
    build: str | None = None
    nodes: tuple[NodeProcess, ...] = ()
    """The processes of a replica over several nodes, the head first; empty: one server on one machine."""


class Load(Frozen):
    """The load tool, its measured command, and how much of one CPU core its process used."""

    tool: str
    command: tuple[str, ...]
    cpu_core_share: float | None = None
    """CPU seconds per second of measurement of the load process, the greatest of all points."""
    imported: bool = False
    """The run is known from a file that somebody else's load tool wrote."""
    client_limited: bool | None = None
    """True when the load process used 90 % of a core or more: its own speed then bounds the figures."""


class Phase(Frozen):
    """One phase of starting the server, with its length in seconds."""

    name: str
    s: float


class Server(Frozen):
    """What the server said of itself. The KV figures are per data-parallel engine, as vLLM plans them."""

    ready_s: float | None
    kv_cache_size_tokens: int | None
    kv_cache_max_concurrency: float | None
    phases: tuple[Phase, ...]
    max_model_len: int | None = None
    block_size: int | None = None
    gpus: tuple[int, ...] | None = None
    """NVML's indices of the GPUs of this machine on which an endpoint's processes were seen; None where not visible."""
    attention_backend: str | None = None


class OutputLengths(Frozen):
    """Output tokens per completed request."""

    min: int
    p50: float
    max: int


class Latency(Frozen):
    """One latency over the completed requests, in milliseconds.

    A percentile is stated only from the least n of its one-sided 95 % statement on (59 for p95, 299 for p99).
    The interval and the upper bound are distribution-free two-sided 95 % rank intervals.
    """

    n: int
    p50: float | None
    p50_ci: tuple[float, float] | None
    p95: float | None
    p95_upper: float | None
    p99: float | None


class CeilingResult(Frozen):
    """One ceiling tested on one point: `over` of `n` requests exceeded `limit` milliseconds."""

    metric: Metric
    percentile: float
    limit: float
    over: int
    n: int
    verdict: Verdict
    n_needed: int | None = None
    """The least n at which this `over` would be supported."""


class Point(Frozen):
    """One measured load run at one concurrency."""

    kind: PointKind
    prefix_hit_rate: float | None
    """Prompt tokens found in the prefix cache ÷ prompt tokens, from the server's counters."""
    excluded: int
    """Completed requests with fewer than two output tokens, which have no TPOT."""
    output_len: OutputLengths | None
    concurrency: int
    requests: int
    completed: int
    failed: int
    warmups: int | None
    """None for an imported result, which does not tell."""
    duration_s: float
    input_tokens: int
    output_tokens: int
    output_tok_s: float
    steady: bool | None
    """True when the medians of the first and the second half differ by at most 20 %; None if unknown."""
    ttft_ms: Latency
    tpot_ms: Latency
    e2e_ms: Latency
    ceilings: tuple[CeilingResult, ...]
    output_tok_s_full_load: float | None = None
    """Output tokens per second in the window in which all `concurrency` requests were in flight."""
    input_len: OutputLengths | None = None
    shared_prefix_tokens: int = 0
    kv_usage_peak: float | None = None
    preemptions: int | None = None
    cpu_core_share: float | None = None
    """CPU seconds per second of the load process during this run; 0.9 and more is client-limited."""
    errors: tuple[str, ...] = ()
    """The different errors of failed requests, shortened."""


class StrategySeen(Frozen):
    """Whether one strategy was seen in force in the measured server."""

    id: str
    decision: Decision
    seen: Seen
    because: str


class MemoryRow(Frozen):
    """One memory term: what was predicted and what the server's log said, in bytes per GPU."""

    term: str
    predicted_bytes: int | None
    measured_bytes: int | None


class Capacity(Frozen):
    """The outcome of a capacity search; `concurrency` 0 means that not even one call at a time held.

    `confidence` is the share of simulated searches that name no load above the true edge.
    """

    concurrency: int
    kind: Literal["edge", "at_least"]
    stop_reason: str
    confidence: float


class GpuUse(Frozen):
    """One GPU over the run. Memory is that of all processes on it; the rest is over the measured loads only."""

    gpu: int
    """NVML's index; its UUID is in the machine's own file only."""
    samples: int
    """How often it was looked at during the measured loads."""
    memory_before_bytes: int | None = None
    """Before anything of ours was started, as `memory_after_bytes` is after everything had ended."""
    memory_peak_bytes: int | None = None
    memory_after_bytes: int | None = None
    power_mean_w: float | None = None
    power_peak_w: float | None = None
    sm_clock_least_mhz: int | None = None
    temperature_peak_c: int | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """What held the clocks down at some moment; empty: nothing did, None: not told."""
    energy_j: float | None = None


class Telemetry(Frozen):
    """What was watched while the load ran, summed up; the samples are in `telemetry.jsonl`."""

    gpu: tuple[GpuUse, ...]
    energy_j: float | None
    """Joules of all watched GPUs from the first request to the last answer of each measured load."""
    joule_per_output_token: float | None
    kv_usage_peak: float | None
    preemptions: int | None
    running_peak: int | None = None
    waiting_peak: int | None = None


class EvidenceFile(Frozen):
    """One file in the evidence folder."""

    name: str
    sha256: str


class Remedy(Frozen):
    """A change to an answer: `set` replaces the value of `key`, `add` appends to the list there."""

    key: str
    value: str
    how: Literal["set", "add"] = "set"


class Failure(Frozen):
    """Why the smoke failed, in plain words. `kind` is one of `probes.smoke.failures.KINDS`."""

    phase: str
    kind: str
    message: str
    advice: str
    log_tail: tuple[str, ...] = ()
    remedy: Remedy | None = None
    """A change to an answer that is worth trying, where one mends it."""


class SmokeResult(Frozen):
    """Everything one smoke found; `failure` is None when it worked."""

    schema_version: Literal[1] = 1
    run_id: str
    mode: Mode
    started_at: str
    ended_at: str
    runtime: Runtime
    load: Load
    server: Server
    points: tuple[Point, ...]
    strategies: tuple[StrategySeen, ...]
    memory: tuple[MemoryRow, ...]
    capacity: Capacity | None
    telemetry: Telemetry
    clean_stop: bool | None
    """Nothing of ours was left behind; None when nothing was started (mode endpoint, or an early failure)."""
    files: tuple[EvidenceFile, ...]
    failure: Failure | None = None
    model: str | None = None
    scaled_down: bool = False
    """True when the load is smaller than the asked one (mode tiny); `notes` say how."""
    seed: int = 0
    left_behind: tuple[str, ...] = ()
    """What could not be ended or removed, one plain sentence each."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the result as JSON text; `failure` is left out when nothing failed."""
        return self.model_dump_json(indent=1, exclude={"failure"} if self.failure is None else None) + "\n"
