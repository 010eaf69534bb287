"""Why a vLLM did not start, in plain words.

A table of patterns, each with its cause and what to do. vLLM reports a failed start in layers: the real
error first, then wrappers that only say that something failed. The table is searched in the lines that are
no wrapper, the error lines from the last to the first, and then the rest. Once a server is ready its log may
hold what its users write: from then on only lines count that vLLM writes as errors. Message texts are those of
vLLM 0.32 and 0.33; fragments are matched, never whole lines, because wording moves between releases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from probes.smoke.failure_table import STALLS, TABLE, Advice
from probes.smoke.result import Remedy

LOG_TAIL_LINES = 30
MOST_CHARACTERS = 10_000
"""What is looked at of one line."""

WRAPPERS = re.compile(
    r"EngineCore failed to start"
    r"|WorkerProc initialization failed due to an exception in a background process"
    r"|Engine core initialization failed\. See root cause above"
    r"|EngineCore encountered a fatal error"
    r"|EngineDeadError"
    r"|AsyncLLM output_handler failed"
    r"|Connection closed by peer"
    r"|Traceback \(most recent call last\)"
    r"|^\s*File \""
)
_ERROR_LINE = re.compile(r"(?:Error|Exception|Exit|NotFound)\b\s*:|\berror: |\bERROR\b")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|NotFound)\b(?::|\s*$)|Exception: ")
"""How the last line of a traceback begins."""
_LEVEL = re.compile(r"^\s*(?:\([^)]*pid=\d+\)\s*)?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_ENGINE = re.compile(r"^\s*\((?:EngineCore|Worker|VllmWorker)[^)]*pid=\d+\)")
_FRAME = re.compile(r"^(?:\([^)]*pid=\d+\) )?\s|^(?:\([^)]*pid=\d+\) )?Traceback \(most recent call last\)")
_START = re.compile(r"non-default args: \{")
_READY = "Application startup complete"
_REQUEST = re.compile(r"Received request .{0,200}?prompt: ")
_REQUEST_END = "params: SamplingParams("
_ENGINE_LOST = re.compile(r"engine core exited unexpectedly|EngineDeadError")
_STOPPED = re.compile(r"\[shutdown\] (?:API server: shutdown triggered|\w+: trigger received signal)")
_NO_ERROR = re.compile(r"^\s*(?:\([^)]*\)\s*)?(?:INFO|WARNING|DEBUG)\b")
"""Lines that report settings would match too much: they name every option."""
_LOG_PREFIX = re.compile(
    r"^\s*(?:\([^)]*pid=\d+\)\s*)?"
    r"(?:(?:ERROR|WARNING|INFO|CRITICAL)\s+\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\s*\[[^\]]*\]\s*)?"
)
_MARGIN = re.compile(
    r"^(?:\([^)]*pid=\d+\) ?)?"
    r"(?:(?:ERROR|CRITICAL)\s+\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\s*\[[^\]]*\] ?)?"
)
"""The prefix of a line with its one space: what is indented behind it is a traceback's."""


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FOREIGN_PREFIX = re.compile(
    r"^(?:\[pod/\S+\]\s+|[\w.-]+\s*\|\s|\d{4}-\d\d-\d\dT\S+\s+"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+?(?:\[\d+\])?: )+"
)
_STALL_LINES = 50
"""How far from its end a log is searched for what it hangs on."""
_KILLED_CORE = re.compile(r"Failed core proc\(s\): \{[^}]*-9")
_ENDED_CORE = re.compile(r"Failed core proc\(s\): \{\}")


@dataclass(frozen=True)
class Explanation:
    """A failure in plain words; `line` is the log line that says it, without the log's prefix.

    `remedy` is a change to an answer that is worth trying; None where no answer mends it.
    """

    kind: str
    cause: str
    advice: str
    line: str | None
    remedy: Remedy | None = None


