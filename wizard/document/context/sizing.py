"""The sizing in section 2: floors in 2.3, the memory of a GPU in 2.4, other GPU types in 2.8. Nothing is computed."""

from collections.abc import Iterator

from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.charts import memory_chart
from wizard.document.context.common import Context, sources
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.sizing.answer import LeastGpus, ProposedSizing, Sizing


def sizing(selection: Selection) -> Context:
    """What the sizing says, or the sentence why it says nothing."""
    proposed = selection.sizing
    answer = proposed.sizing if proposed else None
    if proposed is None or answer is None:
        because = proposed.because if proposed else "No model is carried by this selection."
        return {"sized": None, "floors": None, "not_sized": because, "least": None}
    memory = Table(
        ("Item", "Memory per GPU, GiB", "How it is known", "Source"), tuple(_memory_rows(selection, proposed))
    )
    return {
        "sized": f"{proposed.model} on {proposed.gpu or 'a GPU that is not given'}, "
        f"{formats.counted(proposed.gpus, 'GPU')} per replica",
        "not_sized": proposed.because,
        "floors": _floors(selection, answer),
        "floor_because": f"{_sentence(answer.floor.because)}.",
        "floor_gpu": _gpu_words(proposed),
        "memory": memory,
        "memory_chart": memory_chart(memory),
        "statements": list(_statements(proposed, answer)),
        "least": _least_table(proposed.least),
    }


def _gpu_words(proposed: ProposedSizing) -> str:
    if proposed.bandwidth_confidence is not None:
        return f"from the catalogue, confidence: {proposed.bandwidth_confidence}"
    return "from the probe" if proposed.gpu_source == "probe" else "not known"


def _gpu_source(proposed: ProposedSizing) -> str:
    return proposed.gpu_source or "missing"


def _floors(selection: Selection, answer: Sizing) -> Table | None:
    given, output = selection.answers.runtime.ceilings, selection.answers.runtime.workload.output_tokens
    rows = []
    for name, least, ceiling, formula in (
        ("TTFT", answer.floor.ttft_ms, given.ttft_ms, "derived F-4"),
        ("TPOT", answer.floor.tpot_ms, given.tpot_ms, "derived F-3"),
        ("E2E", answer.floor.e2e_ms(output), given.e2e_ms, "derived F-3, derived F-4"),
    ):
        if least is None:
            continue
        above = NOT_GIVEN if ceiling is None else "yes" if ceiling >= least else "no, so it cannot be met"
        limit = NOT_GIVEN if ceiling is None else f"{formats.limit_ms(ceiling)} ms"
        rows.append((name, f"{formats.milliseconds(least)} ms", limit, above, formula))
    return Table(("Metric", "Floor", "Ceiling", "Ceiling above its floor?", "Source"), tuple(rows)) if rows else None


def _memory_rows(selection: Selection, proposed: ProposedSizing) -> Iterator[tuple[str, ...]]:
    answer = proposed.sizing
    assert answer is not None  # noqa: S101  # the caller has looked
    for term in answer.terms:
        yield _sentence(term.name), formats.gib(term.bytes), term.method, "derived F-2"
    yield "Required", _gib(answer.required_bytes_per_gpu), "all rows above", _derived(answer.required_bytes_per_gpu)
    share = formats.number(proposed.utilization) if proposed.utilization is not None else NOT_GIVEN
    key = "runtime.settings.gpu_memory_utilization"
    source = sources(selection, key) if answer.reserved_bytes_per_gpu is not None else "missing"
    yield (
        "Reserved by the runtime",
        _gib(answer.reserved_bytes_per_gpu),
        f"{share} of the GPU's memory",
        "missing" if source == "missing" else f"derived F-2, {_gpu_source(proposed)}, {source}",
    )
    free = answer.free_bytes_per_gpu
    yield "Free when it was probed", _gib(free), "NVML", "missing" if free is None else _gpu_source(proposed)
    room = answer.kv_room_bytes_per_gpu
    yield "Room for the KV cache", _gib(room), "reserved, less all rows but the KV cache", _derived(room)


def _derived(value: int | None) -> str:
    return "missing" if value is None else "derived F-2"


def _gib(value: int | None) -> str:
    return NOT_GIVEN if value is None else formats.gib(value)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _statements(proposed: ProposedSizing, answer: Sizing) -> Iterator[str]:
    each = answer.kv_bytes_per_request
    if each is not None:
        state = answer.state_bytes_per_request or 0
        beside = f", {formats.gib(state)} GiB of it state that does not grow" if state else ""
        yield (
            f"KV cache of one request of {formats.number(answer.context)} tokens: {formats.gib(each)} GiB in all"
            f"{beside}; blocks of {formats.number(answer.block_size or 0)} tokens (derived F-2)."
        )
    most = answer.max_concurrency
    if most is not None:
        load = answer.max_concurrency_at_workload
        own = "" if load is None else f", and {_floored(load)} of the workload's length with nothing shared"
        asked = "" if proposed.calls is None else f"; asked of one replica: {formats.number(proposed.calls)}"
        yield (
            f"The cache of one engine holds {_floored(most)} calls of {formats.number(answer.context)} tokens at a "
            f"time{own}{asked} (derived F-2)."
        )
    elif answer.kv_room_bytes_per_gpu is not None and each is not None:
        yield "The cache has no room for one request of full length (derived F-2)."
    assumed = [
        f"{name.replace('_', ' ')} {formats.number(value)}" for name, value in sorted(answer.assumptions.items())
    ]
    yield f"Assumed of the runtime: {formats.listed(assumed)}."
    for line in answer.not_modelled:
        yield f"Not modelled: {line}."


def _floored(calls: float) -> str:
    return formats.number(int(calls * 10) / 10, 1)


def _least_table(found: tuple[LeastGpus, ...]) -> Table | None:
    if not found:
        return None
    rows = []
    for item in found:
        layout = "none"
        if item.gpus is not None:
            layout = f"tensor {item.tensor_parallel} × pipeline {item.pipeline_parallel}"
            if (item.nodes or 1) > 1:
                layout += f", on {item.nodes} nodes of 8 GPUs"
        tpot = item.floor.tpot_ms if item.floor else None
        rows.append(
            (
                item.gpu,
                "none" if item.gpus is None else formats.number(item.gpus),
                layout if item.because is None else item.because,
                _gib(item.room_bytes_per_gpu),
                NOT_GIVEN if tpot is None else f"{formats.milliseconds(tpot)} ms",
                f"catalogue, {'missing' if item.gpus is None else 'derived F-5'}",
            )
        )
    columns = ("GPU type", "Least GPUs", "Layout", "Memory left per GPU, GiB", "TPOT floor", "Source")
    return Table(columns, tuple(rows))
