"""Errors that a person can act on, each with the exit code it leads to."""

from wizard.exit_codes import ExitCode


class SelwizError(Exception):
    """One plain sentence, a remedy, and the exit code; shown without a traceback."""

    code = ExitCode.FAULT

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(SelwizError):
    """The command line or the answers are not usable as given."""

    code = ExitCode.USAGE


class FleetError(SelwizError):
    """The nodes that were to be probed cannot be asked."""

    code = ExitCode.PROBE_FAILED


class SmokeError(SelwizError):
    """The smoke could not be run."""

    code = ExitCode.SMOKE_FAILED


class CannotWriteError(SelwizError):
    """An output cannot be written; nothing half-written is left."""

    code = ExitCode.CANNOT_WRITE
