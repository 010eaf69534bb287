"""A selection that no rule objects to, made from plain dicts, and the ways to break it.

`good_selection(**{"runtime.layout.tensor_parallel": 3})` changes one answer by its key; `...` as the value takes the
answer away.
"""

import copy
import datetime
import re
from typing import Any

from probes.machine import Gpu, Machine
from probes.models import ModelFacts
from probes.reading import Reading
from probes.smoke.result import SmokeResult
from wizard.answers import Answers
from wizard.asking.provenance import Origin
from wizard.budget import engine_line, runtime_line
from wizard.decision.selection import Selection, Tool
from wizard.serving.launch import launch

TODAY = datetime.date(2026, 11, 30)
GPU = "NVIDIA H100 80GB HBM3"
MODEL = "Example/Dense-32B-FP8"

_PRICE = {
    "basis": "quote",
    "observed_on": datetime.date(2026, 11, 20),
    "valid_until": datetime.date(2027, 2, 1),
    "source_ref": "Q-1 (invented)",
}

ANSWERS: dict[str, Any] = {
    "project": {"title": "Example", "author": "engineer", "review_by": datetime.date(2027, 5, 31)},
    "engine": {
        "owner": "engine lead",
        "chosen": "vLLM",
        "licence": "Apache-2.0",
        "licence_kind": "open-source",
        "models": [
            {
                "name": MODEL,
                "revision": "4f1c9e0",
                "context_tokens": 16384,
                "carried_by": "this",
                "licence": "Apache-2.0",
                "licence_review": "reviewed by legal counsel",
            },
            {"name": "embedding model", "carried_by": "TS-1"},
        ],
        "strategies": {
            "prefix_caching": {"decision": "adopt", "reason": "shared prompt"},
            "weight_quantization": {"decision": "adopt", "reason": "memory"},
            "admission_control": {"decision": "adopt", "reason": "overload"},
            "tensor_parallel": {"decision": "adopt", "reason": "memory"},
            "tool_reasoning_parsers": {"decision": "adopt", "reason": "tools"},
            "kv_quantization": {"decision": "defer", "reason": "not tested"},
            "spec_eagle3": {"decision": "reject", "reason": "no head"},
            "cuda_graphs": {"decision": "adopt", "reason": "speed"},
        },
        "interfaces": "OpenAI-compatible chat completions",
        "quality_gate": "own cases, at most 1 point below the 16-bit model",
        "gates": [{"name": "licence"}],
        "criteria": [
            {"name": "strategies", "weight": 40},
            {"name": "operation", "weight": 30},
            {"name": "skills", "weight": 30},
        ],
        "options": [
            {
                "name": "vLLM",
                "kind": "engine",
                "gates": {"licence": "pass"},
                "scores": {"strategies": 4, "operation": 5, "skills": 5},
            },
            {
                "name": "SGLang",
                "kind": "engine",
                "gates": {"licence": "pass"},
                "scores": {"strategies": 4, "operation": 3, "skills": 2},
                "rejected_because": "not run here",
            },
            {"name": "Nothing", "kind": "do_nothing", "rejected_because": "no capacity"},
        ],
    },
    "runtime": {
        "owner": "operations lead",
        "product": "vLLM",
        "version": "0.33.0",
        "hardware": {
            "gpu": GPU,
            "gpus_per_replica": 2,
            "ownership": "rented",
            "interconnect": "NVLink",
            "driver": "branch 580 or later",
        },
        "layout": {
            "tensor_parallel": 2,
            "pipeline_parallel": 1,
            "data_parallel": 1,
            "replicas": 1,
            "spare_replicas": 1,
        },
        "workload": {
            "concurrency": 24,
            "input_tokens": 7168,
            "output_tokens": 224,
            "shared_prefix_tokens": 6144,
            "calls_per_year": 13_500_000,
        },
        "ceilings": {"percentile": 95, "ttft_ms": 2000, "tpot_ms": 45, "e2e_ms": 15000},
        "settings": {
            "max_model_len": 16384,
            "kv_cache_dtype": "auto",
            "max_num_queued_reqs": 48,
            "tool_call_parser": "hermes",
            "extra_flags": [],
        },
        "options": [{"name": "H200", "rejected_because": "no date"}],
        "existing": {
            "platform": "Kubernetes",
            "gateway": "company gateway",
            "identity": "OIDC",
            "monitoring": "Prometheus",
            "registry": "private registry",
            "driver_policy": "branch 580",
        },
        "security": {
            "listening": "127.0.0.1 in the pod",
            "authentication": "OIDC at the gateway",
            "open_paths": "/v1/chat/completions and /v1/models",
            "tenants": "one",
            "outbound": "none",
        },
        "operations": {"availability": "99.5 % a month", "alerts": "ceilings, queue, errors"},
    },
    "budget": {
        "engine": {
            "owner": "engine lead",
            "currency": "EUR",
            "contingency_percent": 10,
            "contingency_basis": "high case of the day estimates",
            "contingency_releaser": "engine lead",
            "items": [
                {
                    "id": "E1",
                    "item": "Licence",
                    "quantity": 4,
                    "unit": "Accelerators",
                    "unit_price": "0.00",
                    "frequency": "yearly",
                    **_PRICE,
                    "basis": "open-source",
                },
                {
                    "id": "E4",
                    "item": "Tuning",
                    "quantity": 9,
                    "unit": "Person-Days",
                    "unit_price": "720.00",
                    "frequency": "one-time",
                    **_PRICE,
                },
            ],
        },
        "runtime": {
            "owner": "operations lead",
            "currency": "EUR",
            "contingency_percent": 5,
            "contingency_basis": "the quote may end before the order",
            "contingency_releaser": "operations lead",
            "items": [
                {
                    "id": "R1",
                    "item": "GPUs",
                    "quantity": 17520,
                    "unit": "GPU-Hours",
                    "unit_price": "3.1700",
                    "frequency": "yearly",
                    **_PRICE,
                },
                {"id": "R4", "item": "Hosts", "basis": "bundled", "included_in": "R1", "frequency": "yearly"},
                {
                    "id": "R2",
                    "item": "Spare GPUs",
                    "quantity": 17520,
                    "unit": "GPU-Hours",
                    "unit_price": "3.1700",
                    "frequency": "yearly",
                    **_PRICE,
                },
            ],
        },
    },
    "governance": {
        "approvals": [
            {"role": "change board", "name": "change manager", "covers": "engine, line E"},
            {"role": "hosting committee", "name": "committee chair", "covers": "runtime, line R"},
        ]
    },
}

