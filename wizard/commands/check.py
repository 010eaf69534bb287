"""`selwiz check`: the rules, blocking ones first."""

import argparse
import datetime
from dataclasses import replace

from wizard.assemble import assemble
from wizard.console import put_json, put_lines
from wizard.evidence_folder import machine_beside, measured_on, read_evidence
from wizard.exit_codes import ExitCode
from wizard.gather import gather


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the findings; a blocking one makes the exit code 5."""
    evidence = read_evidence(arguments.evidence) if arguments.evidence else None
    machine = machine_beside(evidence, arguments.machine)
    gathered = gather(arguments.answers, machine=machine, where=arguments.machine)
    gathered = replace(gathered, measured_on=measured_on(evidence, gathered.machine))
    today = datetime.datetime.now(datetime.UTC).date()
    selection = assemble(gathered, prepared_on=today, smoke=evidence.smoke if evidence else None)
    findings = selection.findings
    blocking = sum(finding.severity == "block" for finding in findings)
    if arguments.json:
        put_json(
            {"schema_version": 1, "findings": [finding.model_dump() for finding in findings], "blocking": blocking}
        )
    else:
        lines = [f"{f.rule}  {f.severity}  {f.message}\n    {f.where}: {f.remedy}" for f in findings]
        lines.append(f"{len(findings)} findings, {blocking} blocking; {len(selection.open_answers)} answers open.")
        put_lines(lines)
    return ExitCode.BLOCKED if blocking else ExitCode.DONE
