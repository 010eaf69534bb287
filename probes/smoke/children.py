"""All child processes of one run: private folder, run file, watchdog, and the proof of the end."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from probes.errors import ProbeError
from probes.smoke.processes import (
    PRIVATE_PREFIX,
    RUN_ID_VARIABLE,
    RunFile,
    Session,
    boot_id,
    end_all,
    ours,
    read_process,
    remove_folder,
    run_file_path,
    write_run_file,
)
from probes.smoke.scrub import without_provider_keys
from probes.smoke.segments import Segment, remove_segments, segments_of
from probes.smoke.watchdog import Watchdog

UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VLLM_USE_RUST_BENCH", "VLLM_USE_RUST_FRONTEND", "PYTORCH_CI")
"""Variables of the caller that would change what is measured or where modules come from."""


def new_run_id() -> str:
    """Return a random id, short enough to read aloud."""
    return secrets.token_hex(6)


def free_port() -> int:
    """Return a port of the loopback address that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def temporary_place() -> Path:
    """Return where private folders are made: /tmp rather than a longer TMPDIR, because of the sockets in them."""
    short = Path("/tmp")  # noqa: S108 - mkdtemp makes the folder in it private
    return short if os.access(short, os.W_OK) else Path(tempfile.gettempdir())


def port_is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether nothing listens on a port of an address: loopback, or an empty text for all of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def quiet_environment(folder: Path, run_id: str) -> dict[str, str]:
    """Return the caller's environment made quiet, offline and private, with our run id and without providers' keys."""
    values = {name: value for name, value in without_provider_keys(os.environ).items() if name not in UNWANTED}
    return values | {
        RUN_ID_VARIABLE: run_id,
        "TMPDIR": str(folder / "tmp"),
        "VLLM_RPC_BASE_PATH": str(folder / "rpc"),  # short: a Unix socket's path has about 100 characters
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        "TRITON_CACHE_DIR": str(folder / "cache" / "triton"),
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_LOGGING_COLOR": "0",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }


class Children:
    """The children of one run. Use it as a context: its end ends them all and removes the private folder."""

    def __init__(self, state_dir: Path) -> None:
        self.run_id = new_run_id()
        self.folder = Path()
        self.left_behind: tuple[str, ...] = ()
        self.started_any = False
        self._state_dir = state_dir
        self._run_file = run_file_path(state_dir, self.run_id)
        self._sessions: tuple[Session, ...] = ()
        self._segments: frozenset[Segment] = frozenset()
        self._watchdog: Watchdog | None = None
        self._popens: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix=PRIVATE_PREFIX, dir=temporary_place()))
        try:
            for name in ("tmp", "rpc", "cache", "traces", "bench"):
                (self.folder / name).mkdir()
            self._note()
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise ProbeError(
                f"the note of what is started cannot be kept: {error.strerror or error}",
                "make the state folder writable (XDG_STATE_HOME), so that a crash can be cleaned up",
            ) from None
        # From here on nothing outlives us, not even the folder.
        self._watchdog = Watchdog(self._run_file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self) -> None:
        own = read_process(os.getpid())
        write_run_file(
            self._run_file,
            RunFile(
                run_id=self.run_id,
                owner_pid=os.getpid(),
                owner_started=own.started if own else 0,
                boot_id=boot_id(),
                folder=str(self.folder),
                sessions=self._sessions,
                segments=tuple(self._segments),
            ),
        )

    def spawn(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start a child in a session of its own, without input, its output in `log`. Raises OSError."""
        self.started_any = True
        with log.open("ab") as stream:
            child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.folder,
                env=dict(environment),
            )
        self._popens.append(child)
        known = read_process(child.pid)
        if known is not None:
            self._sessions = (*self._sessions, Session(child.pid, known.started))
            self._note()
        return child

    def note_segments(self) -> None:
        """Note the shared memory that the children use now: what a crash leaves of it is ours to remove."""
        seen = segments_of(self.alive())
        if not seen <= self._segments:
            self._segments |= seen
            self._note()

    def end(self) -> tuple[str, ...]:
        """End all children that still live; return a sentence for each that could not be ended."""
        self.note_segments()
        remaining = end_all(self.run_id, self._sessions) if self.started_any else ()
        for child in self._popens:
            if child.poll() is None and child.pid not in {process.pid for process in remaining}:
                child.wait(timeout=5)
        return tuple(f"process {process.pid} could not be ended" for process in remaining)

    def alive(self) -> tuple[int, ...]:
        """Return the process ids of the run that live now."""
        return tuple(process.pid for process in ours(self.run_id, self._sessions)) if self.started_any else ()

    def close(self) -> None:
        """End everything, remove segments, folder and run file, dismiss the watchdog; may be called twice."""
        left = list(self.end())
        if self.started_any:
            remove_segments(self._segments)
        if not remove_folder(self.folder if self.folder != Path() else None):
            left.append(f"the folder {self.folder} could not be removed")
        self._run_file.unlink(missing_ok=True)
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self.left_behind = tuple(left)
