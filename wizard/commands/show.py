"""`selwiz show`: every value with its source."""

import argparse
from typing import Any

from wizard.asking.open_answers import open_answers
from wizard.asking.provenance import origin_of
from wizard.asking.questions import leaves
from wizard.console import put_lines
from wizard.decision.gather import gather
from wizard.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print one line a value (key, value, the layer it was taken from, and where there), then what is open."""
    gathered = gather(arguments.answers, where=arguments.machine)
    lines = []
    for leaf in leaves(gathered.answers):
        if leaf.value in (None, (), {}):
            continue
        origin = origin_of(gathered.origins, leaf.key)
        layer, detail = (
            ("default", "nobody said otherwise") if origin.layer == "missing" else (origin.layer, origin.detail)
        )
        author = f", {origin.author}" if origin.author else ""
        lines.append(f"{leaf.key} = {_shown(leaf.value)}  [{layer}: {detail}{author}]")
    for item in open_answers(gathered.answers):
        owner = f"waits for {item.owner}" if item.owner else "waits for nobody yet"
        lines.append(f"{item.key} = not given  [missing: {owner}]")
    put_lines(lines)
    return ExitCode.DONE


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
