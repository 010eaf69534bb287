"""One smoke from begin to end: preflight, start, warm-up, measure, stop; then the evidence."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from probes.errors import ProbeError
from probes.smoke.children import Children, port_is_free
from probes.smoke.endpoint import ServedModel, look_at, try_payload
from probes.smoke.evidence import write_atomically, write_evidence
from probes.smoke.failures import log_tail
from probes.smoke.http import Client, HttpError
from probes.smoke.load import CLIENT_LIMIT, LoadFailed, Measured, Watched, make_point, run_load, without_texts
from probes.smoke.metrics import Metrics, Seen, hit_rate, parse_metrics, strategies_seen
from probes.smoke.observer import Observer
from probes.smoke.plan import PlannedRun, SmokePlan, SmokeRequest, base_url, load_command
from probes.smoke.prepare import RESULT_NAME, prepare
from probes.smoke.result import (
    Failure,
    GpuSample,
    Load,
    MemoryRow,
    Point,
    Runtime,
    SmokeResult,
    StrategySeen,
    Telemetry,
)
from probes.smoke.result import Server as ServerFacts
from probes.smoke.scrub import Scrubber
from probes.smoke.server import Server, ServerFailed
from probes.smoke.stopping import Stopper
from probes.smoke.tiny_model import write_tiny_model, write_tokenizer
from probes.smoke.traces import write_traces

WATCH_EVERY_S = 1.0
GpuSampler = Callable[[float], tuple[GpuSample, ...]]
"""Called once a second during a measured run with the seconds since the start; must not block or raise."""


def utc_now() -> str:
    """Return the time as the contract writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass
class _State:
    """What one run has found so far; every part may still be missing when a failure ends it."""

    phase: str = "preflight"
    started_at: str = field(default_factory=utc_now)
    server: Server | None = None
    served: ServedModel | None = None
    serve_command: tuple[str, ...] | None = None
    load_command: tuple[str, ...] = ()
    points: list[Point] = field(default_factory=list)
    raw: dict[str, dict[str, Any]] = field(default_factory=dict)
    cpu_shares: list[float] = field(default_factory=list)
    samples: list[GpuSample] = field(default_factory=list)
    metrics_text: str = ""
    config: dict[str, Any] | None = None
    failure: Failure | None = None
    clean_stop: bool | None = None
    notes: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    seed: int = 0


