"""Why a vLLM did not start, in the lines that the command and the wizard show."""

from pathlib import Path

from probes.smoke.evidence import BoundedText, read_bounded
from probes.smoke.failures import explain_log, log_tail, looks_started, second_cause, was_stopped
from wizard.errors import UsageError
from wizard.printable import fitted

MOST_CHARACTERS = 1000
"""What is shown of one line."""


def log_words(log: BoundedText, name: str) -> list[str]:
    """Cause, advice and, where one mends it, the answer to change; raises `UsageError` for a log without a line."""
    lines = str(log).splitlines()
    if not any(line.strip() for line in lines):
        raise UsageError(f"{name} is empty.", "Give the log of the vLLM that did not start.")
    said = [fitted(line, MOST_CHARACTERS) for line in _said(lines)]
    if log.left_out_bytes:
        said.append(
            f"Not read: {log.left_out_bytes:,} bytes in the middle of the log. Where the cause is not shown above, cut "
            "the log to the time of the error and explain that part."
        )
    return said


def _said(lines: list[str]) -> list[str]:
    found = explain_log(lines)
    if found.kind == "unknown" and found.line is None:
        ready, stopped = looks_started(lines), was_stopped(lines)
        if stopped:
            when = "after it was ready" if ready else "before it was ready"
            return [f"This log shows a server that was stopped by a signal {when}. It holds no error."]
        if ready:
            return ["This log shows a server that became ready, and no error after that."]
    said = []
    if found.kind == "unknown":
        said += ["The cause is not one that selwiz knows.", *([f"The log says: {found.line}"] if found.line else [])]
        return [*said, "The end of the log:", *(f"  {line}" for line in log_tail(lines, 10))]
    said += [f"Cause:  {found.cause}", f"Advice: {found.advice}"]
    if found.remedy is not None:
        sign = "=" if found.remedy.how == "set" else "+="
        said.append(f"Answer: {found.remedy.key} {sign} {found.remedy.value}")
    if found.line is not None:
        said.append(f"The log says: {found.line}")
    second = second_cause(lines, found)
    if second is not None:
        said.append(f"Also:   {second.cause}; {second.advice}")
    return said


def read_log(file: Path) -> BoundedText:
    """The beginning and the end of a log, which may be long; raises `UsageError` where it cannot be read."""
    try:
        with file.open("rb") as stream:
            return read_bounded(stream)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{file} cannot be read: {reason}.", "Name the log of a vLLM.") from None
