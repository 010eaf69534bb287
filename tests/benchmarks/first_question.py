"""How long until the first frame with something to answer is drawn, from the start of the process.

Run: `.venv/bin/python tests/benchmarks/first_question.py`. Prints one table; nothing here is a test.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.terminal import SELWIZ, Terminal

ROUNDS = 9
#: The least that a form in Textual costs, for comparison on the same machine at the same time.
BARE = """
from textual.app import App
from textual.widgets import Input
class Bare(App):
    def compose(self):
        yield Input(placeholder="Project title")
Bare().run()
"""
WAYS = {
    "a bare Textual form": ([sys.executable, "-c", BARE], "Project title"),
    "selwiz, its first screen (target 0.5 s)": (SELWIZ, "WHAT WOULD YOU LIKE TO DO?"),
    "selwiz --new, its first question": ([*SELWIZ, "--new"], "Project title"),
}


def main() -> None:
    """Print the table."""
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    print(f"{'way':<44} {'median s':>9} {'worst s':>8}")
    for name, (command, words) in WAYS.items():
        times = []
        for _ in range(ROUNDS):
            terminal = Terminal(command)
            times.append(terminal.until(lambda text, words=words: words in text) - terminal.begin)  # type: ignore[misc]
            terminal.close()
        print(f"{name:<44} {statistics.median(times):>9.3f} {max(times):>8.3f}")


if __name__ == "__main__":
    main()
