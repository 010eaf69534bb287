"""`selwiz probe`: what this machine is."""

import argparse

from probes.report import machine_table
from wizard.console import put
from wizard.exit_codes import ExitCode
from wizard.gather import take_machine


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the machine as a table or as JSON. No GPU and no driver are no errors; the problems say why."""
    machine = take_machine(timeout_s=arguments.probe_timeout, vllm=arguments.vllm)
    put(machine.model_dump_json(indent=2) if arguments.json else machine_table(machine))
    return ExitCode.DONE