FACTS = ModelFacts(
    name=MODEL,
    architecture="LlamaForCausalLM",
    model_type="llama",
    layers=64,
    attention_heads=64,
    kv_heads=8,
    head_dim=128,
    hidden_size=8192,
    vocab_size=128256,
    max_position_embeddings=40960,
    quantization="fp8",
    dtype="bfloat16",
    is_moe=False,
    experts=None,
    experts_per_token=None,
    source="config.json",
)


def _put(tree: Any, key: str, value: Any) -> None:
    *path, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", key)]
    for part in path:
        tree = tree[part] if isinstance(part, int) else tree.setdefault(part, {})
    if value is ...:
        del tree[last]
    elif isinstance(tree, list) and last == len(tree):
        tree.append(value)
    else:
        tree[last] = value


def good_answers(**changes: Any) -> Answers:
    """Make the answers with some of them changed by key; `...` takes one away."""
    tree = copy.deepcopy(ANSWERS)
    for key, value in changes.items():
        _put(tree, key, value)
    return Answers.model_validate(tree)


def machine(*names: str, source: str = "nvml:nvmlDeviceGetName", **known: Any) -> Machine:
    """Make a machine with usable GPUs of these names, of which nothing else is known but the readings in `known`."""
    absent = {"why": "unknown", "source": "test"}
    gpus = [
        Gpu.sparse(index, why="unknown", source="test", name={"value": name, "source": source}, **known)
        for index, name in enumerate(names)
    ]
    readings = [
        "os_name", "kernel", "glibc", "machine_architecture", "python", "cpu_model", "cpu_physical_cores",
        "cpu_logical_cores", "cpu_usable_cores", "memory_total_bytes", "memory_available_bytes",
        "memory_usable_bytes", "shm_total_bytes", "shm_free_bytes", "in_container", "wsl", "gcc",
        "nvidia_module",
    ]  # fmt: skip
    return Machine.model_validate(
        {
            "tool_version": "0.1.0",
            "taken_at": "2026-11-26T08:41:00Z",
            "driver": {"version": absent, "cuda": absent, "nvml": absent},
            "gpus": gpus,
            "links": [],
            "host": {**dict.fromkeys(readings, absent), "disks": []},
            "runtimes": [],
            "problems": [],
        }
    )


def linked(on: Machine, kind: str) -> Machine:
    """Link the first two GPUs of a machine, by `nvlink` or `pcie`."""
    absent = {"why": "unknown", "source": "test"}
    link = {"a": 0, "b": 1, "kind": kind, "level": "unknown", "peer_access": absent}
    return Machine.model_validate({**on.model_dump(), "links": [link]})


