"""The prerequisites of a strategy, each held against model, machine and workload."""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from wizard.advice.situation import GIB, Situation
from wizard.catalogue import Need
from wizard.catalogue.rows import NeedKind

Verdict = Literal["yes", "no", "not known"]
Found = tuple[Verdict, str]

#: Least compute capability at which a GPU computes in a format instead of storing it only (vLLM 0.33.0
#: model_executor/layers/quantization: FP8 W8A8 from 8.9, INT8 from 7.5, NVFP4 and MXFP4 from 10.0).
_NATIVE = (("nvfp4", "10.0"), ("mxfp4", "10.0"), ("modelopt_fp4", "10.0"), ("fp8", "8.9"), ("int8", "7.5"))
#: vLLM 0.33.0 docs/configuration/optimization.md: at least two physical cores and one for each GPU.
_CORES_BESIDE_GPUS = 2


class Prerequisite(BaseModel):
    """One thing a strategy needs, whether it is there, and the fact behind the verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    met: Verdict
    fact: str


def prerequisite(need: Need, situation: Situation) -> Prerequisite:
    """Hold one need against the situation."""
    met, fact = _CHECKS[need.kind](need, situation)
    said = need.kind in ("compute_capability", "host_memory") and need.at_least
    at_least = f" ({need.at_least} or more)" if said else ""
    return Prerequisite(what=f"{need.what}{at_least}", met=met, fact=fact)


def version_key(capability: str) -> tuple[int, ...]:
    """Order compute capabilities: 8.9 before 10.0."""
    return tuple(int(part) for part in capability.split("."))


def native_capability(quantization: str | None) -> str | None:
    """The least compute capability that computes in a weight format; None where it is not known or there is none."""
    name = (quantization or "").casefold()
    return next((least for word, least in _NATIVE if word in name), None)


def _yes_no(value: bool | None, yes: str, no: str, unknown: str) -> Found:
    return ("not known", unknown) if value is None else ("yes", yes) if value else ("no", no)


def _gpu(_: Need, situation: Situation) -> Found:
    return _yes_no(situation.has_gpu, "a GPU is proposed", "no GPU is proposed or found", "no GPU is named yet")


def _capability(need: Need, situation: Situation) -> Found:
    capability, source = situation.capability
    if capability is None or need.at_least is None:
        return "not known", source
    enough = version_key(capability) >= version_key(need.at_least)
    return "yes" if enough else "no", f"compute capability {capability}, {source}"


def _nvlink(_: Need, situation: Situation) -> Found:
    indices = {gpu.index for gpu in situation.found}
    links = [link for link in situation.machine.links if {link.a, link.b} <= indices] if situation.machine else []
    if links:
        kinds = {link.kind for link in links}
        fact = f"links between the GPUs: {', '.join(sorted({link.level for link in links}))}, read from the machine"
        return ("not known" if kinds == {"unknown"} else "yes" if kinds == {"nvlink"} else "no"), fact
    if situation.gpu is None:
        return "not known", "no machine was read and no GPU that the catalogue knows is proposed"
    if situation.gpu.nvlink_generation is None:
        return "no", f"{situation.gpu.name} has no NVLink in the catalogue"
    return "not known", f"{situation.gpu.name} can have NVLink; the links of a node are read on delivery"


def _gpus(need: Need, situation: Situation) -> Found:
    count = situation.gpus_per_replica
    if count is None:
        return "not known", "the GPUs of a replica are not given"
    return ("yes" if count >= int(need.at_least or 1) else "no"), f"a replica has {count}"


def _instances(need: Need, situation: Situation) -> Found:
    count = situation.answers.runtime.layout.replicas
    if count is None:
        return "not known", "the serving replicas are not given"
    return ("yes" if count >= int(need.at_least or 1) else "no"), f"{count} serving"


def _host_memory(need: Need, situation: Situation) -> Found:
    usable = situation.machine.host.memory_usable_bytes.value if situation.machine else None
    if usable is None:
        return "not known", "the host memory was not read"
    enough = usable >= int(need.at_least or 0) * GIB
    return ("yes" if enough else "no"), f"{usable / GIB:,.0f} GiB usable, read from the machine"


def _cores(_: Need, situation: Situation) -> Found:
    cores = situation.machine.host.cpu_physical_cores.value if situation.machine else None
    if cores is None:
        return "not known", "the cores of the host were not read"
    wanted = _CORES_BESIDE_GPUS + (situation.gpus_per_replica or 1)
    return ("yes" if cores >= wanted else "no"), f"{cores} physical cores, {wanted} wanted"


def _concurrency(need: Need, situation: Situation) -> Found:
    calls = situation.answers.runtime.workload.concurrency
    if calls is None:
        return "not known", "the calls in flight are not given"
    return ("yes" if calls >= int(need.at_least or 1) else "no"), f"{calls:,} calls in flight"


def _experts(_: Need, situation: Situation) -> Found:
    facts = situation.facts
    experts = f"{facts.experts} experts" if facts and facts.experts else "a mixture of experts"
    return _yes_no(situation.is_moe, experts, "the model is dense", "nothing is known of the model")


def _quantized(_: Need, situation: Situation) -> Found:
    if situation.answers.runtime.settings.quantization not in (None, "none"):
        return "yes", f"quantised while loading: {situation.answers.runtime.settings.quantization}"
    if situation.facts is None:
        return "not known", "nothing is known of the model"
    method = situation.facts.quantization
    return ("yes", f"the checkpoint is {method}") if method else ("no", "the checkpoint is not quantised")


def _native(_: Need, situation: Situation) -> Found:
    setting = situation.answers.runtime.settings.quantization
    method = setting if setting not in (None, "none") else situation.facts.quantization if situation.facts else None
    least, (capability, source) = native_capability(method), situation.capability
    if method is None:
        return "not known", "no format is known"
    if least is None or capability is None:
        return "not known", f"{method}: {'what it needs is not in the catalogue' if least is None else source}"
    if version_key(capability) >= version_key(least):
        return "yes", f"{method} is computed from {least} on, the GPU has {capability}"
    return "no", f"{method} is computed from {least} on, the GPU has {capability} and only stores it"


def _cache_kernel(_: Need, situation: Situation) -> Found:
    capability, source = situation.capability
    if capability is None:
        return "not known", source
    # vLLM 0.33.0: Triton from 8.9, FlashAttention 3 on 9.x, FlashInfer from 8.0 for some head sizes; none on 7.5.
    if version_key(capability) >= (8, 9):
        return "yes", f"compute capability {capability}, {source}"
    if version_key(capability) < (8, 0):
        return "no", f"compute capability {capability}: no backend reads an FP8 cache"
    size = situation.facts.head_dim if situation.facts else None
    if size is None:
        return "not known", f"compute capability {capability}: FlashInfer alone, for some head sizes"
    return ("yes" if size in (64, 128, 256, 512) else "no"), f"head size {size} on compute capability {capability}"


def _decoder(_: Need, situation: Situation) -> Found:
    name = situation.facts.architecture if situation.facts else None
    if name is None:
        return "not known", "nothing is known of the model"
    return ("yes", name) if "CausalLM" in name else ("not known", f"{name} may have an encoder")


def _heads(_: Need, situation: Situation) -> Found:
    size = situation.answers.runtime.layout.tensor_parallel
    heads = situation.facts.attention_heads if situation.facts else None
    kv_heads = situation.facts.kv_heads if situation.facts else None
    if size is None or heads is None:
        return "not known", "the size or the heads of the model are not known"
    if heads % size:
        return "no", f"{heads} heads do not divide by {size}"
    copies = f"; {kv_heads} key-value heads are copied {size // kv_heads} times" if kv_heads and kv_heads < size else ""
    return "yes", f"{heads} heads divide by {size}{copies}"


def _mtp(_: Need, situation: Situation) -> Found:
    if situation.facts is None:
        return "not known", "nothing is known of the model"
    layers = situation.facts.mtp_layers
    if not layers:
        return "no", f"{situation.facts.source} names none"
    return "yes", f"config.json names {layers}; whether the weights hold them is seen when they load"


def _shared(_: Need, situation: Situation) -> Found:
    load = situation.answers.runtime.workload
    shared = load.shared_prefix_tokens or 0
    words = f"{shared:,} tokens of the prompt are shared" if shared else f"{load.turns or 1} turns"
    return _yes_no(situation.shares_text, words, "no shared text is given", "shared text is not given")


def _tenants(_: Need, situation: Situation) -> Found:
    given = situation.answers.runtime.security.tenants
    return "not known", f"tenants: {given}" if given else "the tenants are not given"


def _parser(_: Need, situation: Situation) -> Found:
    settings = situation.answers.runtime.settings
    names = [name for name in (settings.tool_call_parser, settings.reasoning_parser) if name]
    return ("yes", f"named: {', '.join(names)}") if names else ("no", "no parser is named")


def _by_hand(_: Need, __: Situation) -> Found:
    return "not known", "selwiz cannot see this"


_CHECKS: dict[NeedKind, Callable[[Need, Situation], Found]] = {
    "gpu": _gpu,
    "compute_capability": _capability,
    "nvlink": _nvlink,
    "gpus_per_replica": _gpus,
    "instances": _instances,
    "host_memory": _host_memory,
    "cpu_cores": _cores,
    "concurrency": _concurrency,
    "mixture_of_experts": _experts,
    "quantized_checkpoint": _quantized,
    "native_format": _native,
    "cache_kernel": _cache_kernel,
    "decoder": _decoder,
    "heads_divide": _heads,
    "mtp_layers": _mtp,
    "shared_prefix": _shared,
    "one_tenant": _tenants,
    "parser": _parser,
    "by_hand": _by_hand,
}
