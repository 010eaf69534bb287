"""`selwiz explain`: why a vLLM did not start, in plain words."""

import argparse
import sys
from pathlib import Path

from wizard.console import put_lines
from wizard.exit_codes import ExitCode
from wizard.views.log_words import log_words, read_log


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print cause, advice and, where one mends it, the answer to change."""
    name = arguments.log
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace") if name == "-" else read_log(Path(name))
    put_lines(log_words(text, name))
    return ExitCode.DONE
