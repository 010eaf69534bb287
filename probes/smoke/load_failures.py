"""Why a load gave nothing: from the end of the load tool's log, and from what its requests failed with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.smoke.failures import is_exception, log_tail

_READS_METRICS = re.compile(r"in fetch_\w*metrics\b")


class LoadFailed(Exception):  # noqa: N818 - the word that the result uses
    """The load tool gave no usable result."""

    def __init__(self, kind: str, message: str, advice: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind, self.message, self.advice, self.lines = kind, message, advice, lines


def no_result(name: str, lines: Sequence[str], returncode: int | None) -> LoadFailed:
    """Say why the load tool wrote no file, from the end of its log."""
    said = next((line.strip() for line in reversed(lines) if is_exception(line) or ": error: " in line), None)
    advice = f"see load-{name}.log in the evidence"
    if said is not None and ("unrecognized arguments" in said or "invalid choice" in said):
        advice = "the installed vLLM must be 0.32 or later"
    elif said is not None and said.startswith("Unicode") and any(_READS_METRICS.search(line) for line in lines):
        advice = f"the endpoint's /metrics is no text, and vLLM's load tool reads it; {advice}"
    cause = (said or f"exit code {returncode}")[:300]
    return LoadFailed("load_failed", f"the load tool gave no result: {cause}", advice, log_tail(lines, 15))


#: What the load tool writes of a request that failed: the reason of the status line, or the end of a traceback.
_NONE_ANSWERED: tuple[tuple[re.Pattern[str], str, str, str], ...] = (
    (
        re.compile(r"^(Unauthorized|Forbidden)$"),
        "endpoint_refused",
        "the endpoint took the key for one request and refused it for the load",
        "see that the key may send so many requests, and that it has not run out",
    ),
    (
        re.compile(r"^Too Many Requests$"),
        "endpoint_refused",
        "the endpoint takes no more requests for now",
        "wait until its limit allows the load, or ask its owner to raise it",
    ),
    (
        re.compile(r"ClientPayloadError|ServerDisconnectedError|ConnectionResetError|ClientOSError"),
        "endpoint_refused",
        "the endpoint breaks its answers off before their end",
        "look into its log, and into that of a gateway before it",
    ),
    (
        re.compile(r"JSONDecodeError"),
        "endpoint_refused",
        "the endpoint's token stream is no JSON",
        "measure a server that streams /v1/completions as vLLM does",
    ),
    (
        re.compile(r"ClientConnectorError|Cannot connect to host"),
        "endpoint_unreachable",
        "the endpoint does not answer any more",
        "see that it still runs, and look into its log",
    ),
)


def none_answered(sent: int, errors: Sequence[str]) -> LoadFailed:
    """Say why no request was answered, from the different errors of all."""
    said = errors[0] if errors else ""
    for pattern, kind, cause, advice in _NONE_ANSWERED:
        if pattern.search(said):
            name = said.split(":")[0].rsplit(".", 1)[-1]
            return LoadFailed(kind, f"none of {sent} requests was answered: {cause} ({name})", advice)
    return LoadFailed(
        "all_requests_failed",
        f"none of {sent} requests was answered" + (f": {said}" if said else ""),
        "see the server's log; the served model name and the longest context are the usual causes",
    )
