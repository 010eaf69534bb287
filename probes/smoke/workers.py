"""The headless processes of a replica whose nodes are all this machine: started, watched and ended with their head."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, replace

from probes.smoke.children import Children, quiet_environment
from probes.smoke.failures import CONSEQUENCES, Explanation, explain_log
from probes.smoke.logs import LogTail
from probes.smoke.plan import SmokePlan
from probes.smoke.planning import serve_environment_for
from probes.smoke.spanning import name_of

SETTLE_S = 2.0
"""How long the others are given after one process ended: the first one seen may only have lost the one that failed."""
POLL_S = 0.05
TERM_GRACE_S = 8.0
"""A headless process gives its worker 5 s before it ends it."""
KILL_GRACE_S = 3.0


@dataclass(frozen=True)
class _Process:
    """One process of the replica with its log."""

    rank: int
    child: subprocess.Popen[bytes]
    log: LogTail


class Workers:
    """The headless processes that are ours to start; none where a replica has one node or the others are elsewhere."""

    def __init__(self, children: Children, plan: SmokePlan) -> None:
        self._children, self._plan = children, plan
        self.processes: list[_Process] = []

    def start(self) -> None:
        """Start them. Raises OSError when one cannot be executed."""
        nodes = self._plan.request.nodes
        if nodes is None or not nodes.all_here:
            return
        folder = self._children.folder
        for rank, command in enumerate(self._plan.worker_commands, 1):
            environment = quiet_environment(folder, self._children.run_id)
            environment |= dict(serve_environment_for(self._plan.request, self._plan.tool, rank))
            words = tuple(word.replace("$WORK", str(folder)) for word in command)
            log = folder / f"node-{rank}.log"
            self.processes.append(_Process(rank, self._children.spawn(words, environment, log), LogTail(log)))

    @property
    def all_live(self) -> bool:
        """Whether every one that was started is still there."""
        return all(process.child.poll() is None for process in self.processes)

    def stop(self) -> None:
        """End them with their own children: the head is gone by now, and they would not notice."""
        for number, grace_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, KILL_GRACE_S)):
            living = [process.child for process in self.processes if process.child.poll() is None]
            for child in living:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, number)
            deadline = time.monotonic() + grace_s
            for child in living:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=max(0.0, deadline - time.monotonic()))
        for process in self.processes:
            process.log.read()


def why_it_ended(
    head: subprocess.Popen[bytes] | None, log: LogTail, workers: Workers
) -> tuple[Explanation, list[str]] | None:
    """Return why the replica ended, with the log that says it; None while all its processes live.

    Where one process takes others with it, the one that has a cause of its own counts, not the first that was seen.
    """
    if head is None:
        return None
    every = [_Process(0, head, log), *workers.processes]
    if all(process.child.poll() is None for process in every):
        return None
    deadline = time.monotonic() + (SETTLE_S if len(every) > 1 else 0)
    while time.monotonic() < deadline and any(process.child.poll() is None for process in every):
        time.sleep(POLL_S)
    found = []
    for process in every:
        if process.child.poll() is not None:
            process.log.read()
            found.append((process, explain_log(process.log.lines, process.child.returncode)))
    process, why = next((pair for pair in found if pair[1].kind not in CONSEQUENCES), found[0])
    if len(every) > 1:
        why = replace(why, cause=f"{name_of(process.rank)}: {why.cause}")
    return why, process.log.lines
