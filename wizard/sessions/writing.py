"""From the session to what is checked, measured and written; no screen in between."""

import datetime
import difflib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from probes.machine import Machine
from probes.smoke.result import SmokeResult
from wizard.decision.assemble import assemble
from wizard.decision.gather import Gathered, gather_layers
from wizard.decision.selection import Selection
from wizard.errors import UsageError
from wizard.paths import state_dir
from wizard.sessions.session import Session
from wizard.sessions.snapshot import Snapshot
from wizard.smoke.evidence_folder import machine_beside, measured_on, read_evidence
from wizard.smoke.state import DEFAULT_CHOICES, SmokeChoices

if TYPE_CHECKING:
    from probes.smoke.plan import SmokeRequest
    from wizard.sessions.drafting import Draft


def today() -> datetime.date:
    """The date of the document."""
    return datetime.datetime.now(datetime.UTC).date()


def gathered_of(snapshot: Snapshot, machine: Machine | None) -> tuple[Gathered, SmokeResult | None, Path | None]:
    """The answers in force, the measurement and its folder; a measurement brings the machine it was made on.

    Raises `UsageError` for a measurement beside the recorded machine of a selection: it would pass for that machine's.
    """
    smoke, folder, elsewhere = None, None, None
    if snapshot.smoke_dir and Path(snapshot.smoke_dir).is_dir():
        given = read_evidence(Path(snapshot.smoke_dir))
        smoke, folder = given.smoke, given.folder
        if snapshot.where:
            machine_beside(given, snapshot.where)
            elsewhere = measured_on(given, machine)
        else:
            machine = given.machine
    gathered = gather_layers([snapshot.layer], machine=machine, probe=False)
    return replace(gathered, measured_on=elsewhere), smoke, folder


def selection_of(snapshot: Snapshot, machine: Machine | None) -> Selection:
    """The selection with its findings; raises `UsageError` where the answers name a model folder that is none."""
    gathered, smoke, _ = gathered_of(snapshot, machine)
    return assemble(gathered, prepared_on=today(), smoke=smoke)


def draft_of(session: Session, machine: Machine | None, day: datetime.date | None = None) -> "Draft":
    """The finished document; raises `UsageError` without a title."""
    from wizard.sessions.drafting import draft

    gathered, smoke, folder = gathered_of(Snapshot.of(session), machine)
    if not gathered.answers.project.title:
        raise UsageError("The project has no title yet, and a document needs one.", "Answer it in step 1.")
    return draft(gathered, prepared_on=day or today(), smoke=smoke, folder=folder)


def smoke_request_of(
    snapshot: Snapshot, machine: Machine | None, vllm: Path | None, choices: SmokeChoices = DEFAULT_CHOICES
) -> "SmokeRequest":
    """What the smoke of this session is asked to do; each run has a folder of its own."""
    from wizard.smoke.request import SmokeOptions, smoke_request

    moment = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S")
    folder = state_dir() / "smoke" / f"{snapshot.name}-{moment}"
    gathered = gather_layers([snapshot.layer], machine=machine, probe=False)
    return smoke_request(
        gathered,
        SmokeOptions(
            out_dir=folder,
            state_dir=state_dir(),
            vllm=vllm,
            search=choices.search,
            resume=choices.resume,
            prompts=Path(choices.prompts).expanduser() if choices.prompts else None,
        ),
    )


def import_smoke(snapshot: Snapshot, machine: Machine | None, file: Path) -> tuple[SmokeResult, Path]:
    """Take a result file of vLLM's load tool over, and say where it lies now. Raises `ProbeError` or `UsageError`."""
    from probes.smoke.imported import import_result
    from probes.smoke.report import utc_now

    request = smoke_request_of(snapshot, machine, None).model_copy(update={"mode": "tiny"})
    return import_result(file, request, utc_now()), request.out_dir


def keep_machine(folder: Path, machine: Machine | None) -> None:
    """Put the machine beside its measurement."""
    if machine is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "machine.json").write_text(machine.model_dump_json(indent=2) + "\n", encoding="utf-8")


def default_target(title: str, day: datetime.date) -> str:
    """The name that is offered for the document."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60].strip("-") or "project"
    return f"technology-selection-{words}-{day.isoformat()}.md"


def diff_of(old: Path, text: str) -> str:
    """What would change in an existing document, as a unified diff."""
    try:
        before = old.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return f"{old} cannot be compared: {error}"
    lines = list(difflib.unified_diff(before, text.splitlines(), str(old), "new", lineterm="", n=1))
    return "\n".join(lines) or "Nothing in the document would change."


def questions_for_colleagues(session: Session) -> dict[str, str]:
    """For each colleague who was asked, the file of questions, by its name."""
    from wizard.asking.answers_writer import render_answers

    waiting: dict[str, set[str]] = {}
    for row in session.rows("governance.open_questions"):
        if row.get("key") and row.get("owner"):
            waiting.setdefault(str(row["owner"]), set()).add(str(row["key"]))
    files = {}
    for owner, keys in waiting.items():
        name = re.sub(r"[^a-z0-9]+", "-", owner.casefold()).strip("-") or "colleague"
        tree = {**session.tree, "answered_by": owner}
        files[f"questions-{name}.toml"] = render_answers(tree, wanted=lambda key, keys=keys: key in keys)  # type: ignore[misc]
    return files
