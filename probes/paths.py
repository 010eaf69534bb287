"""Questions to the file system that answer "no" where `pathlib` would raise: forbidden, too long, gone."""

import stat
from pathlib import Path


def exists(path: Path) -> bool:
    """Whether something is there that this user may see."""
    return _mode(path) is not None


def is_dir(path: Path) -> bool:
    """Whether a folder is there that this user may see."""
    return stat.S_ISDIR(_mode(path) or 0)


def is_file(path: Path) -> bool:
    """Whether a regular file is there that this user may see."""
    return stat.S_ISREG(_mode(path) or 0)


def text_of(path: Path) -> str | None:
    """The text of a file, with � for what is no text; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None


def expanded(path: Path) -> Path:
    """The path with the user's home for `~`; unchanged where that home is not known."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def home() -> Path | None:
    """The user's home; None where the user has none, as in a container that runs under any number."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None
