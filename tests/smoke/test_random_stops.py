"""Twenty runs in a row, each interrupted at a random moment: nothing is left, and the session is as it was."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probes.smoke.plan import VllmTool
from probes.smoke.processes import RunFile, ours, read_run_file
from probes.smoke.segments import all_segments

pytestmark = [pytest.mark.vllm, pytest.mark.soak]

ROOT = Path(__file__).resolve().parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
LONGEST_S = 45
"""About as long as a whole run takes on two cores."""
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from wizard.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example answers, as the command writes them."""
    path = tmp_path_factory.mktemp("answers") / "project.toml"
    command = [sys.executable, "-m", "wizard", "answers", "--example", "-o", str(path)]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    return path


def run_files(state: Path) -> list[Path]:
    """The files that say what a run has started."""
    return list((state / "selwiz").glob("smoke-run-*.json"))


def remains(state: Path, known: list[RunFile]) -> list[str]:
    """Whatever is still there of these runs."""
    found = [path.name for path in run_files(state)]
    for run in known:
        found += [f"process {process.pid}" for process in ours(run.run_id, run.sessions)]
        found += [run.folder] if run.folder and Path(run.folder).exists() else []
        found += [segment.name for segment in set(run.segments) & set(all_segments())]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_interrupted_run_leaves_nothing(vllm: VllmTool, answers: Path, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    number, after_s = SIGNALS[seed % len(SIGNALS)], draw.uniform(0.2, LONGEST_S)
    session = tmp_path / "selwiz" / "sessions" / "kept.json"
    session.parent.mkdir(parents=True)
    session.write_text("as it was", encoding="utf-8")
    arguments = ["smoke", "--answers", str(answers), "--mode", "tiny", "--yes", "--out", str(tmp_path / "out")]
    with (tmp_path / "told").open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *arguments, "--vllm", vllm.executable[0]],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=after_s)
        known = [run for path in run_files(tmp_path) if (run := read_run_file(path)) is not None]
        process.send_signal(number)
        process.wait(timeout=60)
    deadline = time.monotonic() + 30
    while remains(tmp_path, known) and time.monotonic() < deadline:
        pass
    # The run was faster than the signal, or was killed while it wrote its evidence.
    done = process.returncode == 0 or number == signal.SIGKILL
    assert (remains(tmp_path, known), session.read_text(encoding="utf-8"), done or not (tmp_path / "out").exists()) == (
        [],
        "as it was",
        True,
    ), (number, after_s, (tmp_path / "told").read_text(encoding="utf-8")[-2000:])
