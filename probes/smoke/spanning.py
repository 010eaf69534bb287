"""A replica over several nodes with vLLM's own launcher: what each node runs, and who has joined.

The head node has rank 0, answers callers and is this machine. The others run the same command `--headless`. Seen of
vLLM 0.32: the head does not notice when a headless node ends (`/health` stays 200 and requests hang), a headless node
does not end with its head, and the port where the ranks meet listens on all addresses.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from probes.smoke.failures import Explanation
from probes.smoke.plan import Nodes, SmokePlan
from probes.smoke.result import NodeProcess
from probes.smoke.tiny_model import CONFIG

DEFAULT_PORT = 29501
"""vLLM's own default of --master-port (0.32.0 config/parallel.py)."""
PROC_NET = Path("/proc/net")
SURE_AFTER = 3
"""Looks in a row until a node counts as joined, or as gone: a port scan is no node and a late look no loss."""
JOIN_ADVICE = (
    "start the headless command on every other node, and see that the head's address and port can be reached there"
)
MOST_SHOWN = 8
"""Further nodes whose commands are shown one by one; of more, one command stands for all."""
_TINY_FOLDER = "/tmp/selwiz-tiny"  # noqa: S108 - on another node, where the person who pastes the line makes it
_ESTABLISHED = "01"
_OF_HEAD = frozenset({"--api-server-count"})
"""Flags with one value that a headless node refuses (0.32.0 entrypoints/cli/serve.py, run_headless)."""
_OF_THIS_MACHINE = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "VLLM_HOST_IP", "VLLM_SERVER_DEV_MODE"})


def name_of(rank: int) -> str:
    """Return the name of a node by its part: no host name is kept."""
    return "the head node" if rank == 0 else f"node {rank} (headless)"


def head_flags(nodes: Nodes) -> tuple[str, ...]:
    """Return what the head's command has besides the flags of the replica."""
    return _place(nodes, 0)


