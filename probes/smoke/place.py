"""Where the ranks of a replica over several nodes meet: held against the addresses and ports of this machine."""

from __future__ import annotations

import os
import socket

from probes.errors import ProbeError
from probes.smoke.children import free_port, port_is_free
from probes.smoke.plan import SmokeRequest
from probes.smoke.spanning import DEFAULT_PORT
from probes.smoke.tiny_model import CONFIG

_INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


def on_this_machine(request: SmokeRequest) -> SmokeRequest:
    """Return the request with the port and the network interface for its nodes; itself where it has none.

    Raises `ProbeError` when the address is not this machine's, the port is taken, or the stand-in cannot be split.
    """
    nodes = request.nodes
    if nodes is None:
        return request
    heads = int(str(CONFIG["num_attention_heads"]))
    if request.mode == "tiny" and heads % nodes.count:
        raise ProbeError(
            f"the stand-in has {heads} attention heads, which cannot be split over {nodes.count} nodes",
            "measure with --mode dummy or local, or try the stand-in on 2 or 4 nodes",
        )
    interface = _interface_of(nodes.head_address)
    port = nodes.port or (free_port() if nodes.all_here else DEFAULT_PORT)
    if not port_is_free(port, ""):
        raise ProbeError(
            f"port {port}, where the nodes would meet, is taken on this machine",
            "see who listens with `ss -ltnp`, or name another one with --master-port, the same for all nodes",
        )
    given = any(os.environ.get(name) for name in _INTERFACE_VARIABLES)
    placed = nodes.model_copy(update={"port": port, "interface": None if given else interface})
    return request.model_copy(update={"nodes": placed})


def _interface_of(address: str) -> str:
    """Return the network interface that has an address of this machine. Raises `ProbeError` where none has it."""
    import psutil  # only a replica over several nodes asks

    try:
        wanted = {str(info[4][0]) for info in socket.getaddrinfo(address, None)}
    except OSError:
        raise ProbeError(f"{address} is no address that is known here", "give the IP address of this node") from None
    own = {
        entry.address.partition("%")[0]: name
        for name, entries in psutil.net_if_addrs().items()
        for entry in entries
        if entry.family in (socket.AF_INET, socket.AF_INET6)
    }
    found = next((own[candidate] for candidate in wanted if candidate in own), None)
    if found is None:
        others = ", ".join(f"{key} ({name})" for key, name in own.items() if name != "lo" and ":" not in key)
        raise ProbeError(
            f"{address} is no address of this machine, and the head node must stand here",
            "run this on the head node" + (f", or name one of its addresses: {others}" if others else ""),
        )
    return found
