"""The sizing of what is proposed: the carried model, in the proposed layout, on the proposed GPUs. Pure and quick."""

from collections.abc import Iterable
from dataclasses import replace

from probes.errors import ProbeError
from probes.machine import Gpu, Machine
from probes.models import ModelConfiguration, WeightFiles
from wizard.answers import Answers
from wizard.catalogue.rows import GpuRow
from wizard.errors import SelwizError
from wizard.machine import confidence_of, planned
from wizard.serving.launch import Launch
from wizard.sizing.answer import GpuSource, LeastGpus, ProposedSizing
from wizard.sizing.buy import candidates
from wizard.sizing.compute import compute
from wizard.sizing.from_launch import ceilings_of, request_of
from wizard.sizing.gpus import facts_of_gpu
from wizard.sizing.request import GpuFacts, SizeRequest

_Found = tuple[GpuFacts | None, GpuSource | None, str | None, str | None]


def proposed_sizing(
    answers: Answers,
    command: Launch,
    machine: Machine | None,
    configuration: ModelConfiguration | None,
    weights: WeightFiles | None = None,
    types: Iterable[GpuRow] = (),
) -> ProposedSizing | None:
    """Size the carried model; None where no model is carried. What cannot be sized carries the sentence why.

    `types` are GPU types for which the least number of GPUs is sought too; without a number of calls none is.
    """
    model = answers.engine.carried_model
    if model is None:
        return None
    name = model.name or (configuration.name if configuration else "the model")
    if answers.runtime.product is not None and command.runtime != "vllm":
        return ProposedSizing(
            model=name, because=f"The sizing follows vLLM's plan of the memory; {answers.runtime.product} has its own."
        )
    if configuration is None:
        unknown = f"Nothing is known of {name}: it is not in the catalogue, and no folder was given."
        return ProposedSizing(model=name, because=unknown)
    try:
        asked = request_of(answers, command)
        gpu, source, confidence, because = _gpu(answers.runtime.hardware.gpu, machine, asked.ranks)
        request = request_of(answers, command, gpu)
        sizing = compute(configuration, request, weights)
    except (SelwizError, ProbeError) as error:
        return ProposedSizing(model=name, because=error.message)
    return ProposedSizing(
        model=name,
        gpu=gpu.name if gpu else answers.runtime.hardware.gpu,
        gpu_source=source,
        bandwidth_confidence=confidence,
        gpus=request.ranks,
        calls=request.concurrency,
        utilization=request.gpu_memory_utilization,
        sizing=sizing,
        because=because,
        least=_least(configuration, request, answers, types if sizing.start_bytes_per_gpu is not None else ()),
    )


def _least(
    configuration: ModelConfiguration, request: SizeRequest, answers: Answers, types: Iterable[GpuRow]
) -> tuple[LeastGpus, ...]:
    rows = tuple(types)
    if not rows or request.concurrency is None:
        return ()
    return tuple(
        LeastGpus(
            gpu=item.gpu,
            gpus=item.gpus,
            tensor_parallel=item.tensor_parallel,
            pipeline_parallel=item.pipeline_parallel,
            room_bytes_per_gpu=item.room_bytes,
            floor=item.sizing.floor if item.sizing else None,
            because=item.because,
            confidence=item.confidence,
            nodes=item.nodes,
        )
        for item in candidates(configuration, request, ceilings_of(answers), rows)
    )


def _gpu(name: str | None, machine: Machine | None, count: int) -> _Found:
    """The proposed GPU: as the machine reads it where it is the same, else as the catalogue knows it."""
    if name is None:
        return None, None, None, "No GPU is proposed."
    wanted = " ".join(name.casefold().split())
    same = [
        gpu
        for gpu in (machine.gpus if machine else ())
        if gpu.usable and gpu.name.value is not None and " ".join(gpu.name.value.casefold().split()) == wanted
    ]
    try:
        if same and machine is not None and not machine.planned:
            return _read(same, count, machine)
        gpu = same[0] if same else planned(f"{name}x1").gpus[0]
        return facts_of_gpu(gpu), "catalogue", confidence_of(gpu, gpu.memory_bandwidth_gb_s), None
    except (SelwizError, ProbeError) as error:
        return None, None, None, error.message


def _read(gpus: list[Gpu], count: int, machine: Machine) -> _Found:
    """The readings of the GPU that decides: all ranks reserve the same, so the one with the least of each counts.

    Of a fleet that is the weakest kind of node, which the machine's own GPUs are, and the least that any node has free.
    """
    total = min((gpu.memory_total_bytes.value for gpu in gpus if gpu.memory_total_bytes.value), default=None)
    first = next((gpu for gpu in gpus if gpu.memory_total_bytes.value == total), gpus[0])
    free = _least_free_of_nodes(machine) if machine.nodes else _least_free(gpus, count)
    facts = replace(facts_of_gpu(first), free_bytes=free)
    return facts, "probe", confidence_of(first, first.memory_bandwidth_gb_s), None


def _least_free(gpus: list[Gpu], count: int) -> int | None:
    """What is free on the fullest of the `count` emptiest GPUs."""
    free = sorted((gpu.memory_free_bytes.value or 0 for gpu in gpus), reverse=True)
    known = all(gpu.memory_free_bytes.value is not None for gpu in gpus) and len(gpus) >= count
    return free[count - 1] if known else None


def _least_free_of_nodes(machine: Machine) -> int | None:
    free = [node.memory_free_bytes.value for node in machine.nodes]
    return min((size for size in free if size is not None), default=None) if None not in free else None
