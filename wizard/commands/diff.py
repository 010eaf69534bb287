"""`selwiz diff`: what changed between two selections, and which line it touches."""

import argparse

from wizard.console import put_json, put_lines
from wizard.decision.compare import compare
from wizard.decision.selection_file import read_selection
from wizard.exit_codes import ExitCode
from wizard.views.comparison import comparison_lines


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the changes by section; selections that differ make the exit code 6."""
    found = compare(read_selection(arguments.old), read_selection(arguments.new))
    if arguments.json:
        put_json(found.to_json())
    else:
        put_lines(comparison_lines(found))
    return ExitCode.DIFFERENT if found.changes else ExitCode.DONE
