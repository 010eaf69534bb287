"""Where selwiz keeps its own state, by the rules of this system."""

from collections.abc import Iterable
from pathlib import Path

import platformdirs

from wizard.errors import CannotWriteError


def state_dir() -> Path:
    """The folder of sessions and run files; it is made when something is written."""
    return platformdirs.user_state_path("selwiz")


def cache_dir() -> Path:
    """The folder of what can be made again at any time."""
    return platformdirs.user_cache_path("selwiz")


def require_not_read(output: Path, inputs: Iterable[Path]) -> None:
    """Raise `CannotWriteError` where the output is one of the files that are read, by whatever name."""
    for path in inputs:
        try:
            same = output.samefile(path)
        except OSError:
            continue  # one of them is not there, or is no file, such as plan:NAMExN
        if same:
            raise CannotWriteError(f"{output} is read here and is not replaced.", "Give another name with -o.")
