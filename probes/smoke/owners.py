"""Which processes serve a port of this machine, so that NVML's list of processes can show the GPUs behind it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PROC = Path("/proc")
_LISTENING = "0A"
"""The state LISTEN in /proc/net/tcp."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Owners:
    """The processes that listen on a port, with their children; `forwards` are addresses inside containers."""

    pids: frozenset[int]
    forwards: tuple[tuple[str, int], ...] = ()

    def serves(self, pid: int, proc: Path = PROC) -> bool:
        """Whether the process is one of them, or lies in a container that the port is forwarded to."""
        return pid in self.pids or any(_listens_in(pid, *forward, proc) for forward in self.forwards)


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine's loopback address; a name is only `localhost`."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def port_of(url: str) -> int:
    """Return the port of an address, the usual one of its scheme where it names none."""
    parts = urlsplit(url)
    return parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)


def owners_of(port: int) -> Owners:
    """Find who listens on a port of this machine; processes of others are seen only as far as the system allows."""
    import psutil  # only an endpoint on this machine asks

    try:
        listening = {
            found.pid
            for found in psutil.net_connections("tcp")
            if found.pid and found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port
        }
    except (psutil.Error, OSError):
        return Owners(frozenset())
    pids, forwards = set(listening), []
    for pid in listening:
        try:
            process = psutil.Process(pid)
            pids |= {child.pid for child in process.children(recursive=True)}
            forwards += forward_of(process.cmdline())
        except psutil.Error:
            continue
    return Owners(frozenset(pids), tuple(forwards))


def forward_of(command: list[str]) -> list[tuple[str, int]]:
    """Return the address in a container that this `docker-proxy` forwards to; empty for any other command."""
    if not command or Path(command[0]).name != "docker-proxy":
        return []
    given = dict(zip(command[1::2], command[2::2], strict=False))
    address, port = given.get("-container-ip"), given.get("-container-port", "")
    return [(address, int(port))] if address and port.isdigit() else []


def _listens_in(pid: int, address: str, port: int, proc: Path) -> bool:
    """Whether the network namespace of a process has that address and somebody there listens on that port."""
    net = proc / str(pid) / "net"
    try:
        lines = [line.split() for name in ("tcp", "tcp6") for line in _read(net / name).splitlines()[1:]]
        words = _read(net / "fib_trie").split()
    except OSError:
        return False
    there = any(line[3] == _LISTENING and int(line[1].rsplit(":", 1)[1], 16) == port for line in lines if len(line) > 3)
    return there and str(ipaddress.ip_address(address)) in words


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace") if path.exists() else ""
