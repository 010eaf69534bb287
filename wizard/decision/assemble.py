"""From what was gathered and measured to a selection with its findings."""

import datetime

from probes.machine import Machine
from probes.recorded import without_home
from probes.smoke.result import SmokeResult
from wizard import __version__
from wizard.asking.open_answers import open_answers
from wizard.asking.provenance import Origin
from wizard.budget import engine_line, runtime_line
from wizard.decision.gather import Gathered
from wizard.decision.selection import EvidenceFile, Selection, Tool, answers_file
from wizard.rules import check
from wizard.serving.launch import launch
from wizard.sizing.gpus import common_types
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
    machine = _machine(gathered.machine, prepared_on)
    selection = Selection(
        tool=Tool(version=__version__, template=TEMPLATE_VERSION, schema_version=SCHEMA_VERSION),
        prepared_on=prepared_on,
        answers=answers,
        origins=_origins(gathered),
        models=gathered.models,
        machine=machine,
        measured_on=_machine(gathered.measured_on, prepared_on),
        launch=command,
        sizing=proposed_sizing(answers, command, machine, gathered.configuration, gathered.weights, common_types()),
        smoke=smoke,
        engine_line=engine_line(answers.budget.engine),
        runtime_line=runtime_line(answers.budget.runtime),
        open_answers=open_answers(answers),
        evidence=evidence,
    )
    return selection.model_copy(update={"findings": check(selection)})


def _origins(gathered: Gathered) -> dict[str, Origin]:
    """The origins, each answer naming its file in the evidence.

    The name that the file had here is of no use elsewhere, may hold a person's name, and would make the same answers
    another selection.
    """
    names = {layer.name: answers_file(place) for place, layer in reversed(list(enumerate(gathered.layers)))}
    return {
        key: origin.model_copy(update={"detail": names[origin.detail]}) if origin.layer == "answers" else origin
        for key, origin in gathered.origins.items()
    }


def _machine(machine: Machine | None, prepared_on: datetime.date) -> Machine | None:
    """The machine as it may be handed on; one that will be bought was read at no moment: it has the document's day."""
    if machine is None:
        return None
    if machine.planned:
        midnight = datetime.datetime.combine(prepared_on, datetime.time(), datetime.UTC)
        machine = machine.model_copy(update={"taken_at": midnight})
    return without_home(machine)