def worker_commands(
    nodes: Nodes, executable: tuple[str, ...], model: str, flags: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """Return the command of each further node, by rank from 1 on."""
    same = _without(flags, _OF_HEAD)
    return tuple(
        (*executable, "serve", model, *same, *_place(nodes, rank), "--headless") for rank in range(1, nodes.count)
    )


def _place(nodes: Nodes, rank: int) -> tuple[str, ...]:
    return (
        *("--nnodes", str(nodes.count), "--node-rank", str(rank)),
        *("--master-addr", nodes.head_address, "--master-port", str(nodes.port or DEFAULT_PORT)),
    )


def _without(flags: tuple[str, ...], unwanted: frozenset[str]) -> tuple[str, ...]:
    kept, skip = [], False
    for flag in flags:
        name, equals, _ = flag.partition("=")
        if not skip and name not in unwanted:
            kept.append(flag)
        skip = not skip and name in unwanted and not equals
    return tuple(kept)


def environment_of(nodes: Nodes) -> dict[str, str]:
    """Return what the head must know of its own network, or it may offer the others an address they cannot reach."""
    values = {}
    with contextlib.suppress(ValueError):  # a name, which vLLM resolves
        values["VLLM_HOST_IP"] = str(ipaddress.ip_address(nodes.head_address))
    if nodes.interface is not None:
        values |= {"GLOO_SOCKET_IFNAME": nodes.interface, "NCCL_SOCKET_IFNAME": nodes.interface}
    return values


def devices_of(nodes: Nodes | None, devices: tuple[str, ...], rank: int) -> tuple[str, ...]:
    """Return the GPUs of one process: its share of all where every node is this machine."""
    if nodes is None or not nodes.all_here:
        return devices
    each = len(devices) // nodes.count
    return devices[rank * each : (rank + 1) * each]


def processes_of(nodes: Nodes | None) -> tuple[NodeProcess, ...]:
    """Say over which processes a run was made."""
    if nodes is None:
        return ()
    head = NodeProcess(role="head", rank=0, where="this_machine")
    where = "this_machine" if nodes.all_here else "elsewhere"
    return (
        head,
        *(
            NodeProcess.model_validate({"role": "headless", "rank": rank, "where": where})
            for rank in range(1, nodes.count)
        ),
    )


def plan_lines(plan: SmokePlan) -> tuple[str, ...]:
    """Say what happens on the other nodes, with the command to start on each; empty where there are none."""
    nodes = plan.request.nodes
    if nodes is None:
        return ()
    others = nodes.count - 1
    listens = (
        f"vLLM's ranks meet on port {nodes.port}, which listens on all addresses of this machine and asks nobody who "
        "they are: its network must be closed. Callers are answered on 127.0.0.1 only."
    )
    if nodes.all_here:
        return (
            f"All {nodes.count} nodes of the replica are this machine: this tests the launcher, not the network. "
            f"Starts {'one headless process' if others == 1 else f'{others} headless processes'} besides:",
            *(f"  {shlex.join(command)}" for command in plan.worker_commands),
            listens,
        )
    one = "the other node" if others == 1 else f"each of the other {others} nodes"
    shown = plan.worker_commands if others <= MOST_SHOWN else plan.worker_commands[:1]
    more = () if others <= MOST_SHOWN else (f"  (the same with --node-rank 2 to {others})",)
    return (
        f"Starts the head node only, which waits for all others. Start this on {one}, before or after:",
        *(f"  {_shown(plan, command)}" for command in shown),
        *more,
        *(() if plan.writes_model else ("The model must lie there under the same path.",)),
        "Where the network between nodes has another interface there, change *_SOCKET_IFNAME; on a node with several "
        "networks add VLLM_HOST_IP with its address in that one.",
        "A headless node does not end with its head: end it with Ctrl+C when this run is over; else timeout ends it.",
        listens,
    )


def _shown(plan: SmokePlan, command: tuple[str, ...]) -> str:
    """The command of another node as a shell takes it, with the variables that it shares with the head."""
    shared = [(name, value) for name, value in plan.serve_environment if name not in _OF_THIS_MACHINE]
    variables = [f"{name}={shlex.quote(value)}" for name, value in shared]
    words = ("timeout", f"{plan.request.time_limit_s:.0f}", "vllm", *command[len(plan.tool.executable) :])
    if not plan.writes_model:
        return " ".join([*variables, shlex.join(words)])
    # A headless node needs no tokenizer, so the stand-in is one small file there.
    words = tuple(_TINY_FOLDER if word == "$WORK/model" else word for word in words)
    make = f"mkdir -p {_TINY_FOLDER} && echo {shlex.quote(json.dumps(CONFIG))} > {_TINY_FOLDER}/config.json"
    return " ".join([make, "&&", *variables, shlex.join(words)])


def connected(port: int, net: Path = PROC_NET) -> frozenset[str]:
    """Return the addresses of other machines with an open connection to a port of this one."""
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = (net / name).read_text(encoding="ascii", errors="replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, remote, state, *_ = line.split()
            (here, at), (there, _) = local.rsplit(":", 1), remote.rsplit(":", 1)
            # Ranks of this machine come from the address they go to.
            if state == _ESTABLISHED and int(at, 16) == port and here != there:
                found.add(there)
    return frozenset(found)


class Others:
    """The nodes that selwiz did not start: who has joined, and whether one of them is gone."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._seen: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()

    @property
    def joined(self) -> int:
        """How many have joined so far."""
        return sum(times >= SURE_AFTER for times in self._seen.values())

    @property
    def missing(self) -> int:
        """How many have not."""
        return self._nodes.count - 1 - self.joined

    @property
    def words(self) -> str:
        """How many have joined, in words."""
        return f"{self.joined} of {self._nodes.count - 1} other nodes have joined"

    def look(self, now: Iterable[str] | None = None) -> Explanation | None:
        """Look once, a second after the last time; return why the replica cannot go on if a node is gone."""
        there = connected(self._nodes.port or DEFAULT_PORT) if now is None else frozenset(now)
        for address in there:
            self._seen[address] += 1
            self._missed[address] = 0
        for address in self._seen.keys() - there:
            if self._seen[address] < SURE_AFTER:
                self._seen[address] = 0
                continue
            self._missed[address] += 1
            if self._missed[address] >= SURE_AFTER:
                return Explanation(
                    "node_lost",
                    "a node of the replica that had joined has ended or lost its connection",
                    "read the output of the headless command on the other nodes: the cause stands there, the head does "
                    "not notice it",
                    None,
                )
        return None
