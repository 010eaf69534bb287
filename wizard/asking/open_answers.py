"""What nobody has answered yet, with whom it waits, and what is merely not given.

An answer is open when it is asked, has a meaning here, has neither value nor default, and the document needs it. What
only refines another answer may stay away; it is counted apart and never called open.
"""

import datetime
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from wizard.answers import Answers, Table
from wizard.asking.questions import applies, leaves, row_type


class OpenAnswer(BaseModel):
    """An answer that nobody has given yet, with the person and the day it is waited for, where known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    title: str
    owner: str | None
    due: datetime.date | None


def open_answers(answers: Answers) -> tuple[OpenAnswer, ...]:
    """Every answer that the document needs and nobody has given, in the order of the questions.

    A question that only refines another one (`advanced`) may stay unanswered; one that has no meaning for its row, such
    as the unit price of an item that is not needed, is not asked.
    """
    asked = {question.key: question for question in answers.governance.open_questions if question.key}
    found = []
    for key, title in _unanswered(answers):
        question = asked.get(key)
        owner = question.owner if question and question.owner else _owner(answers, key)
        found.append(OpenAnswer(key=key, title=title, owner=owner, due=question.due if question else None))
    return tuple(found)


def refinements_not_given(answers: Answers) -> int:
    """How many questions that only refine others have no answer and no default, where they have a meaning."""
    return sum(leaf.value is None and leaf.question.advanced and applies(leaf, answers) for leaf in leaves(answers))


def open_words(answers: Answers) -> str:
    """The two counts as every command says them: "3 answers open, 12 refinements not given"."""
    waiting, finer = len(open_answers(answers)), refinements_not_given(answers)
    return (
        f"{waiting} {'answer' if waiting == 1 else 'answers'} open, "
        f"{finer} {'refinement' if finer == 1 else 'refinements'} not given"
    )


def _unanswered(answers: Answers) -> Iterator[tuple[str, str]]:
    yield from _empty_lists(answers, "")
    for leaf in leaves(answers):
        if leaf.value is None and not leaf.question.advanced and applies(leaf, answers):
            yield leaf.key, leaf.question.title


def _empty_lists(table: Table, at: str) -> Iterator[tuple[str, str]]:
    for name, field in type(table).model_fields.items():
        value = getattr(table, name)
        key = f"{at}.{name}" if at else name
        if isinstance(value, Table):
            yield from _empty_lists(value, key)
        elif row_type(field.annotation) is not None and not value:
            extra = field.json_schema_extra
            if isinstance(extra, dict) and not extra["advanced"]:
                yield key, field.title or key


def _owner(answers: Answers, key: str) -> str | None:
    """Who owns the part of the answers that the key stands in."""
    if key.startswith("budget.engine"):
        return answers.budget.engine.owner
    if key.startswith("budget.runtime"):
        return answers.budget.runtime.owner
    if key.startswith("engine"):
        return answers.engine.owner
    if key.startswith("runtime"):
        return answers.runtime.owner
    return answers.project.author
