"""Children that never outlive us: found, ended, and proved gone. Standard library only; Linux's /proc.

A process counts as ours when it is in a session that one of our children leads (known by number and start
time), or when its environment carries our run id. Some programs overwrite their environment area with a
title, so the session is the first sign and the run id the second. A zombie counts as gone: only its parent
can remove it.

The watchdog uses this module too, so it must stay quick to import.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")  # noqa: S108 - shared memory is where vLLM leaves segments after a crash
RUN_ID_VARIABLE = "SELWIZ_RUN_ID"
RUN_FILE_PREFIX = "smoke-run-"
TERM_GRACE_S = 3.0
KILL_GRACE_S = 5.0
POLL_S = 0.05
SHM_SECOND_LOOK_S = 0.5
SHM_PREFIXES = ("psm_", "sem.mp-", "torch_", "nccl-", "__KMP_REGISTERED_LIB")
"""Names that Python's shared_memory, multiprocessing, PyTorch, NCCL and OpenMP give their segments."""
PRIVATE_PREFIX = "selwiz-"
"""Beginning of the name of every private folder; nothing else is ever removed."""


@dataclass(frozen=True)
class Process:
    """One entry of /proc. `started`, in clock ticks since boot, tells a reused number from the first one."""

    pid: int
    state: str
    group: int
    session: int
    started: int
    cpu_ticks: int


@dataclass(frozen=True)
class Session:
    """A session that one of our children leads."""

    pid: int
    started: int


@dataclass(frozen=True)
class RunFile:
    """What a later start must know to find and end what this run left."""

    run_id: str
    owner_pid: int
    owner_started: int
    boot_id: str
    folder: str | None
    sessions: tuple[Session, ...] = ()
    shm_before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leftover:
    """A run whose selwiz is gone; `pids` are its living processes, possibly none."""

    run_id: str
    pids: tuple[int, ...]
    run_file: Path
    folder: Path | None
    details: RunFile = field(repr=False)


def read_process(pid: int) -> Process | None:
    """Return one process, or None if it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name is in parentheses and may hold anything, so the fields are counted from the last one.
    fields = text[text.rindex(")") + 2 :].split()
    return Process(
        pid=pid,
        state=fields[0],
        group=int(fields[2]),
        session=int(fields[3]),
        started=int(fields[19]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )


def processes() -> Iterator[Process]:
    """Yield every living process; zombies count as gone."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            found = read_process(int(entry.name))
            if found is not None and found.state not in "ZX":
                yield found


def carries_run_id(pid: int, run_id: str) -> bool:
    """Whether the environment that the process was started with names our run."""
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{RUN_ID_VARIABLE}={run_id}".encode() in environment.split(b"\0")


def _is_vllm(pid: int) -> bool:
    try:
        return b"vllm" in (PROC / str(pid) / "cmdline").read_bytes().lower()
    except OSError:
        return False


def ours(run_id: str, sessions: Iterable[Session]) -> tuple[Process, ...]:
    """Return the living processes of a run, this one excepted."""
    wanted = {session.pid: session.started for session in sessions}
    found = []
    for process in processes():
        if process.pid == os.getpid():
            continue
        started = wanted.get(process.session)
        in_session = started is not None and _same_session(process, started)
        if in_session or carries_run_id(process.pid, run_id):
            found.append(process)
    return tuple(found)


def _same_session(member: Process, leader_started: int) -> bool:
    """Whether a session number still means our session.

    The number is not given to another process while the session has members. After all of them were gone it
    may be, and then its leader started later; if that leader is gone too, only a member that is vLLM's
    counts.
    """
    leader = read_process(member.session)
    if leader is not None:
        return leader.started == leader_started
    return member.started >= leader_started and _is_vllm(member.pid)


def boot_id() -> str:
    """Return the id of this boot, or an empty text where the kernel does not tell."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _signal(found: Iterable[Process], number: int) -> None:
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def end_all(
    run_id: str, sessions: tuple[Session, ...], *, term_s: float = TERM_GRACE_S, kill_s: float = KILL_GRACE_S
) -> tuple[Process, ...]:
    """End every process of a run: SIGTERM, wait, SIGKILL, wait. Return what is still alive."""
    for number, grace_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
        deadline = time.monotonic() + grace_s
        signalled: set[int] = set()
        while found := ours(run_id, sessions):
            # A process that appeared since the last look gets the signal too.
            _signal([process for process in found if process.pid not in signalled], number)
            signalled |= {process.pid for process in found}
            if time.monotonic() >= deadline:
                break
            time.sleep(POLL_S)
        else:
            return ()
    return ours(run_id, sessions)


def shm_names() -> tuple[str, ...]:
    """Return the names of all shared-memory segments."""
    try:
        return tuple(sorted(entry.name for entry in SHM.iterdir()))
    except OSError:
        return ()


def _inode(path: Path) -> tuple[int, int, int] | None:
    """Return device and number of a file's inode, None if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return os.major(found.st_dev), os.minor(found.st_dev), found.st_ino


