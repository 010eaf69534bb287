"""What a rule says about a selection."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Severity = Literal["block", "warn", "note"]


class Finding(BaseModel):
    """The outcome of one rule on one selection.

    `rule` is the id (C3), `message` one plain sentence, `where` the key of the question to go to, `remedy` what to do.
    A finding of severity `block` makes the document a draft.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    severity: Severity
    message: str
    where: str
    remedy: str
