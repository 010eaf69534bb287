"""Rules on replicas that span nodes: how the ranks lie on them, what they share, and who pays for the network."""

from probes.machine import Machine
from wizard.decision.finding import Finding
from wizard.decision.proof import carried_model, is_planned
from wizard.decision.selection import Selection
from wizard.rules.budget import needed_items
from wizard.rules.rule import Rule, counted, finding, number
from wizard.serving.spread import nodes_in_all, spread

_NODES = "runtime.layout.nodes_per_replica"
_TENSOR = "runtime.layout.tensor_parallel"


def ranks_lie_evenly(selection: Selection) -> list[Finding]:
    """C28: GPUs and ranks of a replica divide over its nodes, and no data parallel engine is cut by a node's edge."""
    # vLLM 0.32.0 engine/arg_utils.py ("must evenly divide the total world size") and config/parallel.py
    # (nnodes_within_dp: nodes must be divisible by the groups of data parallel ranks).
    over = spread(selection.answers)
    if over.nodes == 1 or selection.launch.runtime != "vllm":
        return []
    if not over.is_even:
        what = over.world if over.world % over.nodes else over.gpus or 0
        noun = "rank" if over.world % over.nodes else "GPU"
        message = f"{counted(what, noun)} of a replica cannot be divided over {number(over.nodes)} nodes."
        return [finding("C28", "block", message, _NODES, "Give every node of a replica the same number of GPUs.")]
    if over.data > 1 and over.ranks_per_node % over.engine and over.engine % over.ranks_per_node:
        message = (
            f"An engine of {counted(over.engine, 'rank')} would be cut at the edge of a node, which carries "
            f"{number(over.ranks_per_node)}."
        )
        remedy = "Choose tensor and pipeline sizes whose product divides the ranks of a node, or is a multiple of them."
        return [finding("C28", "block", message, "runtime.layout.data_parallel", remedy)]
    return []


def tensor_stays_in_node(selection: Selection) -> list[Finding]:
    """C29: tensor parallel ranks stay inside a node, unless its NVLink fabric spans nodes."""
    # vLLM 0.33.0 docs/serving/parallelism_scaling.md: tensor parallel size = GPUs of a node, pipeline parallel size =
    # nodes. NVML's fabric information says whether GPUs of several nodes form one NVLink clique.
    over = spread(selection.answers)
    if over.across != "tensor" or not over.is_even:
        return []
    machine = selection.machine
    if machine is not None and _one_clique(machine):
        return []
    message = (
        f"{counted(over.tensor, 'tensor parallel rank')} do not fit into one node of {number(over.ranks_per_node)}: "
        "every layer would wait for the network."
    )
    remedy = (
        f"Keep tensor parallelism inside a node (at most {number(over.ranks_per_node)}) and let pipeline or data "
        "parallelism go across, or show by a probe that one NVLink fabric spans the nodes."
    )
    return [finding("C29", "warn", message, _TENSOR, remedy)]


def _one_clique(machine: Machine) -> bool:
    """Whether all usable GPUs say that they are in one NVLink clique that spans nodes."""
    # The identity of the cluster is not kept, so two clusters with the same clique number look like one.
    gpus = [gpu for kind in machine.kinds for gpu in kind.usable_gpus]
    spans = all(gpu.fabric_spans_nodes.value is True for gpu in gpus)
    cliques = {gpu.fabric_clique.value for gpu in gpus}
    return bool(gpus) and spans and len(cliques) == 1 and None not in cliques


def nodes_were_found(selection: Selection) -> list[Finding]:
    """C30: the fleet that was probed has the nodes of all replicas, each with the GPUs of a node."""
    over, machine, needed = spread(selection.answers), selection.machine, nodes_in_all(selection.answers)
    if machine is None or is_planned(machine) or needed is None or not (over.nodes > 1 or machine.nodes):
        return []
    each = over.gpus_per_node or 1
    able = [len(kind.usable_gpus) >= each for kind in machine.kinds]
    found = sum(able[node.kind] for node in machine.nodes) if machine.nodes else int(able[0])
    if found >= needed:
        return []
    message = (
        f"Serving and spare replicas take {counted(needed, 'node')} with {counted(each, 'GPU')}; "
        f"{counted(found, 'such node')} {'was' if found == 1 else 'were'} probed."
    )
    remedy = "Probe all nodes of the fleet (selwiz probe --ray), or make it a condition of acceptance."
    return [finding("C30", "warn", message, _NODES, remedy)]


