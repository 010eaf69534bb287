"""How an error becomes a sentence, a remedy and an exit code."""

import errno
import os
import signal
import sys
import traceback

from wizard.console import say, silence
from wizard.errors import SelwizError
from wizard.exit_codes import ExitCode


def code_of(error: Exception) -> int:
    """Say what went wrong on standard error and return the exit code of the contract."""
    from probes.errors import ProbeError
    from probes.smoke.evidence import CannotWriteEvidence
    from probes.smoke.stopping import Stopped

    if isinstance(error, Stopped):
        say("selwiz: stopped; everything that was started has been ended. No document was written.")
        return 128 + (error.signal_number or signal.SIGINT)
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone; what it read is complete up to there.
        silence(sys.stdout)
        return ExitCode.DONE
    if isinstance(error, SelwizError | ProbeError):
        say(f"selwiz: {error.message}")
        if error.remedy:
            say(f"        {error.remedy}")
        if isinstance(error, CannotWriteEvidence):
            return ExitCode.CANNOT_WRITE
        return error.code if isinstance(error, SelwizError) else ExitCode.USAGE
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        say(f"selwiz: the output cannot be written: {error.strerror}.")
        say("        Free some space, or write to another disk.")
        return ExitCode.CANNOT_WRITE
    say(f"selwiz: this is a fault of selwiz itself: {type(error).__name__}: {error}")
    say("        Please report it with the output of `selwiz doctor`; SELWIZ_DEBUG=1 shows where it happened.")
    if os.environ.get("SELWIZ_DEBUG"):
        traceback.print_exception(error)
    return ExitCode.FAULT
