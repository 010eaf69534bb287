"""Rules on strategies that were adopted: with one another, with what they need, and with the load."""

import json
import re
from collections.abc import Iterator

from wizard.advice.needs import prerequisite
from wizard.advice.situation import situation_of
from wizard.answers.engine import StrategyAnswer
from wizard.catalogue import engines, pairs, strategies
from wizard.catalogue.rows import NeedKind
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import carried_model
from wizard.decision.selection import Selection
from wizard.rules.hardware import proposed_gpu
from wizard.rules.rule import Rule, counted, finding, number, strategy_named
from wizard.serving.launch import EXTRA_FLAGS
from wizard.serving.trace import realised

_DRAFTLESS = ("ngram", "ngram_gpu", "suffix", "mtp")
#: The dynamic setting of vLLM's own example speculates less from here on (0.33.0 docs/features/speculative_decoding).
_MANY_CALLS = 64
#: vLLM 0.33.0 engine/arg_utils.py: 1,024 calls on GPUs from 70 GiB on, 256 on others, unless --max-num-seqs says more.
_GREATEST_DEFAULT = 1024
_ROUTER = re.compile(r"router|proxy|gateway|dynamo|llm-d|load balancer", re.IGNORECASE)
_FABRIC = re.compile(r"rdma|infiniband|roce|nvlink|nvl\d|efa\b|ucx|fabric", re.IGNORECASE)
_DIRECTION = re.compile(r"\b(?:low|small|less|high|great|larg|big)\w*\s|\b0\b", re.IGNORECASE)
_SCALES = re.compile(r"\bscales?\b|calibrat", re.IGNORECASE)
_FOUR_BITS = re.compile(r"fp4|4bit|int4|_4", re.IGNORECASE)


def _adopted(selection: Selection) -> Iterator[tuple[str, StrategyAnswer]]:
    for identifier, answer in selection.answers.engine.strategies.items():
        if answer.decision == "adopt":
            yield identifier, answer


def pairs_go_together(selection: Selection) -> list[Finding]:
    """C9: no two adopted strategies are ones that the runtime does not take together."""
    # The pairs and how firm each source is stand in the catalogue, by runtime.
    active = [name for name, _ in _adopted(selection)]
    runtime = selection.launch.runtime
    found = []
    for pair in pairs():
        if pair.runtime != runtime or pair.strategy not in active:
            continue
        for other in active:
            if other == pair.strategy or not any(_fits(other, pattern) for pattern in pair.with_):
                continue
            a, b = strategies()[pair.strategy].name, strategies()[other].name
            product, severity = engines()[pair.runtime].name, _C9[pair.says]
            message = f"{a} and {b} are both adopted; {product} {_C9_WORDS[pair.says]}."
            remedy = f"Defer one of them, or show by a measurement that it works ({pair.source})."
            found.append(finding("C9", severity, message, f"engine.strategies.{other}.decision", remedy))
    return found


_C9: dict[str, Severity] = {"refused": "block", "no": "warn", "untested": "warn"}
_C9_WORDS = {
    "refused": "refuses to start with both",
    "no": "does not list them as working together",
    "untested": "says that nobody tested them together",
}


def _fits(identifier: str, pattern: str) -> bool:
    return identifier.startswith(pattern[:-1]) if pattern.endswith("*") else identifier == pattern


def prefill_and_decode_apart(selection: Selection) -> list[Finding]:
    """C16: prefill and decode apart have two instances, a router and a fabric, and promise no throughput."""
    # vLLM 0.33.0 docs/features/disagg_prefill.md: it "DOES NOT improve throughput"; the connector is C7's switch.
    answer = selection.answers.engine.strategies.get("disaggregated_pd")
    if answer is None or answer.decision != "adopt":
        return []
    runtime, at = selection.answers.runtime, "engine.strategies.disaggregated_pd"
    if (runtime.layout.replicas or 1) < 2:
        message = "Prefill and decode apart need two instances, and one serving replica is proposed."
        return [finding("C16", "block", message, "runtime.layout.replicas", "Propose two instances, or reject it.")]
    found = []
    said = f"{answer.reason or ''} {runtime.existing.gateway or ''} {runtime.existing.platform or ''}"
    links = f"{answer.reason or ''} {runtime.hardware.interconnect or ''}"
    missing = [] if _ROUTER.search(said) else [("router", f"{at}.reason")]
    if not _FABRIC.search(links):
        missing.append(("fabric between them", "runtime.hardware.interconnect"))
    if missing:
        message = f"Prefill and decode apart name no {' and no '.join(word for word, _ in missing)}."
        remedy = "Name what sends calls to the two sides and what carries the cache from one to the other."
        found.append(finding("C16", "warn", message, missing[0][1], remedy))
    if re.search(r"throughput", answer.reason or "", re.IGNORECASE):
        message = "The reason for prefill and decode apart promises throughput, which it does not raise."
        found.append(finding("C16", "warn", message, f"{at}.reason", "Give the latency that it is meant to protect."))
    return found


