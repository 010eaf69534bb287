"""A selection: everything known about one decision. The document is its rendering."""

import datetime
import functools
import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from probes.machine import Machine
from probes.models import ModelFacts
from probes.smoke.result import SmokeResult
from wizard.answers import Answers
from wizard.asking.open_answers import OpenAnswer
from wizard.asking.provenance import Origin, SourceWord, origin_of
from wizard.budget import EngineLine, RuntimeLine
from wizard.decision.finding import Finding
from wizard.serving.launch import Launch
from wizard.sizing.answer import ProposedSizing


class Tool(BaseModel):
    """Facts of selwiz itself: its version and those of its template and of the selection file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    template: int
    schema_version: int


class EvidenceFile(BaseModel):
    """One file behind the figures. `id` is EV-1 and so on, `command` the CMD id that made it, `when` in UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    what: str
    file: str
    sha256: str
    when: str
    command: str


def answers_file(position: int) -> str:
    """The name of an answers file in the evidence, by its place among those that were given, from 0."""
    return f"answers-{position + 1}.toml" if position else "answers.toml"


class Selection(BaseModel):
    """Everything the document is rendered from; nothing else goes into it.

    `answers` has defaults filled in; `origins` says for every key (`runtime.layout.tensor_parallel`,
    `engine.models[0].name`) where its value comes from. `models` runs beside `answers.engine.models`. `machine` and
    `smoke` are None where nothing was probed or measured; `measured_on` is None unless the run's machine is another one
    than `machine`, which will be bought. `sizing` is None where no model is carried.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    tool: Tool
    prepared_on: datetime.date
    answers: Answers
    origins: dict[str, Origin]
    models: tuple[ModelFacts | None, ...] = ()
    machine: Machine | None = None
    launch: Launch
    sizing: ProposedSizing | None = None
    measured_on: Machine | None = None
    smoke: SmokeResult | None = None
    engine_line: EngineLine
    runtime_line: RuntimeLine
    findings: tuple[Finding, ...] = ()
    open_answers: tuple[OpenAnswer, ...] = ()
    evidence: tuple[EvidenceFile, ...] = ()

    @property
    def status(self) -> Literal["draft", "proposed"]:
        """`draft` while anything blocks, else `proposed`; no other status is ever written by this program."""
        return "draft" if any(f.severity == "block" for f in self.findings) else "proposed"

    def origin(self, key: str) -> Origin:
        """Where the value of `key` comes from; a key without an origin is missing."""
        return origin_of(self.origins, key)

    def source(self, *keys: str) -> SourceWord:
        """The source word of a cell made from these answers: the weakest of theirs."""
        order: tuple[SourceWord, ...] = ("missing", "default", "answer", "derived", "catalogue", "probe")
        words = [self.origin(key).word for key in keys]
        return min(words, key=order.index)


def to_json(selection: Selection) -> str:
    """The selection file: the same selection gives the same bytes (sorted keys, final newline)."""
    return _text(_Itself(selection))


class _Itself:
    """A selection as a key: the object, not its thousand values. It is frozen, so its text stays what it was."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def __hash__(self) -> int:
        return id(self.selection)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.selection is self.selection


@functools.lru_cache(maxsize=1)
def _text(itself: _Itself) -> str:
    data = itself.selection.model_dump(mode="json")
    return json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def content_hash(selection: Selection) -> str:
    """SHA-256 of the selection file, which the document prints."""
    return hashlib.sha256(to_json(selection).encode()).hexdigest()
