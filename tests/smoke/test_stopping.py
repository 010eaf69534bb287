"""Whatever ends selwiz, and whenever: nothing of its children lives on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.smoke.plan import VllmTool
from probes.smoke.processes import RunFile, end_leftovers, leftovers, ours, read_run_file
from probes.smoke.segments import all_segments

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).resolve().parents[2]
EARLY, ENGINE, LATE, WARMUP, MEASURE = (
    "start: starting the server",
    "start: engine process",
    "start: web server",
    "warm-up:",
    "measure:",
)


def eventually(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether a condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Driven:
    """A smoke in a process of its own, brought to a phase."""

    def __init__(self, vllm: VllmTool, folder: Path, until: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.smoke.driver", vllm.executable[0], str(folder)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.told: list[str] = []
        for line in self.process.stdout:
            self.told.append(line)
            if until in line:
                break
        else:
            self.finish()
            pytest.fail("the smoke ended before " + until + ": " + "".join(self.told[-3:]))
        run_files = list((folder / "state").glob("*.json"))
        content = read_run_file(run_files[0])
        assert content is not None
        self.run: RunFile = content

    def finish(self) -> int:
        """Read to the end and return the exit code."""
        assert self.process.stdout is not None
        with self.process.stdout:
            self.process.stdout.read()
        return self.process.wait(timeout=60)

    def remains(self) -> tuple[object, ...]:
        """What is still there of the run: processes, private folder, run file."""
        processes = tuple(process.pid for process in ours(self.run.run_id, self.run.sessions))
        folders = tuple(path for path in [Path(self.run.folder or "")] if path.exists())
        files = tuple((self.folder / "state").iterdir())
        return (*processes, *folders, *files)

    def segments(self) -> tuple[str, ...]:
        """Shared memory that the run was seen to use and that is still there."""
        return tuple(segment.name for segment in set(self.run.segments) & set(all_segments()))


STOPS = (
    (signal.SIGTERM, ENGINE),
    (signal.SIGTERM, WARMUP),
    (signal.SIGTERM, MEASURE),
    (signal.SIGINT, EARLY),
    (signal.SIGINT, LATE),
    (signal.SIGINT, MEASURE),
    (signal.SIGHUP, LATE),
    (signal.SIGHUP, WARMUP),
)


@pytest.mark.soak
@pytest.mark.parametrize(("number", "phase"), STOPS)
def test_a_signal_ends_everything(vllm: VllmTool, tmp_path: Path, number: signal.Signals, phase: str) -> None:
    driven = Driven(vllm, tmp_path, phase)
    driven.process.send_signal(number)
    code = driven.finish()
    assert (code, driven.remains(), (tmp_path / "out").exists()) == (128 + number, (), False)
    assert eventually(lambda: not driven.segments()), driven.segments()


@pytest.mark.parametrize(
    "phase",
    [ENGINE, *(pytest.param(phase, marks=pytest.mark.soak) for phase in (EARLY, LATE, WARMUP, MEASURE))],
)
def test_sigkill_ends_the_children_too(vllm: VllmTool, tmp_path: Path, phase: str) -> None:
    driven = Driven(vllm, tmp_path, phase)
    driven.process.kill()
    driven.finish()
    assert eventually(lambda: not driven.remains() and not driven.segments()), driven.remains()


@pytest.mark.soak
def test_a_later_start_ends_what_even_the_watchdog_could_not(vllm: VllmTool, tmp_path: Path) -> None:
    driven = Driven(vllm, tmp_path, MEASURE)
    watchdogs = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _command(entry).endswith(f"{driven.run.run_id}.json\0")
    ]
    for pid in (*watchdogs, driven.process.pid):
        os.kill(pid, signal.SIGKILL)
    driven.finish()
    found = leftovers(tmp_path / "state")
    problems = end_leftovers(found)
    assert (len(found), len(found[0].pids) > 1, problems, driven.remains()) == (1, True, (), ())


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.soak
def test_two_signals_are_as_good_as_one(vllm: VllmTool, tmp_path: Path) -> None:
    driven = Driven(vllm, tmp_path, MEASURE)
    driven.process.send_signal(signal.SIGINT)
    driven.process.send_signal(signal.SIGINT)
    assert (driven.finish(), driven.remains()) == (130, ())
