"""Whether the GPUs of a run can carry it, told before minutes are spent on a start that cannot work."""

from __future__ import annotations

from collections.abc import Sequence

from probes.cuda import COMPATIBLE_BRANCHES, CUDA_DRIVERS, WORKSTATION, branch_in
from probes.errors import ProbeError
from probes.machine import Gpu, Machine
from probes.smoke.plan import GpuNeed, VllmTool

LEAST_CAPABILITY = "7.5"
"""Of vLLM's CUDA wheels from 0.32 on (TORCH_CUDA_ARCH_LIST in its Dockerfile)."""


def check_driver(machine: Machine, tool: VllmTool) -> tuple[str, ...]:
    """Hold the driver against the CUDA version of the build. Return what to note; raise `ProbeError` if it is too old.

    Nothing is said where the driver or the build's CUDA version is not known.
    """
    here = str(tool.interpreter)
    major = next((found.cuda_major for found in machine.runtimes if found.interpreter == here), None)
    if major is None:
        major = next((found.cuda_major for found in machine.runtimes if found.version == tool.version), None)
    need, branch = CUDA_DRIVERS.get(major or 0), branch_in(machine.driver.version.value)
    if need is None or branch is None or branch >= need:
        return ()
    said = f"this vLLM is built for CUDA {major}, which needs driver branch {need} or later; here is branch {branch}"
    names = [gpu.name.value or "" for gpu in machine.gpus]
    if major == 13 and branch in COMPATIBLE_BRANCHES and not any(WORKSTATION.search(name) for name in names):
        return (f"! {said}: it starts only with NVIDIA's compatibility package.",)
    raise ProbeError(said, "update the driver, or install a vLLM for an older CUDA")


def check_capability(machine: Machine, devices: Sequence[str], needs: Sequence[GpuNeed]) -> None:
    """Raise `ProbeError` if a GPU of the run lacks the compute capability that the build or a format needs."""
    for gpu in machine.gpus:
        capability = gpu.compute_capability.value
        if capability is None or not _is_taken(gpu, devices):
            continue
        for need in (GpuNeed(what="vLLM's CUDA build", compute_capability=LEAST_CAPABILITY), *needs):
            if _order(capability) < _order(need.compute_capability):
                raise ProbeError(
                    f"{need.what} needs compute capability {need.compute_capability}; "
                    f"GPU {gpu.index} ({gpu.name.value or 'name not known'}) has {capability}",
                    "name other GPUs with --devices, or propose another format",
                )


def _is_taken(gpu: Gpu, devices: Sequence[str]) -> bool:
    uuid = gpu.uuid.value or ""
    return any(device == str(gpu.index) or (len(device) > 4 and uuid.startswith(device)) for device in devices)


def _order(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split(".") if part.isdigit())