KILLED = Explanation(
    "killed",
    "the process was killed from outside (SIGKILL), by the kernel most likely because memory ran out",
    "look for 'Out of memory' in the kernel log (dmesg), and use a larger machine or a smaller model",
    None,
)
PEER_LOST = Explanation(
    "peer_lost",
    "a process of the same replica ended, and this one lost its connection to it",
    "read the logs of the other processes and nodes: the first one that ended has the cause",
    None,
)
ENGINE_ENDED = Explanation(
    "engine_timeout",
    "the engine process ended or was not ready in time, and the log does not say why",
    "about 600 s after the start this is vLLM's own limit: raise VLLM_ENGINE_READY_TIMEOUT_S; else look at memory and "
    "at the kernel log (dmesg)",
    None,
)
ENGINE_LOST = Explanation(
    "killed",
    "the engine process ended after the server was ready and wrote no error: it was killed from outside, by the kernel "
    "most likely because memory ran out",
    KILLED.advice,
    None,
)
OWN_KINDS = (
    "unknown",
    "killed",
    "time_limit",
    "endpoint_refused",
    "endpoint_unreachable",
    "load_failed",
    "all_requests_failed",
    "foreign_server",
    "node_lost",
    "peer_lost",
)
CONSEQUENCES = frozenset({"peer_lost", "engine_timeout", "unknown"})
"""Kinds of a process that ended because another one did."""
KINDS = tuple(dict.fromkeys([*(row.kind for row in (*TABLE, *STALLS)), *OWN_KINDS]))
"""Every value that a failure's `kind` may have."""


def strip_prefix(line: str) -> str:
    """Return a log line without vLLM's process name, level, time and place."""
    return _LOG_PREFIX.sub("", line).strip()


def plain(line: str) -> str:
    """Return a log line without colours and without what Docker Compose, Kubernetes and journals put before it."""
    return _FOREIGN_PREFIX.sub("", _COLOUR.sub("", line.rstrip("\r\n")))


def _filled(text: str, match: re.Match[str]) -> str:
    for number in range(1, (match.re.groups or 0) + 1):
        text = text.replace("{" + str(number) + "}", match.group(number) or "an unknown number of")
    return text


def _explanation(row: Advice, match: re.Match[str]) -> Explanation:
    value = row.change.value(match) if row.change else None
    remedy = Remedy(key=row.change.key, value=value, how=row.change.how) if row.change and value is not None else None
    line = strip_prefix(match.string)
    return Explanation(row.kind, _filled(row.cause, match), _filled(row.advice, match), line, remedy)


def _explain_line(line: str, lines: Sequence[str], table: Sequence[Advice] = TABLE) -> Explanation | None:
    for row in table:
        match = row.pattern.search(line)
        if match and (row.after is None or any(row.after.search(other) for other in lines)):
            return _explanation(row, match)
    return None


def explain_log(lines: Sequence[str], returncode: int | None = None) -> Explanation:
    """Return why a start failed. `returncode` is the child's, negative for a signal, None if it still ran."""
    lines = _last_start([plain(line[:MOST_CHARACTERS]) for line in lines])
    ready = max((number for number, line in enumerate(lines) if _READY in line), default=None)
    if ready is not None:
        return _explain_ready(lines[ready:], returncode)
    cause_lines = [line for line in lines if not (WRAPPERS.search(line) or _NO_ERROR.search(line) or _is_raise(line))]
    errors = [line for line in cause_lines if _ERROR_LINE.search(line)]
    for line in [*reversed(errors), *reversed(cause_lines)]:
        found = _explain_line(line, lines)
        if found is not None:
            return found
    if returncode in (-9, 137) or any(_KILLED_CORE.search(line) for line in lines):
        return KILLED
    last, stopped = _last_error(errors), was_stopped(lines)
    if last is None and any("Connection closed by peer" in line for line in lines):
        return PEER_LOST
    if last is None:
        for line in reversed(lines[-_STALL_LINES:]):
            found = _explain_line(line, lines, STALLS)
            if found is not None:
                return found
        if any(_ENDED_CORE.search(line) for line in lines):
            return ENGINE_ENDED
    return _unknown(last, returncode, stopped=stopped)


def _explain_ready(lines: Sequence[str], returncode: int | None) -> Explanation:
    """Say why a server that was ready ended; its requests may have left any text in the log."""
    lines = _without_requests(lines)
    errors = [line for line in _written_errors(lines) if not WRAPPERS.search(line) and not _is_indented(line)]
    for line in reversed(errors):
        found = _explain_line(line, lines)
        # An error of a request may quote it: such a line is one of the table only where it says so from its begin.
        if found is not None and (is_exception(line) or _ENGINE.search(line) or _begins_with_cause(line)):
            return found
    killed = returncode in (-9, 137) or any(_KILLED_CORE.search(line) for line in lines)
    if killed:
        return KILLED
    stopped = was_stopped(lines)
    engine = [line for line in errors if _ENGINE.search(line)]
    if not engine and not stopped and any(_ENGINE_LOST.search(line) for line in lines):
        return ENGINE_LOST
    return _unknown(_last_error(engine or errors), returncode, stopped=stopped)


