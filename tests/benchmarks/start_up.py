"""How long the commands that people wait for take, as ratios to bare Python in the same run.

Run: `.venv/bin/python tests/benchmarks/start_up.py`. Prints one table; nothing here is a test.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
SELWIZ = Path(sys.executable).with_name("selwiz")


def seconds(command: list[str]) -> float:
    """The median wall time of a command, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False, env=os.environ)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_mib(command: list[str]) -> float:
    """The peak resident memory of a command, in MiB."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    output = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    return int(output.stdout) / 1024


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        answers = str(Path(folder) / "answers.toml")
        subprocess.run([SELWIZ, "answers", "--example", "-o", answers], check=True, capture_output=True)
        proposal = str(Path(folder) / "proposal.md")
        commands = {
            "selwiz --version (target 4x)": [str(SELWIZ), "--version"],
            "selwiz check (target 0.5 s)": [str(SELWIZ), "check", "--answers", answers],
            "selwiz propose --no-smoke (target 0.5 s, 120 MiB)": [
                *(str(SELWIZ), "propose", "--answers", answers, "--no-smoke", "--force", "-o", proposal)
            ],
        }
        bare = seconds([sys.executable, "-c", "pass"])
        print(f"{'command':<52} {'s':>7} {'x bare':>7} {'MiB':>6}")
        print(f"{'python -c pass':<52} {bare:>7.3f} {1:>7.1f} {peak_mib([sys.executable, '-c', 'pass']):>6.0f}")
        for name, command in commands.items():
            wall = seconds(command)
            print(f"{name:<52} {wall:>7.3f} {wall / bare:>7.1f} {peak_mib(command):>6.0f}")


if __name__ == "__main__":
    main()
