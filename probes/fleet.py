"""Probes every node of a Ray cluster with the probe of one machine, and makes one machine list of it.

Ray is imported by a child only: it starts threads and takes over signals of whoever imports it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.fleet_child import START_S
from probes.machine import Machine
from probes.nodes import fleet

#: Ray gives up on an address that does not answer after about this time.
CONNECT_S = 40.0
_REACH_S = 5.0
_START = "import sys; sys.path.insert(0, sys.argv[1]); from probes.fleet_child import start; start(sys.argv[2:])"
_PACKAGE_PARENT = Path(__file__).resolve().parent.parent


def probe_fleet(address: str, *, tool_version: str, timeout_s: float = 20.0, python: Path | None = None) -> Machine:
    """Ask every node of the cluster at `address` ("auto": the one that this node is part of).

    `timeout_s` (seconds) is each node's own limit, as for one machine. `python` is the interpreter that owns Ray; this
    one unless said otherwise. A node that fails is a problem of the fleet. Raises `ProbeError` where Ray is not
    installed, the cluster cannot be reached, or none of its nodes answers.
    """
    _see_that_it_listens(address)
    command = [str(python or sys.executable), "-P", "-c", _START, str(_PACKAGE_PARENT)]
    command += [address, tool_version, f"{timeout_s:g}"]
    machines: dict[int, Machine] = {}
    failed: dict[int, str] = {}
    count = 0
    for event in _events(command, CONNECT_S + START_S + timeout_s):
        match event:
            case {"event": "nodes", "count": int(number)}:
                count = number
            case {"event": "node", "place": int(place), "machine": machine}:
                machines[place] = Machine.model_validate(machine)
            case {"event": "failed", "place": int(place), "why": str(why)}:
                failed[place] = why
            case {"event": "error", "kind": "import"}:
                raise ProbeError("Ray is not installed beside selwiz.", 'Install it: pip install "selwiz[fleet]".')
            case {"event": "error", "text": str(text)} if not machines:
                raise ProbeError(
                    f"The Ray cluster at {address} cannot be asked: {text}.",
                    "Look at ray status on a node of it, and give the address that ray start printed.",
                )
    for place in set(range(count)) - set(machines) - set(failed):
        failed[place] = "no answer before the whole probe ended"
    if not machines:
        why = f": {next(iter(failed.values()))}" if failed else ""
        raise ProbeError(
            f"No node of the Ray cluster at {address} answered{why}.", "Look at ray status, then probe the fleet again."
        )
    return fleet([machines[place] for place in sorted(machines)], sorted(failed.items()))


def _see_that_it_listens(address: str) -> None:
    """Ray itself tries an address for a minute before it gives up."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not (host and port.isascii() and port.isdigit()):
        return  # "auto", or a form that Ray knows better
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProbeError(
            f"The Ray cluster at {address} cannot be reached: {reason}.",
            "Look at ray status on a node of it, and give the address that ray start printed.",
        ) from None


def _events(command: list[str], limit_s: float) -> Iterator[dict[str, Any]]:
    """What the child says; it and all that it started are ended after `limit_s` seconds, and what was said is kept."""
    with tempfile.TemporaryFile() as out:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | {"PYTHONIOENCODING": "utf-8", "RAY_USAGE_STATS_ENABLED": "0"},
            )
        except OSError as error:
            raise ProbeError(
                f"{command[0]} cannot be started: {error.strerror}.", "Give an interpreter that has Ray."
            ) from None
        try:
            child.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end(child)
        out.seek(0)
        for line in out:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # Ray itself wrote a line, or the last one was cut off
            if isinstance(event, dict):
                yield event


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
