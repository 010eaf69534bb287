"""The smoke as the command line runs it: shown, confirmed, run with plain lines, and stopped cleanly by a signal."""

from probes.errors import ProbeError
from probes.smoke.evidence import CannotWriteEvidence
from probes.smoke.observer import PlainLines
from probes.smoke.plan import SmokeRequest
from probes.smoke.prepare import prepare
from probes.smoke.processes import end_leftovers, leftovers
from probes.smoke.result import SmokeResult
from probes.smoke.run import run_smoke
from probes.smoke.stopping import stop_on_signals
from wizard.console import confirm, say
from wizard.errors import CannotWriteError, SmokeError, UsageError


def confirmed_smoke(request: SmokeRequest, *, yes: bool) -> SmokeResult:
    """Show what will be started, ask unless `yes`, and run it.

    Not confirmed raises `UsageError`. A stop by a signal raises `probes.smoke.stopping.Stopped` after the children have
    ended.
    """
    _offer_to_end_leftovers(request, yes=yes)
    try:
        plan = prepare(request)
    except CannotWriteEvidence as error:
        raise CannotWriteError(error.message, error.remedy) from None
    except ProbeError as error:
        raise SmokeError(error.message, error.remedy) from None
    for line in plan.description:
        say(line)
    if not yes and not confirm("Start this?"):
        raise UsageError("The smoke was not confirmed; nothing was started.", "Add --yes to start what is shown.")
    with stop_on_signals() as stopper:
        lines = PlainLines(say, pipeline_only=request.mode == "tiny")
        return run_smoke(request, lines, plan=plan, stopper=stopper)


def _offer_to_end_leftovers(request: SmokeRequest, *, yes: bool) -> None:
    found = leftovers(request.state_dir)
    if not found:
        return
    count = sum(len(run.pids) for run in found)
    if not count:
        end_leftovers(found)  # files only: their processes ended with the machine or by themselves
        return
    say(f"Processes of an earlier selwiz run that was killed are still there: {count}. They may hold GPU memory.")
    if yes or confirm("End them?"):
        for sentence in end_leftovers(found):
            say(sentence)
