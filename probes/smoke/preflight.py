"""What is looked at before anything is started: free GPUs, room on disk and in memory, and how long it may take.

Pure but for the readings of disk and memory at the end. `ProbeError` with one sentence where a start cannot work.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from probes.errors import ProbeError
from probes.machine import Gpu, Machine
from probes.smoke.plan import Ceiling, PlannedRun

FREE_SHARE = 0.9
"""A GPU with less of its memory free is in somebody's use; vLLM's own default asks for 0.92 of it."""
LEAST_TEMPORARY_BYTES = 500 * 1000**2
"""Room for logs, traces and compiled kernels of a small model."""
TOOL_START_S = 10.0
"""Longest start of the load tool (7 to 9 s measured on two cores)."""
_MOST_GPUS_TO_COMBINE = 16


def _is_free(gpu: Gpu) -> bool:
    total, free = gpu.memory_total_bytes.value, gpu.memory_free_bytes.value
    if gpu.process_count.value:
        return False
    return gpu.memory_kind != "dedicated" or total is None or free is None or free >= FREE_SHARE * total


def _why_not_free(gpu: Gpu) -> str:
    if not gpu.usable:
        return f"GPU {gpu.index} cannot be used ({gpu.unusable_because})"
    held = gpu.memory_used_bytes.value
    return f"GPU {gpu.index} is in use" + (f" ({held / 1024**3:.1f} GiB)" if held else "")


def choose_gpus(machine: Machine, count: int) -> tuple[tuple[str, ...], str]:
    """Return the indices of `count` free GPUs and how they are joined, preferring a group where NVLink joins all.

    Only GPUs that the shell lets a CUDA program see are taken, and never one that another process holds. Raises
    `ProbeError` if there are too few.
    """
    visible = machine.shell.visible_gpus.value
    seen = [gpu for gpu in machine.gpus if visible is None or gpu.index in visible]
    free = [gpu.index for gpu in seen if gpu.usable and _is_free(gpu)]
    if len(free) < count:
        held = "; ".join(_why_not_free(gpu) for gpu in seen if gpu.index not in free)
        raise ProbeError(
            f"the layout needs {count} free GPUs and {len(free)} are free" + (f": {held}" if held else ""),
            "wait until they are free, name GPUs with --devices, or measure a smaller layout",
        )
    if count == 1:
        return (str(free[0]),), "free"
    joined = {frozenset((link.a, link.b)) for link in machine.links if link.kind == "nvlink"}
    for group in combinations(free[:_MOST_GPUS_TO_COMBINE], count):
        if all(frozenset(pair) in joined for pair in combinations(group, 2)):
            return tuple(str(index) for index in group), "free, joined by NVLink"
    return tuple(str(index) for index in free[:count]), "free, not all joined by NVLink"


def held_by_others(machine: Machine, devices: Sequence[str]) -> tuple[str, ...]:
    """Say which of the named GPUs somebody uses already; a name may be an index or a UUID."""
    named = [gpu for gpu in machine.gpus if str(gpu.index) in devices or gpu.uuid.value in devices]
    return tuple(_why_not_free(gpu) for gpu in named if not gpu.usable or not _is_free(gpu))


def call_seconds(ceilings: Sequence[Ceiling], output_tokens: int) -> float | None:
    """Return how long a call may take by its ceilings: E2E, else TTFT + TPOT x (output tokens - 1); None if open."""
    limits = {ceiling.metric: ceiling.limit_ms / 1000 for ceiling in ceilings}
    if "e2e_ms" in limits:
        return limits["e2e_ms"]
    if "ttft_ms" in limits and "tpot_ms" in limits:
        return limits["ttft_ms"] + limits["tpot_ms"] * (output_tokens - 1)
    return None


def duration_lines(
    runs: Sequence[PlannedRun], ceilings: Sequence[Ceiling], limit_s: float, gpus: int | None
) -> tuple[str, ...]:
    """Say how long the whole takes at most, and how long the load takes when every call uses up its ceilings."""

    def both(seconds: float) -> str:
        hours = f", {seconds / 3600 * gpus:.2f} GPU-hours on {gpus} GPUs" if gpus else ""
        return f"{seconds / 60:.0f} minutes{hours}"

    lines = [f"Takes at most {both(limit_s)}: then it is ended."]
    each = call_seconds(ceilings, runs[-1].workload.output_tokens)
    if each is not None:
        rounds = sum(-(-run.requests // run.workload.concurrency) for run in runs)
        load_s = rounds * each + TOOL_START_S * len(runs)
        lines.append(
            f"The load takes about {both(load_s)} when every call takes as long as its ceilings allow, less when the "
            "server is faster; its start comes on top."
        )
        if load_s > limit_s:
            lines.append(f"That is longer than the time limit: --time-limit {load_s * 1.5:.0f} would be enough.")
    return tuple(lines)


def check_disk(folder: Path) -> None:
    """Raise `ProbeError` if the private folder would not have enough room."""
    free = shutil.disk_usage(folder).free
    if free < LEAST_TEMPORARY_BYTES:
        raise ProbeError(
            f"{folder} has {free / 1000**2:.0f} MB free, a run needs {LEAST_TEMPORARY_BYTES / 1000**2:.0f} MB there",
            "free some space",
        )


def check_memory(needed_bytes: int) -> None:
    """Raise `ProbeError` if this machine's memory has no room for a runtime on the CPU."""
    import psutil  # only a run on the CPU asks

    available = int(psutil.virtual_memory().available)
    if available < needed_bytes:
        raise ProbeError(
            f"the run needs {needed_bytes / 1024**3:.1f} GiB of memory, {available / 1024**3:.1f} are free",
            "close other programs, or use a smaller cache (VLLM_CPU_KVCACHE_SPACE)",
        )
