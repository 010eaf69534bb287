"""Selections that the tests of the document render: one with everything, one with almost nothing.

Machine, run and evidence of the full one are made up for the tests; no machine was read and nothing was measured.
"""

import datetime
from pathlib import Path

from probes.machine import Driver, Gpu, Host, Link, Machine, RuntimeFound
from probes.reading import Reading
from probes.recorded import read_machine_file
from probes.smoke.result import (
    Capacity,
    CeilingResult,
    GpuUse,
    Latency,
    Load,
    MemoryRow,
    Metric,
    OutputLengths,
    Phase,
    Point,
    PointKind,
    Runtime,
    Server,
    SmokeResult,
    StrategySeen,
    Telemetry,
)
from probes.smoke.statistics import requests_needed, verdict
from wizard.answers import Answers
from wizard.asking.answers_file import Layer, merge, validate
from wizard.asking.defaults import fill
from wizard.asking.example import example_tree
from wizard.asking.open_answers import open_answers
from wizard.asking.provenance import Origin
from wizard.budget import engine_line, runtime_line
from wizard.catalogue import model_facts
from wizard.decision.gather import carried_configuration
from wizard.decision.selection import EvidenceFile, Selection, Tool
from wizard.machine import enriched
from wizard.rules import check
from wizard.serving.launch import launch
from wizard.sizing.gpus import common_types
from wizard.sizing.proposed import proposed_sizing

#: A simulated fleet of four nodes with eight GPUs each, as `selwiz probe --ray … --record` writes one.
FLEET = Path(__file__).parents[1] / "data" / "fleet" / "four-nodes.json"
DAY = datetime.date(2026, 11, 26)
GPU = "NVIDIA H100 80GB HBM3"
_READ = "recorded"


#: The flags of the example, with which its run was made.
_FLAGS = launch(fill(validate(merge([Layer(name="answers.toml", tree=example_tree(DAY))])), {}, None)[0]).serve_flags()


def machine(*, gpu: str = GPU, count: int = 2) -> Machine:
    """A recorded machine with `count` GPUs of one kind."""
    gpus = tuple(
        Gpu.sparse(
            index,
            why="not_in_capture",
            source=_READ,
            uuid=Reading.of(f"GPU-0f1e2d3c-0000-4000-8000-00000000000{index}", _READ),
            name=Reading.of(gpu, _READ),
            compute_capability=Reading.of("9.0", _READ),
            memory_total_bytes=Reading.of(85_520_809_984, _READ),
            memory_bandwidth_gb_s=Reading.of(3352.32, _READ),
            power_limit_w=Reading.of(700.0, _READ),
            ecc_enabled=Reading.of(True, _READ),
        )
        for index in range(count)
    )
    absent: Reading[str] = Reading.absent("not_in_capture", _READ)
    host = Host.model_validate({name: absent for name in Host.model_fields if name != "disks"} | {"disks": ()})
    links = (Link(a=0, b=1, kind="nvlink", level="NV18", gb_s=478.1, peer_access=Reading.of(True, _READ)),)
    return Machine(
        recorded=True,
        tool_version="0.1.0",
        taken_at=datetime.datetime(2026, 11, 26, 8, 41, tzinfo=datetime.UTC),
        driver=Driver(
            version=Reading.of("580.105.08", _READ),
            cuda=Reading.of("13.0", _READ),
            nvml=Reading.of("13.580.105", _READ),
        ),
        gpus=gpus,
        links=links if count > 1 else (),
        host=host,
        runtimes=(
            RuntimeFound(
                version="0.33.0",
                build="cuda",
                cuda_major=13,
                distribution="vllm",
                interpreter="/opt/vllm/bin/python",
                found_by="path",
            ),
        ),
        problems=(),
    )


