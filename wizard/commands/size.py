"""`selwiz size`: does the model fit, and how many requests at a time."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from wizard.console import put, put_json, say
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
from wizard.sizing.floors import Ceilings
from wizard.sizing.request import GIB, GpuFacts, SizeRequest
from wizard.sizing.source import find_model


def run(arguments: argparse.Namespace) -> ExitCode:
    """Answer and print; that it does not fit is an answer and exits 0."""
    name, request, ceilings = _question(arguments)
    configuration, weights = find_model(name, allow_download=arguments.allow_download)
    sizing = compute(configuration, request, weights)
    covered = sizing.weight_bytes is not None and sizing.kv_bytes_per_request is not None
    if arguments.method == "dry-build" or (arguments.method == "auto" and not covered):
        sizing = _dry(arguments, configuration, request, sizing)
    found = []
    if arguments.candidates:
        from wizard.sizing.buy import candidates

        found = candidates(configuration, request, ceilings)
    if arguments.json:
        more = {"candidates": [item.to_json() for item in found]} if arguments.candidates else {}
        put_json(sizing.to_json() | more)
        return ExitCode.DONE
    put(_table(sizing))
    if arguments.candidates:
        put("\n" + _candidates_table(found))
    return ExitCode.DONE


def _question(arguments: argparse.Namespace) -> tuple[str, SizeRequest, Ceilings]:
    """The model, the question and the ceilings: the answers first, each option of the command line over them."""
    name, request, ceilings = arguments.model, SizeRequest(), Ceilings()
    if arguments.answers:
        from wizard.sizing.from_answers import question_of_answers

        found, request, ceilings = question_of_answers(arguments.answers)
        name = name or found
    if not name:
        raise UsageError("No model was named.", "Give --model, or an answers file with a model in engine.models.")
    given: dict[str, Any] = {
        "context": arguments.context,
        "concurrency": arguments.concurrency,
        "gpus": arguments.gpus,
        "tensor_parallel": arguments.tp,
        "pipeline_parallel": arguments.pp,
        "data_parallel": arguments.dp,
        "kv_cache_dtype": arguments.kv_cache_dtype,
        "quantization": arguments.quantization,
        "gpu_memory_utilization": arguments.gpu_memory_utilization,
        "max_num_batched_tokens": arguments.max_num_batched_tokens,
        "block_size": arguments.block_size,
        "planner": arguments.planner,
    }
    request = replace(request, **{key: value for key, value in given.items() if value is not None})
    layout = (arguments.tp, arguments.pp, arguments.dp)
    if arguments.gpus and layout == (None, None, None) and not arguments.answers:
        request = replace(request, tensor_parallel=arguments.gpus)  # the usual layout of GPUs that share a node
    gpu = _gpu(arguments, request.gpu)
    return name, replace(request, gpu=gpu), ceilings


def _gpu(arguments: argparse.Namespace, answered: GpuFacts | None) -> GpuFacts | None:
    from wizard.sizing.gpus import gpu_named

    memory = arguments.gpu_memory_gib
    if arguments.gpu:
        return gpu_named(arguments.gpu, memory)
    if memory is None:
        return answered
    if answered is not None:
        return replace(answered, memory_bytes=int(memory * GIB))
    return GpuFacts(name=f"GPU of {memory:g} GiB", memory_bytes=int(memory * GIB))


def _dry(arguments: argparse.Namespace, configuration: Any, request: SizeRequest, formula: Sizing) -> Sizing:
    from probes.runtimes import find_runtimes
    from wizard.sizing.dry import dry_sizing

    found = find_runtimes(arguments.vllm)
    if not found:
        if arguments.method == "auto":
            return formula
        return replace(formula, method_note="No vLLM was found for a dry build, so the formula answers.")
    say("selwiz: asking vLLM to build the model dry; this takes half a minute.")
    return dry_sizing(configuration, request, formula, Path(found[0].interpreter))


def _table(sizing: Sizing) -> str:
    note = f" ({sizing.method_note})" if sizing.method_note else ""
    lines = [
        f"{sizing.model}, {sizing.architecture or 'architecture not stated'}",
        f"method: {sizing.method.replace('_', ' ')}{note}",
        "",
    ]
    rows = [
        ("parameters", _count(sizing.parameters)),
        ("weights", _size(sizing.weight_bytes)),
        ("weights a GPU", _size(sizing.weight_bytes_per_gpu)),
        (f"KV cache, one request of {sizing.context} tokens", _size(sizing.kv_bytes_per_request)),
        ("the same, a GPU", _size(sizing.kv_bytes_per_request_per_gpu)),
        ("of it state that does not grow", _size(sizing.state_bytes_per_request)),
        ("block size", _count(sizing.block_size)),
    ]
    lines += [f"{label:<44}{value:>20}" for label, value in rows]
    lines += ["", "a GPU's bill"]
    lines += [f"  {term.name:<42}{_size(term.bytes):>20}  {term.method}" for term in sizing.terms]
    bill = [
        ("required a GPU", _size(sizing.required_bytes_per_gpu)),
        ("reserved a GPU", _size(sizing.reserved_bytes_per_gpu)),
        ("free now", _size(sizing.free_bytes_per_gpu)),
        ("room for the cache a GPU", _size(sizing.kv_room_bytes_per_gpu)),
        (f"requests at a time, {sizing.context} tokens each", _number(sizing.max_concurrency)),
        ("requests at a time, at the workload's length", _number(sizing.max_concurrency_at_workload)),
        ("fits", {True: "yes", False: "no", None: "not known"}[sizing.fits]),
        ("least TPOT", _milliseconds(sizing.floor.tpot_ms)),
        ("least TTFT", _milliseconds(sizing.floor.ttft_ms)),
    ]
    lines += ["", *(f"{label:<44}{value:>20}" for label, value in bill), f"  ({sizing.floor.because})"]
    assumed = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in sizing.assumptions.items())
    lines += ["", f"assumed: {assumed}"]
    lines += [f"not modelled: {line}" for line in sizing.not_modelled]
    return "\n".join(lines)


def _candidates_table(found: list[Any]) -> str:
    lines = [f"{'GPU (derived from the catalogue)':<40}{'GPUs':>5}{'TP':>4}{'PP':>4}{'room left a GPU':>18}  note"]
    for item in found:
        note = item.because or f"least TPOT {_milliseconds(item.sizing.floor.tpot_ms)}; figures {item.confidence}"
        if (item.nodes or 1) > 1:
            note = f"{item.nodes} nodes of 8; {note}"
        counts = "".join(
            f"{'-' if value is None else value:>{width}}"
            for value, width in ((item.gpus, 5), (item.tensor_parallel, 4), (item.pipeline_parallel, 4))
        )
        lines.append(f"{item.gpu:<40}{counts}{_size(item.room_bytes):>18}  {note}")
    return "\n".join(lines)


def _size(value: int | None) -> str:
    return "not known" if value is None else f"{value / GIB:,.2f} GiB"


def _count(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.2f}"


def _milliseconds(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.2f} ms"
