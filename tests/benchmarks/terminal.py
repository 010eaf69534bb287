"""A real terminal in memory for measuring: a child behind a pseudo-terminal, its screen kept by pyte."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Callable

import pyte

SELWIZ = [sys.executable, "-m", "wizard"]


class _Answering(pyte.Screen):
    """Says where its cursor is when a program asks; some wait seconds for that."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, lines)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """One program in a terminal of `columns` x `lines`. `begin` is the moment before it was started."""

    def __init__(self, command: list[str], columns: int = 80, lines: int = 24) -> None:
        self.screen = _Answering(columns, lines, self.send)
        self._stream = pyte.ByteStream(self.screen)
        self.begin = time.perf_counter()
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(lines)}
            os.execvp(command[0], command)
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.screen.display)

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._handle, keys.encode())

    def until(self, condition: Callable[[str], bool], timeout_s: float = 20.0) -> float:
        """Read until the screen fulfils the condition; return the moment at which it did."""
        end = time.perf_counter() + timeout_s
        if condition(self.text):
            return time.perf_counter()
        while time.perf_counter() < end:
            ready, _, _ = select.select([self._handle], [], [], 0.05)
            if ready:
                self._stream.feed(os.read(self._handle, 65536))
                now = time.perf_counter()
                if condition(self.text):
                    return now
        raise TimeoutError(self.text)

    def drain(self, quiet_s: float = 0.3) -> None:
        """Read until nothing more comes for a moment."""
        while select.select([self._handle], [], [], quiet_s)[0]:
            self._stream.feed(os.read(self._handle, 65536))

    def close(self) -> None:
        """End the program."""
        os.killpg(self.pid, 15)  # some start a server beside themselves
        # The other side may be gone by then.
        with contextlib.suppress(OSError):
            self.drain(1.0)
        os.waitpid(self.pid, 0)
        os.close(self._handle)
