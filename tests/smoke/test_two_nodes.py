"""Two real vLLM processes as two nodes of one replica on this machine: started, measured, and ended whatever happens.

On two cores the measured run takes two minutes and the killed one 50 s, most of it two starts of vLLM side by side.
"""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from probes.smoke.children import port_is_free
from probes.smoke.plan import Nodes, VllmTool, Workload
from probes.smoke.processes import read_run_file
from probes.smoke.result import SmokeResult
from probes.smoke.run import run_smoke
from tests.smoke.conftest import Watching, request_for

pytestmark = [pytest.mark.vllm, pytest.mark.soak]

TWO = Nodes(count=2, head_address="127.0.0.1")
FEW = Workload(concurrency=1, input_tokens=64, output_tokens=2)


class Killing(Watching):
    """Kills the headless process, which its head would not notice, as soon as the ranks join."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self._state = state
        self.killed = False

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        super().on_phase(phase, detail, elapsed_s)
        if detail != "ranks join" or self.killed:
            return
        for path in self._state.glob("smoke-run-*.json"):
            run = read_run_file(path)
            for session in run.sessions if run else ():
                with contextlib.suppress(OSError):
                    if b"--headless" in Path(f"/proc/{session.pid}/cmdline").read_bytes():
                        os.kill(session.pid, signal.SIGKILL)
                        self.killed = True


def remains(result: SmokeResult, folder: Path) -> tuple[object, ...]:
    command = result.runtime.command or ()
    ports = [int(command[command.index(flag) + 1]) for flag in ("--port", "--master-port")]
    taken = [port for port, host in zip(ports, ("127.0.0.1", ""), strict=True) if not port_is_free(port, host)]
    return (result.clean_stop, result.left_behind, list((folder / "state").iterdir()), taken)


NOTHING: tuple[object, ...] = (True, (), [], [])


def test_two_nodes_are_measured_as_one_replica(vllm: VllmTool, tmp_path: Path) -> None:
    result = run_smoke(request_for("tiny", vllm, tmp_path, nodes=TWO, workload=FEW, ceilings=()), Watching())
    answered = [(point.completed, point.failed) for point in result.points]
    seen = {row.id: row.seen for row in result.strategies}
    assert (result.failure, [failed for _, failed in answered], answered[0][0] > 0) == (None, [0], True)
    assert [(node.role, node.rank, node.where) for node in result.runtime.nodes] == [
        ("head", 0, "this_machine"),
        ("headless", 1, "this_machine"),
    ]
    assert "rank 1 in world size 2" in (tmp_path / "out" / "node-1.log").read_text(encoding="utf-8")
    assert seen["tensor_parallel"] == "in_force"
    assert remains(result, tmp_path) == NOTHING


def test_a_killed_node_is_named_and_nothing_is_left(vllm: VllmTool, tmp_path: Path) -> None:
    told = Killing(tmp_path / "state")
    result = run_smoke(request_for("tiny", vllm, tmp_path, nodes=TWO, workload=FEW), told)
    failure = result.failure
    assert failure is not None
    assert (told.killed, failure.kind, failure.message.startswith("node 1 (headless): ")) == (True, "killed", True)
    assert remains(result, tmp_path) == NOTHING
