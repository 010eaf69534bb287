"""The evidence: the files behind the figures, with their hashes.

Files of a smoke are taken as they lie in its folder; the machine, the answers and the extract of the catalogue are made
here. Reading happens in `collect` only.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from probes.machine import Machine
from probes.recorded import without_home
from probes.smoke.result import SmokeResult
from wizard.artefacts import artefacts
from wizard.catalogue import engine_id, engines, model_facts, strategies
from wizard.decision.proof import probed_machine
from wizard.decision.selection import EvidenceFile, Selection
from wizard.document import formats
from wizard.errors import UsageError
from wizard.machine import gpu_of

#: What a smoke leaves that belongs to the evidence: what it is, and the command that made it. Nothing else in the
#: folder is taken, so that a person's own file never ends up in it.
_SMOKE_FILES: tuple[tuple[str, str, str], ...] = (
    (r"smoke\.json", "Result of the runs", "CMD-3"),
    (r"server\.log", "Server log", "CMD-2"),
    (r"metrics\.txt", "Metrics before, during, after", "CMD-3"),
    (r"server_info\.json", "Settings of the running server", "CMD-2"),
    (r"trace-[\w.-]+\.jsonl", "Load of a run, token counts and prefixes", "CMD-3"),
    (r"bench-[\w.-]+\.json", "Single requests of a run", "CMD-3"),
    (r"load-[\w.-]+\.log", "Log of the load tool", "CMD-3"),
)
MACHINE, CATALOGUE = "machine.json", "catalogue.json"
_ARTEFACTS = {
    "launch.sh": "Start of the runtime, shell",
    "compose.yaml": "Start of the runtime, Compose",
    "kubernetes.yaml": "Start of the runtime, Kubernetes",
    "alerts.yaml": "Alert rules, Prometheus",
}


class Evidence(NamedTuple):
    """The rows of Annex A and the content of every file by its name."""

    rows: tuple[EvidenceFile, ...]
    files: dict[str, bytes]


class _Made(NamedTuple):
    what: str
    file: str
    data: bytes
    when: str
    command: str


def collect(selection: Selection, answers: Mapping[str, str], folder: Path | None = None) -> Evidence:
    """Return the evidence of a selection: machine, answers, smoke, catalogue and launch artefacts.

    The files of the smoke lie in `folder`, `answers` are the texts of the answers files by their names. A machine that
    will be bought is in no file: its figures are the catalogue's. A file of the smoke that is not there is left out:
    its row would name a hash of nothing. Raises `UsageError` if one cannot be read.
    """
    day = selection.prepared_on.isoformat()
    made = []
    probed = probed_machine(selection)
    if probed is not None:
        made.append(_machine(probed, folder))
    made += [_Made("Answers", name, text.encode(), day, "CMD-4") for name, text in answers.items()]
    if folder is not None and selection.smoke is not None:
        made += _smoke_files(folder, selection.smoke)
    made.append(_Made("Catalogue extract", CATALOGUE, catalogue_extract(selection), day, "CMD-4"))
    made += [_Made(_ARTEFACTS[name], name, data, day, "CMD-4") for name, data in artefacts(selection).items()]
    rows = tuple(
        EvidenceFile(
            id=f"EV-{position}",
            what=file.what,
            file=file.file,
            sha256=hashlib.sha256(file.data).hexdigest(),
            when=file.when,
            command=file.command,
        )
        for position, file in enumerate(made, 1)
    )
    return Evidence(rows, {file.file: file.data for file in made})


def _machine(machine: Machine, folder: Path | None) -> _Made:
    """The machine as it was probed, or as the folder holds it, so that a file that is there stays as it is."""
    taken = formats.utc(machine.taken_at.astimezone(datetime.UTC).isoformat())
    data = machine_file(machine)
    held = None if folder is None else folder / MACHINE
    if held is not None and held.is_file() and _is_file_of(machine, there := _read(held)):
        data = there
    return _Made("Machine as probed", MACHINE, data, taken, "CMD-1")


def _is_file_of(machine: Machine, data: bytes) -> bool:
    try:
        return without_home(Machine.model_validate_json(data)) == machine
    except ValueError:
        return False


def machine_file(machine: Machine) -> bytes:
    """The machine as it was probed for this document, so that the same evidence gives the same document again."""
    return (machine.model_dump_json(indent=2) + "\n").encode()


def _smoke_files(folder: Path, smoke: SmokeResult) -> list[_Made]:
    when = formats.utc(smoke.ended_at)
    made = []
    for pattern, what, command in _SMOKE_FILES:
        for path in sorted(folder.iterdir()):
            if not re.fullmatch(pattern, path.name) or not path.is_file():
                continue
            made.append(_Made(what, path.name, _read(path), when, command))
    return made


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Give yourself read permission, or leave it out."
        ) from None


def catalogue_extract(selection: Selection) -> bytes:
    """The rows of the catalogue that the document rests on, each with its source and the day it was read."""
    answers = selection.answers
    names = (answers.engine.chosen, answers.runtime.product, *(option.name for option in answers.engine.options))
    used = sorted({found for name in names if (found := engine_id(name)) is not None})
    known = strategies()
    planned = selection.machine.gpus[:1] if selection.machine is not None and selection.machine.planned else ()
    extract = {
        "gpus": [row.model_dump(mode="json") for gpu in planned if (row := gpu_of(gpu)) is not None],
        "engines": [engines()[name].model_dump(mode="json") for name in used],
        "strategies": [known[name].model_dump(mode="json") for name in selection.launch.strategies if name in known],
        "models": [
            facts.model_dump(mode="json")
            for model in answers.engine.models
            if (facts := model_facts(model.name)) is not None
        ],
    }
    return (json.dumps(extract, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
