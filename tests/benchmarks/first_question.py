"""How long until the first frame with something to answer is drawn, from the start of the process.

Run: `.venv/bin/python tests/benchmarks/first_question.py [--others FOLDER]`. Prints one table; nothing here is a test.
FOLDER is a virtual environment of its own that holds `harlequin`, `posting` and `llmfit`, as pip installs them; what is
not there is said. The rounds take turns, so that all meet the same load of the machine.
"""

import argparse
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
OWN = {
    "a bare Textual form": ([sys.executable, "-c", BARE], "Project title"),
    "selwiz, its first screen (target 0.5 s)": (SELWIZ, "WHAT WOULD YOU LIKE TO DO?"),
    "selwiz --new, its first question": ([*SELWIZ, "--new"], "Project title"),
}
#: The command, and words of the first frame in which a key press has a meaning. harlequin's other adapter needs a
#: database library that its current release does not name the right version of.
OTHERS = {
    "harlequin, its editor": (["harlequin", "-a", "sqlite", "--no-download-tzdata"], "Query Editor"),
    "posting, its address field": (["posting"], "Enter a URL"),
    "llmfit, its table": (["llmfit"], "Models ("),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--others", type=Path, help="a virtual environment with harlequin, posting and llmfit")
    others = parser.parse_args().others
    # Nobody's own sessions and settings take part.
    os.environ |= dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), tempfile.mkdtemp())
    ways = dict(OWN)
    for name, (command, words) in OTHERS.items():
        if others and (others / "bin" / command[0]).exists():
            ways[name] = ([str(others.resolve() / "bin" / command[0]), *command[1:]], words)
        else:
            print(f"{name}: not installed here")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, (command, words) in ways.items():
            terminal = Terminal(command)
            taken = terminal.until(lambda text, words=words: words in text) - terminal.begin  # type: ignore[misc]
            terminal.close()
            if number:  # the first time of each reads its files from the disk
                times[name].append(taken)
    ours = statistics.median(times["selwiz --new, its first question"])
    print(f"{'way':<44} {'median s':>9} {'worst s':>8} {'against selwiz --new':>21}")
    for name, taken_s in times.items():
        median = statistics.median(taken_s)
        print(f"{name:<44} {median:>9.3f} {max(taken_s):>8.3f} {median / ours:>20.2f}x")


if __name__ == "__main__":
    main()
