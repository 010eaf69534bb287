"""`selwiz probe`: what this machine is, or one that was recorded or will be bought."""

import argparse

from probes.recorded import recorded_text
from probes.report import machine_table
from wizard.console import put, say
from wizard.document.write import write_text
from wizard.exit_codes import ExitCode
from wizard.machine import machine_at


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the machine as a table or as JSON. No GPU and no driver are no errors; the problems say why."""
    machine = machine_at(arguments.machine, timeout_s=arguments.probe_timeout, vllm=arguments.vllm)
    if arguments.record:
        write_text(arguments.record, recorded_text(machine), force=False)
        say(f"Recorded in {arguments.record}; --machine {arguments.record} reads it on any computer.")
    put(machine.model_dump_json(indent=2) if arguments.json else machine_table(machine))
    return ExitCode.DONE
