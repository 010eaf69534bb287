"""How long the probe takes, as ratios to bare Python in the same run.

Run: `.venv/bin/python -m tests.benchmarks.probe`. The machine is the stand-in's with
eight GPUs, so the driver's own time is not in it. Prints one table; nothing here is a test.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.nvml.fake import FakeNvml

ROUNDS = 9
PROBE = "from probes.snapshot import take_machine; assert len(take_machine(tool_version='0').gpus) == 8"


def seconds(code: str) -> float:
    """The median wall time of a new interpreter that runs `code`, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(FakeNvml(Path(folder)).env("h100x8"))
        bare, probe = seconds("pass"), seconds(PROBE)
    print(f"{'what':<44} {'s':>7} {'x bare':>7}")
    print(f"{'python -c pass':<44} {bare:>7.3f} {1:>7.1f}")
    print(f"{'probe of 8 GPUs, imports too (target 0.4 s)':<44} {probe:>7.3f} {probe / bare:>7.1f}")


if __name__ == "__main__":
    main()
