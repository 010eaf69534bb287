"""Mutations of the rules on adopted strategies: C9, C16 to C19, C25, C27 and B18."""

from typing import Any

from tests.unit.rule_mutations.row import A, E, R, Row, replica_of
from tests.unit.selections import FACTS

_ADOPT = {"decision": "adopt", "reason": "x"}
_EXTRA = "runtime.settings.extra_flags"
_TWO: dict[str, Any] = {"runtime.layout.replicas": 2, f"{E}[0].quantity": 6, f"{R}[0].quantity": 35040}
_APART = ['--kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_both"}\'']
_EAGLE = '--speculative-config \'{"method": "eagle3", "model": "x/head"}\''
_NO_HEAD = '--speculative-config \'{"method": "eagle3"}\''
_SPEC = f"{A}.spec_eagle3.decision"

TABLE: list[Row] = [
    (
        "a pair that the code refuses",
        {f"{A}.comm_compute_overlap": _ADOPT, f"{A}.multi_lora": _ADOPT, "smoke": None,
         _EXTRA: ["--enable-lora", "--enable-dbo"],
         "facts": FACTS.model_copy(update={"is_moe": True, "experts": 8, "experts_per_token": 2})},
        ("C9", "block", f"{A}.multi_lora.decision"),
    ),
    (
        "a pair that the feature matrix does not have",
        {_SPEC: "adopt", f"{A}.multi_lora": _ADOPT, "smoke": None, _EXTRA: ["--enable-lora", _EAGLE]},
        ("C9", "warn", _SPEC),
    ),
    (
        "prefill and decode apart in one instance",
        {f"{A}.disaggregated_pd": _ADOPT, "smoke": None, _EXTRA: _APART},
        ("C16", "block", "runtime.layout.replicas"),
    ),
    (
        "prefill and decode apart without a fabric",
        {**_TWO, f"{A}.disaggregated_pd": _ADOPT, "runtime.hardware.interconnect": "PCIe", "smoke": None,
         _EXTRA: _APART},
        ("C16", "warn", "runtime.hardware.interconnect"),
    ),
    (
        "prefill and decode apart for throughput",
        {**_TWO, f"{A}.disaggregated_pd": {"decision": "adopt", "reason": "more throughput"}, "smoke": None,
         _EXTRA: _APART},
        ("C16", "warn", f"{A}.disaggregated_pd.reason"),
    ),
    (
        "speculation without a draft",
        {_SPEC: "adopt", "smoke": None, _EXTRA: [_NO_HEAD]},
        ("C17", "warn", _EXTRA),
    ),
    (
        "speculation at many calls",
        {_SPEC: "adopt", "smoke": None, _EXTRA: [_EAGLE], "runtime.workload.concurrency": 96,
         "runtime.settings.max_num_queued_reqs": 200},
        ("C17", "warn", _SPEC),
    ),
    (
        "an FP8 cache without scales",
        {f"{A}.kv_quantization.decision": "adopt", "runtime.settings.kv_cache_dtype": "fp8", "smoke": None},
        ("C18", "warn", "runtime.settings.kv_cache_dtype"),
    ),
    (
        "a cache of 4 bits without a test",
        {f"{A}.kv_quantization.decision": "adopt", "runtime.settings.kv_cache_dtype": "nvfp4", "smoke": None,
         "engine.quality_gate": ...},
        ("C18", "warn", "engine.quality_gate"),
    ),
    (
        "priorities without a direction",
        {f"{A}.priority_scheduling": {"decision": "adopt", "reason": "interactive calls before batch"},
         "smoke": None},
        ("C19", "warn", f"{A}.priority_scheduling.reason"),
    ),
    (
        "a batch below the calls in flight",
        {"runtime.settings.max_num_seqs": 16, "smoke": None},
        ("C25", "warn", "runtime.settings.max_num_seqs"),
    ),
    (
        "fewer calls admitted than in flight",
        {"runtime.settings.max_num_queued_reqs": 16, "smoke": None},
        ("C25", "block", "runtime.settings.max_num_queued_reqs"),
    ),
    (
        "more calls than the greatest default batch",
        {"runtime.workload.concurrency": 2000, "runtime.settings.max_num_queued_reqs": 4000, "smoke": None},
        ("C25", "warn", "runtime.settings.max_num_seqs"),
    ),
    (
        "experts apart in a dense model",
        {f"{A}.expert_parallel": _ADOPT, "smoke": None},
        ("C27", "warn", f"{A}.expert_parallel.decision"),
    ),
    (
        "a router for one instance",
        {f"{A}.cache_aware_routing": _ADOPT, "smoke": None,
         _EXTRA: ["--kv-events-config '{\"enable_kv_cache_events\": true}'"]},
        ("C27", "warn", "runtime.layout.replicas"),
    ),
    (
        "repeatable answers on an old GPU, to be bought",
        {f"{A}.deterministic": _ADOPT, "smoke": None, "machine": None, "runtime.hardware.gpu": "Tesla T4",
         "runtime.layout.tensor_parallel": 1, f"{A}.tensor_parallel": ...,
         "facts": FACTS.model_copy(update={"quantization": "awq"})} | replica_of(1),
        ("C27", "note", "runtime.hardware.gpu"),
    ),
    (
        "a cache in host memory that nobody pays for",
        {f"{A}.kv_offload": {"decision": "adopt", "reason": "x"}, _EXTRA: ["--kv-offloading-size 64"],
         f"{R}[1]": {"id": "R4", "state": "not_needed", "reason": "in the price"}, "smoke": None},
        ("B18", "block", R),
    ),
]  # fmt: skip
