"""Where sessions are kept: one file each under the user's state folder, readable by nobody else.

Reads no answer models, so that the first screen can list what may be resumed without waiting for them.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wizard.errors import CannotWriteError, UsageError
from wizard.paths import state_dir

SCHEMA_VERSION = 1
_LARGEST_BYTES = 20_000_000


@dataclass(frozen=True)
class Saved:
    """What the first screen says of a session. `problem` is None where it can be resumed, else why it cannot."""

    path: Path
    title: str
    step: str
    answered: int
    saved_at: str
    problem: str | None = None


def sessions_dir() -> Path:
    """The folder of the sessions."""
    return state_dir() / "sessions"


def new_path() -> Path:
    """Return a path that no session has yet."""
    return sessions_dir() / f"{secrets.token_hex(6)}.json"


def save(path: Path, data: dict[str, Any]) -> None:
    """Write a session whole or not at all, mode 0600; raises `CannotWriteError`."""
    waiting = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"schema_version": SCHEMA_VERSION, **data}, file, ensure_ascii=False, indent=1)
        waiting.replace(path)
    except OSError as error:
        with suppress(OSError):
            waiting.unlink(missing_ok=True)
        raise CannotWriteError(
            f"The session cannot be saved in {path.parent}: {error.strerror}.",
            "Free some space or set XDG_STATE_HOME to a folder you may write to.",
        ) from None


def load(path: Path) -> dict[str, Any]:
    """Read a session; raises `UsageError` where it is none, or one of another version. The file stays as it is."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(f"{path} is too large for a session.", "Start a new one.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Start a new session.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not a session file.", "Start a new session; the file is left as it is.") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"The session has schema_version {version!r}; this selwiz reads {SCHEMA_VERSION}.",
            "Use the selwiz that wrote it, or start a new one; the file is left as it is.",
        )
    return dict(data)


def listed() -> list[Saved]:
    """Every session, the one saved last first; one that cannot be read says why."""
    with suppress(OSError):
        paths = [path for path in sessions_dir().iterdir() if path.suffix == ".json"]
        return [_saved(path) for path in sorted(paths, key=_changed, reverse=True)]
    return []


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _saved(path: Path) -> Saved:
    try:
        data = load(path)
    except UsageError as error:
        return Saved(path, path.name, "", 0, "", f"{error.message} {error.remedy}")
    about = data.get("about")
    about = about if isinstance(about, dict) else {}
    answered = about.get("answered")
    return Saved(
        path=path,
        title=str(about.get("title") or "no title yet"),
        step=str(data.get("step") or ""),
        answered=answered if isinstance(answered, int) else 0,
        saved_at=str(data.get("saved_at") or ""),
    )
