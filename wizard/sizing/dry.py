"""The answer of an installed vLLM in place of the formula's, where it can build the model; else why not."""

from dataclasses import replace
from pathlib import Path

from probes.drybuild import DryBuild, DryBuildRequest, dry_build
from probes.errors import ProbeError
from probes.models.configuration import ModelConfiguration
from wizard.sizing.answer import Sizing, Term
from wizard.sizing.memory import batch_defaults
from wizard.sizing.request import SizeRequest


def dry_sizing(configuration: ModelConfiguration, request: SizeRequest, formula: Sizing, interpreter: Path) -> Sizing:
    """Ask the vLLM of `interpreter`; falls back to `formula`, with the reason, where it cannot answer.

    Where vLLM's own platform is not the planner that was asked for (a CPU build asked for CUDA), its weights are taken
    and the cache stays the formula's, because the two plan with blocks of different size.
    """
    tokens, seqs = batch_defaults(request)
    asked = DryBuildRequest(
        context=formula.context,
        tensor_parallel=request.tensor_parallel,
        pipeline_parallel=request.pipeline_parallel,
        expert_parallel=request.expert_parallel,
        block_size=request.block_size,
        kv_cache_dtype=request.kv_cache_dtype,
        max_num_batched_tokens=tokens,
        max_num_seqs=seqs,
        available_bytes=formula.kv_room_bytes_per_gpu or None,
    )
    try:
        layout = dry_build(interpreter, configuration, asked)
        alone = layout
        if request.ranks > 1:
            alone = dry_build(
                interpreter,
                configuration,
                replace(asked, tensor_parallel=1, pipeline_parallel=1, expert_parallel=False, available_bytes=None),
            )
    except ProbeError as error:
        return replace(formula, method_note=f"{error.message} {error.remedy}")
    return _merged(formula, layout, alone, request)


def _merged(formula: Sizing, layout: DryBuild, alone: DryBuild, request: SizeRequest) -> Sizing:
    heaviest = max(layout.weight_bytes)
    terms = [term for term in formula.terms if term.name != "weights"]
    terms.insert(0, Term("weights", heaviest, f"dry build with vLLM {layout.version}"))
    before = formula.weight_bytes_per_gpu
    moved = heaviest - before if before is not None else None
    merged = replace(
        formula,
        method="dry_build",
        parameters=formula.parameters if formula.parameters is not None else alone.parameters[0],
        weight_bytes=alone.weight_bytes[0],
        weight_bytes_per_gpu=heaviest,
        required_bytes_per_gpu=_plus(formula.required_bytes_per_gpu, moved),
        kv_room_bytes_per_gpu=_plus(formula.kv_room_bytes_per_gpu, -moved if moved is not None else None),
        terms=tuple(terms),
        not_modelled=tuple(line for line in formula.not_modelled if not line.startswith("weights:")),
    )
    if layout.platform != request.planner:
        note = f"vLLM {layout.version} for {layout.platform} gave the weights, the {request.planner} planner the cache"
        return replace(merged, method_note=note)
    return replace(
        merged,
        method_note=f"vLLM {layout.version} for {layout.platform}",
        kv_bytes_per_request=alone.kv_bytes_per_request[0],
        kv_bytes_per_request_per_gpu=max(layout.kv_bytes_per_request),
        block_size=layout.block_size,
        assumptions={**formula.assumptions, "batches_in_flight": layout.batches_in_flight},
        max_concurrency=layout.max_concurrency if formula.kv_room_bytes_per_gpu else formula.max_concurrency,
        not_modelled=tuple(line for line in merged.not_modelled if not line.startswith("KV cache:")),
    )


def _plus(value: int | None, more: int | None) -> int | None:
    return None if value is None or more is None else value + more
