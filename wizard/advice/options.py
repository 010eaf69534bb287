"""The gates of an engine option: what the facts say of each, and the reason against an option that fails one."""

import re
from collections.abc import Callable, Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from wizard.advice.needs import version_key
from wizard.advice.situation import Situation
from wizard.answers import EngineOption
from wizard.catalogue import EngineRow, engine_id, engines
from wizard.catalogue.vllm import packaged_facts, packaged_versions, release_of

GateResult = Literal["pass", "fail", "not applicable", "not known"]
Found = tuple[GateResult, str]

LICENCE, ARCHITECTURE, CAPABILITY = "Licence policy", "Architecture supported", "Minimum compute capability"
FORMAT, INTERFACE, VENDOR, MAINTENANCE = "Weight format", "Interface", "Hardware vendor", "Maintenance state"
#: Licences that a policy may name, as they are written there.
_LICENCES = ("apache", "mit", "bsd", "agpl", "lgpl", "gpl", "mpl")
_INTERFACES = {
    "openai": "openai",
    "anthropic": "anthropic",
    "embedding": "embeddings",
    "rerank": "rerank",
    "grpc": "grpc",
}
_VENDORS = {
    "nvidia": "nvidia",
    "geforce": "nvidia",
    "amd": "amd",
    "instinct": "amd",
    "intel": "intel",
    "gaudi": "intel",
}


class Gate(BaseModel):
    """One gate of one option: what the facts say, and the fact behind it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    result: GateResult
    fact: str


class OptionFacts(BaseModel):
    """What is known of an option: its own facts where a person gave them, else the catalogue's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: EngineRow | None
    licence: str | None
    architectures: tuple[str, ...]
    min_compute_capability: str | None
    vendors: tuple[str, ...]
    weight_formats: tuple[str, ...]
    interfaces: tuple[str, ...]
    maintenance: str | None


def gates_of(option: EngineOption, situation: Situation) -> tuple[Gate, ...]:
    """What the facts say of every standard gate, in one order for all options."""
    if option.kind != "engine":
        fact = "no engine is run"
        return tuple(Gate(name=name, result="not applicable", fact=fact) for name in _GATES)
    facts = facts_of(option)
    return tuple(
        Gate(name=name, result=result, fact=fact)
        for name, check in _GATES.items()
        for result, fact in (check(facts, situation),)
    )


def facts_of(option: EngineOption) -> OptionFacts:
    """The facts of an option."""
    row = engines().get(engine_id(option.name) or "")
    return OptionFacts(
        row=row,
        licence=option.licence or (row.licence if row else None),
        architectures=option.architectures,
        min_compute_capability=option.min_compute_capability or (row.min_compute_capability if row else None),
        vendors=_lower(option.hardware_vendors) or (row.vendors if row else ()),
        weight_formats=_lower(option.weight_formats) or (row.weight_formats if row else ()),
        interfaces=_lower(option.interfaces) or (row.interfaces if row else ()),
        maintenance=option.maintenance or (row.maintenance if row else None),
    )


def rejection_of(option: EngineOption, situation: Situation) -> str | None:
    """The reason against an option that fails a gate by the facts; None where it fails none."""
    failed = [gate for gate in gates_of(option, situation) if gate.result == "fail"]
    return "; ".join(f"it fails the gate {gate.name}: {gate.fact}" for gate in failed) or None


def _lower(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)


def _licence(facts: OptionFacts, situation: Situation) -> Found:
    policy = (situation.answers.engine.licence_policy or "").casefold()
    if not facts.licence:
        return "not known", "its licence is not given"
    if not policy:
        return "not known", f"{facts.licence}; no licence policy is given"
    allowed = [name for name in _LICENCES if re.search(rf"(?<![a-z]){name}", policy)]
    parts = [part for part in re.split(r"[;,]| and ", facts.licence.casefold()) if part.strip()]
    if not allowed:
        return "not known", f"{facts.licence}; the policy names no licence that is recognised"
    outside = [part for part in parts if not any(re.search(rf"(?<![a-z]){name}", part) for name in allowed)]
    if outside:
        return "fail", f"{facts.licence} is not among the licences of the policy"
    return "pass", facts.licence


