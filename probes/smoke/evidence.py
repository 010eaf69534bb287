"""Files of a smoke in its evidence folder: all of them written, each whole, or none; and whose folder it is."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from probes.errors import ProbeError
from probes.smoke.result import EvidenceFile

LOCK_NAME = ".selwiz-smoke.lock"
MOST_LOG_BYTES = 8_000_000
_PIECE_BYTES = 1_000_000


class CannotWriteEvidence(ProbeError):  # noqa: N818 - reads as a sentence where it is caught
    """The evidence folder cannot be written; the command line ends with code 7."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in the same folder and move it into place. Raises `CannotWriteEvidence`."""
    write_all(path.parent, {path.name: data})


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write every file under a temporary name, then move all into place: on a full disk none of them appears.

    Raises `CannotWriteEvidence`.
    """
    temporaries = {name: folder / f".{name}.{os.getpid()}.tmp" for name in files}
    path = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            path = folder / name
            with temporaries[name].open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for name, temporary in temporaries.items():
            path = folder / name
            temporary.replace(path)
    except OSError as problem:
        for temporary in temporaries.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise CannotWriteEvidence(
            f"{path} cannot be written: {problem.strerror or problem}",
            "name another folder with --out, or free some space",
        ) from None


def hashes_of(files: Mapping[str, bytes]) -> tuple[EvidenceFile, ...]:
    """Return names and hashes of files, in the order of the names."""
    return tuple(EvidenceFile(name=name, sha256=hashlib.sha256(files[name]).hexdigest()) for name in sorted(files))


def write_evidence(folder: Path, files: Mapping[str, str]) -> tuple[EvidenceFile, ...]:
    """Write texts into a folder and return their names and hashes, in the order of the names."""
    data = {name: text.encode("utf-8") for name, text in files.items()}
    write_all(folder, data)
    return hashes_of(data)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a folder for one run: a second one that would write into it is refused. Raises `CannotWriteEvidence`.

    The lock ends with the process, however that ends. Folders that were made for it and stay empty go with it.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    lock = folder / LOCK_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        _remove_empty(made)
        raise CannotWriteEvidence(
            f"{folder} cannot be written: {problem.strerror or problem}", "name another folder with --out"
        ) from None
    try:
        if not _locked(held, lock):
            raise CannotWriteEvidence(f"another selwiz is writing into {folder}", "name another folder with --out")
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()
    finally:
        os.close(held)
        _remove_empty(made)


def _locked(held: int, lock: Path) -> bool:
    """Take the lock; False where somebody else has it, or had it and has removed the file since it was opened."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(held).st_ino == lock.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks; what appears in the folder meanwhile is still looked for at the end
        return True


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:  # the innermost first
        with contextlib.suppress(OSError):
            folder.rmdir()


@dataclass(frozen=True)
class BoundedText:
    """What is read of a log that may be long: its begin, its end, and how many bytes lie unread between them."""

    begin: str
    end: str = ""
    left_out_bytes: int = 0

    def __str__(self) -> str:
        if not self.left_out_bytes:
            return self.begin
        return f"{self.begin}\n[{self.left_out_bytes:,} bytes of this log are left out]\n{self.end}"


def read_bounded(stream: BinaryIO, most_bytes: int = MOST_LOG_BYTES) -> BoundedText:
    """Read a log from a file or a pipe; never more than about `most_bytes` are held."""
    half = most_bytes // 2
    if stream.seekable():
        first = stream.tell()
        left_out = max(0, stream.seek(0, os.SEEK_END) - first - most_bytes)
        stream.seek(first)
        begin = stream.read(half if left_out else most_bytes)
        if left_out:
            stream.seek(left_out, os.SEEK_CUR)
        end = stream.read(most_bytes - half) if left_out else b""
    else:
        begin, end, left_out = stream.read(half), b"", 0
        while piece := stream.read(_PIECE_BYTES):
            end += piece
            over = max(0, len(end) - (most_bytes - half))
            end, left_out = end[over:], left_out + over
    if not left_out:
        return BoundedText((begin + end).decode("utf-8", errors="replace"))
    return BoundedText(begin.decode("utf-8", errors="replace"), end.decode("utf-8", errors="replace"), left_out)


def bounded_log(path: Path, most_bytes: int = MOST_LOG_BYTES) -> str:
    """Return a log as text; of one that a process flooded, its begin and its end and how much is left out between."""
    with path.open("rb") as stream:
        return str(read_bounded(stream, most_bytes))
