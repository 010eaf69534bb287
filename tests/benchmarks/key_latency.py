"""How long a key press takes until it is drawn, in a terminal; with `--smoke` also while the real vLLM is measured.

Run: `.venv/bin/python tests/benchmarks/key_latency.py [--smoke]`. Prints one table; nothing here is a test.
"""

import datetime
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.terminal import SELWIZ, Terminal
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree

KEYS = 100
WINDOWS = 50
F1, F3, F4 = "\x1bOP", "\x1bOR", "\x1bOS"


def measured(terminal: Terminal, marker: str = "#") -> list[float]:
    """Type into the field that has the focus; seconds from each key to its drawing."""
    times = []
    for number in range(1, KEYS + 1):
        if number % 10 == 0:
            terminal.send("\x7f" * 9)
            terminal.until(lambda text: marker not in text)
            continue
        begin = time.perf_counter()
        terminal.send(marker)
        times.append(terminal.until(lambda text, n=number % 10: text.count(marker) >= n) - begin)  # type: ignore[misc]
    return times


def opened(terminal: Terminal) -> list[float]:
    """Open and close the window with the reason over the smoke's screen; seconds from each key to its drawing."""
    times = []
    for _ in range(WINDOWS):
        for key, there in ((F1, True), (F3, False)):
            begin = time.perf_counter()
            terminal.send(key)
            times.append(terminal.until(lambda text, there=there: ("Esc closes" in text) == there) - begin)  # type: ignore[misc]
    return times


def said(name: str, times: list[float]) -> None:
    """Print one row."""
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:<40} {statistics.median(times) * 1000:>10.1f} {p99 * 1000:>8.1f}")


def main() -> None:
    """Print the table."""
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    answers = Path(tempfile.mkdtemp()) / "example.toml"
    answers.write_text(render_answers(example_tree(datetime.datetime.now(datetime.UTC).date()), blanks=False))
    print(f"{'typing into a field':<40} {'median ms':>10} {'p99 ms':>8}")
    terminal = Terminal([*SELWIZ, "--answers", str(answers)])
    terminal.until(lambda text: "Project title" in text)
    terminal.drain(1.0)
    said("nothing else runs (target 75, 150)", measured(terminal))
    if "--smoke" in sys.argv:
        for _ in range(11):
            terminal.send(F4)
            terminal.drain()
        terminal.until(lambda text: "waits for your yes" in text, 60)
        terminal.send("s")
        terminal.until(lambda text: "Smoke: running" in text, 60)
        for _ in range(11):
            terminal.send(F3)
            terminal.drain()
        terminal.until(lambda text: "Project title" in text)
        said("while vLLM starts", measured(terminal))
        for _ in range(11):
            terminal.send(F4)
            terminal.drain()
        said("a window over the smoke, vLLM starts", opened(terminal))
        terminal.until(lambda text: "now   measure" in text, 300)
        said("a window over the smoke, under load", opened(terminal))
    terminal.close()


if __name__ == "__main__":
    main()
