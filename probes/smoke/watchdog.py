"""Ends a run's children when selwiz itself dies, even by SIGKILL.

`python -P -m probes.smoke.watchdog RUN_FILE` reads its standard input, a pipe that only selwiz holds. The
pipe closes when selwiz ends, for whatever reason. The line "done" before that means that everything was
cleaned up in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from probes.smoke.processes import Leftover, end_leftovers, ours, read_run_file

QUIET_LOOKS = 4
LOOK_S = 0.25


def watch(run_file: Path) -> None:
    """Wait for the end of selwiz, then end what is left of the run."""
    if any(line.strip() == "done" for line in sys.stdin):
        return
    # A child that was just being started shows our run id only after its exec: look until it stays quiet.
    quiet = 0
    while quiet < QUIET_LOOKS:
        content = read_run_file(run_file)
        if content is None:
            return
        folder = Path(content.folder) if content.folder else None
        last = quiet == QUIET_LOOKS - 1
        if ours(content.run_id, content.sessions) or last:
            kept = run_file if last else Path("/nonexistent")  # the run file goes last
            end_leftovers([Leftover(content.run_id, (), kept, folder, content)])
        quiet = 0 if ours(content.run_id, content.sessions) else quiet + 1
        time.sleep(LOOK_S)


class Watchdog:
    """The watchdog process of one run, as selwiz holds it."""

    def __init__(self, run_file: Path) -> None:
        package_root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "probes.smoke.watchdog", str(run_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl+C in the terminal must not reach it
            env={**os.environ, "PYTHONPATH": str(package_root)},
            text=True,
        )

    @property
    def pid(self) -> int:
        """The watchdog's process id."""
        return self._process.pid

    def dismiss(self) -> None:
        """Tell it that everything is cleaned up, and wait for its end."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        try:
            self._process.stdin.write("done\n")
            self._process.stdin.close()
        except OSError:
            pass  # it is gone already
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    watch(Path(sys.argv[1]))
