"""A log that grows while a child writes it."""

from __future__ import annotations

import os
from pathlib import Path


class LogTail:
    """Reads what was added to a log since the last look.

    A server that floods its log must not take our memory or time with it: of a look that finds too much only the end is
    read, long lines are cut, and of too many lines the first and the last are kept.
    """

    MOST_BYTES_A_LOOK = 4_000_000
    MOST_LINES = 20_000
    MOST_CHARACTERS = 4_000

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = ""
        self.lines: list[str] = []
        self.count = 0

    def read(self) -> list[str]:
        """Return the new whole lines."""
        try:
            with self._path.open("rb") as stream:
                unread = stream.seek(0, os.SEEK_END) - self._offset
                if unread > self.MOST_BYTES_A_LOOK:
                    self._offset += unread - self.MOST_BYTES_A_LOOK
                    self._rest = ""
                stream.seek(self._offset)
                data = stream.read(self.MOST_BYTES_A_LOOK)
        except OSError:
            return []
        self._offset += len(data)
        # A carriage return redraws a progress bar: only what stands at the end of it is a line.
        whole, newline, self._rest = (self._rest + data.decode("utf-8", errors="replace")).rpartition("\n")
        self._rest = self._rest[-self.MOST_CHARACTERS :]
        new = [line.rsplit("\r", 1)[-1][: self.MOST_CHARACTERS] for line in whole.split("\n")] if newline else []
        self.lines += new
        self.count += len(new)
        if len(self.lines) > self.MOST_LINES:
            half = self.MOST_LINES // 2
            self.lines = [*self.lines[:half], *self.lines[-half:]]
        return new
