"""Files of a smoke in its evidence folder: each written whole or not at all, with its hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from probes.errors import ProbeError
from probes.smoke.result import EvidenceFile

MOST_LOG_BYTES = 8_000_000
_PIECE_BYTES = 1_000_000


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in the same folder and move it into place. Raises `ProbeError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise CannotWriteEvidence(
            f"{path} cannot be written: {problem.strerror or problem}",
            "name another folder with --out, or free some space",
        ) from None


class CannotWriteEvidence(ProbeError):  # noqa: N818 - reads as a sentence where it is caught
    """The evidence folder cannot be written; the command line ends with code 7."""


def write_evidence(folder: Path, files: dict[str, str]) -> tuple[EvidenceFile, ...]:
    """Write texts into a folder and return their names and hashes, in the order of the names."""
    written = []
    for name in sorted(files):
        data = files[name].encode("utf-8")
        write_atomically(folder / name, data)
        written.append(EvidenceFile(name=name, sha256=hashlib.sha256(data).hexdigest()))
    return tuple(written)


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
