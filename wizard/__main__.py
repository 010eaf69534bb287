"""The command `selwiz`. Its version is printed before anything else is imported."""

import gc
import sys

from wizard import __version__


def main() -> int:
    """Run the command line and return the exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"selwiz {__version__}")
        return 0
    # What the imports make lives to the end, and looking through it every 700 objects costs a start 6 % of its time.
    gc.set_threshold(50_000, 20, 20)
    from wizard.cli import run
    from wizard.console import settle_streams

    settle_streams()
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
