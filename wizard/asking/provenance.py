"""Where each value comes from: the source words of the document, and the order in which sources win."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

#: The words of the document's Source columns, weakest first; a derived value is as strong as its weakest input.
SourceWord = Literal["missing", "default", "answer", "catalogue", "probe", "measured", "derived", "tool"]

#: Where a value was taken from; the first that has one wins. `flag`, `answers` and `session` are all answers of a
#: person. `catalogue` stands in the place of `probe` where the machine is one that will be bought. `derived` is worked
#: out from other answers (the E2E ceiling from the time a task may take).
Layer = Literal["flag", "answers", "session", "probe", "catalogue", "derived", "default", "missing"]
PRECEDENCE: tuple[Layer, ...] = (
    "flag",
    "answers",
    "session",
    "probe",
    "catalogue",
    "derived",
    "default",
    "missing",
)

_WORDS: dict[Layer, SourceWord] = {
    "flag": "answer",
    "answers": "answer",
    "session": "answer",
    "probe": "probe",
    "catalogue": "catalogue",
    "derived": "derived",
    "default": "default",
    "missing": "missing",
}


class Origin(BaseModel):
    """Where one value was taken from.

    `detail` names the file, the reading or the source of the default; `author` the colleague whose file it came in;
    `raw` is the text as it was typed, where that differs from the parsed value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: Layer
    detail: str = ""
    author: str | None = None
    raw: str | None = None

    @property
    def word(self) -> SourceWord:
        """The word for the Source column of the document."""
        return _WORDS[self.layer]


MISSING = Origin(layer="missing")


def origin_of(origins: Mapping[str, Origin], key: str) -> Origin:
    """Where the value of `key` comes from; of a table of values (`engine.options[0].gates`), what wins among them."""
    if key in origins:
        return origins[key]
    inner = (origin for place, origin in origins.items() if place.startswith(f"{key}."))
    return min(inner, key=lambda origin: PRECEDENCE.index(origin.layer), default=MISSING)
