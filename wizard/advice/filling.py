"""Decisions on strategies that nobody took: sensible ones are filled in, each a default with its reason."""

from collections.abc import Sequence

from probes.machine import Machine
from probes.models import ModelFacts
from wizard.advice.situation import situation_of
from wizard.advice.strategies import advise
from wizard.answers import Answers
from wizard.answers.engine import StrategyAnswer
from wizard.provenance import Origin

#: What the document names as the source of such a decision.
SOURCE = "the facts of model, machine and workload"


def carried_facts(answers: Answers, models: Sequence[ModelFacts | None]) -> ModelFacts | None:
    """The facts of the model that this selection carries; `models` runs beside `answers.engine.models`."""
    pairs = zip(answers.engine.models, models, strict=False)
    return next((facts for model, facts in pairs if model.carried_here), None)


def fill_strategies(
    answers: Answers, origins: dict[str, Origin], models: Sequence[ModelFacts | None], machine: Machine | None
) -> tuple[Answers, dict[str, Origin]]:
    """Fill the decisions that the facts suggest into the answers; what a person decided stays as it is.

    Returns the filled answers and all origins. A strategy that does not matter here gets no decision.
    """
    situation = situation_of(answers, carried_facts(answers, models), machine)
    given, filled = dict(answers.engine.strategies), dict(origins)
    for advice in advise(situation):
        known = given.get(advice.id)
        if advice.decision is None or (known is not None and known.decision is not None):
            continue
        reason = known.reason if known else None
        given[advice.id] = StrategyAnswer(decision=advice.decision, reason=reason or advice.reason)
        keys = [f"engine.strategies.{advice.id}.decision"]
        keys += [] if reason else [f"engine.strategies.{advice.id}.reason"]
        filled |= {key: Origin(layer="default", detail=SOURCE) for key in keys}
    engine = answers.engine.model_copy(update={"strategies": given})
    return answers.model_copy(update={"engine": engine}), filled
