"""Stopping a smoke at any moment: by a signal, or by another thread.

A signal only notes the wish; the run looks at it at least five times a second and then ends its children in
order. So no signal can arrive between starting a child and knowing of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):  # noqa: N818 - a wish that was granted, not an error
    """The run was stopped from outside; its children are ended when this is raised.

    `signal_number` is None when another thread asked. The exit code is 128 + signal number.
    """

    def __init__(self, signal_number: int | None) -> None:
        super().__init__("stopped" if signal_number is None else f"stopped by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number


class Stopper:
    """The wish to stop, shared between threads and signal handlers."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.signal_number: int | None = None

    def stop(self, signal_number: int | None = None) -> None:
        """Ask the run to stop; only the first wish counts."""
        if not self._event.is_set():
            self.signal_number = signal_number
            self._event.set()

    @property
    def is_set(self) -> bool:
        """Whether stopping was asked for."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Stopped` if stopping was asked for."""
        if self._event.is_set():
            raise Stopped(self.signal_number)

    def wait(self, seconds: float) -> None:
        """Wait, and raise `Stopped` as soon as stopping is asked for."""
        self._event.wait(seconds)
        self.check()


@contextmanager
def stop_on_signals() -> Iterator[Stopper]:
    """Turn SIGINT, SIGTERM and SIGHUP into a `Stopper`; the earlier handlers come back at the end.

    Only the main thread may use it (Python's rule for signal handlers).
    """
    stopper = Stopper()

    def note(signal_number: int, _frame: FrameType | None) -> None:
        stopper.stop(signal_number)

    # A signal that is ignored stays ignored: nohup relies on it.
    taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    earlier = {number: signal.signal(number, note) for number in taken}
    try:
        yield stopper
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
