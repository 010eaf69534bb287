"""Points of a run in progress, written as each ends, so that a stop loses none and a later start can take them over.

They lie in the state folder, not in the evidence: an unfinished run is no evidence. A point is taken over only by a run
that asks for exactly the same on a machine of the same kind: same model, flags, load, ceilings, devices, vLLM, GPUs
and driver. A home folder that several machines share thus offers no machine the points of another.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from probes.machine import Machine
from probes.smoke.plan import SmokePlan
from probes.smoke.result import Frozen, Point

_SAME = (
    "mode",
    "model",
    "served_model_name",
    "serve_flags",
    "environment",
    "workload",
    "ceilings",
    "devices",
    "endpoint_url",
    "prompts_file",
)


class SavedPoint(Frozen):
    """One finished point with its raw result, without texts; `seconds` is how long its load run took."""

    name: str
    point: Point
    raw: dict[str, Any]
    seconds: float


class SavedPoints(Frozen):
    """The finished points of one run that did not come to its end."""

    schema_version: Literal[1] = 1
    fingerprint: str
    run_id: str
    saved_at: str
    points: tuple[SavedPoint, ...]


def fingerprint(plan: SmokePlan) -> str:
    """Return what is the same for two runs whose points may stand beside each other."""
    asked = plan.request.model_dump(mode="json", include=set(_SAME))
    if plan.request.nodes is not None:
        asked["nodes"] = [plan.request.nodes.count, plan.request.nodes.all_here]  # the port may be another one
    asked |= {"version": plan.tool.version, "build": plan.tool.build, "sent": plan.workload.model_dump(mode="json")}
    asked["machine"] = None if plan.request.machine is None else _kind_of(plan.request.machine)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _kind_of(machine: Machine) -> dict[str, Any]:
    """Return what makes figures of two machines comparable: GPUs and driver, and the processor; nothing that varies."""
    return {
        "gpus": [(gpu.name.value, gpu.memory_total_bytes.value) for gpu in machine.gpus],
        "driver": machine.driver.version.value,
        "cpu": (machine.host.cpu_model.value, machine.host.cpu_usable_cores.value),
    }


def _path(plan: SmokePlan) -> Path:
    return plan.request.state_dir / f"smoke-points-{fingerprint(plan)}.json"


def save_points(plan: SmokePlan, saved: SavedPoints) -> None:
    """Write the points whole or not at all, readable by their owner only. Raises OSError."""
    path = _path(plan)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(saved.model_dump_json())
    temporary.replace(path)


def load_points(plan: SmokePlan) -> SavedPoints | None:
    """Return the points that an unfinished run of the same kind left; None if there are none or they are damaged."""
    try:
        saved = SavedPoints.model_validate_json(_path(plan).read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError):
        return None
    return saved if saved.fingerprint == fingerprint(plan) and saved.points else None


def forget_points(plan: SmokePlan) -> None:
    """Remove what was kept: the run has come to its end."""
    with contextlib.suppress(OSError):
        _path(plan).unlink()
