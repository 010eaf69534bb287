"""Reading what an earlier run left in an evidence folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from probes.machine import Machine
from probes.paths import regular_bytes
from probes.smoke.result import SmokeResult
from wizard.errors import UsageError

MOST_BYTES = 64 * 1024 * 1024
"""Figures of one smoke, without its single requests, are far smaller."""
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Evidence:
    """The machine and the measurement of an earlier run; None where the folder holds none."""

    folder: Path
    machine: Machine | None
    smoke: SmokeResult | None


def read_evidence(folder: Path) -> Evidence:
    """Read `machine.json` and `smoke.json`; a folder that is absent or holds neither raises `UsageError`."""
    if not folder.is_dir():
        raise UsageError(f"The evidence folder {folder} does not exist.", "`selwiz smoke --out DIR` makes one.")
    machine = _read(folder / "machine.json", Machine)
    smoke = _read(folder / "smoke.json", SmokeResult)
    if machine is None and smoke is None:
        raise UsageError(
            f"{folder} holds neither machine.json nor smoke.json.", "Give the folder that `selwiz smoke --out` wrote."
        )
    return Evidence(folder=folder, machine=machine, smoke=smoke)


def measured_on(evidence: Evidence | None, machine: Machine | None) -> Machine | None:
    """Return the machine of an earlier measurement where it is another one than `machine`, which will be bought."""
    if evidence is None or evidence.smoke is None or machine is None or not machine.planned:
        return None
    return evidence.machine


def machine_beside(evidence: Evidence | None, where: str | None) -> Machine | None:
    """Return the machine of an earlier run, unless `where` (`--machine`) names the one to propose.

    A measurement is shown beside the machine it was made on, or beside one that will be bought and on which it proves
    no speed. Beside any other recorded machine it would pass for that machine's, which raises `UsageError`.
    """
    if evidence is None or where is None:
        return evidence.machine if evidence else None
    if evidence.smoke is not None and not where.startswith("plan:"):
        raise UsageError(
            f"The measurement in {evidence.folder} was made on its own machine, and --machine names another.",
            "Leave out --machine, or give a machine that will be bought (plan:NAMExN).",
        )
    return None


def _read(file: Path, model: type[Model]) -> Model | None:
    try:
        text = regular_bytes(file, MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read: {reason}.", "Check the file and its permissions.") from None
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(
            f"{file} is not what this selwiz writes: {place}: {first['msg']}.", "Make it again, or leave it out."
        ) from None
