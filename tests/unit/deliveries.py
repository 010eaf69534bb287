"""Deliveries for the tests of `verify`: one that is what was approved, and the ways to make it another."""

from dataclasses import replace
from typing import Any

from probes.reading import Reading
from probes.smoke.endpoint import Served
from probes.smoke.metrics import Metrics
from probes.smoke.start_log import StartLog, parse_start_log
from tests.unit.selections import ANSWERS, GPU, MODEL, good_selection, machine, point, smoke
from wizard.decision.selection import Selection
from wizard.verify.check import Check, Delivered
from wizard.verify.compare import compare

CEILINGS = [
    {"metric": metric, "percentile": 95, "limit": 2000.0, "over": 0, "n": 240, "verdict": "supported"}
    for metric in ("ttft_ms", "tpot_ms", "e2e_ms")
]
ARGUMENTS: dict[str, Any] = {
    "model_tag": MODEL,
    "port": 8000,
    "model": MODEL,
    "tensor_parallel_size": 2,
    "max_model_len": 16384,
    "max_num_queued_reqs": 48,
    "tool_call_parser": "hermes",
    "enable_auto_tool_choice": True,
    "enable_prefix_caching": True,
}
RESOLVED: dict[str, Any] = {
    "model": MODEL,
    "speculative_config": None,
    "max_seq_len": 16384,
    "tensor_parallel_size": 2,
    "pipeline_parallel_size": 1,
    "data_parallel_size": 1,
    "quantization": "fp8",
    "kv_cache_dtype": "auto",
    "enable_prefix_caching": True,
    "enable_chunked_prefill": True,
    "revision": ANSWERS["engine"]["models"][0].get("revision"),
}
LABELS = {
    "enable_prefix_caching": "True",
    "block_size": "16",
    "cache_dtype": "auto",
    "kv_cache_size_tokens": "236640",
    "gpu_memory_utilization": "0.92",
}
GRAPHS = "compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.FULL: 2>}"


def log_text(
    arguments: dict[str, Any] | None = None, resolved: dict[str, Any] | None = None, version: str = "0.33.0"
) -> str:
    """A start-up log in the form of vLLM 0.33; a value of `...` leaves its key out."""
    given = {key: value for key, value in (ARGUMENTS | (arguments or {})).items() if value is not ...}
    settings = {key: value for key, value in (RESOLVED | (resolved or {})).items() if value is not ...}
    shown = ", ".join(f"{key}={value!r}" if key == "model" else f"{key}={value}" for key, value in settings.items())
    return (
        f"(APIServer pid=1) INFO 12-01 09:00:00 [utils.py:299]   █  version {version}\n"
        f"(APIServer pid=1) INFO 12-01 09:00:00 [utils.py:233] non-default args: {given}\n"
        f"(EngineCore pid=2) INFO 12-01 09:00:09 [core.py:98] Initializing a V1 LLM engine (v{version}) with config: "
        f"{shown}, {GRAPHS}\n"
        "(EngineCore pid=2) INFO 12-01 09:01:00 [kv_cache_utils.py:1] GPU KV cache size: 236,640 tokens\n"
    )


def log(
    arguments: dict[str, Any] | None = None, resolved: dict[str, Any] | None = None, version: str = "0.33.0"
) -> StartLog:
    """The same, read."""
    return parse_start_log(log_text(arguments, resolved, version))


def delivery(**changes: Any) -> Delivered:
    """A delivery of which everything was seen, and everything is what was approved."""
    delivered_machine = machine(GPU, GPU, GPU, GPU)
    driver = delivered_machine.driver.model_copy(update={"version": Reading.of("580.105.08", "test")})
    served = Served(id=MODEL, root=MODEL, max_model_len=16384, owned_by="vllm")
    made = Delivered(
        served=(served,),
        version="0.33.0",
        metrics=Metrics(cache_config=LABELS, engines=1),
        log=log(),
        machine=delivered_machine.model_copy(update={"driver": driver}),
        smoke=smoke(point(ceilings=CEILINGS)),
        selection_hash="a" * 64,
        printed_hash="a" * 64,
    )
    return replace(made, **changes)


def approved(changes: dict[str, Any]) -> Selection:
    """The selection with some of its answers changed by key."""
    return good_selection(**changes)


def served(**changes: Any) -> tuple[Served, ...]:
    """The entry of /v1/models with some of it changed."""
    return (delivery().served[0].model_copy(update=changes),)


def checked(delivered: Delivered, selection: Selection | None = None) -> dict[str, Check]:
    """The checks by what they are about."""
    return {check.what: check for check in compare(selection or good_selection(), delivered)}


def differing(delivered: Delivered, selection: Selection | None = None) -> list[str]:
    """What differs."""
    return [what for what, check in checked(delivered, selection).items() if check.verdict == "different"]
