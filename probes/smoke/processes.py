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

from probes.smoke.segments import Segment, remove_segments, segments_of

PROC = Path("/proc")
RUN_ID_VARIABLE = "SELWIZ_RUN_ID"
RUN_FILE_PREFIX = "smoke-run-"
TERM_GRACE_S = 3.0
KILL_GRACE_S = 5.0
POLL_S = 0.05
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
    """What a later start must know to find and end what this run left.

    Process numbers mean something only on the machine `host` and in the PID namespace they were read in. `segments` is
    the shared memory that processes of the run were seen to use.
    """

    run_id: str
    owner_pid: int
    owner_started: int
    boot_id: str
    folder: str | None
    sessions: tuple[Session, ...] = ()
    segments: tuple[Segment, ...] = ()
    host: str = field(default_factory=lambda: os.uname().nodename)
    pid_namespace: str = field(default_factory=lambda: pid_namespace())


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


def pid_namespace() -> str:
    """Return the id of the PID namespace of this process, or an empty text where the kernel does not tell."""
    try:
        return str((PROC / "self/ns/pid").readlink())
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
        segments = tuple(Segment(str(item["name"]), int(item["inode"])) for item in content.pop("segments"))
        return RunFile(**content, sessions=sessions, segments=segments)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _owner_lives(content: RunFile) -> bool:
    owner = read_process(content.owner_pid)
    return owner is not None and owner.started == content.owner_started and owner.state not in "ZX"


def _is_elsewhere(content: RunFile) -> bool:
    """Whether the run is of another machine or container that shares the state folder: not to be judged here."""
    return content.host != os.uname().nodename or (
        content.boot_id == boot_id() and content.pid_namespace != pid_namespace()
    )


def leftovers(state_dir: Path) -> tuple[Leftover, ...]:
    """Return the runs whose selwiz is gone without having cleaned up; runs in progress are not among them."""
    found = []
    for path in sorted(state_dir.glob(f"{RUN_FILE_PREFIX}*.json")):
        content = read_run_file(path)
        if content is None or _is_elsewhere(content) or (content.boot_id == boot_id() and _owner_lives(content)):
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
            seen = segments_of(process.pid for process in ours(content.run_id, content.sessions))
            remaining = end_all(content.run_id, content.sessions)
            problems += [f"process {process.pid} could not be ended" for process in remaining]
            remove_segments({*content.segments, *seen})
        if not remove_folder(leftover.folder):
            problems.append(f"the folder {leftover.folder} could not be removed")
        with contextlib.suppress(OSError):
            leftover.run_file.unlink()
    return tuple(problems)
