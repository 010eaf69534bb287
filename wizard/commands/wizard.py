"""`selwiz` without a command: the wizard in the terminal."""

import argparse
import os
import sys
from pathlib import Path

from wizard.console import say
from wizard.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Run the wizard and return its exit code; without a terminal, raise `UsageError`."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "The wizard needs a terminal.",
            "Without one: selwiz answers --blank -o project.toml, then selwiz propose --answers project.toml "
            "--no-smoke -o proposal.md",
        )
    if arguments.short and not arguments.new:
        raise UsageError("--short goes with --new.", "selwiz --new --short")
    for path in arguments.answers:
        if not path.is_file():
            raise UsageError(f"The answers file {path} does not exist.", "selwiz answers --example -o project.toml")
    where = _where(arguments.machine)
    if "SSH_CONNECTION" in os.environ:
        # Textual reads these when it is imported. A slow line is to show the newest frame, not a queue of old ones.
        os.environ.setdefault("TEXTUAL_FPS", "20")
        os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    from wizard.app import WizardApp

    way = "new" if arguments.new else "resume" if arguments.resume else ""
    app = WizardApp(answers=arguments.answers, vllm=arguments.vllm, way=way, short=arguments.short, where=where)
    app.run(mouse=not arguments.no_mouse)
    if app.written is not None:
        say(f"Wrote {app.written} and what belongs to it.")
    if app.has_session:
        say(f"The session is kept: {app.session.path}. `selwiz --resume` goes on with it.")
    return app.return_code if app.return_code is not None else 1


def _where(named: str | None) -> str:
    """The other machine that is named, once it is known to be one; a file by its whole path, for a later start."""
    if not named:
        return ""
    from wizard.machine import machine_at

    machine_at(named)
    return named if named.startswith("plan:") else str(Path(named).expanduser().resolve())