def speculation_is_founded(selection: Selection) -> list[Finding]:
    """C17: speculation names its draft and the load, and backs off where many calls run together."""
    # vLLM 0.33.0 docs/features/speculative_decoding: past the critical batch size speculation raises TPOT.
    methods = [name for name, _ in _adopted(selection) if name.startswith("spec_") and name != "spec_dynamic"]
    if not methods:
        return []
    config = _speculative_config(selection)
    found, load = [], selection.answers.runtime.workload.concurrency
    method = str(config.get("method", ""))
    if config and not config.get("model") and not (method in _DRAFTLESS or method.endswith("_mtp")):
        message = f"Speculation by {method or 'a method that is not named'} names no draft model or head."
        found.append(finding("C17", "warn", message, EXTRA_FLAGS, 'Name it as "model" in --speculative-config.'))
    at = f"engine.strategies.{methods[0]}.decision"
    is_dynamic = "num_speculative_tokens_per_batch_size" in config or "spec_dynamic" in dict(_adopted(selection))
    if load is None:
        message = "Speculation is adopted, and no concurrency says whether it helps there."
        found.append(
            finding("C17", "warn", message, "runtime.workload.concurrency", "Give the calls in flight at peak.")
        )
    elif load > _MANY_CALLS and not is_dynamic:
        message = (
            f"Speculation is adopted for {number(load)} calls in flight; with many calls it lengthens the token time."
        )
        remedy = "Adopt dynamic speculation, or measure the token time with and without it."
        found.append(finding("C17", "warn", message, at, remedy))
    return found


def _speculative_config(selection: Selection) -> dict[str, object]:
    setting = selection.launch.find("--speculative-config")
    try:
        config = json.loads((setting.value if setting else None) or "{}")
    except ValueError:
        return {}  # the runtime will say so
    return config if isinstance(config, dict) else {}


def quantised_cache_is_tested(selection: Selection) -> list[Finding]:
    """C18: a quantised key-value cache has scales or a test of the answers, in this runtime's spelling."""
    # vLLM 0.33.0 docs/features/quantization/quantized_kvcache.md: without scales 1.0 is used, which may cost
    # accuracy; SGLang's own figures for FP4 show great losses on reasoning.
    answer = selection.answers.engine.strategies.get("kv_quantization")
    value, key = selection.answers.runtime.settings.kv_cache_dtype, "runtime.settings.kv_cache_dtype"
    if value is None or (answer is not None and answer.decision != "adopt"):
        return []  # C8 speaks where it is on though it was not adopted
    carried, found = carried_model(selection), []
    dtype = carried[2].dtype if carried and carried[2] else None
    if value in ("bfloat16", "float16") and dtype is not None and dtype != value:
        message = f"A cache of type {value} must equal the type of the model, which is {dtype}."
        found.append(finding("C18", "warn", message, key, "Use auto, which is the model's own type."))
    if _FOUR_BITS.search(value) and selection.answers.engine.quality_gate is None:
        message = f"A cache of type {value} has 4 bits, and no quality gate says how the answers are tested."
        found.append(
            finding("C18", "warn", message, "engine.quality_gate", "Say how quality is measured, and its limit.")
        )
    elif value.startswith("fp8"):
        if value == "fp8" and selection.launch.runtime == "sglang":
            message = "SGLang has no cache type fp8; it spells it fp8_e4m3 or fp8_e5m2."
            found.append(finding("C18", "warn", message, key, "Write fp8_e4m3."))
        if not _SCALES.search(f"{answer.reason or ''}" if answer else ""):
            message = f"A cache of type {value} without calibrated scales uses 1.0, which may cost accuracy."
            remedy = "Say in the reason where the scales come from, or test the answers with it."
            found.append(finding("C18", "warn", message, key, remedy))
    return found


def priority_says_its_direction(selection: Selection) -> list[Finding]:
    """C19: where calls have priorities, the document says which number is urgent."""
    # vLLM serves the smaller number first, SGLang and TensorRT-LLM the greater: a change of engine inverts it silently.
    answer = selection.answers.engine.strategies.get("priority_scheduling")
    if answer is None or answer.decision != "adopt":
        return []
    overload = selection.answers.runtime.operations.overload
    if any(text and _DIRECTION.search(text) for text in (answer.reason, overload)):
        return []
    message = "Calls have priorities, and nothing says which number is the urgent one."
    remedy = "Write it into the reason: in vLLM the smaller number is urgent, in SGLang and TensorRT-LLM the greater."
    return [finding("C19", "warn", message, "engine.strategies.priority_scheduling.reason", remedy)]


