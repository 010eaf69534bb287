"""The exit codes that scripts may rely on."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process returns; where several apply, the first of `PRECEDENCE` wins."""

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


PRECEDENCE = (
    ExitCode.FAULT,
    ExitCode.USAGE,
    ExitCode.CANNOT_WRITE,
    ExitCode.PROBE_FAILED,
    ExitCode.SMOKE_FAILED,
    ExitCode.BLOCKED,
    ExitCode.DIFFERENT,
)
