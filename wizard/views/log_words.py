"""Why a vLLM did not start, in the lines that the command and the wizard show."""

from pathlib import Path

from probes.smoke.evidence import bounded_log
from probes.smoke.failures import explain_log, log_tail, looks_started
from wizard.errors import UsageError


def log_words(text: str, name: str) -> list[str]:
    """Cause, advice and, where one mends it, the answer to change; raises `UsageError` for a log without a line."""
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise UsageError(f"{name} is empty.", "Give the log of the vLLM that did not start.")
    found = explain_log(lines)
    if found.kind == "unknown" and found.line is None and looks_started(lines):
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
    return said


def read_log(file: Path) -> str:
    """The beginning and the end of a log, which may be long; raises `UsageError` where it cannot be read."""
    try:
        return bounded_log(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{file} cannot be read: {reason}.", "Name the log of a vLLM.") from None
