"""Mutations of the rules on layout, lengths and switches: C3 to C8, C11, C33 to C35, X4 and X5."""

from tests.unit.rule_mutations.row import A, M, Row, replica_of
from tests.unit.selections import FACTS, GPU, machine

_LOAD = "runtime.workload"

TABLE: list[Row] = [
    (
        "3 ranks for 64 heads",
        {"runtime.layout.tensor_parallel": 3, "machine": machine(GPU, GPU, GPU), "smoke": None} | replica_of(3),
        ("C3", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "16 ranks for 8 key-value heads",
        {"runtime.layout.tensor_parallel": 16, "machine": None, "smoke": None} | replica_of(16),
        ("C3", "warn", "runtime.layout.tensor_parallel"),
    ),
    (
        "3 ranks in LMDeploy",
        {"runtime.product": "LMDeploy", "runtime.version": "0.18.0", "engine.chosen": "LMDeploy",
         "engine.options[0].name": "LMDeploy", "engine.strategies": {}, "runtime.layout.tensor_parallel": 3,
         "machine": None, "smoke": None} | replica_of(3),
        ("C3", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "layout above the replica",
        {"runtime.layout.pipeline_parallel": 2, "smoke": None},
        ("C4", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "one GPU found for a replica of two",
        {"machine": machine(GPU)},
        ("C4", "warn", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "one GPU planned for a replica of two",
        {"machine": machine(GPU, source="plan"), "smoke": None},
        ("C4", "note", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "request too short for a call",
        {"runtime.settings.max_model_len": 7000, "smoke": None},
        ("C6", "block", "runtime.settings.max_model_len"),
    ),
    (
        "request longer than the model takes",
        {"runtime.settings.max_model_len": 65536, "smoke": None},
        ("C6", "block", "runtime.settings.max_model_len"),
    ),
    (
        "adopted without its number",
        {"runtime.settings.max_num_queued_reqs": ..., "smoke": None},
        ("C7", "block", "runtime.settings.max_num_queued_reqs"),
    ),
    (
        "adopted, switched off by a further flag",
        {"runtime.settings.extra_flags": ["--enforce-eager"], "smoke": None},
        ("C7", "block", "runtime.settings.extra_flags"),
    ),
    (
        "quantised weights adopted, the checkpoint is not",
        {"facts": FACTS.model_copy(update={"quantization": None})},
        ("C7", "block", f"{M}.name"),
    ),
    (
        "adopted, only a typed flag can switch it on",
        {f"{A}.spec_eagle3.decision": "adopt", "smoke": None},
        ("C7", "block", "runtime.settings.extra_flags"),
    ),
    (
        "deferred, but switched on by an answer",
        {"runtime.settings.kv_cache_dtype": "fp8", "smoke": None},
        ("C8", "block", "runtime.settings.kv_cache_dtype"),
    ),
    (
        "rejected, but switched on by a further flag",
        {"runtime.settings.extra_flags": ["--speculative-config '{\"method\": \"eagle3\"}'"], "smoke": None},
        ("C8", "block", "runtime.settings.extra_flags"),
    ),
    (
        "deferred, but on by default",
        {f"{A}.prefix_caching.decision": "defer", "smoke": None},
        ("C8", "block", f"{A}.prefix_caching.decision"),
    ),
    (
        "rejected, but cannot be switched off",
        {f"{A}.paged_kv": {"decision": "reject", "reason": "x"}},
        ("C8", "block", f"{A}.paged_kv.decision"),
    ),
    (
        "rejected, but the checkpoint carries it",
        {f"{A}.weight_quantization.decision": "reject"},
        ("C8", "block", f"{A}.weight_quantization.decision"),
    ),
    (
        "another GPU was probed",
        {"machine": machine("NVIDIA L40S", "NVIDIA L40S"), "smoke": None},
        ("C11", "warn", "runtime.hardware.gpu"),
    ),
    (
        "another GPU is planned",
        {"machine": machine("NVIDIA L40S", "NVIDIA L40S", source="plan"), "smoke": None},
        ("C11", "warn", "runtime.hardware.gpu"),
    ),
    (
        "section 1 names a number of GPUs",
        {"engine.purpose": "agents on 4 GPUs"},
        ("X4", "warn", "engine.purpose"),
    ),
    (
        "section 1 names a price",
        {f"{A}.prefix_caching.reason": "saves EUR 12,000 a year"},
        ("X4", "warn", f"{A}.prefix_caching.reason"),
    ),
    (
        "a share of GPU memory that nobody chose",
        {"defaults": ("runtime.settings.gpu_memory_utilization",)},
        ("X5", "warn", "runtime.settings.gpu_memory_utilization"),
    ),
    (
        "a strategy that nobody decided on",
        {"defaults": (f"{A}.cuda_graphs.decision", f"{A}.kv_quantization.decision")},
        ("X5", "warn", f"{A}.cuda_graphs.decision"),
    ),
    (
        "more of the prompt shared than there is",
        {f"{_LOAD}.shared_prefix_tokens": 7169, "smoke": None},
        ("C33", "block", f"{_LOAD}.shared_prefix_tokens"),
    ),
    (
        "fewer calls in flight than the users make",
        {f"{_LOAD}.users_peak_hour": 600, f"{_LOAD}.tasks_per_user_hour": 4, f"{_LOAD}.calls_per_task": 5,
         f"{_LOAD}.call_seconds": 8},
        ("C33", "warn", f"{_LOAD}.concurrency"),
    ),
    (
        "many more calls in flight than the users make",
        {f"{_LOAD}.users_peak_hour": 300, f"{_LOAD}.tasks_per_user_hour": 4, f"{_LOAD}.calls_per_task": 5,
         f"{_LOAD}.call_seconds": 8},
        ("C33", "note", f"{_LOAD}.concurrency"),
    ),
    (
        "a longest request below the context that is needed",
        {"runtime.settings.max_model_len": 8192, "smoke": None},
        ("C33", "warn", "runtime.settings.max_model_len"),
    ),
    (
        "a first token that may take longer than its call",
        {"runtime.ceilings.ttft_ms": 15001, "smoke": None},
        ("C34", "warn", "runtime.ceilings.ttft_ms"),
    ),
    (
        "tokens that may take longer than their call",
        {"runtime.ceilings.tpot_ms": 68, "smoke": None},
        ("C34", "warn", "runtime.ceilings.tpot_ms"),
    ),
    (
        "calls that may take longer than their task",
        {f"{_LOAD}.task_seconds": 60, f"{_LOAD}.calls_per_task": 5},
        ("C34", "warn", "runtime.ceilings.e2e_ms"),
    ),
    ("whatever is newest", {"runtime.version": "latest", "smoke": None}, ("C35", "warn", "runtime.version")),
    ("a range of versions", {"runtime.version": ">=0.33.0", "smoke": None}, ("C35", "warn", "runtime.version")),
]  # fmt: skip
