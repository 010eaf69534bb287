"""`selwiz probe`: what this machine is, or one that was recorded or will be bought, or the nodes of a Ray cluster."""

import argparse

from probes.errors import ProbeError
from probes.machine import Machine
from probes.recorded import recorded_text
from probes.report import machine_table
from wizard import __version__
from wizard.console import put, say
from wizard.document.write import write_text
from wizard.errors import FleetError, UsageError
from wizard.exit_codes import ExitCode
from wizard.machine import enriched, machine_at


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the machine as a table or as JSON. No GPU and no driver are no errors; the problems say why."""
    machine = _fleet(arguments) if arguments.ray else _one(arguments)
    if arguments.record:
        write_text(arguments.record, recorded_text(machine), force=False)
        say(f"Recorded in {arguments.record}; --machine {arguments.record} reads it on any computer.")
    put(machine.model_dump_json(indent=2) if arguments.json else machine_table(machine))
    return ExitCode.DONE


def _one(arguments: argparse.Namespace) -> Machine:
    return machine_at(arguments.machine, timeout_s=arguments.probe_timeout, vllm=arguments.vllm)


def _fleet(arguments: argparse.Namespace) -> Machine:
    if arguments.machine or arguments.vllm:
        other = "--machine" if arguments.machine else "--vllm"
        raise UsageError(f"--ray asks the nodes themselves, so {other} says nothing to it.", f"Leave out {other}.")
    from probes.fleet import probe_fleet

    try:
        return enriched(probe_fleet(arguments.ray, tool_version=__version__, timeout_s=arguments.probe_timeout))
    except ProbeError as error:
        raise FleetError(error.message, error.remedy) from None