def latency(p50: float, p95: float, n: int) -> Latency:
    """A latency whose intervals are a little to either side."""
    return Latency(
        n=n,
        p50=p50,
        p50_ci=(p50 * 0.96, p50 * 1.05),
        p95=p95 if n >= requests_needed(95) else None,
        p95_upper=p95 * 1.07 if n >= 72 else None,
        p99=p95 * 1.2 if n >= requests_needed(99) else None,
    )


def _tested(over: tuple[int, int]) -> tuple[tuple[Metric, float, int], ...]:
    return ("ttft_ms", 1500, over[0]), ("tpot_ms", 40, over[1]), ("e2e_ms", 12_000, over[1] * 9 // 10)


def point(
    kind: PointKind, *, concurrency: int = 16, n: int = 160, slow: float = 1.0, over: tuple[int, int] = (0, 1)
) -> Point:
    """A measured point of `n` requests; `over` are those above the TTFT and the TPOT ceiling of the example."""
    tested = tuple(
        CeilingResult(
            metric=metric,
            percentile=95,
            limit=limit,
            over=count,
            n=n,
            verdict=verdict(count, n, 95),
            n_needed=requests_needed(95, count),
        )
        for metric, limit, count in _tested(over)
    )
    return Point(
        kind=kind,
        prefix_hit_rate=0.7421 if kind != "asked_unshared" else 0.0,
        excluded=0,
        output_len=OutputLengths(min=180, p50=255, max=331),
        input_len=OutputLengths(min=6144, p50=6144, max=6144),
        concurrency=concurrency,
        requests=n,
        completed=n,
        failed=0,
        warmups=2 * concurrency,
        duration_s=62.37 * slow * n / 160 * 16 / concurrency,
        input_tokens=6144 * n,
        output_tokens=256 * n,
        output_tok_s=656.7 / slow * concurrency / 16,
        output_tok_s_full_load=671.2 / slow * concurrency / 16,
        steady=True,
        ttft_ms=latency(241.3 * slow**2, 433.9 * slow**2, n),
        tpot_ms=latency(22.41 * slow, 31.07 * slow, n),
        e2e_ms=latency(5961.0 * slow, 8410.0 * slow, n),
        ceilings=tested,
        shared_prefix_tokens=4608,
    )


GPU_USE = GpuUse(
    gpu=0,
    samples=612,
    memory_before_bytes=480_000_000,
    memory_peak_bytes=78_600_000_000,
    memory_after_bytes=480_000_000,
    power_mean_w=412.3,
    power_peak_w=538.0,
    sm_clock_least_mhz=1755,
    temperature_peak_c=61,
    throttle_reasons=("sw_power_cap",),
    energy_j=63_000.0,
)


def smoke() -> SmokeResult:
    """A run with a shared point that keeps the ceilings, an unshared one that does not, and a search."""
    return SmokeResult(
        run_id="20261126T091200Z-7f3a",
        mode="local",
        started_at="2026-11-26T09:12:00Z",
        ended_at="2026-11-26T09:47:00Z",
        runtime=Runtime(
            product="vllm",
            version="0.33.0",
            command=("vllm", "serve", "/srv/models/Qwen3-32B-FP8", *_FLAGS, "--api-key", "s3cret"),
            environment=("VLLM_SERVER_DEV_MODE=1",),
            build="cuda",
        ),
        load=Load(
            tool="vllm bench serve 0.33.0",
            command=(
                "vllm",
                "bench",
                "serve",
                "--base-url",
                "http://127.0.0.1:8000",
                "--dataset-path",
                "/tmp/x/trace.jsonl",
            ),
            cpu_core_share=0.31,
            client_limited=False,
        ),
        server=Server(
            ready_s=148.2,
            kv_cache_size_tokens=443_264,
            kv_cache_max_concurrency=27.05,
            phases=(
                Phase(name="weights", s=71.2),
                Phase(name="compilation", s=41.0),
                Phase(name="graphs", s=19.1),
            ),
            max_model_len=16384,
            block_size=16,
            attention_backend="FLASH_ATTN",
        ),
        points=(
            point("asked_shared"),
            point("asked_unshared", slow=3.1, over=(151, 155)),
            point("search", concurrency=32, n=320, slow=1.44, over=(3, 90)),
            point("search", concurrency=24, n=240, slow=1.26, over=(0, 4)),
            point("search", concurrency=28, n=280, slow=1.35, over=(0, 30)),
        ),
        strategies=(
            StrategySeen(
                id="prefix_caching",
                decision="adopt",
                seen="in_force",
                because="74.2 % of prompt tokens from cache",
            ),
            StrategySeen(
                id="admission_control", decision="adopt", seen="not_visible", because="no request was refused"
            ),
            StrategySeen(id="spec_eagle3", decision="defer", seen="not_in_force", because="no speculative setting"),
        ),
        memory=(
            MemoryRow(term="weights", predicted_bytes=17_163_798_528, measured_bytes=17_340_000_000),
            MemoryRow(term="kv_room", predicted_bytes=58_948_621_026, measured_bytes=58_100_000_000),
        ),
        capacity=Capacity(concurrency=24, kind="edge", stop_reason="the bracket was 4 wide", confidence=0.95),
        telemetry=Telemetry(
            gpu=(GPU_USE,), energy_j=63_000.0, joule_per_output_token=1.538, kv_usage_peak=0.163, preemptions=0
        ),
        clean_stop=True,
        files=(),
        model="Qwen/Qwen3-32B-FP8",
        seed=7,
    )


EVIDENCE = (
    EvidenceFile(
        id="EV-1",
        what="Machine as probed",
        file="machine.json",
        sha256="3d7d234d83eb97cd01dc27b5b5f22658fa9e999879e98e7dfd5e25becd3bcfdc",
        when="2026-11-26 08:41",
        command="CMD-1",
    ),
    EvidenceFile(
        id="EV-2",
        what="Answers",
        file="answers.toml",
        sha256="e03558f014dfeaf478eadd2531ced8b8f1a119e38f8883d7059676734ad1bb8e",
        when="2026-11-26",
        command="CMD-4",
    ),
)


def select(
    tree: dict[str, object],
    *,
    on: Machine | None = None,
    run: SmokeResult | None = None,
    evidence: tuple[EvidenceFile, ...] = (),
) -> Selection:
    """A selection from a tree of answers, made as the program makes it."""
    merged = merge([Layer(name="answers.toml", tree=tree)])
    answers, origins = fill(validate(merged), merged.origins, on)
    return from_answers(answers, origins, on=on, run=run, evidence=evidence)


def from_answers(
    answers: Answers,
    origins: dict[str, Origin],
    *,
    on: Machine | None = None,
    run: SmokeResult | None = None,
    evidence: tuple[EvidenceFile, ...] = (),
) -> Selection:
    """A selection from answers that are already validated."""
    command = launch(answers)
    configuration, weights = carried_configuration(answers)
    selection = Selection(
        tool=Tool(version="0.1.0", template=1, schema_version=1),
        prepared_on=DAY,
        answers=answers,
        origins=origins,
        models=tuple(model_facts(model.name) for model in answers.engine.models),
        machine=on,
        launch=command,
        sizing=proposed_sizing(answers, command, on, configuration, weights, common_types()),
        smoke=run,
        engine_line=engine_line(answers.budget.engine),
        runtime_line=runtime_line(answers.budget.runtime),
        open_answers=open_answers(answers),
        evidence=evidence,
    )
    return selection.model_copy(update={"findings": check(selection)})


def full() -> Selection:
    """The built-in example on a recorded machine, with a run, findings and evidence."""
    return select(example_tree(DAY), on=machine(), run=smoke(), evidence=EVIDENCE)


def two_nodes() -> Selection:
    """The second example on its recorded fleet, with nothing measured."""
    return select(example_tree(DAY, "two-nodes"), on=enriched(read_machine_file(FLEET)))


def almost_empty() -> Selection:
    """A title and nothing else: no machine, no run, no price, no owner."""
    return select({"project": {"title": "An idea"}})
