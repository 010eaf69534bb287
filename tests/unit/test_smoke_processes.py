"""With real processes that only sleep."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from probes.smoke.children import Children
from probes.smoke.processes import (
    RunFile,
    Session,
    boot_id,
    end_leftovers,
    leftovers,
    ours,
    processes,
    read_process,
    read_run_file,
    remove_folder,
    run_file_path,
    write_run_file,
)
from probes.smoke.segments import all_segments

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)",
]
LEAVES_THE_SESSION = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
    "print('ready', flush=True)\ntime.sleep(60)",
]


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    with Children(tmp_path / "state") as made:
        yield made


def spawn(children: Children, command: list[str], *, wait_for: str = "") -> subprocess.Popen[bytes]:
    """Start a child with our run id, and wait until it says something."""
    log = children.folder / "child.log"
    child = children.spawn(command, os.environ | {"SELWIZ_RUN_ID": children.run_id}, log)
    deadline = time.monotonic() + 20
    while wait_for not in log.read_text():
        assert time.monotonic() < deadline
    return child


def test_a_child_leads_a_session_of_its_own(children: Children) -> None:
    child = spawn(children, SLEEP)
    found = read_process(child.pid)
    assert found is not None
    assert found.session == child.pid


def test_a_child_is_found(children: Children) -> None:
    child = spawn(children, SLEEP)
    assert child.pid in children.alive()


def test_ending_leaves_nothing(children: Children) -> None:
    spawn(children, SLEEP)
    assert (children.end(), children.alive()) == ((), ())


def test_a_child_that_ignores_sigterm_is_killed(children: Children) -> None:
    child = spawn(children, STUBBORN, wait_for="ready")
    children.end()
    assert child.returncode == -signal.SIGKILL


def test_a_grandchild_in_another_session_is_ended_too(children: Children) -> None:
    spawn(children, LEAVES_THE_SESSION, wait_for="ready")
    count = len(children.alive())
    children.end()
    assert (count, children.alive()) == (2, ())


def test_a_zombie_counts_as_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    try:
        deadline = time.monotonic() + 20
        while (found := read_process(child.pid)) is not None and found.state != "Z":
            assert time.monotonic() < deadline
        assert child.pid not in {process.pid for process in processes()}
    finally:
        child.wait()


def test_the_folder_is_private_and_goes_with_the_run(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        folder = children.folder
        mode = folder.stat().st_mode & 0o777
    assert (mode, folder.exists()) == (0o700, False)


def test_the_run_file_is_private_and_goes_with_the_run(tmp_path: Path) -> None:
    with Children(tmp_path / "state") as children:
        path = run_file_path(tmp_path / "state", children.run_id)
        mode = path.stat().st_mode & 0o777
    assert (mode, path.exists()) == (0o600, False)


def test_a_run_in_progress_is_no_leftover(children: Children, tmp_path: Path) -> None:
    spawn(children, SLEEP)
    assert leftovers(tmp_path / "state") == ()


def abandoned(tmp_path: Path, child: subprocess.Popen[bytes], *, started: int | None = None) -> Path:
    """A run file as a killed selwiz leaves it."""
    known = read_process(child.pid)
    assert known is not None
    path = run_file_path(tmp_path, "abandoned")
    session = Session(child.pid, known.started if started is None else started)
    write_run_file(path, RunFile("abandoned", 2**22 + 1, 0, boot_id(), None, (session,)))
    return path


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(SLEEP, start_new_session=True)
    yield child
    child.kill()
    child.wait()


def test_a_leftover_is_found_and_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = abandoned(tmp_path, sleeper)
    found = leftovers(tmp_path)
    problems = end_leftovers(found)
    assert (found[0].pids, problems, path.exists(), sleeper.wait()) == ((sleeper.pid,), (), False, -signal.SIGTERM)


def test_a_reused_process_number_is_not_ours(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    abandoned(tmp_path, sleeper, started=1)
    end_leftovers(leftovers(tmp_path))
    assert sleeper.poll() is None


def test_another_boot_s_processes_are_not_ours(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    known = read_process(sleeper.pid)
    assert known is not None
    session = Session(sleeper.pid, known.started)
    write_run_file(run_file_path(tmp_path, "old"), RunFile("old", 1, 0, "another boot", None, (session,)))
    end_leftovers(leftovers(tmp_path))
    assert sleeper.poll() is None


def test_a_damaged_run_file_is_no_run(tmp_path: Path) -> None:
    path = run_file_path(tmp_path, "x")
    path.write_text('{"run_id": "x"}')
    assert (read_run_file(path), leftovers(tmp_path)) == (None, ())


def test_only_private_folders_are_removed(tmp_path: Path) -> None:
    assert (remove_folder(tmp_path), tmp_path.exists()) == (False, True)


def test_nothing_is_ours_without_a_sign() -> None:
    assert ours("no such run", ()) == ()


def test_sigkill_of_the_owner_ends_its_children(tmp_path: Path) -> None:
    owner_script = (
        "import os, sys, time\nfrom pathlib import Path\nfrom probes.smoke.children import Children\n"
        "with Children(Path(sys.argv[1])) as children:\n"
        "    environment = os.environ | {'SELWIZ_RUN_ID': children.run_id}\n"
        "    command = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "    child = children.spawn(command, environment, children.folder / 'log')\n"
        "    print(child.pid, children.folder, flush=True)\n    time.sleep(60)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-P", "-c", owner_script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        owner.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (list(tmp_path.iterdir()) or Path(folder).exists()):
        time.sleep(0.05)
    found = read_process(int(pid))
    assert (found is None or found.state == "Z", Path(folder).exists(), list(tmp_path.iterdir())) == (True, False, [])


HERE = RunFile("elsewhere", 2**22 + 1, 0, boot_id(), None)


@pytest.mark.parametrize(
    "run",
    [
        replace(HERE, host="another-machine"),
        replace(HERE, pid_namespace="pid:[1]"),
        replace(HERE, host="another-machine", boot_id="x"),
    ],
)
def test_a_run_of_another_machine_or_container_is_left_alone(tmp_path: Path, run: RunFile) -> None:
    write_run_file(run_file_path(tmp_path, "elsewhere"), run)
    assert leftovers(tmp_path) == ()


SEMAPHORE = [
    sys.executable,
    "-c",
    "import multiprocessing, time\nlock = multiprocessing.get_context('spawn').Lock()\n"
    "print('made', lock._semlock.name, flush=True)\ntime.sleep(60)",
]
CRASHES = [
    sys.executable,
    "-c",
    "import os, signal\nfrom multiprocessing import resource_tracker, shared_memory\n"
    "resource_tracker.register = lambda *_: None\n"
    "kept = shared_memory.SharedMemory(create=True, size=64)\nprint('made', kept.name, flush=True)\nsignal.pause()",
]


def named(children: Children) -> str:
    """The name of the segment that a child said it made."""
    return (children.folder / "child.log").read_text().split()[1].strip("/")


def segment_names() -> set[str]:
    """The names of all shared memory of this user."""
    return {segment.name for segment in all_segments()}


@pytest.mark.parametrize(("command", "prefix"), [(SEMAPHORE, "sem."), (CRASHES, "")])
def test_what_a_child_left_in_shared_memory_is_removed(tmp_path: Path, command: list[str], prefix: str) -> None:
    with Children(tmp_path / "state") as children:
        child = spawn(children, command, wait_for="made")
        name = prefix + named(children)
        children.note_segments()
        child.kill()
        child.wait()
    assert name not in segment_names()


def test_what_a_child_uses_is_noted_for_a_later_start(tmp_path: Path) -> None:
    with Children(tmp_path / "state") as children:
        spawn(children, CRASHES, wait_for="made")
        children.note_segments()
        noted = read_run_file(run_file_path(tmp_path / "state", children.run_id))
        assert noted is not None
        assert named(children) in {segment.name for segment in noted.segments}


def test_shared_memory_that_no_child_used_stays_even_if_nobody_seems_to_use_it(tmp_path: Path) -> None:
    path = Path("/dev/shm") / f"psm_selwiz_test_{os.getpid()}"
    try:
        with Children(tmp_path / "state") as children:
            spawn(children, SLEEP)
            path.write_bytes(b"x")
        assert path.exists()
    finally:
        path.unlink()


def test_shared_memory_that_another_program_uses_stays(tmp_path: Path) -> None:
    with subprocess.Popen(SEMAPHORE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        name = "sem." + other.stdout.readline().split()[1].strip("/")
        with Children(tmp_path / "state") as children:
            spawn(children, SLEEP)
        there = name in segment_names()
        other.terminate()
    assert there
