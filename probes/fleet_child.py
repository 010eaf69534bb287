"""Asks every node of a Ray cluster for its machine; runs in a child, with the interpreter that owns Ray.

Says one JSON object a line: `nodes` (how many are asked), `node` (place, machine), `failed` (place, why), and `error`
(text) where the cluster cannot be asked at all. Nothing stays on the nodes: Ray's runtime environment carries the
package `probes` and NVIDIA's binding, and drops both with the job.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

#: A node's first task waits for a worker process and for the runtime environment before it asks anything.
START_S = 15.0
_FIELDS = ("CUDA_VISIBLE_DEVICES",)


def _machine(tool_version: str, timeout_s: float) -> str:
    """What a node says of itself; runs on the node."""
    # Ray hides all GPUs from a task that reserves none; nobody's shell did.
    for name in _FIELDS:
        os.environ.pop(name, None)
    from probes.snapshot import take_machine

    return take_machine(tool_version=tool_version, timeout_s=timeout_s).model_dump_json()


def _say(event: str, **fields: Any) -> None:
    sys.__stdout__.write(json.dumps({"event": event, **fields}) + "\n")  # type: ignore[union-attr]  # a pipe is there
    sys.__stdout__.flush()  # type: ignore[union-attr]


def ask(address: str, tool_version: str, timeout_s: float) -> None:
    """Run one task on each node that is alive, all at a time, and say what each answers within its time."""
    ray: Any = importlib.import_module("ray")
    pinned: Any = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    binding = importlib.import_module("pynvml").__file__ or "pynvml.py"
    package = Path(__file__).resolve().parent
    carried = {"py_modules": [str(package), str(Path(binding).resolve())]}
    ray.init(address=address, runtime_env=carried, log_to_driver=False, logging_level="ERROR")
    alive = [node for node in ray.nodes() if node["Alive"]]
    # The head first; addresses give the order and are said to nobody.
    alive.sort(key=_order)
    _say("nodes", count=len(alive))
    task = ray.remote(num_cpus=0, num_gpus=0, max_retries=0)(_machine)
    asked = {
        task.options(scheduling_strategy=pinned(node["NodeID"], soft=False)).remote(tool_version, timeout_s): place
        for place, node in enumerate(alive)
    }
    until = time.monotonic() + START_S + timeout_s
    while asked:
        done, _ = ray.wait(list(asked), num_returns=1, timeout=max(0.0, until - time.monotonic()))
        if not done:
            break
        _tell(asked.pop(done[0]), done[0], ray)
    for place in asked.values():
        _say("failed", place=place, why=f"no answer within {START_S + timeout_s:g} s")


def _order(node: dict[str, Any]) -> tuple[bool, str, str]:
    return "node:__internal_head__" not in node["Resources"], node["NodeManagerAddress"], node["NodeID"]


def _tell(place: int, answer: Any, ray: Any) -> None:
    try:
        _say("node", place=place, machine=json.loads(ray.get(answer)))
    except ray.exceptions.RayTaskError as error:
        _say("failed", place=place, why=f"the probe ended with {_sentence(error.cause)}")
    except ray.exceptions.RayError as error:
        _say("failed", place=place, why=_lost(error))


def _lost(error: Exception) -> str:
    """Why a task did not run to its end, without the addresses that Ray's own text holds."""
    words = {
        "NodeDiedError": "the node was lost while it was asked",
        "WorkerCrashedError": "its worker process ended while it was asked",
        "TaskUnschedulableError": "the node was lost before it was asked",
        "RuntimeEnvSetupError": "it could not set up Ray's runtime environment",
    }
    return words.get(type(error).__name__, f"Ray gave {type(error).__name__}")


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())[:120].rstrip(".")
    return f"{type(error).__name__}{f': {text}' if text else ''}"


def start(arguments: list[str]) -> None:
    """Ask the cluster named by the arguments: address, version of selwiz, seconds a node."""
    address, tool_version, timeout_s = arguments
    try:
        ask(address, tool_version, float(timeout_s))
    except ImportError as error:
        _say("error", kind="import", text=_sentence(error))
    except Exception as error:  # whatever Ray raises is one sentence for the user
        _say("error", kind=type(error).__name__, text=_sentence(error))