def _inodes_in_use() -> set[tuple[int, int, int]]:
    """Return the inodes that any process maps from or holds open in shared memory.

    Inodes, because a semaphore is mapped under the temporary name it was made with and then linked to its own.
    """
    used: set[tuple[int, int, int]] = set()
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for line in (entry / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
                if str(SHM) in line:
                    device, number = line.split()[3:5]
                    major, minor = (int(part, 16) for part in device.split(":"))
                    used.add((major, minor, int(number)))
            for link in (entry / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(link.readlink()).startswith(str(SHM)):
                        found = _inode(link)
                        used |= {found} if found else set()
    return used


def unused_segments(before: Iterable[str]) -> tuple[str, ...]:
    """Return segments newer than `before` that belong to this user and that no process uses.

    One that is just being made is unused for a moment, so each must be seen unused twice.
    """
    known = set(before)
    names = set()
    for name in shm_names():
        with contextlib.suppress(OSError):
            if name not in known and name.startswith(SHM_PREFIXES) and (SHM / name).stat().st_uid == os.getuid():
                names.add(name)
    for look in range(2):
        if names and look:
            time.sleep(SHM_SECOND_LOOK_S)
        used = _inodes_in_use() if names else set()
        names = {name for name in names if (inode := _inode(SHM / name)) is not None and inode not in used}
    return tuple(sorted(names))


def remove_new_segments(before: Iterable[str]) -> tuple[str, ...]:
    """Remove segments newer than `before` that belong to this user and nobody uses; return their names."""
    removed = []
    for name in unused_segments(before):
        with contextlib.suppress(OSError):
            (SHM / name).unlink()
            removed.append(name)
    return tuple(removed)


def remove_folder(folder: Path | None) -> bool:
    """Remove a private folder with all it holds; True when it is gone. Other folders are never touched."""
    if folder is None:
        return True
    if not folder.name.startswith(PRIVATE_PREFIX) or folder.is_symlink():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def run_file_path(state_dir: Path, run_id: str) -> Path:
    """Return where the run file of a run belongs."""
    return state_dir / f"{RUN_FILE_PREFIX}{run_id}.json"


def write_run_file(path: Path, content: RunFile) -> None:
    """Write the run file whole or not at all, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(asdict(content), stream)
    temporary.replace(path)


def read_run_file(path: Path) -> RunFile | None:
    """Return what a run file says, None when it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        sessions = tuple(Session(int(item["pid"]), int(item["started"])) for item in content.pop("sessions"))
        return RunFile(**{**content, "sessions": sessions, "shm_before": tuple(content["shm_before"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _owner_lives(content: RunFile) -> bool:
    owner = read_process(content.owner_pid)
    return owner is not None and owner.started == content.owner_started and owner.state not in "ZX"


def leftovers(state_dir: Path) -> tuple[Leftover, ...]:
    """Return the runs whose selwiz is gone without having cleaned up; runs in progress are not among them."""
    found = []
    for path in sorted(state_dir.glob(f"{RUN_FILE_PREFIX}*.json")):
        content = read_run_file(path)
        if content is None or (content.boot_id == boot_id() and _owner_lives(content)):
            continue
        alive = ours(content.run_id, content.sessions) if content.boot_id == boot_id() else ()
        folder = Path(content.folder) if content.folder else None
        found.append(Leftover(content.run_id, tuple(process.pid for process in alive), path, folder, content))
    return tuple(found)


def end_leftovers(found: Iterable[Leftover]) -> tuple[str, ...]:
    """End what those runs left and remove their folders; return a sentence for each failure."""
    problems = []
    for leftover in found:
        content = leftover.details
        if content.boot_id == boot_id():
            remaining = end_all(content.run_id, content.sessions)
            problems += [f"process {process.pid} could not be ended" for process in remaining]
            remove_new_segments(content.shm_before)
        if not remove_folder(leftover.folder):
            problems.append(f"the folder {leftover.folder} could not be removed")
        with contextlib.suppress(OSError):
            leftover.run_file.unlink()
    return tuple(problems)
