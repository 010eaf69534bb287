"""Rules on what stands where: what section 1 may say, and which values nobody chose."""

import re

from wizard.asking.questions import leaves
from wizard.catalogue import strategies
from wizard.decision.finding import Finding
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, counted, finding, listed, shortened

#: A number of GPUs, or an amount of money, in running text.
_GPU_COUNT = re.compile(r"\b\d+\s*(?:x|×)?\s*(?:NVIDIA\s+)?(?:GPUs?\b|[ABHL]\d{2,3}S?\b)", re.IGNORECASE)
_PRICE = re.compile(
    r"(?:\b(?:EUR|USD|GBP|CHF|JPY)|[€$£])\s*\d|\b\d[\d.,]{0,20}\s*(?:EUR|USD|GBP|CHF|JPY|€|\$|£|euros?\b|dollars?\b)"
    r"|\bper\s+GPU[- ]hours?\b",
    re.IGNORECASE,
)
#: Values that cost, latency or security depend on, each with what it decides.
_WEIGHTY = {
    "runtime.layout.tensor_parallel": "the tensor parallel size",
    "runtime.layout.replicas": "the number of serving replicas",
    "runtime.workload.profile": "the workload profile",
    "runtime.ceilings.percentile": "the percentile of the ceilings",
    "runtime.settings.gpu_memory_utilization": "the share of GPU memory",
    "runtime.settings.kv_cache_dtype": "the type of the key-value cache",
}


def section_1_names_no_count_or_price(selection: Selection) -> list[Finding]:
    """X4: the texts of section 1 name neither a number of GPUs nor a price."""
    # Two decisions, two owners: a count or a price in section 1 is a decision of section 2 taken unseen.
    found = []
    for leaf in leaves(selection.answers):
        if not leaf.key.startswith("engine.") or not isinstance(leaf.value, str):
            continue
        for what, pattern in (("a number of GPUs", _GPU_COUNT), ("a price", _PRICE)):
            match = pattern.search(leaf.value)
            if match is None:
                continue
            message = f'Section 1 names {what} under {leaf.question.title.lower()}: "{shortened(match[0])}".'
            remedy = "Say what the design needs of any GPU; numbers and prices of hardware stand in section 2."
            found.append(finding("X4", "warn", message, leaf.key, remedy))
    return found


def weighty_defaults_are_asked(selection: Selection) -> list[Finding]:
    """X5: a value or decision that nobody chose and that cost or latency depend on is listed as an open question."""
    asked = {question.key for question in selection.answers.governance.open_questions}
    decided = {
        f"engine.strategies.{name}.decision": strategies()[name].name
        for name, answer in selection.answers.engine.strategies.items()
        if answer.decision in ("adopt", "reject") and name in strategies()  # what is deferred stays as it was
    }
    unasked = [
        key
        for key in (*_WEIGHTY, *decided)
        if selection.origin(key).layer == "default" and key not in asked and not _decided_elsewhere(selection, key)
    ]
    if not unasked:
        return []
    by_default = [decided[key] for key in unasked if key in decided]
    names = listed(
        [_WEIGHTY[key] for key in unasked if key in _WEIGHTY]
        + ([f"whether to use {', '.join(by_default)}"] if by_default else [])
    )
    message = (
        f"{counted(len(unasked), 'value')} that cost or latency depend on {_was(unasked)} chosen by nobody: {names}."
    )
    remedy = "Choose them, or list them as open questions with an owner and a date."
    return [finding("X5", "warn", message, unasked[0], remedy)]


def _was(keys: list[str]) -> str:
    return "was" if len(keys) == 1 else "were"


def _decided_elsewhere(selection: Selection, key: str) -> bool:
    """Whether a strategy that was decided says what the value is to be."""
    return key.endswith(".kv_cache_dtype") and "kv_quantization" in selection.answers.engine.strategies


RULES = (
    Rule(
        "X4",
        "Section 1 names no number of GPUs and no price",
        ("warn",),
        "one home for each fact (arc42, chapter 9): hardware is decided in section 2",
        section_1_names_no_count_or_price,
        "Move counts and prices of hardware to section 2 and line R; keep what the design needs of any hardware.",
    ),
    Rule(
        "X5",
        "A default that cost or latency depend on is an open question",
        ("warn",),
        "Oxide RFD 1: a draft may have gaps if they are named",
        weighty_defaults_are_asked,
        "Answer the question, or list it under open questions with an owner and a date.",
    ),
)
