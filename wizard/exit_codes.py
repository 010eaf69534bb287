"""The exit codes that scripts may rely on."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process returns; where several apply, the first of `_PRECEDENCE` wins."""

    DONE = 0
    FAULT = 1  # of selwiz itself, or a document that breaks one of its own invariants
    USAGE = 2  # wrong option, no terminal, invalid answers
    PROBE_FAILED = 3
    SMOKE_FAILED = 4
    BLOCKED = 5  # done, with at least one blocking finding
    DIFFERENT = 6
    CANNOT_WRITE = 7
    HANGUP = 129
    INTERRUPTED = 130
    TERMINATED = 143


_PRECEDENCE = (
    ExitCode.FAULT,
    ExitCode.USAGE,
    ExitCode.CANNOT_WRITE,
    ExitCode.PROBE_FAILED,
    ExitCode.SMOKE_FAILED,
    ExitCode.BLOCKED,
    ExitCode.DIFFERENT,
    ExitCode.DONE,
)


def first_of(codes: Iterable[ExitCode]) -> ExitCode:
    """The code of a run in which several apply; DONE when none does."""
    return min(codes, key=_PRECEDENCE.index, default=ExitCode.DONE)
