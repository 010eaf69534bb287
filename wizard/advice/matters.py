"""Whether a strategy matters for this model, machine and workload, and the decision that the facts suggest.

A suggestion is never against a default of the runtime that is on: what costs nothing stays on, and what is off and
untested is deferred. A figure is only named where an answer or a reading gives it.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from wizard.advice.situation import Situation
from wizard.catalogue import Switch

Decision = Literal["adopt", "defer", "reject"]


class Opinion(NamedTuple):
    """Where a strategy stands, why, and the decision that is suggested with its reason."""

    place: Literal["matters", "follows", "not_here"]
    why: str
    decision: Decision | None = None
    reason: str = ""


def opinion(strategy: str, situation: Situation, switch: Switch | None) -> Opinion:
    """What the facts say of one strategy; one without a rule of its own matters and is left to the person."""
    rule = _RULES.get(strategy)
    return _asked() if rule is None else rule(situation, switch)


def _asked(decision: Decision | None = None, reason: str = "") -> Opinion:
    return Opinion("matters", "", decision, reason)


def _not_here(why: str) -> Opinion:
    return Opinion("not_here", why)


def _follows(why: str) -> Opinion:
    return Opinion("follows", why)


def _on(switch: Switch | None) -> bool:
    return switch is not None and switch.default in ("on", "auto")


def _single(situation: Situation) -> Opinion | None:
    count = situation.gpus_per_replica
    if count is None:
        return _not_here("how many GPUs a replica has is not given yet")
    return _not_here("a replica has one GPU") if count == 1 else None


def _dense(situation: Situation) -> Opinion | None:
    if situation.is_moe is None:
        return _not_here("whether the model has experts is not known yet")
    return None if situation.is_moe else _not_here("the model is dense, it has no experts")


def _speculates(situation: Situation) -> bool:
    decided = situation.answers.engine.strategies.items()
    return any(name.startswith("spec_") and name != "spec_dynamic" and a.decision == "adopt" for name, a in decided)


# ---------------------------------------------------------------- operator


def _attention(situation: Situation, _: Switch | None) -> Opinion:
    capability, _source = situation.capability
    least = "Triton alone on this GPU" if capability is not None and capability.startswith("7.") else "the fastest"
    return _follows(f"the runtime chooses the kernel for GPU, head size and cache format: {least}")


def _graphs(situation: Situation, switch: Switch | None) -> Opinion:
    if situation.has_gpu is False:
        return _not_here("there is no GPU, and the CPU build has no graphs")
    if _on(switch):
        return _asked("adopt", "on by default; it costs memory for the graphs and a longer start")
    return _asked("defer", "off by default, and whether it pays here is not measured")


def _compile(situation: Situation, switch: Switch | None) -> Opinion:
    if situation.has_gpu is False:
        return _not_here("there is no GPU to compile for")
    if _on(switch):
        return _asked("adopt", "on by default; a cold start compiles, so the cache is kept on disk")
    return _asked("defer", "off by default, and whether it pays here is not measured")


def _weights(situation: Situation, _: Switch | None) -> Opinion:
    method = situation.answers.runtime.settings.quantization
    if method not in (None, "none"):
        return _asked("adopt", f"the answers set {method}")
    if situation.facts is None:
        return _asked()
    if situation.facts.quantization:
        return _asked("adopt", f"the checkpoint is {situation.facts.quantization}")
    if situation.fits is False:
        return _asked("defer", "the checkpoint is not quantised and does not fit as it is: another checkpoint would")
    return _asked("defer", "the checkpoint is not quantised, and what another one costs in accuracy is not tested")


def _moe_kernel(situation: Situation, _: Switch | None) -> Opinion:
    return _dense(situation) or _follows("the runtime chooses the kernel for the weight format and the GPU")


def _comm_fusion(situation: Situation, _: Switch | None) -> Opinion:
    return _single(situation) or _follows("the runtime uses it where the GPUs are linked directly, else NCCL")


def _dbo(situation: Situation, _: Switch | None) -> Opinion:
    spread = _dense(situation) or _single(situation)
    return spread or _asked("defer", "it pays with many tokens a step over many GPUs, which is not measured")


# ---------------------------------------------------------------- memory


def _paged(_: Situation, __: Switch | None) -> Opinion:
    return _follows("it is always on in this runtime")


def _prefix(situation: Situation, switch: Switch | None) -> Opinion:
    load = situation.answers.runtime.workload
    if load.shared_prefix_tokens and load.input_tokens:
        share = min(100, round(100 * load.shared_prefix_tokens / load.input_tokens))
        return _asked("adopt", f"{share} % of each prompt is the same text")
    if (load.turns or 1) > 1:
        return _asked("adopt", f"each of the {load.turns} turns repeats the ones before")
    if _on(switch):
        return _asked("adopt", "on by default and free of cost; without shared text no gain is claimed")
    return _asked("defer", "no shared text is given")


def _cache_type(situation: Situation, _: Switch | None) -> Opinion:
    if situation.has_gpu is False:
        return _not_here("there is no GPU whose memory the cache would fill")
    kind = situation.answers.runtime.settings.kv_cache_dtype
    if kind not in (None, "auto", "bfloat16", "float16"):
        return _asked("adopt", f"the answers set {kind}")
    return _asked("defer", "what a quantised cache costs in accuracy is not tested for this model")


def _offload(situation: Situation, _: Switch | None) -> Opinion:
    if situation.has_gpu is False:
        return _not_here("there is no GPU memory to unburden")
    if not situation.shares_text:
        return _not_here("no text comes back, so nothing kept would be used again")
    return _asked("defer", "whether text is pushed out of GPU memory before it comes back is not measured")


def _weights_in_host(situation: Situation, _: Switch | None) -> Opinion:
    if situation.fits is False:
        return Opinion("matters", "the model does not fit; a larger or another GPU serves it without the loss of speed")
    return _not_here("the model fits" if situation.fits else "nothing says that the model does not fit")


# ---------------------------------------------------------------- scheduling


def _batching(_: Situation, __: Switch | None) -> Opinion:
    return _follows("it is always on in this runtime; its limits are settings")


def _chunked(situation: Situation, switch: Switch | None) -> Opinion:
    tokens = situation.answers.runtime.workload.input_tokens
    length = f"prompts of {tokens:,} tokens" if tokens else "long prompts"
    state = "on by default" if _on(switch) else "written out, because the documentation disagrees about the default"
    return _asked("adopt", f"{length} must not stall running answers; {state}")


def _overlap(_: Situation, __: Switch | None) -> Opinion:
    return _follows("the runtime uses it wherever the other settings allow it")


def _priority(situation: Situation, _: Switch | None) -> Opinion:
    return _not_here(f"the workload is of one kind ({situation.answers.runtime.workload.profile or 'not given'})")


def _admission(situation: Situation, _: Switch | None) -> Opinion:
    ceilings, limit = situation.answers.runtime.ceilings, situation.answers.runtime.settings.max_num_queued_reqs
    if limit is not None:
        return _asked("adopt", f"the answers admit {limit:,} calls")
    if ceilings.ttft_ms is None and ceilings.e2e_ms is None:
        return _not_here("no ceiling limits how long a call may wait")
    return _asked("defer", "how many calls may wait is not given; clients would have to try again")


def _apart(situation: Situation, _: Switch | None) -> Opinion:
    replicas = situation.answers.runtime.layout.replicas
    if replicas is not None and replicas < 2:
        return _not_here("one serving replica: it takes at least two, and a fabric between them")
    return _asked("reject", "it does not raise throughput, and doubles the parts that have to be run")


def _routing(situation: Situation, _: Switch | None) -> Opinion:
    replicas = situation.answers.runtime.layout.replicas
    if replicas is None or replicas < 2:
        return _not_here("one serving replica: every call reaches the prefix it shares")
    if not situation.shares_text:
        return _not_here("no text is shared, so any replica is as good")
    return _asked("defer", "it needs a router that reads cache events, which is not among the answers")


# ---------------------------------------------------------------- speculative


def _draft(situation: Situation, _: Switch | None) -> Opinion:
    del situation
    return _not_here(
        "a second model is only asked for where the model has no head, layers or repeating text of its own"
    )


def _head(situation: Situation, _: Switch | None) -> Opinion:
    calls = situation.answers.runtime.workload.concurrency
    load = f"at {calls:,} calls in flight" if calls else "at the load of the ceilings"
    return _asked("defer", f"no head for this model is named, and the gain {load} is not measured")


def _own_layers(situation: Situation, _: Switch | None) -> Opinion:
    layers = situation.facts.mtp_layers if situation.facts else None
    if not layers:
        return _not_here("the model's configuration names no layers for it")
    return _asked("defer", f"the checkpoint names {layers} layers for it; the gain at this load is not measured")


def _own_text(situation: Situation, _: Switch | None) -> Opinion:
    profile = situation.answers.runtime.workload.profile
    if profile in ("agent", "rag"):
        return _asked("defer", f"answers of the workload {profile} may repeat their prompts; the gain is not measured")
    return _not_here(f"a {profile or 'workload that is not given'} is not known to repeat its prompts")


def _block(situation: Situation, _: Switch | None) -> Opinion:
    del situation
    return _not_here("no drafter of this newest kind is named for the model")


def _by_load(situation: Situation, _: Switch | None) -> Opinion:
    if not _speculates(situation):
        return _not_here("no other way of speculation is adopted")
    return _asked("defer", "the draft length is fixed until a measurement at two loads asks for more")


# ---------------------------------------------------------------- parallelism


def _tensor(situation: Situation, _: Switch | None) -> Opinion:
    layout = situation.answers.runtime.layout
    if (layout.tensor_parallel or 1) > 1:
        return _asked("adopt", "the layout splits every layer over the GPUs of a replica")
    return _single(situation) or _asked("reject", "the layout uses the GPUs of a replica in another way")


def _pipeline(situation: Situation, _: Switch | None) -> Opinion:
    if (situation.answers.runtime.layout.pipeline_parallel or 1) > 1:
        return _asked("adopt", "the layout splits the layers into stages")
    return _single(situation) or _not_here("the layout has one stage")


def _data(situation: Situation, _: Switch | None) -> Opinion:
    if (situation.answers.runtime.layout.data_parallel or 1) > 1:
        return _asked("adopt", "the layout holds the model several times in a replica")
    return _single(situation) or _not_here("the layout holds the model once; replicas are counted apart")


def _attention_by_request(situation: Situation, _: Switch | None) -> Opinion:
    apart = _dense(situation) or _single(situation)
    if apart:
        return apart
    heads, size = situation.facts.kv_heads if situation.facts else None, situation.gpus_per_replica or 1
    if heads is not None and heads >= size:
        return _not_here(f"{heads} key-value heads divide over the GPUs of a replica, so nothing is copied")
    return _asked("defer", "tensor parallelism copies the cache of this model; the other layout is not measured")


def _experts(situation: Situation, _: Switch | None) -> Opinion:
    spread = _dense(situation) or _single(situation)
    return spread or _asked("defer", "how evenly the experts are used is not measured")


def _context(situation: Situation, _: Switch | None) -> Opinion:
    size = situation.answers.runtime.layout.tensor_parallel or 1
    heads = situation.facts.kv_heads if situation.facts else None
    if size == 1:
        return _not_here("no layer is split over GPUs")
    if heads is None:
        return _not_here("the key-value heads of the model are not known")
    if heads >= size:
        return _not_here(f"{heads} key-value heads divide over {size} ranks, so the cache is not copied")
    return _asked("defer", f"{heads} key-value heads are copied on {size} ranks; whether it matters is not measured")


# ---------------------------------------------------------------- serving


def _lora(situation: Situation, _: Switch | None) -> Opinion:
    del situation
    return _not_here("no adapter is named")


def _structured(situation: Situation, _: Switch | None) -> Opinion:
    del situation
    return _follows("each call asks for it, and the runtime chooses the library")


def _parsers(situation: Situation, _: Switch | None) -> Opinion:
    settings = situation.answers.runtime.settings
    named = [name for name in (settings.tool_call_parser, settings.reasoning_parser) if name]
    if named:
        return _asked("adopt", f"the answers name {' and '.join(named)}")
    if situation.answers.runtime.workload.profile == "agent":
        return _asked("defer", "an agent calls tools, but no parser of this model is named yet")
    return _not_here("no parser is named, and the workload is no agent")


def _repeatable(situation: Situation, _: Switch | None) -> Opinion:
    del situation
    return _not_here("no answer asks for results that can be repeated word for word")


_RULES: dict[str, Callable[[Situation, Switch | None], Opinion]] = {
    "attention_backend": _attention,
    "cuda_graphs": _graphs,
    "graph_compile": _compile,
    "weight_quantization": _weights,
    "moe_kernel": _moe_kernel,
    "comm_fusion": _comm_fusion,
    "comm_compute_overlap": _dbo,
    "paged_kv": _paged,
    "prefix_caching": _prefix,
    "kv_quantization": _cache_type,
    "kv_offload": _offload,
    "weight_offload": _weights_in_host,
    "continuous_batching": _batching,
    "chunked_prefill": _chunked,
    "overlap_scheduling": _overlap,
    "priority_scheduling": _priority,
    "admission_control": _admission,
    "disaggregated_pd": _apart,
    "cache_aware_routing": _routing,
    "spec_draft_model": _draft,
    "spec_eagle3": _head,
    "spec_mtp": _own_layers,
    "spec_ngram_suffix": _own_text,
    "spec_block_parallel": _block,
    "spec_dynamic": _by_load,
    "tensor_parallel": _tensor,
    "pipeline_parallel": _pipeline,
    "data_parallel": _data,
    "dp_attention": _attention_by_request,
    "expert_parallel": _experts,
    "context_parallel": _context,
    "multi_lora": _lora,
    "structured_output": _structured,
    "tool_reasoning_parsers": _parsers,
    "deterministic": _repeatable,
}