def nodes_are_equal(selection: Selection) -> list[Finding]:
    """C31: the nodes of a fleet are equal in what a replica relies on."""
    # vLLM 0.33.0 docs/serving/parallelism_scaling.md: all nodes have the same environment; the runtime takes the least
    # cache of all ranks (C1 of the memory model: min over all ranks).
    machine = selection.machine
    if machine is None:
        return []
    return [
        finding("C31", "warn", f"Probe of the fleet. {problem.message}", _NODES, problem.advice)
        for problem in machine.problems
        if problem.code == "nodes_differ"
    ]


def experts_stay_whole(selection: Selection) -> list[Finding]:
    """C32: with data parallelism across nodes the experts of a mixture are kept whole by expert parallelism."""
    # vLLM 0.33.0 docs/serving/data_parallel_deployment.md: without it expert layers form one tensor parallel group of
    # TP x DP ranks, which then exchanges data across nodes in every layer.
    carried, over = carried_model(selection), spread(selection.answers)
    if (
        selection.launch.runtime != "vllm"
        or over.across != "data"
        or not (carried and carried[2] and carried[2].is_moe)
    ):
        return []
    if selection.launch.find("--enable-expert-parallel") is not None:
        return []
    message = (
        f"Without expert parallelism the experts are split over all {number(over.world)} ranks, "
        f"across {number(over.nodes)} nodes."
    )
    remedy = "Adopt expert parallelism, which keeps each expert whole on one rank."
    return [finding("C32", "warn", message, "runtime.layout.data_parallel", remedy)]


def node_network_is_closed(selection: Selection) -> list[Finding]:
    """S7: what closes the network between the nodes of a replica is said."""
    # vLLM 0.33.0 docs/usage/security.md: communication between nodes is insecure by default and needs an isolated
    # network.
    if spread(selection.answers).nodes == 1 or selection.answers.runtime.security.node_network is not None:
        return []
    message = "The nodes of a replica talk to each other without encryption or authorisation."
    remedy = "Say which closed network carries it and who else can reach that network."
    return [finding("S7", "warn", message, "runtime.security.node_network", remedy)]


def node_network_is_paid(selection: Selection) -> list[Finding]:
    """B23: a replica that spans nodes has a row for the network between them."""
    # Across nodes the network is part of the runtime: it is priced, or said to be in another price.
    if spread(selection.answers).nodes == 1:
        return []
    if any((item.id or "").startswith("R4") for _, item in needed_items(selection, "runtime")):
        return []
    nodes = counted(spread(selection.answers).nodes, "node")
    message = f"A replica spans {nodes}, and no row R4 pays for their network."
    remedy = "Add R4 with the network of the nodes, bundled in R1 if that price holds it."
    return [finding("B23", "warn", message, "budget.runtime.items", remedy)]


RULES = (
    Rule(
        "C28",
        "The ranks of a replica lie evenly on its nodes",
        ("block",),
        "vLLM 0.32.0, engine/arg_utils.py and config/parallel.py (nnodes_within_dp)",
        ranks_lie_evenly,
        "Give every node the same number of GPUs, and let no engine be cut by a node's edge.",
    ),
    Rule(
        "C29",
        "Tensor parallelism stays inside a node",
        ("warn",),
        "vLLM 0.33.0, docs/serving/parallelism_scaling.md",
        tensor_stays_in_node,
        "Let pipeline or data parallelism go across nodes, or use one NVLink fabric.",
    ),
    Rule(
        "C30",
        "The fleet has the nodes of all replicas",
        ("warn",),
        "the probe of the fleet, against replicas, spare replicas and nodes of section 2",
        nodes_were_found,
        "Probe all nodes of the fleet, or make it a condition of acceptance.",
    ),
    Rule(
        "C31",
        "The nodes of a fleet are equal",
        ("warn",),
        "vLLM 0.33.0, docs/serving/parallelism_scaling.md: the same environment on all nodes",
        nodes_are_equal,
        "Make the nodes of one replica equal: the weakest decides what all of them can do.",
    ),
    Rule(
        "C32",
        "Experts stay whole across nodes",
        ("warn",),
        "vLLM 0.33.0, docs/serving/data_parallel_deployment.md",
        experts_stay_whole,
        "Adopt expert parallelism where data parallelism goes across nodes.",
    ),
    Rule(
        "S7",
        "The network between nodes is closed",
        ("warn",),
        "vLLM 0.33.0, docs/usage/security.md: communication between nodes",
        node_network_is_closed,
        "Say which closed network carries what the nodes say to each other.",
    ),
    Rule(
        "B23",
        "The network between nodes is paid",
        ("warn",),
        "the items of line R: host and node network (R4)",
        node_network_is_paid,
        "Add R4 with the network of the nodes, bundled in R1 if that price holds it.",
    ),
)
