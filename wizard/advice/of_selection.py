"""The situation of a whole selection, in which the sizing has said already whether the model fits."""

from wizard.advice.filling import carried_facts
from wizard.advice.situation import Situation, situation_of
from wizard.decision.selection import Selection


def situation_in(selection: Selection) -> Situation:
    """What is known of model, machine and workload in a selection."""
    facts = carried_facts(selection.answers, selection.models)
    sized = selection.sizing.sizing if selection.sizing else None
    fits = sized.fits if sized else None
    return situation_of(selection.answers, facts, selection.machine, fits=fits, command=selection.launch)
