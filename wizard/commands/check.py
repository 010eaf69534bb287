"""`selwiz check`: the rules, blocking ones first, or one rule explained."""

import argparse
import datetime
from dataclasses import replace
from itertools import groupby

from wizard.asking.open_answers import open_words
from wizard.console import put_json, put_lines
from wizard.decision.assemble import assemble
from wizard.decision.finding import Finding, Severity
from wizard.decision.gather import gather
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode
from wizard.rules import RULES, explain, group_of
from wizard.smoke.evidence_folder import machine_beside, measured_on, read_evidence

_HEADINGS: dict[Severity, str] = {"block": "Blocking", "warn": "Warning", "note": "Note"}


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the findings; a blocking one makes the exit code 5."""
    if arguments.explain:
        return _explain(arguments)
    if not arguments.answers:
        raise UsageError("check needs answers, or a rule to explain.", "Add --answers FILE, or --explain C3.")
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
        counted = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}, {blocking} blocking"
        put_lines([*_lines(findings), f"{counted}; {open_words(selection.answers)}."])
    return ExitCode.BLOCKED if blocking else ExitCode.DONE


def _lines(findings: tuple[Finding, ...]) -> list[str]:
    """The findings below a heading for each severity and subject."""
    lines: list[str] = []
    for (severity, group), found in groupby(findings, key=lambda f: (f.severity, group_of(f.rule))):
        lines.append(f"{_HEADINGS[severity]}: {group}")
        for finding in found:
            lines += [f"  {finding.rule:<4}{finding.message}", f"      {finding.where}: {finding.remedy}"]
        lines.append("")
    return lines


def _explain(arguments: argparse.Namespace) -> ExitCode:
    """Say what one rule is about; no answers are read."""
    if arguments.answers:
        raise UsageError("--explain explains a rule and reads no answers.", "Leave --answers out.")
    rule = explain(arguments.explain)
    if rule is None:
        known = ", ".join(sorted((rule.id for rule in RULES), key=lambda name: (name[0], int(name[1:]))))
        raise UsageError(f"There is no rule {arguments.explain}.", f"The rules are {known}.")
    if arguments.json:
        fields = {"rule": rule.id, "title": rule.title, "severities": list(rule.severity), "group": group_of(rule.id)}
        put_json({"schema_version": 1, **fields, "source": rule.source, "remedy": rule.remedy})
    else:
        put_lines(
            [
                f"{rule.id}  {rule.title}",
                f"  About:     {group_of(rule.id)}",
                f"  Severity:  {', '.join(rule.severity)}",
                f"  Source:    {rule.source}",
                f"  What to do: {rule.remedy}",
            ]
        )
    return ExitCode.DONE
