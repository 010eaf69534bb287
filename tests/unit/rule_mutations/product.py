"""Mutations of the rules on the product and the house: C10, C14, C21 to C23, C26, S1 to S6."""

from typing import Any

from tests.unit.rule_mutations.row import A, M, Row
from tests.unit.selections import FACTS, GPU, machine, on_host

_X = "runtime.existing"
_S = "runtime.security"
_EXTRA = "runtime.settings.extra_flags"
#: Another engine on both sides, whose switches the answers then do not name.
_SGLANG: dict[str, Any] = {
    "engine.chosen": "SGLang", "engine.options[0].rejected_because": "x", "engine.strategies": {},
    "engine.options[1].scores": {"strategies": 5, "operation": 5, "skills": 5},
    "runtime.product": "SGLang", "runtime.version": "0.5.23", "smoke": None,
}  # fmt: skip
_TRTLLM: dict[str, Any] = {
    "engine.chosen": "TensorRT-LLM", "engine.options[0].name": "TensorRT-LLM", "engine.strategies": {},
    "runtime.product": "TensorRT-LLM", "runtime.version": "1.2.1", "smoke": None,
    f"{_X}.monitoring": "a collector of our own",
}  # fmt: skip
_DYNAMO: dict[str, Any] = {
    "runtime.product": "NVIDIA Dynamo", "runtime.version": "1.6.1", "engine.strategies": {}, "smoke": None,
    "runtime.inner_engine": "vLLM", "runtime.inner_version": "0.31.0",
}  # fmt: skip

TABLE: list[Row] = [
    (
        "no model is named",
        {"engine.models": [], f"{A}.weight_quantization": ..., "facts": None, "smoke": None},
        ("C10", "block", "engine.models"),
    ),
    (
        "an architecture that the version does not list",
        {"facts": FACTS.model_copy(update={"architecture": "NoSuchForCausalLM"})},
        ("C10", "block", f"{M}.name"),
    ),
    (
        "an architecture that no known version lists",
        {"facts": FACTS.model_copy(update={"architecture": "NoSuchForCausalLM"}), "runtime.version": "0.99.0",
         "smoke": None},
        ("C10", "note", f"{M}.name"),
    ),
    ("no engine of that name", {"runtime.inner_engine": "vlm"}, ("C36", "warn", "runtime.inner_engine")),
    ("nothing is said of the platform", {f"{_X}.platform": ...}, ("C14", "warn", f"{_X}.platform")),
    ("Windows", {f"{_X}.platform": "Windows Server"}, ("C14", "warn", f"{_X}.platform")),
    ("no gateway", {f"{_X}.gateway": "none"}, ("C14", "warn", f"{_X}.gateway")),
    (
        "a path that clients call is closed",
        {f"{_S}.open_paths": "/v1/models"},
        ("C14", "warn", f"{_S}.open_paths"),
    ),
    ("nothing reads the metrics", {f"{_X}.monitoring": "none"}, ("C14", "warn", f"{_X}.monitoring")),
    ("a driver policy below the build", {f"{_X}.driver_policy": "branch 550"}, ("C14", "warn", f"{_X}.driver_policy")),
    (
        "a container's shared memory for two ranks",
        {"machine": on_host(machine(GPU, GPU), shm_total_bytes=64 * 1024**2)},
        ("C14", "warn", f"{_X}.platform"),
    ),
    (
        "metrics that are off",
        _SGLANG,
        ("C14", "warn", _EXTRA),
    ),
    (
        "a product around another engine",
        {**_DYNAMO, "runtime.inner_engine": "SGLang", "runtime.inner_version": "0.5.21"},
        ("C26", "block", "runtime.inner_engine"),
    ),
    (
        "a product that names no engine",
        {key: value for key, value in _DYNAMO.items() if "inner" not in key},
        ("C26", "block", "runtime.inner_engine"),
    ),
    (
        "another version than the orchestrator pins",
        {**_DYNAMO, "runtime.inner_version": "0.33.0"},
        ("C26", "block", "runtime.inner_version"),
    ),
    (
        "the product is another engine",
        {"runtime.product": "LMDeploy", "runtime.version": "0.18.0", "engine.strategies": {}, "smoke": None},
        ("C26", "block", "runtime.product"),
    ),
    (
        "an alert on a metric that is gone",
        {"runtime.operations.alerts": "vllm:gpu_cache_usage_perc above 0.9"},
        ("C21", "warn", "runtime.operations.alerts"),
    ),
    (
        "an alert on another engine's metric",
        {"runtime.operations.alerts": "sglang:num_queue_reqs above 10"},
        ("C21", "warn", "runtime.operations.alerts"),
    ),
    ("disputed defaults", _TRTLLM, ("C22", "warn", _EXTRA)),
    (
        "vLLM's memory share for another engine",
        {**_SGLANG, _EXTRA: ["--enable-metrics"], "runtime.settings.gpu_memory_utilization": 0.9},
        ("C23", "warn", "runtime.settings.gpu_memory_utilization"),
    ),
    (
        "open to all without a guard",
        {f"{_S}.listening": "0.0.0.0", f"{_S}.authentication": ..., f"{_X}.gateway": "not decided",
         f"{_X}.identity": "to be decided"},
        ("S1", "block", f"{_S}.authentication"),
    ),
    ("the runtime's key alone", {f"{_S}.authentication": "--api-key"}, ("S1", "block", f"{_S}.authentication")),
    ("code of the model", {_EXTRA: ["--trust-remote-code"], "smoke": None}, ("S2", "warn", _EXTRA)),
    ("a revision that moves", {f"{M}.revision": "main"}, ("S2", "warn", f"{M}.revision")),
    ("pickled weights", {_EXTRA: ["--load-format pt"]}, ("S2", "warn", _EXTRA)),
    ("statistics left on", {"environment": (("HF_HUB_OFFLINE", "1"),)}, ("S4", "warn", f"{_S}.outbound")),
    (
        "a cluster address on a loopback launch",
        {f"{_S}.listening": "host cluster address"},
        ("S6", "warn", f"{_S}.listening"),
    ),
    ("two tenants on one cache", {f"{_S}.tenants": "two departments"}, ("S5", "warn", f"{_S}.tenants")),
]  # fmt: skip