def with_driver(on: Machine, version: str) -> Machine:
    """Give a machine a driver."""
    driver = on.driver.model_copy(update={"version": Reading[str](value=version, source="test")})
    return on.model_copy(update={"driver": driver})


def on_host(on: Machine, **known: int) -> Machine:
    """Give a machine a host of which something is known."""
    readings = {name: Reading[int](value=value, source="test") for name, value in known.items()}
    return on.model_copy(update={"host": on.host.model_copy(update=readings)})


def ceiling(metric: str = "ttft_ms", over: int = 0, verdict: str = "supported") -> dict[str, Any]:
    """Make the result of one ceiling of 240 requests."""
    return {
        "metric": metric,
        "percentile": 95,
        "limit": 2000.0,
        "over": over,
        "n": 240,
        "verdict": verdict,
    }


def point(kind: str = "asked_shared", concurrency: int = 24, **changes: Any) -> dict[str, Any]:
    """Make one measured point whose ceilings are supported."""
    latency = {"n": 240, "p50": 300.0, "p50_ci": (290.0, 310.0), "p95": 500.0, "p95_upper": 600.0, "p99": None}
    made = {
        "kind": kind,
        "prefix_hit_rate": 0.85 if kind != "asked_unshared" else 0.0,
        "shared_prefix_tokens": 6144,
        "excluded": 0,
        "output_len": {"min": 135, "p50": 228, "max": 313},
        "concurrency": concurrency,
        "requests": 240,
        "completed": 240,
        "failed": 0,
        "warmups": 48,
        "duration_s": 76.8,
        "input_tokens": 1_720_320,
        "output_tokens": 53_760,
        "output_tok_s": 700.0,
        "steady": True,
        "ttft_ms": latency,
        "tpot_ms": latency,
        "e2e_ms": latency,
        "ceilings": [ceiling()],
    }
    return made | changes


def ran(**other: str) -> list[str]:
    """Make the command of a run of the proposed settings, or of others: `ran(max_num_queued_reqs="16")`."""
    words = ["vllm", "serve", MODEL]
    for setting in launch(good_answers()).settings:
        value = other.get(setting.flag.removeprefix("--").replace("-", "_"), setting.value)
        words += [setting.flag] if value is None else [setting.flag, value]
    return words


def smoke(*points: dict[str, Any], **changes: Any) -> SmokeResult:
    """Make the result of a run of the proposed model with the proposed settings, from local weights."""
    made: dict[str, Any] = {
        "run_id": "RUN-1",
        "mode": "local",
        "started_at": "2026-11-26T09:12:00Z",
        "ended_at": "2026-11-26T09:47:00Z",
        "runtime": {"product": "vllm", "version": "0.33.0", "command": ran(), "build": "cuda"},
        "load": {"tool": "vllm bench serve", "command": []},
        "server": {
            "ready_s": 148.0,
            "kv_cache_size_tokens": 236640,
            "kv_cache_max_concurrency": 14.4,
            "phases": [],
        },
        "points": list(points) or [point()],
        "strategies": [],
        "memory": [],
        "capacity": None,
        "telemetry": {
            "gpu": [],
            "energy_j": None,
            "joule_per_output_token": None,
            "kv_usage_peak": None,
            "preemptions": None,
        },
        "clean_stop": True,
        "files": [],
        "model": MODEL,
    }
    return SmokeResult.model_validate(made | changes)


def good_selection(
    *,
    facts: ModelFacts | None = FACTS,
    machine: Machine | None = machine(GPU, GPU),  # noqa: B008  # frozen, so one instance may serve all
    smoke: SmokeResult | None = smoke(),  # noqa: B008  # frozen
    defaults: tuple[str, ...] = (),
    environment: tuple[tuple[str, str], ...] | None = None,
    **changes: Any,
) -> Selection:
    """Make a selection without findings, or with some answers changed by key.

    `defaults` are the keys of values that nobody chose, `environment` the variables of the launch.
    """
    answers = good_answers(**changes)
    started = launch(answers)
    if environment is not None:
        started = started.model_copy(update={"environment": environment})
    return Selection(
        tool=Tool(version="0.1.0", template=1, schema_version=1),
        prepared_on=TODAY,
        answers=answers,
        origins={"engine.owner": Origin(layer="answers")} | {key: Origin(layer="default") for key in defaults},
        models=(facts, None),
        machine=machine,
        launch=started,
        smoke=smoke,
        engine_line=engine_line(answers.budget.engine),
        runtime_line=runtime_line(answers.budget.runtime),
    )
