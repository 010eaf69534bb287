"""The sizing that stands beside the questions, of the answers as they would be with what is being typed."""

import copy
from collections.abc import Mapping

from probes.errors import ProbeError
from probes.machine import Machine
from probes.models import facts_of
from wizard.advice.filling import fill_strategies
from wizard.answers import Answers
from wizard.asking import tree
from wizard.asking.answers_file import Merged, problems_of, validate
from wizard.asking.defaults import fill
from wizard.asking.questions import question_of
from wizard.asking.typed import UnusableError, parse
from wizard.decision.gather import carried_configuration
from wizard.errors import SelwizError
from wizard.serving.launch import launch
from wizard.sessions.session import Session
from wizard.sizing.answer import ProposedSizing
from wizard.sizing.proposed import proposed_sizing


def answers_with(session: Session, key: str, raw: str) -> Answers:
    """The answers in force if `raw` were taken as the answer of `key`; those in force where it cannot be used."""
    return supposed(session, {key: raw})[0]


def supposed(session: Session, texts: Mapping[str, str]) -> tuple[Answers, dict[str, str]]:
    """The answers in force if these texts were taken, and why some cannot be; the session stays as it is."""
    new, problems = copy.deepcopy(session.tree), {}
    for key, raw in texts.items():
        question = question_of(key)
        if question is None:
            problems[key] = "is not a question"
            continue
        tried = copy.deepcopy(new)
        try:
            value = parse(question, raw)
        except UnusableError as error:
            problems[key] = str(error)
            continue
        if value is None:
            tree.drop(tried, key)
        else:
            tree.put(tried, key, value)
        if found := problems_of(tried):
            problems[key] = found[0].message
        else:
            new = tried
    if len(problems) == len(texts):
        return session.in_force, problems
    return fill(validate(Merged(tree=new, origins={})), {}, session.machine)[0], problems


def live_sizing(answers: Answers, machine: Machine | None) -> ProposedSizing | None:
    """The sizing of these answers; None where they carry no model."""
    try:
        configuration, weights = carried_configuration(answers)
        facts = facts_of(configuration) if configuration else None
        models = [facts if model.carried_here else None for model in answers.engine.models]
        answers, _ = fill_strategies(answers, {}, models, machine)  # as the document does, because switches follow
        return proposed_sizing(answers, launch(answers), machine, configuration, weights)
    except (SelwizError, ProbeError) as error:
        return ProposedSizing(model="the model", because=error.message)
