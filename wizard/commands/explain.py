"""`selwiz explain`: why a vLLM did not start, in plain words."""

import argparse
import sys
from pathlib import Path

from probes.smoke.evidence import read_bounded
from wizard.console import put_lines
from wizard.exit_codes import ExitCode
from wizard.views.log_words import log_words, read_log


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print cause, advice and, where one mends it, the answer to change."""
    name = arguments.log
    log = read_bounded(sys.stdin.buffer) if name == "-" else read_log(Path(name))
    put_lines(log_words(log, name))
    return ExitCode.DONE
