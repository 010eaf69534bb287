"""Where words go: data and the document to standard output, talk to standard error."""

import json
import sys
from typing import Any

from wizard.printable import printable


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


def say(text: str) -> None:
    """Say something to the person at the terminal, on standard error."""
    sys.stderr.write(_steady(text))
    sys.stderr.flush()


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
