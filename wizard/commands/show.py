"""`selwiz show`: every value with its source."""

import argparse
from typing import Any

from wizard.console import put
from wizard.exit_codes import ExitCode
from wizard.gather import gather
from wizard.questions import leaves


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print one line a value: key, value, the layer it was taken from, and where there."""
    gathered = gather(arguments.answers)
    lines = []
    for leaf in leaves(gathered.answers):
        origin = gathered.origins.get(leaf.key)
        layer, detail = (origin.layer, origin.detail) if origin else ("missing", "")
        if leaf.value not in (None, (), {}) and origin is None:
            layer, detail = "default", "nobody said otherwise"
        author = f", {origin.author}" if origin and origin.author else ""
        where = f"{layer}: {detail}{author}" if detail else layer
        lines.append(f"{leaf.key} = {_shown(leaf.value)}  [{where}]")
    put("\n".join(lines))
    return ExitCode.DONE


def _shown(value: Any) -> str:
    if value in (None, (), {}):
        return "not given"
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