class _Smoke:
    """The steps of one run. Everything that must be undone belongs to `children`."""

    def __init__(
        self,
        plan: SmokePlan,
        observer: Observer,
        stopper: Stopper,
        children: Children,
        sampler: GpuSampler | None,
    ) -> None:
        self.plan, self.request = plan, plan.request
        self.observer, self.stopper, self.children, self.sampler = observer, stopper, children, sampler
        self.begin = time.monotonic()
        self.deadline = self.begin + self.request.time_limit_s
        self.state = _State(notes=list(plan.notes))
        self.api_key = os.environ.get(self.request.api_key_env) if self.request.api_key_env else None
        paths = [(str(children.folder), "$WORK")]
        if self.request.model and self.request.model.startswith(("/", "~", ".")):
            paths.append((self.request.model, "$MODEL_DIR"))
        model_folder = plan.serve_command[len(plan.tool.executable) + 1] if plan.serve_command else ""
        if model_folder.startswith("/"):
            paths.append((model_folder, "$MODEL_DIR"))
        self.scrub = Scrubber(paths, [self.api_key] if self.api_key else [])
        self.client = Client(base_url(self.request.endpoint_url or ""), self.api_key, self.request.ca_file)
        # On a foreign server an earlier run may have left its prompts in the cache, so every run brings new ones.
        own = self.request.mode != "endpoint"
        self.state.seed = self.request.seed if own else int(children.run_id[:6], 16)

    # -- telling -----------------------------------------------------------------------------------------------

    def phase(self, name: str, detail: str) -> None:
        """Enter a phase and tell it."""
        self.state.phase = name
        self.observer.on_phase(name, detail, time.monotonic() - self.begin)

    def on_line(self, line: str) -> None:
        """Pass a log line on without its private parts."""
        self.observer.on_log(self.scrub(line))

    def on_start_phase(self, name: str, _elapsed_s: float) -> None:
        """Pass a phase of the server's start on."""
        self.phase("start", name)

    # -- the steps ---------------------------------------------------------------------------------------------

    def go(self) -> None:
        """Run all steps up to the last measurement."""
        self.phase("preflight", f"vLLM {self.plan.tool.version}, mode {self.request.mode}")
        work = self.children.folder
        if self.plan.writes_model:
            write_tiny_model(work / "model", self.plan.tool.interpreter)
        elif self.plan.writes_tokenizer:
            write_tokenizer(work / "tokenizer", self.plan.tool.interpreter)
        write_traces(work / "traces", self.plan.runs, self.state.seed)
        self.stopper.check()
        if self.request.mode == "endpoint":
            self.state.served = look_at(self.client, self.request.served_model_name)
            try_payload(self.client, self.state.served.name)
        else:
            self.start_server()
        self.check_lengths()
        for run in self.plan.runs:
            self.measure(run)
        self.read_settings()

    def start_server(self) -> None:
        """Start our own server and wait until it answers."""
        self.phase("start", "starting the server")
        command = self.in_work(self.plan.serve_command or ())
        self.state.serve_command = command
        server = Server(self.children, self.plan, command, self.children.folder / "server.log")
        self.state.server = server
        self.client = server.client
        server.start()
        server.wait_ready(self.stopper, self.deadline, self.on_line, self.on_start_phase)
        self.phase("start", f"ready after {server.ready_s:.0f} s")
        self.state.served = look_at(self.client, self.plan.served_model_name)

    def in_work(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Put the private folder where a command names it."""
        return tuple(word.replace("$WORK", str(self.children.folder)) for word in command)

    def check_lengths(self) -> None:
        """Stop before sending requests that the served context cannot hold."""
        served, load = self.state.served, self.plan.workload
        longest = load.input_tokens + max(load.output_mix or (load.output_tokens,))
        if served and served.max_model_len and longest > served.max_model_len:
            raise LoadFailed(
                "context_too_long",
                f"prompt and answer need {longest} tokens, the server's context is {served.max_model_len}",
                "raise runtime.settings.max_model_len, or ask for shorter prompts",
            )

    def read_metrics(self) -> Metrics:
        """Read /metrics; an empty reading where a server has none."""
        try:
            self.state.metrics_text = self.client.request("/metrics")
        except HttpError:
            return Metrics()
        return parse_metrics(self.state.metrics_text)

    def measure(self, run: PlannedRun) -> None:
        """Run one load; the warm-up's result is thrown away."""
        warmup = run.kind == "warmup"
        words = f"{run.requests} requests, {run.workload.concurrency} at a time"
        self.phase("warm-up" if warmup else "measure", words if warmup else f"{run.name}, {words}")
        if self.state.server is not None and not warmup:
            try:
                self.client.request("/reset_prefix_cache", method="POST", timeout_s=10)
            except HttpError:
                self.state.notes.append("The prefix cache could not be reset between the runs.")
        before = self.read_metrics()
        peaks: list[float] = []
        last = [0.0]

        def tick() -> None:
            now = time.monotonic()
            if now - last[0] < WATCH_EVERY_S:
                return
            last[0] = now
            if self.state.server is not None:
                self.state.server.read_log(self.on_line, self.on_start_phase)
                self.state.server.check_alive()
            usage = self.read_metrics().kv_usage
            if usage is not None:
                peaks.append(usage)
            if self.sampler is not None and not warmup:
                self.state.samples += self.sampler(now - self.begin)

        measured = self.send(run, tick)
        after = self.read_metrics()
        preemptions = None
        if before.preemptions is not None and after.preemptions is not None:
            preemptions = int(after.preemptions - before.preemptions)
        watched = Watched(hit_rate(before, after), max(peaks, default=None), preemptions)
        kind = "asked_unshared" if run.kind == "warmup" else run.kind
        # The warm-up goes through the same check, so that a load that cannot work fails early.
        point = make_point(run, kind, measured.raw, self.request.ceilings, self.plan.warmups, watched)
        if warmup:
            return
        self.state.raw[run.name] = measured.raw
        if measured.cpu_core_share is not None:
            self.state.cpu_shares.append(measured.cpu_core_share)
        self.state.points.append(point)
        self.observer.on_point(point)

    def send(self, run: PlannedRun, tick: Callable[[], None]) -> Measured:
        """Start the load tool for one run."""
        served = self.state.served
        tokenizer = (
            "$WORK/model"
            if self.plan.writes_model
            else self.plan.load_command[self.plan.load_command.index("--tokenizer") + 1]
        )
        command = load_command(
            self.plan.tool.executable,
            self.client.base,
            served.name if served else "",
            tokenizer,
            run,
            work=str(self.children.folder),
        )
        command = self.in_work(command)
        self.state.load_command = command
        environment = (
            {} if self.request.allow_download else {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        )
        if self.api_key:
            environment["OPENAI_API_KEY"] = self.api_key
        if self.request.ca_file is not None:
            environment["SSL_CERT_FILE"] = str(self.request.ca_file)

        def progress(done: int, total: int | None) -> None:
            self.observer.on_progress(run.name, done, total)

        return run_load(
            self.children, command, run.name, environment, self.stopper, self.deadline, progress, tick
        )

    def read_settings(self) -> None:
        """Ask our own child for its resolved settings; a foreign server is not asked."""
        if self.state.server is None:
            return
        try:
            answer = self.client.get_json("/server_info?config_format=json", timeout_s=30)
            config = answer["vllm_config"]
        except (HttpError, KeyError, TypeError):
            self.state.notes.append("The server did not tell its settings.")
            return
        if isinstance(config, dict):
            config.get("model_config", {}).pop("hf_token", None)
            self.state.config = config

    def stop(self) -> None:
        """End the server in order and prove that nothing is left; in mode endpoint there is nothing to end."""
        server = self.state.server
        if server is None:
            return
        self.observer.on_phase("stop", "stopping the server", time.monotonic() - self.begin)
        server.stop()
        left = list(self.children.end())
        if self.plan.port is not None and not port_is_free(self.plan.port):
            left.append(f"port {self.plan.port} is still in use")
        self.state.clean_stop = not left and not self.children.alive()
        self.state.notes += left

    # -- the result --------------------------------------------------------------------------------------------

    def collect_files(self) -> None:
        """Gather the evidence as text, before the private folder goes."""
        files = self.state.files
        for path in sorted(self.children.folder.glob("*.log")):
            files[path.name] = self.scrub(
                path.read_text(encoding="utf-8", errors="replace").replace("\r", "\n")
            )
        for path in sorted((self.children.folder / "traces").glob("*.jsonl")):
            files[f"trace-{path.name}"] = path.read_text(encoding="utf-8")
        for name, raw in self.state.raw.items():
            files[f"bench-{name}.json"] = self.scrub(json.dumps(without_texts(raw)) + "\n")
        if self.state.metrics_text:
            files["metrics.txt"] = self.scrub(self.state.metrics_text)
        if self.state.config is not None:
            files["server_info.json"] = self.scrub(json.dumps(self.state.config, indent=1) + "\n")

    def shown(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command as it may be kept: `vllm` for the executable, no private part."""
        rest = command[len(self.plan.tool.executable) :]
        return tuple(self.scrub(word) for word in ("vllm", *rest)) if command else ()

    def fail(self, kind: str, message: str, advice: str, lines: tuple[str, ...] = ()) -> None:
        """Note why the run failed; the first reason counts."""
        if self.state.failure is None:
            tail = tuple(self.scrub(line) for line in lines)
            self.state.failure = Failure(
                phase=self.state.phase, kind=kind, message=self.scrub(message), advice=advice, log_tail=tail
            )

    def runtime(self) -> Runtime:
        """Say what was measured."""
        served = self.state.served
        if self.request.mode == "endpoint":
            return Runtime(
                product=served.product if served else "unknown",
                version=served.version if served else None,
                command=None,
            )
        return Runtime(
            product="vllm",
            version=served.version if served and served.version else self.plan.tool.version,
            command=self.shown(self.state.serve_command or self.plan.serve_command or ()),
            environment=tuple(self.scrub(f"{name}={value}") for name, value in self.plan.serve_environment),
            build=self.plan.tool.build,
        )

    def server_facts(self, metrics: Metrics) -> ServerFacts:
        """Say what the server told of itself; /metrics before the log."""
        server, served = self.state.server, self.state.served
        logged = server.logged() if server else {}
        size = metrics.number("kv_cache_size_tokens")
        concurrency = metrics.number("kv_cache_max_concurrency")
        block = metrics.number("block_size")
        return ServerFacts.model_validate(
            {
                "ready_s": round(server.ready_s, 2) if server and server.ready_s is not None else None,
                "kv_cache_size_tokens": logged.get("kv_cache_size_tokens") if size is None else int(size),
                "kv_cache_max_concurrency": logged.get("kv_cache_max_concurrency")
                if concurrency is None
                else concurrency,
                "phases": server.phases if server else (),
                "max_model_len": served.max_model_len if served else None,
                "block_size": None if block is None else int(block),
                "attention_backend": logged.get("attention_backend"),
            }
        )

    def memory(self) -> tuple[MemoryRow, ...]:
        """Put the predicted terms beside what the server's log said."""
        logged = self.state.server.logged() if self.state.server else {}
        predicted = {row.term: row.bytes_per_gpu for row in self.request.predicted_memory}
        rows = []
        for term in dict.fromkeys([*predicted, "weights", "kv_room", "graphs"]):
            found = logged.get(f"{term}_bytes")
            measured = found if isinstance(found, int) else None
            if measured is not None or predicted.get(term) is not None:
                rows.append(
                    MemoryRow(term=term, predicted_bytes=predicted.get(term), measured_bytes=measured)
                )
        return tuple(rows)

    def strategies(self, metrics: Metrics) -> tuple[StrategySeen, ...]:
        """Look for each strategy in what the server showed."""
        shared = next((point for point in self.state.points if point.kind == "asked_shared"), None)
        backend = self.state.server.logged()["attention_backend"] if self.state.server else None
        seen = Seen(
            metrics=metrics,
            config=self.state.config,
            hits=shared.prefix_hit_rate if shared else None,
            attention_backend=backend if isinstance(backend, str) else None,
        )
        return strategies_seen(self.request.strategies, seen)

    def telemetry(self) -> Telemetry:
        """Sum up what was watched; energy is the difference of the GPUs' own counters."""
        by_gpu: dict[int, list[float]] = {}
        for sample in self.state.samples:
            if sample.energy_j is not None:
                by_gpu.setdefault(sample.gpu, []).append(sample.energy_j)
        energy = sum(values[-1] - values[0] for values in by_gpu.values()) if by_gpu else None
        tokens = sum(point.output_tokens for point in self.state.points)
        usage = [point.kv_usage_peak for point in self.state.points if point.kv_usage_peak is not None]
        preemptions = [point.preemptions for point in self.state.points if point.preemptions is not None]
        return Telemetry(
            gpu=tuple(self.state.samples),
            energy_j=energy,
            joule_per_output_token=energy / tokens if energy is not None and tokens else None,
            kv_usage_peak=max(usage, default=None),
            preemptions=sum(preemptions) if preemptions else None,
        )

    def result(self) -> SmokeResult:
        """Put the result together; `files` comes when the evidence is written."""
        metrics = parse_metrics(self.state.metrics_text) if self.state.metrics_text else Metrics()
        share = max(self.state.cpu_shares, default=None)
        limited = None if share is None else share >= CLIENT_LIMIT
        notes = list(self.state.notes)
        if limited:
            notes.append("The load tool used a whole CPU core: the figures are limited by the client.")
        return SmokeResult(
            run_id=self.children.run_id,
            mode=self.request.mode,
            started_at=self.state.started_at,
            ended_at=utc_now(),
            runtime=self.runtime(),
            load=Load(
                tool="vllm bench serve",
                command=self.shown(self.state.load_command or self.plan.load_command),
                cpu_core_share=share,
                client_limited=limited,
            ),
            server=self.server_facts(metrics),
            points=tuple(self.state.points),
            strategies=self.strategies(metrics),
            memory=self.memory(),
            capacity=None,
            telemetry=self.telemetry(),
            clean_stop=self.state.clean_stop,
            files=(),
            failure=self.state.failure,
            model=self.scrub(self.request.model) if self.request.model else None,
            scaled_down=self.plan.scaled_down,
            seed=self.state.seed,
            left_behind=self.children.left_behind,
            notes=tuple(notes),
        )


def run_smoke(
    request: SmokeRequest,
    observer: Observer,
    *,
    plan: SmokePlan | None = None,
    stopper: Stopper | None = None,
    gpu_sampler: GpuSampler | None = None,
) -> SmokeResult:
    """Run one smoke, write its evidence into `request.out_dir`, and return the result.

    `plan` is what was shown and confirmed; without it one is made. A failure of the server or the load is in the
    result's `failure`, and the evidence is written all the same. Raises `Stopped` when `stopper` was set, after all
    children are ended and with nothing written; `ProbeError` when the machine cannot run it at all (no vLLM, no
    model), and `CannotWriteEvidence` when the evidence cannot be written.
    """
    plan = plan or prepare(request)
    stopper = stopper or Stopper()
    observer.on_plan(plan)
    with Children(request.state_dir) as children:
        smoke = _Smoke(plan, observer, stopper, children, gpu_sampler)
        try:
            smoke.go()
        except ServerFailed as problem:
            why = problem.explanation
            lines = smoke.state.server.log.lines if smoke.state.server else []
            smoke.fail(why.kind, why.cause, why.advice, log_tail(lines))
        except LoadFailed as problem:
            lines = smoke.state.server.log.lines if smoke.state.server else []
            smoke.fail(problem.kind, problem.message, problem.advice, problem.lines or log_tail(lines))
        except ProbeError as problem:
            smoke.fail("unknown", problem.message, problem.remedy)
        finally:
            smoke.stop()
        stopper.check()
        smoke.collect_files()
        children.close()
        result = smoke.result()
    result = result.model_copy(update={"files": write_evidence(request.out_dir, smoke.state.files)})
    write_atomically(request.out_dir / RESULT_NAME, result.to_json().encode("utf-8"))
    return result
