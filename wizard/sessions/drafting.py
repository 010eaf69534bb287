"""From what was gathered and measured to the finished text and its files; the wizard and `propose` both go this way."""

import datetime
import getpass
import platform
from dataclasses import dataclass
from pathlib import Path

from probes.smoke.result import SmokeResult
from wizard.asking.answers_writer import render_answers
from wizard.decision.assemble import assemble
from wizard.decision.gather import Gathered
from wizard.decision.selection import Selection, answers_file, to_json
from wizard.document.evidence import collect
from wizard.document.invariants import Private, brief_violations, violations
from wizard.document.render import render, render_brief
from wizard.document.write import Outputs, write_document
from wizard.errors import SelwizError


@dataclass(frozen=True)
class Draft:
    """A document and its brief that keep their own rules, the selection, and every evidence file by its name."""

    text: str
    brief: str
    selection: Selection
    evidence: dict[str, bytes]

    def write(self, target: Path, *, force: bool) -> Outputs:
        """Write the outputs beside each other; raises `CannotWriteError`."""
        return write_document(target, self.text, self.brief, to_json(self.selection), self.evidence, force=force)


def draft(gathered: Gathered, *, prepared_on: datetime.date, smoke: SmokeResult | None, folder: Path | None) -> Draft:
    """Render the document; `folder` holds the files of the smoke.

    Raises `SelwizError` if the text breaks one of the document's own invariants, which is a fault of this program.
    """
    selection = assemble(gathered, prepared_on=prepared_on, smoke=smoke)
    evidence = collect(selection, _answers_files(gathered), folder)
    selection = selection.model_copy(update={"evidence": evidence.rows})
    text, brief = render(selection), render_brief(selection)
    private = Private(host_name=platform.node() or None, home=str(Path.home()), user=getpass.getuser())
    broken = [*violations(text, selection, private), *brief_violations(brief, selection, private)]
    if broken:
        raise SelwizError(
            "The document breaks its own rules and is not written: "
            + "; ".join(f"{violation.rule}: {violation.message}" for violation in broken)
        )
    return Draft(text, brief, selection, dict(evidence.files))


def _answers_files(gathered: Gathered) -> dict[str, str]:
    """Each answers file by its name in the evidence, apart, so that every value keeps the colleague it came from."""
    return {
        answers_file(place): render_answers(
            layer.tree if layer.author is None else layer.tree | {"answered_by": layer.author},
            comments=False,
            blanks=False,
        )
        for place, layer in enumerate(gathered.layers)
    }
