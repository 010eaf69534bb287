"""How long until the first frame with something to answer is drawn, from the start of the process.

Run: `.venv/bin/python tests/benchmarks/first_question.py [--others FOLDER [--install]]`. Prints one table; nothing here
is a test. FOLDER, outside of the repository, has one virtual environment for each of `harlequin`, `posting` and
`llmfit` under its name (each needs a Textual of its own); `--install` makes those that are missing. What is not there,
or does not start, is said. The rounds take turns, so that all meet the same load of the machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import venv
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


def install(folder: Path) -> None:
    """Make the environments that are missing, each with the newest release of one program."""
    for command, _ in OTHERS.values():
        home = folder / command[0]
        if not (home / "bin" / command[0]).exists():
            venv.create(home, with_pip=True)
            subprocess.run([home / "bin" / "pip", "install", "--quiet", command[0]], check=False)


def version(home: Path, name: str) -> str:
    """The release of a program that an environment holds."""
    code = f"from importlib.metadata import version; print(version({name!r}))"
    found = subprocess.run([home / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def first_frame(command: list[str], words: str) -> float:
    """Seconds from the start of a program until its screen holds the words. Raises `OSError` where it ends before."""
    terminal = Terminal(command)
    try:
        return terminal.until(lambda text: words in text) - terminal.begin
    finally:
        terminal.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--others", type=Path, help="a folder with an environment for each of the other programs")
    parser.add_argument("--install", action="store_true", help="make the environments that are missing")
    arguments = parser.parse_args()
    others = arguments.others.resolve() if arguments.others else None
    if others and arguments.install:
        install(others)
    # Nobody's own sessions and settings take part.
    os.environ |= dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), tempfile.mkdtemp())
    ways = dict(OWN)
    for name, (command, words) in OTHERS.items():
        home = others / command[0] if others else None
        if home and (home / "bin" / command[0]).exists():
            title = f"{command[0]} {version(home, command[0])}{name.removeprefix(command[0])}"
            ways[title] = ([str(home / "bin" / command[0]), *command[1:]], words)
        else:
            print(f"{name}: not installed here")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, (command, words) in list(ways.items()):
            try:
                taken = first_frame(command, words)
            except (OSError, TimeoutError):
                print(f"{name}: did not start here")
                del ways[name], times[name]
                continue
            if number:  # the first time of each reads its files from the disk
                times[name].append(taken)
    ours = statistics.median(times["selwiz --new, its first question"])
    print(f"{'way':<44} {'median s':>9} {'worst s':>8} {'against selwiz --new':>21}")
    for name, taken_s in times.items():
        median = statistics.median(taken_s)
        print(f"{name:<44} {median:>9.3f} {max(taken_s):>8.3f} {median / ours:>20.2f}x")


if __name__ == "__main__":
    main()
