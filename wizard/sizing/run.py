"""What the sizing predicts of a smoke's own server, to stand beside what that server logs."""

from probes.machine import Machine
from probes.models import ModelConfiguration, WeightFiles, configuration_of
from probes.smoke.plan import Nodes, PredictedMemory
from probes.smoke.result import Mode
from probes.smoke.tiny_model import CONFIG
from wizard.answers import Answers
from wizard.serving.launch import Launch
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
from wizard.sizing.proposed import proposed_sizing
from wizard.sizing.request import SizeRequest

_TERMS = {"weights": "weights", "CUDA graphs": "graphs", "activations": "activations"}


def predicted_memory(
    mode: Mode,
    answers: Answers,
    command: Launch,
    machine: Machine | None,
    configuration: ModelConfiguration | None,
    weights: WeightFiles | None = None,
    devices: tuple[str, ...] = (),
    nodes: Nodes | None = None,
) -> tuple[PredictedMemory, ...]:
    """Predict the memory of one GPU for the run's own model, layout and hardware; empty where nothing is known.

    A CPU build takes the room for its cache as a setting and captures no graphs: of it only the weights are predicted.
    """
    if mode == "endpoint":
        return ()
    if mode == "tiny":
        tiny = compute(
            configuration_of("tiny", "tiny", CONFIG), SizeRequest(tensor_parallel=nodes.count if nodes else 1)
        )
        return _weights(tiny)
    here = answers.model_copy(
        update={
            "runtime": answers.runtime.model_copy(
                update={"hardware": answers.runtime.hardware.model_copy(update={"gpu": _gpu_name(machine, devices)})}
            )
        }
    )
    proposed = proposed_sizing(here, command, machine, configuration, weights)
    sizing = proposed.sizing if proposed else None
    if sizing is None:
        return ()
    if sizing.reserved_bytes_per_gpu is None or _is_cpu_build(machine):
        return _weights(sizing)
    other = sum(term.bytes for term in sizing.terms if term.name not in (*_TERMS, "KV cache"))
    found = {_TERMS[term.name]: term.bytes for term in sizing.terms if term.name in _TERMS}
    found |= {"other": other}
    if sizing.kv_room_bytes_per_gpu is not None:
        found |= {"kv_room": sizing.kv_room_bytes_per_gpu}
    return tuple(PredictedMemory.model_validate({"term": key, "bytes_per_gpu": size}) for key, size in found.items())


def _weights(sizing: Sizing) -> tuple[PredictedMemory, ...]:
    if sizing.weight_bytes_per_gpu is None:
        return ()
    return (PredictedMemory(term="weights", bytes_per_gpu=sizing.weight_bytes_per_gpu),)


def _gpu_name(machine: Machine | None, devices: tuple[str, ...]) -> str | None:
    """The GPU that the run will use; None where there is none, or where they differ."""
    gpus = [gpu for gpu in (machine.gpus if machine else ()) if gpu.usable]
    chosen = [gpu for gpu in gpus if str(gpu.index) in devices or gpu.uuid.value in devices] or gpus
    names = {gpu.name.value for gpu in chosen}
    return names.pop() if len(names) == 1 else None


def _is_cpu_build(machine: Machine | None) -> bool:
    return machine is None or (bool(machine.runtimes) and machine.runtimes[0].build == "cpu")
