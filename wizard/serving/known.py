"""Names that a person types for hardware and formats: whether the catalogue or the runtime knows them."""

import difflib
from pathlib import Path

from probes.machine import Machine
from wizard.answers import Answers
from wizard.catalogue import engine_id, gpus
from wizard.errors import UsageError
from wizard.machine import planned
from wizard.serving.flags import facts_of

GPU, QUANTISATION, CACHE_TYPE = (
    "runtime.hardware.gpu",
    "runtime.settings.quantization",
    "runtime.settings.kv_cache_dtype",
)
#: So many names of those that would do are said in one sentence.
_MOST_NAMES = 6


def gpu_types_like(typed: str) -> list[str]:
    """The catalogue's GPU types whose name has what is typed, the newest first; all of them for an empty text."""
    wanted = " ".join(typed.casefold().split())
    return [row.name for row in reversed(gpus()) if wanted in row.name.casefold()]


def not_known(key: str, text: str, answers: Answers, machine: Machine | None, kept_in: Path) -> str | None:
    """Why a name is none that is known for this answer, in one sentence; None where it is, or cannot be told.

    `answers` name the runtime and its version, `kept_in` is the folder with what an installed vLLM answered.
    """
    if not text.strip():
        return None
    if key == GPU:
        return _gpu_not_known(text.strip(), machine)
    if key not in (QUANTISATION, CACHE_TYPE) or engine_id(answers.runtime.product) != "vllm":
        return None
    facts = facts_of(answers.runtime.version, kept_in)
    if facts is None:
        return None
    if key == QUANTISATION:
        names = {"none", *(method.name for method in facts.quantization_methods)}
    else:
        names = {name for backend in facts.attention_backends for name in backend.kv_cache_dtypes or ()}
    if not names - {"none"} or text.strip() in names:
        return None
    what = "quantisation" if key == QUANTISATION else "type of the KV cache"
    near = difflib.get_close_matches(text.strip().casefold(), names, n=_MOST_NAMES)
    some = near or sorted(names, key=lambda name: (len(name), name))[:_MOST_NAMES]
    it_knows = f"{', '.join(some)}{'' if near else ' and others'}"
    return f"vLLM {facts.version} knows no {what} {text.strip()}; it knows {it_knows}."


def _gpu_not_known(name: str, machine: Machine | None) -> str | None:
    own = {" ".join((gpu.name.value or "").casefold().split()) for gpu in machine.gpus} if machine else set()
    if " ".join(name.casefold().split()) in own:
        return None
    try:
        planned(f"{name}x1")
    except UsageError as error:
        return f"{error.message} {error.remedy}"
    return None