def runtime_takes_the_calls(selection: Selection) -> list[Finding]:
    """C25: the greatest batch and the admitted calls of all replicas hold the calls in flight at peak."""
    # vLLM 0.33.0: --max-num-seqs counts for each data parallel rank, --max-num-queued-reqs running and waiting
    # calls of all ranks of an instance.
    runtime = selection.answers.runtime
    calls, settings, replicas = runtime.workload.concurrency, runtime.settings, runtime.layout.replicas or 1
    if calls is None:
        return []
    found = []
    ranks = runtime.layout.data_parallel or 1
    each = settings.max_num_seqs or (_GREATEST_DEFAULT if selection.launch.runtime == "vllm" else None)
    seats = each * ranks * replicas if each else None
    if seats is not None and seats < calls:
        chosen = "" if settings.max_num_seqs else " by default"
        message = (
            f"{number(calls)} calls are in flight at peak, and the greatest batch of all replicas is "
            f"{number(seats)}{chosen}."
        )
        remedy = f"Set the greatest batch to at least {number(-(-calls // (ranks * replicas)))}, or ask for less."
        found.append(finding("C25", "warn", message, "runtime.settings.max_num_seqs", remedy))
    queue = settings.max_num_queued_reqs
    admits = realised("admission_control", selection.launch).in_force
    if queue is not None and admits and queue * replicas < calls:
        message = (
            f"{number(calls)} calls are in flight at peak, and {counted(replicas, 'replica')} "
            f"{'admits' if replicas == 1 else 'admit'} {number(queue * replicas)}: the rest is refused."
        )
        remedy = f"Admit at least {number(-(-calls // replicas))} calls, or add replicas."
        found.append(finding("C25", "block", message, "runtime.settings.max_num_queued_reqs", remedy))
    return found


def needs_are_met(selection: Selection) -> list[Finding]:
    """C27: what an adopted strategy needs of model, machine and layout is there, as far as it is known."""
    # The needs stand in the catalogue of strategies; those that another rule speaks of are left to it.
    carried = carried_model(selection)
    situation = situation_of(
        selection.answers, carried[2] if carried else None, selection.machine, command=selection.launch
    )
    gpu = proposed_gpu(selection)
    found = []
    for identifier, _ in _adopted(selection):
        row = strategies()[identifier]
        if identifier == "disaggregated_pd":
            continue  # C16
        for need in row.needs:
            held = prerequisite(need, situation)
            if need.kind not in _C27_PLACES or held.met != "no":
                continue
            rests_on_catalogue = need.kind == "compute_capability" and not (gpu is not None and gpu.was_read)
            where = _C27_PLACES[need.kind] or f"engine.strategies.{identifier}.decision"
            message = f"{strategy_named(identifier)} is adopted and needs {held.what}; {held.fact}."
            remedy = "Defer the strategy, or change what it needs."
            found.append(finding("C27", "note" if rests_on_catalogue else "warn", message, where, remedy))
    return found


#: The needs that this rule speaks of, with the question that decides each; None is the strategy's own.
_C27_PLACES: dict[NeedKind, str | None] = {
    "compute_capability": "runtime.hardware.gpu",
    "mixture_of_experts": None,
    "mtp_layers": None,
    "instances": "runtime.layout.replicas",
    "host_memory": None,
}


RULES = (
    Rule(
        "C9",
        "Adopted strategies go together in this runtime",
        ("block", "warn"),
        "the catalogue of pairs: code and feature matrices of each runtime, with their version",
        pairs_go_together,
        "Defer one of the two, or show by a measurement that they work together.",
    ),
    Rule(
        "C16",
        "Prefill and decode apart have instances, router and fabric",
        ("block", "warn"),
        "vLLM 0.33.0, docs/features/disagg_prefill.md",
        prefill_and_decode_apart,
        "Propose two instances, name router and fabric, and promise latency and not throughput.",
    ),
    Rule(
        "C17",
        "Speculation names its draft and fits the load",
        ("warn",),
        "vLLM 0.33.0, docs/features/speculative_decoding",
        speculation_is_founded,
        "Name the draft and the concurrency; at many calls adopt dynamic speculation or measure both ways.",
    ),
    Rule(
        "C18",
        "A quantised cache has scales or a test",
        ("warn",),
        "vLLM 0.33.0, docs/features/quantization/quantized_kvcache.md",
        quantised_cache_is_tested,
        "Say where the scales come from and how the answers are tested.",
    ),
    Rule(
        "C19",
        "Priorities say which number is urgent",
        ("warn",),
        "vLLM 0.33.0, config/scheduler.py; SGLang 0.5.23, arg_groups/fields/schedule.py",
        priority_says_its_direction,
        "Write into the reason whether the smaller or the greater number is urgent.",
    ),
    Rule(
        "C27",
        "What an adopted strategy needs is there",
        ("warn", "note"),
        "the needs in the catalogue of strategies, each with its source",
        needs_are_met,
        "Defer the strategy, or change model, GPU or layout to what it needs.",
    ),
    Rule(
        "C25",
        "The runtime takes the calls in flight at peak",
        ("block", "warn"),
        "vLLM 0.33.0, config/scheduler.py: --max-num-seqs and --max-num-queued-reqs",
        runtime_takes_the_calls,
        "Raise the greatest batch and the admitted calls above the calls in flight, or add replicas.",
    ),
)
