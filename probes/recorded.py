"""Machines in files: writing what the probe read, and reading it back on another computer."""

import json
import re
from pathlib import Path

from pydantic import ValidationError

from probes.errors import ProbeError
from probes.machine import Machine, RuntimeFound
from probes.paths import home

SCHEMA_VERSION = 1
#: A machine of 72 GPUs with all their pairs takes less than 4 MB.
MOST_BYTES = 16 * 1024 * 1024
_REMEDY = "Record the machine again with selwiz probe --record FILE."


def recorded_text(machine: Machine) -> str:
    """Return the machine as the text of a machine file; the user's home stands there as `~`."""
    kept = without_home(machine).model_copy(update={"recorded": True})
    return kept.model_dump_json(indent=2) + "\n"


def without_home(machine: Machine) -> Machine:
    """The machine as it may be handed on: the user's home stands in it as `~`."""
    others = tuple(
        kind.model_copy(update={"runtimes": tuple(_without_home(runtime) for runtime in kind.runtimes)})
        for kind in machine.other_kinds
    )
    runtimes = tuple(_without_home(runtime) for runtime in machine.runtimes)
    return machine.model_copy(update={"runtimes": runtimes, "other_kinds": others})


def read_machine_file(file: Path) -> Machine:
    """Read a machine that was recorded; raises `ProbeError` with one sentence if it is none."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ProbeError(f"There is no file {file}.", "Give the file that selwiz probe --record wrote.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProbeError(f"{file} cannot be read: {reason}.", "Look at the path and its permissions.") from None
    if len(data) > MOST_BYTES:
        raise ProbeError(f"{file} is larger than {MOST_BYTES // 1024**2} MiB, so it is no recorded machine.", _REMEDY)
    return _parsed(file, data)


def _parsed(file: Path, data: bytes) -> Machine:
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        raise ProbeError(
            f"{file} is not complete JSON, so it was cut off or is no recorded machine.", _REMEDY
        ) from None
    version = whole.get("schema_version") if isinstance(whole, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise ProbeError(f"{file} has no schema_version, so it is no recorded machine.", _REMEDY)
    if version > SCHEMA_VERSION:
        raise ProbeError(
            f"{file} has schema version {version}, and this selwiz reads up to {SCHEMA_VERSION}.",
            "Update selwiz, or record the machine with this version.",
        )
    try:
        machine = Machine.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = re.sub(r"\.(\d+)", r"[\1]", ".".join(str(part) for part in first["loc"])) or "the file"
        what = _plain(first["msg"])
        raise ProbeError(f"{file} is no machine that selwiz recorded: {place}: {what}.", _REMEDY) from None
    return machine.model_copy(update={"recorded": True})


def _plain(text: str) -> str:
    return " ".join(text.split())[:120].rstrip(".")


def _without_home(runtime: RuntimeFound) -> RuntimeFound:
    """Take the user's home, and any home's user name, out of the paths of a runtime."""
    names = ("interpreter", "executable", "package_dir")
    return runtime.model_copy(update={name: _hidden(getattr(runtime, name)) for name in names})


def _hidden(path: str | None) -> str | None:
    own = home()
    if path is None:
        return None
    if own and own != Path("/") and Path(path).is_relative_to(own):
        return str("~" / Path(path).relative_to(own))
    return re.sub(r"^/(home|Users)/[^/]+", "~", path)
