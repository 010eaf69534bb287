"""The command `selwiz`. Its version is printed before anything else is imported."""

import sys

from wizard import __version__


def main() -> int:
    """Run the command line and return the exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"selwiz {__version__}")
        return 0
    from wizard.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
