"""`selwiz explain`: why a vLLM did not start, in plain words."""

import argparse
import sys
from pathlib import Path

from probes.smoke.evidence import bounded_log
from probes.smoke.failures import explain_log, log_tail, looks_started
from wizard.console import put_lines
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print cause, advice and, where one mends it, the answer to change."""
    lines = _read(arguments.log).splitlines()
    if not any(line.strip() for line in lines):
        raise UsageError(f"{arguments.log} is empty.", "Give the log of the vLLM that did not start.")
    found = explain_log(lines)
    if found.kind == "unknown" and found.line is None and looks_started(lines):
        put_lines(["This log shows a server that became ready, and no error after that."])
        return ExitCode.DONE
    said = []
    if found.kind == "unknown":
        said += ["The cause is not one that selwiz knows.", *([f"The log says: {found.line}"] if found.line else [])]
        said += ["The end of the log:", *(f"  {line}" for line in log_tail(lines, 10))]
    else:
        said += [f"Cause:  {found.cause}", f"Advice: {found.advice}"]
        if found.remedy is not None:
            sign = "=" if found.remedy.how == "set" else "+="
            said.append(f"Answer: {found.remedy.key} {sign} {found.remedy.value}")
        if found.line is not None:
            said.append(f"The log says: {found.line}")
    put_lines(said)
    return ExitCode.DONE


def _read(name: str) -> str:
    try:
        if name != "-":
            return bounded_log(Path(name))
        data = sys.stdin.buffer.read()
    except OSError as error:
        said = f"{name} cannot be read: {error.strerror}."
        raise UsageError(said, "Name a log file, or - for standard input.") from None
    return data.decode("utf-8", errors="replace")