def _architecture(facts: OptionFacts, situation: Situation) -> Found:
    name = situation.facts.architecture if situation.facts else None
    if name is None:
        return "not known", "the architecture of the model is not known"
    if facts.architectures:
        listed = name in facts.architectures
        return ("pass" if listed else "fail"), f"{name} is {'' if listed else 'not '}among those that were given"
    if facts.row is None or facts.row.id != "vllm":
        return "not known", f"{name}; its list of architectures is not in the catalogue"
    version = situation.answers.runtime.version if situation.launch.runtime == "vllm" else None
    known = packaged_facts(release_of(version or packaged_versions()[0])) or packaged_facts(packaged_versions()[0])
    if known is not None and name in known.architectures:
        return "pass", f"{name} is in the registry of vLLM {known.version}"
    # vLLM may still serve it through the Transformers library.
    return "not known", f"{name} is not in the registry of vLLM {known.version if known else 'that was read'}"


def _capability(facts: OptionFacts, situation: Situation) -> Found:
    capability, source = situation.capability
    least = facts.min_compute_capability
    if least is None or capability is None:
        return "not known", source if least else "the least compute capability is not in the catalogue"
    enough = version_key(capability) >= version_key(least)
    return ("pass" if enough else "fail"), f"{least} or more, the GPU has {capability}"


def _format(facts: OptionFacts, situation: Situation) -> Found:
    if situation.facts is None:
        return "not known", "nothing is known of the checkpoint"
    if not facts.weight_formats:
        return "not known", "the formats it reads are not in the catalogue"
    method = (situation.facts.quantization or "16 bit").casefold()
    read = any(method == known or method.startswith(f"{known}_") for known in facts.weight_formats)
    return ("pass" if read else "fail"), f"the checkpoint is {method}, {'read as it is' if read else 'not read'}"


def _interface(facts: OptionFacts, situation: Situation) -> Found:
    if facts.row is not None and facts.row.role == "library":
        return "fail", "a library, not a server"
    asked = (situation.answers.engine.interfaces or "").casefold()
    wanted = [name for word, name in _INTERFACES.items() if word in asked]
    if not wanted:
        return "not known", "the interfaces that clients need are not given"
    if not facts.interfaces:
        return "not known", "its interfaces are not in the catalogue"
    missing = [name for name in wanted if name not in facts.interfaces]
    return ("fail", f"no {', '.join(missing)} interface") if missing else ("pass", ", ".join(wanted))


def _vendor(facts: OptionFacts, situation: Situation) -> Found:
    name = situation.answers.runtime.hardware.gpu
    vendor = "nvidia" if situation.gpu else next((v for w, v in _VENDORS.items() if w in (name or "").casefold()), None)
    if vendor is None or not facts.vendors:
        return "not known", "no GPU of a known vendor is proposed" if facts.vendors else "its hardware is not known"
    runs = vendor in facts.vendors
    return ("pass" if runs else "fail"), f"{'runs' if runs else 'does not run'} on {vendor.upper()} hardware"


def _maintenance(facts: OptionFacts, _: Situation) -> Found:
    if facts.maintenance is None:
        return "not known", "its state is not known"
    release = f", release {facts.row.release} of {facts.row.released}" if facts.row else ""
    words = f"{facts.maintenance}{release}"
    if facts.maintenance == "active":
        return "pass", words
    return ("fail", words) if facts.maintenance in ("dormant", "maintenance mode") else ("not known", words)


_GATES: dict[str, Callable[[OptionFacts, Situation], Found]] = {
    LICENCE: _licence,
    ARCHITECTURE: _architecture,
    CAPABILITY: _capability,
    FORMAT: _format,
    INTERFACE: _interface,
    VENDOR: _vendor,
    MAINTENANCE: _maintenance,
}
STANDARD_GATES = tuple(_GATES)
