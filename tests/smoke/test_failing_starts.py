"""Real starts that fail, and what is said about them."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from probes.smoke.plan import VllmTool
from probes.smoke.prepare import prepare
from probes.smoke.processes import ours, read_run_file
from probes.smoke.result import SmokeResult
from probes.smoke.run import run_smoke
from probes.smoke.tiny_model import CONFIG
from tests.smoke.conftest import Watching, request_for

pytestmark = pytest.mark.vllm


def model(folder: Path, **changes: object) -> str:
    """A model folder whose config differs from the tiny one."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    return str(folder / "model")


def start(vllm: VllmTool, folder: Path, name: str, *flags: str, **more: object) -> SmokeResult:
    """Run a smoke that is expected to fail."""
    return run_smoke(request_for("dummy", vllm, folder, model=name, serve_flags=flags, **more), Watching())


@pytest.fixture(scope="module")
def bad_flag(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> tuple[SmokeResult, Path]:
    folder = tmp_path_factory.mktemp("bad-flag")
    return start(vllm, folder, model(folder), "--no-such-flag"), folder


def kind_and_message(result: SmokeResult) -> tuple[str, str]:
    """Kind and message of a failure."""
    assert result.failure is not None
    return result.failure.kind, result.failure.message


def test_a_bad_flag_is_named(bad_flag: tuple[SmokeResult, Path]) -> None:
    kind, message = kind_and_message(bad_flag[0])
    assert (kind, "--no-such-flag" in message) == ("bad_flag", True)


def test_a_failed_start_is_written_too(bad_flag: tuple[SmokeResult, Path]) -> None:
    written = json.loads((bad_flag[1] / "out" / "smoke.json").read_text(encoding="utf-8"))
    assert (written["failure"]["phase"], (bad_flag[1] / "out" / "server.log").exists()) == ("start", True)


def test_a_failed_start_leaves_nothing_behind(bad_flag: tuple[SmokeResult, Path]) -> None:
    result, folder = bad_flag
    assert (result.clean_stop, result.left_behind, list((folder / "state").iterdir())) == (True, (), [])


def test_a_port_taken_since_the_plan_is_told_at_once(vllm: VllmTool, tmp_path: Path) -> None:
    plan = prepare(request_for("tiny", vllm, tmp_path))
    with socket.socket() as taker:
        taker.bind(("127.0.0.1", plan.port or 0))
        taker.listen()
        result = run_smoke(plan.request, Watching(), plan=plan)
    assert kind_and_message(result)[0] == "port_in_use"


@pytest.mark.soak
def test_heads_that_tensor_parallelism_does_not_divide(vllm: VllmTool, tmp_path: Path) -> None:
    result = start(vllm, tmp_path, model(tmp_path), "--tensor-parallel-size", "3")
    assert kind_and_message(result)[0] == "tensor_parallel"


@pytest.mark.soak
def test_an_unknown_architecture(vllm: VllmTool, tmp_path: Path) -> None:
    name = model(tmp_path, architectures=["NobodyKnowsForCausalLM"], model_type="nobody_knows")
    assert kind_and_message(start(vllm, tmp_path, name))[0] == "unknown_architecture"


@pytest.mark.soak
def test_a_context_beyond_the_model_s(vllm: VllmTool, tmp_path: Path) -> None:
    result = start(vllm, tmp_path, model(tmp_path), "--max-model-len", "999999")
    kind, message = kind_and_message(result)
    assert (kind, "999999" in message, "4096" in message) == ("context_too_long", True, True)


@pytest.mark.soak
def test_a_cache_without_room_for_one_request(vllm: VllmTool, tmp_path: Path) -> None:
    flags = ("--kv-cache-memory-bytes", "1048576", "--enforce-eager")
    assert kind_and_message(start(vllm, tmp_path, model(tmp_path), *flags))[0] == "kv_room"


@pytest.mark.soak
def test_the_time_limit_ends_a_start(vllm: VllmTool, tmp_path: Path) -> None:
    result = start(vllm, tmp_path, model(tmp_path), time_limit_s=5)
    assert (kind_and_message(result)[0], result.clean_stop) == ("time_limit", True)


@pytest.mark.soak
def test_a_model_that_is_nowhere(vllm: VllmTool, tmp_path: Path) -> None:
    plan = prepare(request_for("dummy", vllm, tmp_path, model=model(tmp_path)))
    command = tuple(
        "nobody/no-such-model" if word.startswith("/") and word == plan.request.model else word
        for word in plan.serve_command or ()
    )
    result = run_smoke(plan.request, Watching(), plan=plan.model_copy(update={"serve_command": command}))
    assert kind_and_message(result)[0] == "missing_model"


class Killing(Watching):
    """Kills the engine's worker as soon as a phase begins, as the kernel does when memory runs out."""

    def __init__(self, state_dir: Path, phase: str) -> None:
        super().__init__()
        self.state_dir, self.phase = state_dir, phase

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        super().on_phase(phase, detail, elapsed_s)
        if self.phase in f"{phase}: {detail}":
            run = read_run_file(next(self.state_dir.glob("*.json")))
            assert run is not None
            for process in ours(run.run_id, run.sessions):
                if Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8").startswith("VLLM::Worker"):
                    os.kill(process.pid, signal.SIGKILL)


@pytest.mark.soak
@pytest.mark.parametrize("phase", ["start: web server", "measure: "])
def test_a_worker_that_is_killed(vllm: VllmTool, tmp_path: Path, phase: str) -> None:
    result = run_smoke(request_for("tiny", vllm, tmp_path), Killing(tmp_path / "state", phase))
    assert (kind_and_message(result)[0], result.clean_stop, result.left_behind) == ("killed", True, ())
