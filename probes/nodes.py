"""A fleet out of the machines of its nodes: equal nodes together, and what differs as a finding. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from probes.machine import Machine, Node, NodeKind, Problem
from probes.problems import problem
from probes.reading import Reading

_GIB, _MIB = 1024**3, 1024**2
_MOST_NAMED = 5


class Difference(NamedTuple):
    """One thing in which nodes should be equal; `of` gives what is compared, in words."""

    what: str
    of: Callable[[NodeKind], str]


def _value(reading: Reading[Any]) -> str:
    return "unknown" if reading.value is None else str(reading.value)


def _counted(words: Sequence[str]) -> str:
    return ", ".join(f"{count} × {word}" for word, count in sorted(Counter(words).items())) or "none"


def gpu_models(kind: NodeKind) -> str:
    """The usable GPUs of a node in words: "8 × NVIDIA H200"."""
    return _counted([_value(gpu.name) for gpu in kind.usable_gpus])


def _gpu_memory(kind: NodeKind) -> str:
    sizes = [gpu.memory_total_bytes.value for gpu in kind.usable_gpus]
    return _counted(["unknown" if size is None else f"{size / _GIB:.1f} GiB" for size in sizes])


def _vllm(kind: NodeKind) -> str:
    return ", ".join(sorted({f"{found.version} ({found.build})" for found in kind.runtimes})) or "none"


def _network(kind: NodeKind) -> str:
    def words(driver: str, speed_mb_s: float | None) -> str:
        return f"{driver} {'of unknown speed' if speed_mb_s is None else f'{speed_mb_s / 125:g} Gbit/s'}"

    return _counted([words(_value(one.driver), one.speed_mb_s.value) for one in kind.interfaces])


def _mtu(kind: NodeKind) -> str:
    return ", ".join(sorted({_value(one.mtu_bytes) for one in kind.interfaces})) or "none"


def _shared_memory(kind: NodeKind) -> str:
    size = kind.host.shm_total_bytes.value
    if size is None:
        return "unknown"
    return f"{size / _GIB:.0f} GiB" if size >= _GIB else f"{size / _MIB:.0f} MiB"


def _fabric(kind: NodeKind) -> str:
    states = {_value(gpu.fabric_state) for gpu in kind.usable_gpus}
    cliques = {gpu.fabric_clique.value for gpu in kind.usable_gpus if gpu.fabric_spans_nodes.value}
    across = ", ".join(f"clique {clique}" for clique in sorted(str(clique) for clique in cliques))
    return ", ".join(sorted(states)) + (f" ({across})" if across else "")


#: In the order in which they are told.
DIFFERENCES = (
    Difference("the GPU driver", lambda kind: _value(kind.driver.version)),
    Difference("the GPU model", gpu_models),
    Difference("the GPU memory", _gpu_memory),
    Difference("the vLLM version", _vllm),
    Difference("the network interfaces", _network),
    Difference("the MTU", _mtu),
    Difference("the shared memory", _shared_memory),
    Difference("the NVLink fabric", _fabric),
)


def fleet(machines: Sequence[Machine], failed: Sequence[tuple[int, str]] = ()) -> Machine:
    """Put the machines of a fleet's nodes into one, in the order in which they were asked.

    `failed` are places in that order of nodes that gave no machine, each with the reason as half a sentence; they have
    no place in `machines`. Nodes are called node-1 and so on by their place. Raises `ValueError` without any machine.
    """
    if not machines:
        raise ValueError("a fleet without a machine")
    missing = dict(failed)
    places = [place for place in range(len(machines) + len(missing)) if place not in missing]
    names = [_name(place) for place in places]
    grouped: dict[tuple[str, ...], list[int]] = defaultdict(list)
    kinds = [machine.kinds[0] for machine in machines]
    for index, kind in enumerate(kinds):
        grouped[tuple(difference.of(kind) for difference in DIFFERENCES)].append(index)
    groups = sorted(grouped.values(), key=lambda group: (_weakness(kinds[group[0]]), group[0]))
    kind_of = {index: number for number, group in enumerate(groups) for index in group}
    first = machines[groups[0][0]]
    nodes = tuple(_node(names[index], kind_of[index], kinds[index]) for index in range(len(machines)))
    found = [*_of_nodes(machines, names), *_failures(missing), *_differences(kinds, names)]
    others = tuple(kinds[group[0]] for group in groups[1:])
    return first.model_copy(update={"nodes": nodes, "other_kinds": others, "problems": tuple(found)})


def _name(place: int) -> str:
    return f"node-{place + 1}"


def _weakness(kind: NodeKind) -> tuple[int, int]:
    """The kind that decides comes first: no usable GPU last, then the least memory a GPU, then the fewest GPUs."""
    sizes = [gpu.memory_total_bytes.value for gpu in kind.usable_gpus if gpu.memory_total_bytes.value is not None]
    return (min(sizes), len(kind.usable_gpus)) if sizes else (2**63, 0)


def _node(name: str, number: int, kind: NodeKind) -> Node:
    uuids = tuple(gpu.uuid.value for gpu in kind.gpus if gpu.uuid.value is not None)
    free = [gpu.memory_free_bytes for gpu in kind.usable_gpus if gpu.memory_free_bytes.value is not None]
    complete = bool(free) and len(free) == len(kind.usable_gpus)
    least = min(free, key=lambda reading: reading.value or 0) if complete else Reading[int].absent("unknown", "nodes")
    return Node(name=name, kind=number, gpu_uuids=uuids, memory_free_bytes=least)


def _of_nodes(machines: Sequence[Machine], names: Sequence[str]) -> list[Problem]:
    """The problems of the nodes, each told once with the nodes that have it."""
    told: dict[Problem, list[str]] = defaultdict(list)
    for machine, name in zip(machines, names, strict=True):
        for one in machine.problems:
            told[one].append(name)
    return [
        one.model_copy(update={"nodes": tuple(those), "message": f"{named(those)}: {one.message}"})
        for one, those in told.items()
    ]


def _failures(missing: dict[int, str]) -> list[Problem]:
    same: dict[str, list[str]] = defaultdict(list)
    for place, why in sorted(missing.items()):
        same[why].append(_name(place))
    found = [(problem("node_failed", nodes=named(those), why=why), tuple(those)) for why, those in same.items()]
    return [one.model_copy(update={"nodes": those}) for one, those in found]


def _differences(kinds: Sequence[NodeKind], names: Sequence[str]) -> list[Problem]:
    found = []
    for what, of in DIFFERENCES:
        told: dict[str, list[str]] = defaultdict(list)
        for kind, name in zip(kinds, names, strict=True):
            told[of(kind)].append(name)
        if len(told) > 1:
            by_size = sorted(told.items(), key=lambda item: -len(item[1]))
            words = "; ".join(f"{text} on {named(those)}" for text, those in by_size)
            odd = tuple(name for _, those in by_size[1:] for name in those)
            found.append(problem("nodes_differ", what=what, kinds=words).model_copy(update={"nodes": odd}))
    return found


def named(names: Sequence[str]) -> str:
    """Names of nodes in few words: runs as a range, and of many only how many more there are.

    The names are those of `fleet`, in their order.
    """
    numbers = [int(name.rpartition("-")[2]) for name in names]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [f"node-{a}" if a == b else f"node-{a} to node-{b}" for a, b in runs[:_MOST_NAMED]]
    left = sum(b - a + 1 for a, b in runs[_MOST_NAMED:])
    if left:
        return f"{', '.join(words)} and {left} more"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
