"""Where words go: data and the document to standard output, talk to standard error."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from wizard.printable import printable

NOWHERE = Path(os.devnull)


def _steady(text: str) -> str:
    """The text without what would steer a terminal; answers, file names and logs may hold anything."""
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"{printable(line)}\n" for line in lines)


def put(text: str) -> None:
    """Write data or the document to standard output, as it is."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def put_lines(lines: list[str]) -> None:
    """Write lines that a person reads to standard output."""
    put(_steady("\n".join(lines)))


def put_json(data: Any) -> None:
    """Write one JSON document to standard output."""
    put(json.dumps(data, ensure_ascii=False, indent=2))


def settle_streams() -> None:
    """Give a process that was started without standard streams silent ones, and write data in UTF-8 in every locale.

    The bytes of a document are then the same on standard output as in a file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream that is missing: no file of ours takes its place.
            setattr(sys, name, NOWHERE.open(mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def say(text: str) -> None:
    """Say something to the person at the terminal, on standard error.

    Where nobody can hear it, a full disk or a closed pipe, the work goes on all the same.
    """
    _tell(_steady(text))


def _tell(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let a stream that cannot be written lead nowhere, so that what is left in it does no harm at the end."""
    with NOWHERE.open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _tell(f"{question} [y/N] ")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
