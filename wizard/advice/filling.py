"""Decisions on strategies and results of gates that nobody gave: filled in where the facts give them, as defaults."""

from collections.abc import Sequence

from probes.machine import Machine
from probes.models import ModelFacts
from wizard.advice.options import STANDARD_GATES, gates_of, rejection_of
from wizard.advice.situation import situation_of
from wizard.advice.strategies import advise
from wizard.answers import Answers, EngineOption
from wizard.answers.engine import Gate, StrategyAnswer
from wizard.asking.provenance import Origin

#: What the document names as the source of such a decision.
SOURCE = "the facts of model, machine and workload"


def carried_facts(answers: Answers, models: Sequence[ModelFacts | None]) -> ModelFacts | None:
    """The facts of the model that this selection carries; `models` runs beside `answers.engine.models`."""
    pairs = zip(answers.engine.models, models, strict=False)
    return next((facts for model, facts in pairs if model.carried_here), None)


def fill_strategies(
    answers: Answers,
    origins: dict[str, Origin],
    models: Sequence[ModelFacts | None],
    machine: Machine | None,
    *,
    fits: bool | None = None,
) -> tuple[Answers, dict[str, Origin]]:
    """Fill the decisions that the facts suggest into the answers; what a person decided stays as it is.

    `fits` is what the sizing says of the model on the proposed GPUs; None where there is none yet. Returns the filled
    answers and all origins. A strategy that does not matter here gets no decision.
    """
    situation = situation_of(answers, carried_facts(answers, models), machine, fits=fits)
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


def fill_options(
    answers: Answers, origins: dict[str, Origin], models: Sequence[ModelFacts | None], machine: Machine | None
) -> tuple[Answers, dict[str, Origin]]:
    """Fill the gates of the options, their results and the reasons against those that fail one, from the facts.

    The standard gates are taken where nobody named any. What a person gave stays; returns answers and origins.
    """
    given = answers.engine
    if not given.options:
        return answers, origins
    situation, filled = situation_of(answers, carried_facts(answers, models), machine), dict(origins)
    gates = given.gates
    if not any(gate.name for gate in gates):
        gates = tuple(Gate(name=name) for name in STANDARD_GATES)
        filled |= {f"engine.gates[{i}].name": Origin(layer="default", detail=SOURCE) for i in range(len(gates))}
    names = {gate.name for gate in gates if gate.name}
    options = []
    for index, option in enumerate(given.options):
        key = f"engine.options[{index}]"
        results = {g.name: g.result for g in gates_of(option, situation) if g.name in names - option.gates.keys()}
        changes: dict[str, object] = {"gates": {**option.gates, **results}} if results else {}
        filled |= {f"{key}.gates.{name}": Origin(layer="default", detail=SOURCE) for name in results}
        reason = None if option.rejected_because or _is_chosen(option, answers) else rejection_of(option, situation)
        if reason and "fail" in results.values():
            changes["rejected_because"] = reason
            filled[f"{key}.rejected_because"] = Origin(layer="default", detail=SOURCE)
        options.append(option.model_copy(update=changes))
    engine = given.model_copy(update={"gates": gates, "options": tuple(options)})
    return answers.model_copy(update={"engine": engine}), filled


def _is_chosen(option: EngineOption, answers: Answers) -> bool:
    return option.name is not None and option.name == answers.engine.chosen