def _unknown(last: str | None, returncode: int | None, *, stopped: bool = False) -> Explanation:
    code = "" if returncode is None else f" with exit code {returncode}"
    if last is None and stopped:
        return Explanation(
            "unknown", f"vLLM was stopped by a signal{code}; its log holds no error", "see who stopped it", None
        )
    said = f": {last}" if last else ""
    return Explanation(
        "unknown", f"vLLM ended{code}{said}", "read the end of server.log, where the cause usually stands", last
    )


def _last_error(errors: Sequence[str]) -> str | None:
    """Return the last exception, else the last error, without its prefix."""
    said = [line for line in errors if not _is_indented(line)]  # what is indented is the code of a traceback
    exceptions = [line for line in said if is_exception(line)]
    return strip_prefix((exceptions or said)[-1]) if said else None


def _is_indented(line: str) -> bool:
    return _MARGIN.sub("", line)[:1].isspace()


def _is_raise(line: str) -> bool:
    """Whether a line is the code of a traceback that raises the error, and not the error."""
    return _is_indented(line) and strip_prefix(line).startswith("raise ")


def is_exception(line: str) -> bool:
    """Whether a line is the one that ends a traceback."""
    return _EXCEPTION.match(strip_prefix(line)) is not None


def _begins_with_cause(line: str) -> bool:
    return any(row.pattern.match(strip_prefix(line)) for row in TABLE)


def _last_start(lines: list[str]) -> list[str]:
    """A supervisor that starts a server again appends to the same log."""
    starts = [number for number, line in enumerate(lines) if _START.search(line) and _NO_ERROR.search(line)]
    return lines[starts[-1] :] if len(starts) > 1 else lines


def _without_requests(lines: Sequence[str]) -> list[str]:
    """Leave out the text of requests that vLLM logs: a prompt goes over as many lines as it has."""
    kept, inside = [], False
    for line in lines:
        if inside and not _LEVEL.search(line):
            inside = _REQUEST_END not in line
            continue
        inside = _REQUEST.search(line) is not None and _REQUEST_END not in line
        kept.append(line)
    return kept


def _written_errors(lines: Sequence[str]) -> list[str]:
    """Return the lines at the level ERROR, and the exceptions that end a traceback."""
    found, in_traceback = [], False
    for line in lines:
        level = _LEVEL.search(line)
        if level is not None:
            in_traceback = False
            if level[1] in ("ERROR", "CRITICAL"):
                found.append(line)
        elif _FRAME.search(line):
            in_traceback = in_traceback or "Traceback (most recent call last)" in line
        else:
            if in_traceback and is_exception(line):
                found.append(line)
            in_traceback = False
    return found


def second_cause(lines: Sequence[str], first: Explanation) -> Explanation | None:
    """Another known failure that error lines of the same log tell of; None where there is only the `first`."""
    lines = [plain(line) for line in lines]
    for line in reversed(lines):
        if WRAPPERS.search(line) or _NO_ERROR.search(line) or not _ERROR_LINE.search(line):
            continue
        found = _explain_line(line, lines)
        if found is not None and found.kind != first.kind:
            return found
    return None


def looks_started(lines: Sequence[str]) -> bool:
    """Whether the log shows a server that became ready."""
    return any(_READY in line for line in lines)


def was_stopped(lines: Sequence[str]) -> bool:
    """Whether the log shows a server that was asked to end."""
    return any(_STOPPED.search(line) for line in lines)


def log_tail(lines: Sequence[str], count: int = LOG_TAIL_LINES) -> tuple[str, ...]:
    """Return the last lines of a log without its noise (empty lines, nanobind's leak report)."""
    kept = [line for line in lines if line.strip() and "nanobind" not in line and not line.startswith(" - ")]
    return tuple(kept[-count:])
