"""Files of a smoke in its evidence folder: each written whole or not at all, with its hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from probes.errors import ProbeError
from probes.smoke.result import EvidenceFile


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


def bounded_log(path: Path, most_bytes: int = 8_000_000) -> str:
    """Return a log as text; of one that a process flooded, its begin and its end and how much is left out between."""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if size <= most_bytes:
            return stream.read().decode("utf-8", errors="replace")
        begin = stream.read(most_bytes // 2)
        stream.seek(size - most_bytes // 2)
        end = stream.read(most_bytes // 2)
    between = f"\n[{size - most_bytes:,} bytes of this log are left out]\n"
    return begin.decode("utf-8", errors="replace") + between + end.decode("utf-8", errors="replace")
