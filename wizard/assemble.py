"""From what was gathered and measured to a selection with its findings."""

import datetime
from pathlib import PurePath

from probes.recorded import without_home
from probes.smoke.result import SmokeResult
from wizard import __version__
from wizard.budget import engine_line, runtime_line
from wizard.gather import Gathered
from wizard.launch import launch
from wizard.open_answers import open_answers
from wizard.provenance import Origin
from wizard.rules import check
from wizard.selection import EvidenceFile, Selection, Tool
from wizard.sizing.proposed import proposed_sizing

#: Raised when the document's outline changes.
TEMPLATE_VERSION = 1
SCHEMA_VERSION = 1


def assemble(
    gathered: Gathered,
    *,
    prepared_on: datetime.date,
    smoke: SmokeResult | None = None,
    evidence: tuple[EvidenceFile, ...] = (),
) -> Selection:
    """Put everything that is known into one selection and run the rules on it."""
    answers, command = gathered.answers, launch(gathered.answers)
    machine = without_home(gathered.machine) if gathered.machine else None
    selection = Selection(
        tool=Tool(version=__version__, template=TEMPLATE_VERSION, schema_version=SCHEMA_VERSION),
        prepared_on=prepared_on,
        answers=answers,
        origins={key: _without_folder(origin) for key, origin in gathered.origins.items()},
        models=gathered.models,
        machine=machine,
        launch=command,
        sizing=proposed_sizing(answers, command, machine, gathered.configuration, gathered.weights),
        smoke=smoke,
        engine_line=engine_line(answers.budget.engine),
        runtime_line=runtime_line(answers.budget.runtime),
        open_answers=open_answers(answers),
        evidence=evidence,
    )
    return selection.model_copy(update={"findings": check(selection)})


def _without_folder(origin: Origin) -> Origin:
    """Keep the name of an answers file only: its folder is of no use elsewhere and may hold a person's name."""
    if origin.layer != "answers":
        return origin
    return origin.model_copy(update={"detail": PurePath(origin.detail).name})
