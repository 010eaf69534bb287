"""Writing the outputs: complete or not at all, and never over an existing file unless that was asked for.

Every file is first written whole under another name in its own folder, so that a full disk is met before anything is
in its place, and is then moved there in one step.
"""

import errno
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from wizard.errors import CannotWriteError

_REMEDIES = {
    errno.ENOSPC: "Free some space, or write to another disk.",
    errno.EDQUOT: "Free some of your quota, or write to another disk.",
    errno.EACCES: "Give yourself write permission there, or write somewhere else.",
    errno.EPERM: "Give yourself write permission there, or write somewhere else.",
    errno.EROFS: "Write somewhere else: this file system is read-only.",
    errno.ENOENT: "Make the folder first, or write somewhere else.",
    errno.ENOTDIR: "Give a path whose folders are folders.",
    errno.EISDIR: "Give the name of a file, not of a folder.",
    errno.ENAMETOOLONG: "Give a shorter name.",
}


class Outputs(NamedTuple):
    """Where a document and what belongs to it are written.

    NAME.md, NAME.selection.json, NAME.evidence and NAME.brief.md.
    """

    document: Path
    selection: Path
    evidence: Path
    brief: Path


def outputs(document: Path) -> Outputs:
    """Return the places of a document; NAME is its file name without `.md`."""
    if not document.name:
        raise CannotWriteError(f"{document} is a folder.", _REMEDIES[errno.EISDIR])
    name = document.name.removesuffix(".md")
    return Outputs(
        document,
        document.with_name(f"{name}.selection.json"),
        document.with_name(f"{name}.evidence"),
        document.with_name(f"{name}.brief.md"),
    )


def require_writable(document: Path, *, force: bool) -> None:
    """Find out before the work that the outputs of `document` can be written; raises `CannotWriteError` if not.

    A long measurement must not end in a sentence about permissions. Nothing is left behind.
    """
    places = outputs(document)
    for path in (places.document, places.selection, places.brief):
        if os.path.lexists(path) and (not force or path.is_dir()):
            raise _exists(path)
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            raise CannotWriteError(f"{path} is no ordinary file and is not replaced.", "Give another name.")
    if os.path.lexists(places.evidence) and not places.evidence.is_dir():
        raise CannotWriteError(f"{places.evidence} is in the way and is no folder.", "Move it, or give another name.")
    trial = _beside(document)
    try:
        for path in places:
            path.exists()  # a name that is too long is found out here
        _write(trial, b"")
        trial.unlink()
    except OSError as error:
        raise _cannot(document, error) from None


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write one file; raises `CannotWriteError` if it exists and `force` is False, or if it cannot be written."""
    write_files({path: text.encode()}, force=force)


def write_document(
    target: Path, document: str, brief: str, selection: str, evidence: Mapping[str, bytes], *, force: bool
) -> Outputs:
    """Write the document, its brief, the selection file and the evidence beside each other, and return where.

    An evidence file that is already there with the same content stays. Raises `CannotWriteError` if one of the files
    exists with another content and `force` is False, or if one cannot be written; then none of them is left.
    """
    places = outputs(target)
    files = {places.evidence / name: data for name, data in evidence.items()}
    files |= {places.selection: selection.encode(), places.brief: brief.encode(), places.document: document.encode()}
    kept = {path for path in files if path.parent == places.evidence and _holds(path, files[path])}
    new_folder = None if places.evidence.exists() else places.evidence
    try:
        places.evidence.mkdir(exist_ok=True)
        write_files({path: data for path, data in files.items() if path not in kept}, force=force)
    except (OSError, CannotWriteError) as error:
        if new_folder is not None:
            with suppress(OSError):
                new_folder.rmdir()
        raise error if isinstance(error, CannotWriteError) else _cannot(places.evidence, error) from None
    return places


def write_files(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Write several files, all or none. Raises `CannotWriteError` as `write_text` does."""
    existed = {path for path in files if os.path.lexists(path)}
    for path in files:
        if path in existed and (not force or path.is_dir()):
            raise _exists(path)
    waiting: dict[Path, Path] = {}
    placed: list[Path] = []
    try:
        for path, data in files.items():
            waiting[path] = _beside(path)
            try:
                _write(waiting[path], data)
            except OSError as error:
                raise _cannot(path, error) from None
        for path in files:
            try:
                waiting[path].replace(path)
            except OSError as error:
                raise _cannot(path, error) from None
            placed.append(path)
    except BaseException:
        for path in (*waiting.values(), *(path for path in placed if path not in existed)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    # A long name of the user's must not make the name of the waiting file too long as well.
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        # Some file systems find out only now that there is no room.
        os.fsync(file.fileno())


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _exists(path: Path) -> CannotWriteError:
    if path.is_dir():
        return CannotWriteError(f"{path} is a folder.", _REMEDIES[errno.EISDIR])
    return CannotWriteError(
        f"{path} exists and is not replaced.", "Give another name with -o, or replace it with --force."
    )


def _cannot(path: Path, error: OSError) -> CannotWriteError:
    why = error.strerror or str(error)
    return CannotWriteError(
        f"{path} cannot be written: {why}.", _REMEDIES.get(error.errno or 0, "Write somewhere else.")
    )
