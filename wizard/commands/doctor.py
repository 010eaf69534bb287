"""`selwiz doctor`: versions, paths and state, to be pasted into a bug report."""

import argparse
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from probes.smoke.processes import leftovers
from wizard import __version__
from wizard.console import put
from wizard.exit_codes import ExitCode
from wizard.machine import machine_at
from wizard.paths import cache_dir, state_dir

_LIBRARIES = ("textual", "pydantic", "jinja2", "nvidia-ml-py", "psutil", "tomlkit", "prometheus-client", "platformdirs")


def run(_: argparse.Namespace) -> ExitCode:
    """Print what a maintainer asks first. It holds no host name, no user name and no secret."""
    machine = machine_at(None)
    found = leftovers(state_dir())
    lines = [
        f"selwiz {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        "libraries: " + ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
        f"terminal: {os.environ.get('TERM', 'TERM not set')}, "
        f"input {_tty(sys.stdin.isatty())}, output {_tty(sys.stdout.isatty())}, talk {_tty(sys.stderr.isatty())}",
        f"state: {_private(str(state_dir()))}, cache: {_private(str(cache_dir()))}",
        f"NVIDIA driver: {machine.driver.version.value or 'not found'}, usable GPUs: "
        f"{sum(gpu.usable for gpu in machine.gpus)} of {len(machine.gpus)}",
    ]
    lines += [f"problem: {problem.code}: {problem.message} {problem.advice}" for problem in machine.problems]
    lines += [
        f"{runtime.product} {runtime.version} ({runtime.build}): {_private(str(runtime.interpreter))}"
        for runtime in machine.runtimes
    ] or ["vLLM: not found"]
    lines.append(
        "processes left by a killed run: "
        + (", ".join(str(pid) for run in found for pid in run.pids) or "none")
        + ("; `selwiz smoke` offers to end them" if found else "")
    )
    put("\n".join(lines))
    return ExitCode.DONE


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _tty(is_terminal: bool) -> str:
    return "terminal" if is_terminal else "no terminal"


def _private(path: str) -> str:
    """The path without the user's name in it."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
