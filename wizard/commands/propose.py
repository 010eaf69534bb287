"""`selwiz propose`: the document, without questions."""

import argparse
import datetime
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from probes.smoke.result import SmokeResult
from wizard.console import put, say
from wizard.decision.gather import Gathered, gather
from wizard.decision.selection import Selection
from wizard.document.write import outputs, require_writable
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode, first_of
from wizard.paths import state_dir
from wizard.rules.lapses import lapses
from wizard.sessions.drafting import draft
from wizard.smoke.evidence_folder import Evidence, machine_beside, measured_on, read_evidence


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write the document, its selection file and its evidence, or print the document."""
    target = _target(arguments)
    given = read_evidence(arguments.evidence) if arguments.evidence else None
    gathered = _gather(arguments, given)
    if target:
        require_writable(target, force=arguments.force)
    with ExitStack() as stack:
        folder, smoke = (given.folder, given.smoke) if given else (None, None)
        if arguments.smoke:
            folder = outputs(target).evidence if target else Path(stack.enter_context(tempfile.TemporaryDirectory()))
            smoke = _smoke(arguments, gathered, folder)
        day = arguments.date or datetime.datetime.now(datetime.UTC).date()
        drafted = draft(gathered, prepared_on=day, smoke=smoke, folder=folder)
        if target is None:
            put(drafted.text)
        else:
            places = drafted.write(target, force=arguments.force)
            say(f"Wrote {places.document}, {places.brief.name}, {places.selection.name} and {places.evidence.name}/.")
    return _report(drafted.selection)


def _target(arguments: argparse.Namespace) -> Path | None:
    """The file to write; None for standard output."""
    if arguments.dry_run or arguments.output == "-":
        return None
    if not arguments.output:
        raise UsageError("There is no name for the document.", "Add -o proposal.md, or --dry-run to see it first.")
    return Path(arguments.output)


def _gather(arguments: argparse.Namespace, given: Evidence | None) -> Gathered:
    # A measurement without its machine must not be shown beside the machine that happens to be here today.
    probe = given is None or given.smoke is None
    if arguments.smoke and arguments.machine:
        raise UsageError(
            "--smoke measures this machine, and --machine names another.",
            "Run selwiz smoke first, then selwiz propose with --evidence.",
        )
    machine = machine_beside(given, arguments.machine)
    gathered = gather(arguments.answers, machine=machine, probe=probe, where=arguments.machine)
    if not gathered.answers.project.title:
        raise UsageError("project.title is not given, and a document needs a title.", "Add it to the answers.")
    return replace(gathered, measured_on=measured_on(given, gathered.machine))


def _smoke(arguments: argparse.Namespace, gathered: Gathered, folder: Path) -> SmokeResult:
    # Most documents start nothing, and these imports cost them 65 ms.
    from wizard.smoke.plain import confirmed_smoke
    from wizard.smoke.request import SmokeOptions, smoke_request

    options = SmokeOptions(
        out_dir=folder,
        state_dir=state_dir(),
        allow_download=arguments.allow_download,
        replace=arguments.force,
    )
    return confirmed_smoke(smoke_request(gathered, options), yes=arguments.yes)


def _report(selection: Selection) -> ExitCode:
    codes = []
    failure = selection.smoke.failure if selection.smoke else None
    if failure is not None:
        say(f"The smoke failed while {failure.phase}: {failure.message} {failure.advice}")
        codes.append(ExitCode.SMOKE_FAILED)
    blocking = [finding for finding in selection.findings if finding.severity == "block"]
    for finding in blocking:
        say(f"{finding.rule} blocks: {finding.message} {finding.remedy}")
    if blocking:
        codes.append(ExitCode.BLOCKED)
    # The stand-in never had the layout of the selection; the document says what it is worth.
    stand_in = selection.smoke is not None and selection.smoke.mode == "tiny"
    for lapse in () if stand_in else lapses(selection):
        say(f"Lapsed since the run: {lapse.words}.")
    say(
        f"Status {selection.status}: {len(blocking)} blocking of {len(selection.findings)} findings, "
        f"{len(selection.open_answers)} open answers."
    )
    return first_of(codes)
