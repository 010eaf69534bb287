"""What the proposed formats ask of a GPU."""

from typing import NamedTuple

from wizard.answers import Answers
from wizard.catalogue.vllm import packaged_facts, packaged_versions, release_of
from wizard.serving.launch import Launch


class Need(NamedTuple):
    """A compute capability, what needs at least that, and whether the weights or the cache ask for it."""

    capability: str
    what: str
    of: str


def format_needs(answers: Answers, command: Launch, weights: str | None) -> list[Need]:
    """What vLLM's weight format and cache type need at least; nothing for another runtime."""
    # vLLM 0.33.0: get_min_capability of each format, as vLLM itself answered; FP8 caches need FlashInfer or a later
    # Triton, so 8.0 (attention backends).
    if command.runtime != "vllm":
        return []
    found = []
    version = release_of(answers.runtime.version or "")
    version = version if version in packaged_versions() else packaged_versions()[0]
    facts = packaged_facts(version)
    least = facts.min_capability(weights) if facts and weights else None
    if least is not None:
        found.append(Need(least, f"The weight format {weights} in vLLM {version}", "weights"))
    cache = command.find("--kv-cache-dtype")
    if cache is not None and (cache.value or "").startswith("fp8"):
        found.append(Need("8.0", f"A key-value cache of type {cache.value}", "cache"))
    return found
