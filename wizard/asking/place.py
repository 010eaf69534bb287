"""What a question shows: the text, the value, the state, and text that cannot be used."""

from dataclasses import dataclass

from wizard.asking.questions import Question


@dataclass(frozen=True)
class Rejected:
    """Text that cannot be used, as it was typed, and why."""

    raw: str
    message: str


@dataclass(frozen=True)
class Place:
    """What one question shows: the text, the value that holds without one, the state in words, and what is wrong.

    `note` says what was made of a text that was not taken as it stood.
    """

    key: str
    question: Question
    raw: str
    fallback: str
    state: str
    source: str
    problem: str | None
    note: str = ""
