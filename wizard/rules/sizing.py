"""Rules on what the sizing says: whether the load fits, and whether physics allows the ceilings.

They refuse only on figures that hold nothing estimated (C5) or leave out whatever an engine may save (C15). For a
machine that will be bought they rest on the catalogue and are notes, to be seen to on delivery.
"""

from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import is_planned
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, number
from wizard.sizing.answer import ProposedSizing, Sizing

_GPUS = "runtime.hardware.gpus_per_replica"
_CALLS = "runtime.workload.concurrency"
_CEILINGS = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}
#: How well a figure of the catalogue must be known before a block may rest on it.
_FIRM = (None, "read")


def load_fits(selection: Selection) -> list[Finding]:
    """C5: weights, cache and overheads of the calls in flight fit into what the runtime reserves of each GPU."""
    # vLLM 0.33.0: v1/worker/utils.py (request_memory) and v1/core/kv_cache_utils.py refuse a start without room for
    # one request of full length; calls beyond the room wait or are computed again.
    proposed, answer = selection.sizing, selection.sizing.sizing if selection.sizing else None
    if proposed is None or answer is None or answer.reserved_bytes_per_gpu is None:
        return []
    grave: Severity = "note" if _planned(selection) else "block"
    reserved, start, least = answer.reserved_bytes_per_gpu, answer.start_bytes_per_gpu, answer.least_bytes_per_gpu
    weights = answer.weight_bytes_per_gpu
    held = f"the runtime reserves {_gib(reserved)} GiB of each {proposed.gpu}"
    if start is None and weights is not None and weights > reserved:
        message = f"The weights of {proposed.model} take {_gib(weights)} GiB of each GPU; {held}."
        return [finding("C5", grave, message, _GPUS, _remedy(proposed))]
    if start is not None and start > reserved:
        message = (
            f"{proposed.model} needs at least {_gib(start)} GiB of each GPU to start, for its weights and one request "
            f"of {number(answer.context)} tokens; {held}."
        )
        return [finding("C5", grave, message, _GPUS, _remedy(proposed))]
    if least is not None and least > reserved:
        message = (
            f"{number(proposed.calls or 1)} calls in flight need at least {_gib(least)} GiB of each GPU, with their "
            f"shared prefix kept once; {held}."
        )
        return [finding("C5", grave, message, _CALLS, _remedy(proposed))]
    return _doubt(selection, proposed, answer, held)


def _doubt(selection: Selection, proposed: ProposedSizing, answer: Sizing, held: str) -> list[Finding]:
    """What is too much only by an estimate, or only without prefix caching, is a warning."""
    if answer.fits is not False or answer.required_bytes_per_gpu is None:
        return []
    severity: Severity = "note" if _planned(selection) else "warn"
    if answer.max_concurrency is None:
        message = (
            f"With activations and graphs as estimated, {proposed.model} has no room for one request of "
            f"{number(answer.context)} tokens: {held}."
        )
        return [finding("C5", severity, message, _GPUS, _remedy(proposed))]
    room = answer.max_concurrency_at_workload or answer.max_concurrency
    message = (
        f"{number(proposed.calls or 1)} calls in flight need {_gib(answer.required_bytes_per_gpu)} GiB of each GPU "
        f"where nothing is shared, activations and graphs as estimated; {held}: about "
        f"{number(int(room * 10) / 10)} have room in one engine, the others wait."
    )
    return [finding("C5", severity, message, _CALLS, _remedy(proposed))]


def _remedy(proposed: ProposedSizing) -> str:
    more = [f"{item.gpus} × {item.gpu}" for item in proposed.least if item.gpus is not None][:3]
    types = f" These would hold it: {', '.join(more)}." if more else ""
    return (
        "Give a replica more GPUs, or add replicas, shorten the longest request, quantise weights or cache, or choose "
        f"GPUs with more memory.{types}"
    )


def ceilings_above_floors(selection: Selection) -> list[Finding]:
    """C15: no ceiling is below the least time that the hardware allows."""
    # A step cannot be shorter than reading what it needs from memory, nor a prompt than its operations at the peak
    # rate (roofline model: Williams, Waterman, Patterson, Communications of the ACM 52(4), 2009).
    proposed, answer = selection.sizing, selection.sizing.sizing if selection.sizing else None
    if proposed is None or answer is None:
        return []
    given, load = selection.answers.runtime.ceilings, selection.answers.runtime.workload
    severity: Severity = "block" if proposed.bandwidth_confidence in _FIRM else "warn"
    if _planned(selection):
        severity = "note"
    found = []
    for name, least in (
        ("ttft_ms", answer.floor.ttft_ms),
        ("tpot_ms", answer.floor.tpot_ms),
        ("e2e_ms", answer.floor.e2e_ms(load.output_tokens)),
    ):
        ceiling = getattr(given, name)
        if ceiling is None or least is None or ceiling >= least:
            continue
        message = (
            f"The {_CEILINGS[name]} ceiling of {number(ceiling)} ms is below {least:,.1f} ms, the least that "
            f"{number(proposed.gpus)} × {proposed.gpu} allow whatever the engine: {answer.floor.because}."
        )
        remedy = "Raise the ceiling, or choose faster or more GPUs, a smaller model or fewer bytes a weight."
        found.append(finding("C15", severity, message, f"runtime.ceilings.{name}", remedy))
    return found


def _planned(selection: Selection) -> bool:
    return selection.machine is not None and is_planned(selection.machine)


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 1024**3:,.1f}"


RULES = (
    Rule(
        "C5",
        "Weights, cache and overheads fit into the memory that the runtime reserves",
        ("block", "warn", "note"),
        "vLLM 0.33.0, v1/worker/utils.py and v1/core/kv_cache_utils.py",
        load_fits,
        "Give a replica more GPUs, add replicas, shorten the longest request, or quantise weights or cache.",
    ),
    Rule(
        "C15",
        "No ceiling is below the least time that the hardware allows",
        ("block", "warn", "note"),
        "Williams, Waterman, Patterson: Roofline, Communications of the ACM 52(4), 2009",
        ceilings_above_floors,
        "Raise the ceiling, or choose faster or more GPUs, a smaller model or fewer bytes a weight.",
    ),
)
