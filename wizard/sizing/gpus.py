"""GPU facts for the sizing out of the catalogue and of a probed machine."""

from probes.machine import Gpu
from wizard.catalogue.loader import gpu_row, gpus
from wizard.catalogue.rows import GpuRow
from wizard.errors import UsageError
from wizard.machine import planned
from wizard.sizing.request import GIB, GpuFacts

_RATES = (("bf16", "bf16_tflops"), ("fp16", "fp16_tflops"), ("fp8", "fp8_tflops"), ("int8", "int8_tops"))


def gpu_named(name: str, memory_gib: float | None = None) -> GpuFacts:
    """Facts of a GPU by a name of the catalogue or the one that NVML reports; raises `UsageError` for an unknown one.

    `memory_gib` overrides the memory, and is needed where the catalogue knows several sizes.
    """
    gpu = planned(name if not name.rpartition("x")[2].isdigit() else f"{name}x1").gpus[0]
    return facts_of_gpu(gpu, memory_gib)


def facts_of_gpu(gpu: Gpu, memory_gib: float | None = None) -> GpuFacts:
    """Facts of one GPU of a machine, with the catalogue's rates."""
    row = gpu_row(gpu.name.value, gpu.memory_total_bytes.value)
    memory = int(memory_gib * GIB) if memory_gib else gpu.memory_total_bytes.value
    if not memory:
        raise UsageError(
            f"How much memory the {gpu.name.value or 'GPU'} has is not known.",
            "Say it with --gpu-memory-gib.",
        )
    return GpuFacts(
        name=gpu.name.value or "unnamed",
        memory_bytes=memory,
        reserve_bytes=gpu.memory_reserved_bytes.value,
        free_bytes=gpu.memory_free_bytes.value,
        bandwidth_gb_s=gpu.memory_bandwidth_gb_s.value,
        tflops=rates(row),
        nvlink=bool(row and row.nvlink_generation),
        source=gpu.memory_total_bytes.source,
    )


def common_types() -> tuple[GpuRow, ...]:
    """The types that are compared unasked: those whose figures were read in a measured file or a data sheet."""
    return tuple(row for row in gpus() if row.confidence == "read")


def rates(row: GpuRow | None) -> tuple[tuple[str, float], ...]:
    """Dense rates by precision, as far as they are known."""
    if row is None:
        return ()
    known = [(name, getattr(row, field)) for name, field in (*_RATES, ("fp4", "fp4_tflops"))]
    return tuple((name, float(value)) for name, value in known if value is not None)
