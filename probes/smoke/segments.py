"""Shared memory that children leave behind: removed only if one of them was seen to use it and nobody does any more.

That nobody seen from here uses a segment proves nothing by itself: its user may be in another container that shares
/dev/shm. So a segment counts as ours only by its inode, which one of our processes mapped or held open.

The watchdog uses this module too, so it must stay quick to import. Standard library only; Linux's /proc.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")  # noqa: S108 - shared memory is where vLLM leaves segments after a crash


@dataclass(frozen=True)
class Segment:
    """One file of shared memory; the number of its inode tells it from a later one of the same name."""

    name: str
    inode: int


def all_segments() -> tuple[Segment, ...]:
    """Return all shared memory of this user."""
    found = []
    with contextlib.suppress(OSError):
        for entry in SHM.iterdir():
            with contextlib.suppress(OSError):
                known = entry.stat()
                if known.st_uid == os.getuid():
                    found.append(Segment(entry.name, known.st_ino))
    return tuple(found)


def _inodes_of(pid: int) -> set[int]:
    """Return the inodes in shared memory that a process maps or holds open.

    Inodes, because a semaphore is mapped under the temporary name it was made with and then linked to its own.
    """
    used: set[int] = set()
    entry = PROC / str(pid)
    with contextlib.suppress(OSError):
        for line in (entry / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
            if str(SHM) in line:
                used.add(int(line.split()[4]))
        for link in (entry / "fd").iterdir():
            with contextlib.suppress(OSError):
                if str(link.readlink()).startswith(str(SHM)):
                    used.add(link.stat().st_ino)
    return used


def segments_of(pids: Iterable[int]) -> frozenset[Segment]:
    """Return the shared memory that these processes use now."""
    used = {inode for pid in pids for inode in _inodes_of(pid)}
    return frozenset(segment for segment in all_segments() if segment.inode in used) if used else frozenset()


def remove_segments(ours: Iterable[Segment]) -> tuple[str, ...]:
    """Remove those of our segments that are still there and that no process uses; return their names."""
    there = set(all_segments()) & set(ours)
    if not there:
        return ()
    used = {inode for entry in PROC.iterdir() if entry.name.isdigit() for inode in _inodes_of(int(entry.name))}
    removed = []
    for segment in sorted(there, key=lambda each: each.name):
        if segment.inode not in used:
            with contextlib.suppress(OSError):
                (SHM / segment.name).unlink()
                removed.append(segment.name)
    return tuple(removed)
