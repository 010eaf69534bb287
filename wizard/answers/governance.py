"""Answers about approvals, risks, assumptions and what is still open."""

import datetime
from typing import ClassVar

from wizard.answers.field import Amount, Table, Text, ask, rows


class Approval(Table):
    """One signature that the document needs. Decision and date are written by people, never here."""

    section: ClassVar[str] = "governance"

    role: Text | None = ask("Approving role", "Engine, runtime and each line are approved by somebody.")
    name: Text | None = ask("Name or post", "Who signs.")
    covers: Text | None = ask("Covers", "Which section or line this signature is for.")
    condition: Text | None = ask("Proposed condition", "A condition that the approver may adopt.", advanced=True)


class Risk(Table):
    """Something that may happen and what it would do."""

    section: ClassVar[str] = "governance"

    text: Text | None = ask("Risk", "A risk that is named can be owned.")
    owner: Text | None = ask("Owner of the risk", "Who watches it.")
    due: datetime.date | None = ask("Due", "When it is looked at again.")
    consequence: Text | None = ask("If it happens", "What it would do to the selection.")


class Assumption(Table):
    """Something taken as true without proof."""

    section: ClassVar[str] = "governance"

    text: Text | None = ask("Assumption", "What the selection rests on without proof.")
    owner: Text | None = ask("Owner of the assumption", "Who finds out whether it holds.")
    due: datetime.date | None = ask("Due", "When it must be known.")
    consequence: Text | None = ask("If it is false", "What changes in the selection then.")


class OpenQuestion(Table):
    """Something not decided yet: an answer left open, or a question of its own."""

    section: ClassVar[str] = "governance"

    key: Text | None = ask("Key of the open answer", "Connects the question with the answer it will give.")
    text: Text | None = ask("Question", "What has to be found out.")
    owner: Text | None = ask("Owner of the question", "Who answers it.")
    due: datetime.date | None = ask("Due", "When the answer is needed.")
    phase: Text | None = ask("Needed before", "Approval or launch: decides what an open answer holds up.")
    consequence: Text | None = ask("If it stays open", "What the selection loses.")


class Range(Table):
    """Two ends of a number that nobody knows better; the middle holds until the answer itself is given."""

    section: ClassVar[str] = "governance"

    key: Text | None = ask("Key of the value", "The number that lies between the two ends.")
    low: Amount | None = ask("Lowest", "The document states both ends and calculates with the middle.")
    high: Amount | None = ask("Highest", "The document states both ends and calculates with the middle.")
    source_ref: Text | None = ask("What the range rests on", "An estimate without its basis cannot be judged.")


class Governance(Table):
    """Who decides, what may go wrong, and what is open."""

    section: ClassVar[str] = "governance"

    small_team: bool | None = ask(
        "One small team",
        "A small team may own both lines; the document then says so instead of warning.",
        advanced=True,
    )
    ai_register: Text | None = ask(
        "Register of AI systems",
        "Some laws and organisations want an AI system listed before it is used; legal asks for the entry.",
        advanced=True,
    )
    approvals: tuple[Approval, ...] = rows("Approvals", "The signatures the document needs, each with what it covers.")
    risks: tuple[Risk, ...] = rows("Risks", "What may go wrong, with an owner.")
    assumptions: tuple[Assumption, ...] = rows("Assumptions", "What is taken as true, with an owner.", advanced=True)
    open_questions: tuple[OpenQuestion, ...] = rows(
        "Open questions", "What is not decided, with an owner and a date.", advanced=True
    )
    ranges: tuple[Range, ...] = rows(
        "Values given as a range", "What is only known between two ends; the middle is used.", advanced=True
    )
