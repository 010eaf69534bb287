"""Watches GPUs while a load runs: a child asks NVML once a second and writes what it hears into a file.

The driver may hang or crash the child. The run never waits for it: it reads what is in the file, and a child that was
silent too long is ended and started anew without the GPU at which it hangs.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from probes.child import nvml_command

EVERY_S = 1.0
SILENT_S = 10.0
"""A child that wrote nothing for so long hangs inside the driver."""
_END_S = 1.0


class GpuWatch:
    """One child that watches. `read` gives what it said since the last time; `close` ends it.

    `gpus` names the GPUs by NVML index or UUID; none means all.
    """

    def __init__(self, folder: Path, gpus: tuple[str, ...] = (), every_s: float = EVERY_S) -> None:
        self._path = folder / "gpu-watch.jsonl"
        self._gpus, self._every_s = gpus, every_s
        self._skip: set[int] = set()
        self._touched: int | None = None
        self._heard = 0.0
        self._offset = 0
        self._child: subprocess.Popen[bytes] | None = None
        self.uuids: dict[int, str] = {}
        self.problems: list[str] = []

    def start(self) -> None:
        """Start the child; one that cannot be started is a problem told, not an error."""
        # Each child has its own file: one that is stuck in the driver may still write when its call returns.
        self._path = self._path.with_name(f"gpu-watch-{len(self._skip)}.jsonl")
        self._offset, self._touched, self._heard = 0, None, time.monotonic()
        command = nvml_command(self._skip, "--watch", str(self._every_s), str(os.getpid()), ",".join(self._gpus))
        try:
            with self._path.open("ab") as stream:
                self._child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd=self._path.parent,
                    env=os.environ | {"PYTHONIOENCODING": "utf-8"},
                )
        except OSError as problem:
            self.problems.append(f"the GPUs could not be watched: {problem}")

    @property
    def watching(self) -> bool:
        """Whether a child is there that may still tell something."""
        return self._child is not None

    def read(self) -> list[dict[str, Any]]:
        """Return the samples that came since the last call, oldest first. Never waits for the driver."""
        samples = []
        for event in self._events():
            self._heard = time.monotonic()
            if event["event"] == "sample":
                samples.append({key: value for key, value in event.items() if key != "event"})
                self._touched = None
            elif event["event"] == "touch":
                self._touched = event["gpu"]
            elif event["event"] == "gpu":
                self.uuids[event["gpu"]] = str(event["uuid"] or "")
                self._touched = None
            elif event["event"] == "failed":
                self.problems.append(f"the GPUs could not be watched: {event['text']}")
                self._end()
        self._look_after()
        return samples

    def _events(self) -> list[dict[str, Any]]:
        if self._child is None:
            return []
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                new = stream.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        events = []
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and "event" in event:
                    events.append(event)
        return events

    def _look_after(self) -> None:
        """Begin anew without the GPU at which the child hangs or has died."""
        if self._child is None:
            return
        gone = self._child.poll() is not None
        if not gone and time.monotonic() - self._heard < max(SILENT_S, 3 * self._every_s):
            return
        at = self._touched
        where = "" if at is None else f" at GPU {at}"
        self.problems.append(f"the driver {'ended' if gone else 'did not answer'} the watch of the GPUs{where}")
        self._end()
        if at is not None and at not in self._skip:
            self._skip.add(at)
            self.start()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_END_S)  # one that is stuck in the driver ends when its call returns

    def close(self) -> None:
        """End the child."""
        self._end()
