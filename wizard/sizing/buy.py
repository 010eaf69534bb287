"""The buy side: for each GPU type of the catalogue the least number of GPUs that carries the load, all `derived`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from probes.models.configuration import ModelConfiguration
from wizard.catalogue.loader import gpus
from wizard.catalogue.rows import GpuRow
from wizard.errors import SelwizError
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
from wizard.sizing.floors import Ceilings, below_floor
from wizard.sizing.gpus import rates
from wizard.sizing.layers import CacheShape, NotCovered, cache_shape
from wizard.sizing.request import GpuFacts, SizeRequest, working_tensor_parallel

#: Tensor parallelism stays inside one NVLink domain: eight GPUs of a common node, two where there is only PCIe.
#: Pipeline stages fill a node before they take another one.
_NODE = 8
_OLDEST = (7, 5)  # vLLM's wheel has no kernels for older GPUs
_PAIR = 2
_STAGES = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Candidate:
    """The least layout of one GPU type that fits, or why none does."""

    gpu: str
    gpus: int | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    sizing: Sizing | None
    because: str | None
    confidence: str

    @property
    def nodes(self) -> int | None:
        """The nodes of eight GPUs that it takes: no stage is cut by the edge of a node."""
        if self.tensor_parallel is None or self.pipeline_parallel is None:
            return None
        return _nodes(self.tensor_parallel, self.pipeline_parallel)

    @property
    def room_bytes(self) -> int | None:
        """What is left of the reserved memory of each GPU."""
        answer = self.sizing
        if answer is None or answer.reserved_bytes_per_gpu is None or answer.required_bytes_per_gpu is None:
            return None
        return answer.reserved_bytes_per_gpu - answer.required_bytes_per_gpu

    def to_json(self) -> dict[str, Any]:
        """One row as JSON."""
        floor = self.sizing.floor if self.sizing else None
        return {
            "gpu": self.gpu,
            "gpus": self.gpus,
            "nodes": self.nodes,
            "tensor_parallel": self.tensor_parallel,
            "pipeline_parallel": self.pipeline_parallel,
            "room_bytes_per_gpu": self.room_bytes,
            "max_concurrency": self.sizing.max_concurrency if self.sizing else None,
            "floor": {"tpot_ms": floor.tpot_ms if floor else None, "ttft_ms": floor.ttft_ms if floor else None},
            "because": self.because,
            "confidence": self.confidence,
            "source": "derived",
        }


def _nodes(tensor: int, pipeline: int) -> int:
    return -(-pipeline // (_NODE // tensor))


def candidates(
    configuration: ModelConfiguration,
    request: SizeRequest,
    ceilings: Ceilings,
    rows: Iterable[GpuRow] | None = None,
) -> list[Candidate]:
    """One candidate a GPU type, fewest GPUs first, those that no layout serves last."""
    found, shape = [], cache_shape(configuration)
    for gpu, confidence in _types(gpus() if rows is None else rows):
        found.append(_least(configuration, shape, request, gpu, ceilings, confidence))
    return sorted(found, key=lambda item: (item.gpus is None, item.gpus or 0, item.gpu))


def _types(rows: Iterable[GpuRow]) -> Iterator[tuple[GpuFacts, str]]:
    for row in rows:
        if row.unified_memory or tuple(map(int, row.compute_capability.split("."))) < _OLDEST:
            continue  # what is left of unified memory is the host's affair
        for size in row.memory_gb:
            single = len(row.memory_gb) == 1
            memory = row.nvml_memory_mib * 1024**2 if row.nvml_memory_mib and single else int(size * 1e9)
            name = row.name if single else f"{row.name} ({size:g} GB)"
            yield (
                GpuFacts(
                    name=name,
                    memory_bytes=memory,
                    bandwidth_gb_s=row.memory_bandwidth_gb_s,
                    tflops=rates(row),
                    nvlink=bool(row.nvlink_generation),
                    source="catalogue",
                ),
                row.confidence,
            )


def _least(
    configuration: ModelConfiguration,
    shape: CacheShape | NotCovered,
    request: SizeRequest,
    gpu: GpuFacts,
    ceilings: Ceilings,
    confidence: str,
) -> Candidate:
    if isinstance(shape, NotCovered):
        return Candidate(gpu.name, None, None, None, None, shape.because, confidence)
    most = _NODE if gpu.nvlink else _PAIR
    sizes = working_tensor_parallel(shape, most)
    layouts = sorted(
        (tp * pp, pp, tp)
        for tp in sizes
        for pp in _STAGES
        # Nodes of one replica carry the same number of ranks (vLLM 0.32.0 engine/arg_utils.py).
        if pp <= len(shape.layers) and pp % _nodes(tp, pp) == 0
    )
    reason = "no layout of up to 64 GPUs holds weights and cache"
    for count, pp, tp in layouts:
        asked = replace(
            request,
            gpu=gpu,
            gpus=None,
            tensor_parallel=tp,
            pipeline_parallel=pp,
            max_num_batched_tokens=request.max_num_batched_tokens,
        )
        try:
            answer = compute(configuration, asked)
        except SelwizError as error:
            return Candidate(gpu.name, None, None, None, None, str(error), confidence)
        if answer.fits is None:
            why = answer.not_modelled[0] if answer.not_modelled else "not known"
            return Candidate(gpu.name, None, None, None, None, why, confidence)
        if not answer.fits:
            continue
        below = below_floor(answer.floor, ceilings)
        if below:
            reason = "a ceiling is below its floor with every layout that fits: " + ", ".join(b.name for b in below)
            continue
        return Candidate(gpu.name, count, tp, pp, answer, None, confidence)
    return Candidate(gpu.name, None, None, None, None, reason, confidence)
