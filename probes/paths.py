"""Questions to the file system that answer "no" where `pathlib` would raise: forbidden, too long, gone."""

import errno
import os
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


def regular_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file; anything else and a file of more bytes raise `OSError`.

    A pipe without a writer would be waited for, and a device such as /dev/zero has no size and no end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = stream.read(most_bytes + 1) if os.fstat(handle).st_size <= most_bytes else None
    if data is None or len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes // 1024**2} MiB")
    return data


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
