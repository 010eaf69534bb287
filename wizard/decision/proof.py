"""What a measured run may prove about the selection: its model, its hardware, its load.

A run of another model proves nothing about this one; on other hardware, or of selwiz's own tiny model, it
shows that the chain works and no speed. Rules and document say no more than this allows.
"""

from collections.abc import Sequence
from typing import Literal

from probes.machine import Gpu, Machine
from probes.models import ModelFacts
from probes.smoke.result import Point, SmokeResult
from wizard.answers import Model
from wizard.catalogue import gpus_named
from wizard.decision.selection import Selection

Qualifier = Literal["pipeline only", "other hardware"]
#: What keeps a run from refuting the selection: a qualifier, or that it was of another model.
Limit = Literal["pipeline only", "other hardware", "other model"]


def same_name(a: str, b: str) -> bool:
    """Whether two names are the same, case and spaces aside."""
    return " ".join(a.casefold().split()) == " ".join(b.casefold().split())


def same_gpu(a: str, b: str) -> bool:
    """Whether two names are of one GPU: the same, or one of NVML's and the catalogue's for it."""
    return same_name(a, b) or bool(set(gpus_named(a)) & set(gpus_named(b)))


def usable_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """Return the GPUs that a runtime could use."""
    return tuple(gpu for gpu in machine.gpus if gpu.usable)


def is_planned(machine: Machine) -> bool:
    """Whether the machine is one that will be bought: its readings are the catalogue's."""
    return machine.planned


def probed_machine(selection: Selection) -> Machine | None:
    """The machine that was looked at: the run's own where there was one; None where it is one that will be bought."""
    machine = selection.measured_on or selection.machine
    return None if machine is None or machine.planned else machine


def carried_model(selection: Selection) -> tuple[int, Model, ModelFacts | None] | None:
    """Return the model that this selection carries: its place in the answers, the answer and its facts."""
    for index, model in enumerate(selection.answers.engine.models):
        if model.carried_here:
            facts = selection.models[index] if index < len(selection.models) else None
            return index, model, facts
    return None


def gpus_in_all(selection: Selection) -> int | None:
    """Return (serving + spare replicas) x GPUs per replica; None if one of them is not given."""
    layout, gpus = selection.answers.runtime.layout, selection.answers.runtime.hardware.gpus_per_replica
    if layout.replicas is None or layout.spare_replicas is None or gpus is None:
        return None
    return (layout.replicas + layout.spare_replicas) * gpus


def endpoint_gpus(selection: Selection) -> tuple[Gpu, ...]:
    """Return the GPUs of the probed machine on which NVML showed the endpoint's processes; none where not visible."""
    smoke, machine = selection.smoke, probed_machine(selection)
    if smoke is None or smoke.mode != "endpoint" or machine is None:
        return ()
    seen = smoke.server.gpus or ()
    found = tuple(gpu for gpu in machine.gpus if gpu.index in seen)
    return found if len(found) == len(seen) else ()


def hardware_verified(selection: Selection) -> bool:
    """Whether it is known on which hardware the run was; that of an endpoint only where NVML showed its processes."""
    smoke = selection.smoke
    return smoke is not None and (smoke.mode != "endpoint" or bool(endpoint_gpus(selection)))


def qualifier(selection: Selection) -> Qualifier | None:
    """Say what limits the run: None if it was made as proposed; None too if there was no run.

    Where an endpoint's hardware is not visible, the person who named it answers for it.
    """
    smoke = selection.smoke
    if smoke is None:
        return None
    if smoke.mode == "tiny" or smoke.scaled_down:
        return "pipeline only"
    if smoke.mode == "endpoint":
        seen = endpoint_gpus(selection)
        return None if not seen or _are_proposed(selection, seen) else "other hardware"
    return None if _ran_on_proposed(selection, smoke) else "other hardware"


def limit_of(selection: Selection) -> Limit | None:
    """Say why the run can refute nothing of the selection; None where it can."""
    return qualifier(selection) or ("other model" if ran_other_model(selection) else None)


def _ran_on_proposed(selection: Selection, smoke: SmokeResult) -> bool:
    machine = probed_machine(selection)
    if machine is None or smoke.runtime.build == "cpu" or not _ran_over_proposed_nodes(selection, smoke):
        return False
    return _are_named(usable_gpus(machine), selection.answers.runtime.hardware.gpu)


def _are_named(gpus: tuple[Gpu, ...], proposed: str | None) -> bool:
    names = [gpu.name.value for gpu in gpus]
    return proposed is not None and bool(names) and all(name is not None and same_gpu(name, proposed) for name in names)


def _are_proposed(selection: Selection, gpus: tuple[Gpu, ...]) -> bool:
    """Whether GPUs are those of one replica. How many they are tells what the flags of an endpoint cannot."""
    hardware = selection.answers.runtime.hardware
    return _are_named(gpus, hardware.gpu) and hardware.gpus_per_replica in (None, len(gpus))


def _ran_over_proposed_nodes(selection: Selection, smoke: SmokeResult) -> bool:
    """Whether a replica was measured over as many machines as are proposed."""
    wanted, nodes = selection.answers.runtime.layout.nodes_per_replica or 1, smoke.runtime.nodes
    elsewhere = [node for node in nodes if node.where == "elsewhere"]
    return (len(elsewhere) + 1 if nodes else 1) == wanted


def ran_other_model(selection: Selection) -> bool:
    """Whether the run is known to be of another model than the proposed one."""
    smoke, carried = selection.smoke, carried_model(selection)
    if smoke is None or carried is None:
        return False
    if smoke.mode == "tiny":
        return True
    if smoke.model is None or smoke.model.startswith("$"):
        return False  # a folder whose path was left out of the result: it cannot be compared
    _, model, _ = carried
    known = [name for name in (model.name, model.path) if name]
    return bool(known) and not any(_same_model(smoke.model, name) for name in known)


def _same_model(a: str, b: str) -> bool:
    """Whether two spellings name one model: a name on the Hub, a folder, or a folder of the Hub's cache."""
    return _last(a) == _last(b)


def _last(name: str) -> str:
    parts = name.rstrip("/").split("/")
    cached = next((part for part in parts if part.startswith("models--")), parts[-1])
    return cached.rsplit("--", 1)[-1].casefold()


def asked_points(selection: Selection) -> Sequence[Point]:
    """Return the points measured at the asked load, without those of a capacity search."""
    return [point for point in selection.smoke.points if point.kind != "search"] if selection.smoke else []


def is_own_state(selection: Selection, point: Point) -> bool:
    """Whether the point was measured with the workload's own prefixes: shared if its calls share a prefix."""
    shares = bool(selection.answers.runtime.workload.shared_prefix_tokens)
    return (point.kind == "asked_shared") == shares
