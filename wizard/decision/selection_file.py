"""Reading a selection that was written earlier: NAME.selection.json."""

import json
from pathlib import Path

from pydantic import ValidationError

from wizard.decision.selection import Selection
from wizard.errors import UsageError

#: The largest selection, of a fleet with its runs, takes a few megabytes.
MOST_BYTES = 64 * 1024 * 1024
SCHEMA_VERSION = 1


def read_selection(path: Path) -> Selection:
    """Return the selection in a file; raises `UsageError` with one sentence if it holds none."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"The selection file {path} does not exist.", _REMEDY) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} is larger than any selection.", _REMEDY)
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no JSON, or was cut off.", _REMEDY) from None
    version = whole.get("schema_version") if isinstance(whole, dict) else None
    if not isinstance(version, int) or "engine_line" not in whole:
        raise UsageError(f"{path} is no selection.", _REMEDY)
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema version {version}; this selwiz reads version {SCHEMA_VERSION}.",
            "Use the selwiz that wrote it, or write it again from its answers.",
        )
    try:
        return Selection.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(f"{path} is no selection of this version: {place}: {first['msg']}.", _REMEDY) from None


_REMEDY = "Give the NAME.selection.json that `selwiz propose` or the wizard wrote beside a document."
