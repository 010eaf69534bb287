"""Turns what a run has found into its result and its evidence files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from probes.smoke.children import Children
from probes.smoke.endpoint import ServedModel
from probes.smoke.evidence import CannotWriteEvidence, bounded_log, hashes_of, write_all
from probes.smoke.load import CLIENT_LIMIT
from probes.smoke.metrics import Metrics, Seen, parse_metrics, strategies_seen
from probes.smoke.plan import SmokePlan
from probes.smoke.prepare import RESULT_NAME, check_out_dir
from probes.smoke.result import (
    Capacity,
    Failure,
    Load,
    MemoryRow,
    Point,
    Runtime,
    SmokeResult,
    StrategySeen,
)
from probes.smoke.result import Server as ServerFacts
from probes.smoke.scrub import Scrubber
from probes.smoke.server import Server
from probes.smoke.spanning import processes_of
from probes.smoke.telemetry import Watched, as_lines, summary


def utc_now() -> str:
    """Return the time as the contract writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass
class RunState:
    """What one run has found so far; every part may still be missing when a failure ends it."""

    phase: str = "preflight"
    started_at: str = field(default_factory=utc_now)
    server: Server | None = None
    served: ServedModel | None = None
    endpoint_gpus: tuple[int, ...] = ()
    """NVML's indices of the GPUs that an endpoint's processes were seen on."""
    serve_command: tuple[str, ...] | None = None
    load_command: tuple[str, ...] = ()
    points: list[Point] = field(default_factory=list)
    raw: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each load run took, the start of the tool included."""
    capacity: Capacity | None = None
    cpu_shares: list[float] = field(default_factory=list)
    watched: Watched = field(default_factory=Watched)
    began: float = 0.0
    metrics_text: str = ""
    config: dict[str, Any] | None = None
    trials: dict[str, tuple[bool | None, str]] = field(default_factory=dict)
    failure: Failure | None = None
    clean_stop: bool | None = None
    notes: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    seed: int = 0


class Report:
    """Reads the state of a run, whole or broken off, and says what is to be kept of it."""

    def __init__(self, plan: SmokePlan, state: RunState, children: Children, scrub: Scrubber) -> None:
        self.plan, self.request = plan, plan.request
        self.state, self.children, self.scrub = state, children, scrub

    def collect_files(self) -> None:
        """Gather the evidence as text, before the private folder goes."""
        files = self.state.files
        for path in sorted(self.children.folder.glob("*.log")):
            files[path.name] = self.scrub(bounded_log(path).replace("\r", "\n"))
        for path in sorted((self.children.folder / "traces").glob("*.jsonl")):
            files[f"trace-{path.name}"] = path.read_text(encoding="utf-8")
        for name, raw in self.state.raw.items():
            files[f"bench-{name}.json"] = json.dumps(self.scrub.tree(raw)) + "\n"
        if self.state.metrics_text:
            files["metrics.txt"] = self.scrub(self.state.metrics_text)
        if self.state.watched.gpu or self.state.watched.server:
            files["telemetry.jsonl"] = as_lines(self.state.watched, self.state.began)
        if self.state.config is not None:
            files["server_info.json"] = json.dumps(self.scrub.tree(self.state.config), indent=1) + "\n"

    def shown(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command as it may be kept: `vllm` for the executable, no private part."""
        rest = command[len(self.plan.tool.executable) :]
        return tuple(self.scrub(word) for word in ("vllm", *rest)) if command else ()

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
            nodes=processes_of(self.request.nodes),
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
                "gpus": self.state.endpoint_gpus or None,
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
                rows.append(MemoryRow(term=term, predicted_bytes=predicted.get(term), measured_bytes=measured))
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
            trials=self.state.trials,
        )
        return strategies_seen(self.request.strategies, seen)

    def result(self) -> SmokeResult:
        """Put the result together, every text of it cleaned; `files` comes when the evidence is written."""
        metrics = parse_metrics(self.state.metrics_text) if self.state.metrics_text else Metrics()
        share = max(self.state.cpu_shares, default=None)
        limited = None if share is None else share >= CLIENT_LIMIT
        notes = list(self.state.notes)
        if limited:
            notes.append("The load tool used a whole CPU core: the figures are limited by the client.")
        result = SmokeResult(
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
            capacity=self.state.capacity,
            telemetry=summary(self.state.watched, self.state.points),
            clean_stop=self.state.clean_stop,
            files=(),
            failure=self.state.failure,
            model=self.scrub(self.request.model) if self.request.model else None,
            scaled_down=self.plan.scaled_down,
            seed=self.state.seed,
            left_behind=self.children.left_behind,
            notes=tuple(notes),
        )
        return SmokeResult.model_validate(self.scrub.tree(result.model_dump()))

    def write(self, result: SmokeResult, *, can_resume: bool) -> SmokeResult:
        """Write the evidence and the result, all or nothing, and return the result with the names of its files.

        Raises `CannotWriteEvidence`, with a word on the points that are kept where `can_resume`.
        """
        folder = self.request.out_dir
        files = {name: text.encode("utf-8") for name, text in self.state.files.items()}
        result = result.model_copy(update={"files": hashes_of(files)})
        try:
            check_out_dir(self.request)
            write_all(folder, {**files, RESULT_NAME: result.to_json().encode("utf-8")})
        except CannotWriteEvidence as problem:
            kept = "; the finished points are kept: --resume takes them over" if can_resume else ""
            raise CannotWriteEvidence(problem.message, problem.remedy + kept) from None
        return result
