"""Runs the NVML walk in a child process that may hang or crash, and keeps everything it said before."""

import json
import os
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

Event = dict[str, Any]
End = Literal["done", "timeout", "crashed"]

# The package that belongs to this code, whatever the folder, the environment or the way of installation: its
# folder's parent is on the path only until the package is found, so nothing else there hides a library.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import probes; del sys.path[0]; "
    "from probes.nvml import start; start(sys.argv[2:])"
)
_PACKAGE_PARENT = Path(__file__).resolve().parent.parent
HANG_SHARE = 0.6  # a call silent for this share of the time limit hangs; the rest is for the other GPUs


class Ended(NamedTuple):
    """How one walk ended, at which GPU (None: the driver as a whole) and at which call."""

    end: End
    gpu: int | None
    call: str
    stderr: str  # its last line
    silent_s: float  # how long it was waited for in vain


@dataclass
class Walked:
    """What one or more walks over the GPUs said."""

    events: list[Event] = field(default_factory=list)
    ends: list["Ended"] = field(default_factory=list)


def walk(timeout_s: float) -> Walked:
    """Ask NVML about everything within `timeout_s` seconds, in a child of this interpreter.

    A GPU at which the child hangs or crashes is left out and the others are asked again in the time that is
    left, so one bad GPU never hides the good ones. Never raises for what a driver does; an interpreter that
    cannot be started ends as `crashed`.
    """
    started = time.monotonic()
    walked = Walked()
    skip: set[int] = set()
    while True:
        left_s = timeout_s - (time.monotonic() - started)
        silence_s = left_s if skip else timeout_s * HANG_SHARE
        events, end, stderr = _run(nvml_command(skip), left_s, silence_s)
        walked.events += events
        at = _at(events)
        bad = at.get("gpu")
        waited_s = left_s if bad is None else min(left_s, silence_s)
        walked.ends.append(Ended(end, bad, at.get("call", "start"), stderr, waited_s))
        left_s = timeout_s - (time.monotonic() - started)
        if end == "done" or bad is None or bad in skip or left_s <= 0:
            return walked
        skip.add(bad)


def nvml_command(skip: set[int], *more: str) -> list[str]:
    """Return the command of a child that asks NVML, leaving out the GPUs in `skip`."""
    command = [sys.executable, "-P", "-c", _START, str(_PACKAGE_PARENT)]
    return [*command, *(["--skip", ",".join(map(str, sorted(skip)))] if skip else []), *more]


def _run(command: list[str], limit_s: float, silence_s: float) -> tuple[list[Event], End, str]:
    """Run one walk; kill it after `limit_s` seconds, or once it was silent for `silence_s`."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        )
    except OSError as error:
        return [], "crashed", str(error)
    try:
        out, err, in_time = _read(process, limit_s, silence_s)
    finally:
        process.kill()
        _reap(process)
    events = _events(out)
    last = err.decode(errors="replace").strip().rpartition("\n")[2]
    if any(event["event"] in ("done", "failed") for event in events):
        return events, "done", last  # NVML may still crash on the way out; nothing is lost then
    return events, "crashed" if in_time else "timeout", last


def _read(process: subprocess.Popen[bytes], limit_s: float, silence_s: float) -> tuple[bytes, bytes, bool]:
    """Collect both outputs until they are closed (True) or the time is up (False)."""
    started = heard = time.monotonic()
    out, err = process.stdout, process.stderr
    assert out is not None  # noqa: S101  for the type checker: both are pipes
    assert err is not None  # noqa: S101
    chunks: dict[Any, list[bytes]] = {out: [], err: []}
    with selectors.DefaultSelector() as selector:
        for stream in chunks:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            now = time.monotonic()
            if now >= heard + silence_s and _at(_events(b"".join(chunks[out]))).get("gpu") is None:
                silence_s = limit_s  # the driver as a whole: nothing would be gained by asking again
            wait_s = min(started + limit_s, heard + silence_s) - now
            if wait_s <= 0:
                return b"".join(chunks[out]), b"".join(chunks[err]), False
            for key, _ in selector.select(wait_s):
                chunk = os.read(key.fd, 65536)
                heard = time.monotonic()
                if chunk:
                    chunks[key.fileobj].append(chunk)
                else:
                    selector.unregister(key.fileobj)
    return b"".join(chunks[out]), b"".join(chunks[err]), True


def _reap(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return  # stuck inside the driver: the kernel ends it as soon as the call returns


def _at(events: list[Event]) -> Event:
    """Find what was asked last."""
    return next((event for event in reversed(events) if event["event"] == "at"), {})


def _events(out: bytes) -> list[Event]:
    """Parse the lines; a last one that was cut off is dropped."""
    events: list[Event] = []
    for line in out.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    return events
