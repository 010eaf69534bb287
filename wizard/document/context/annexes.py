"""Annexes: the evidence with its hashes, the commands that repeat the document, and the formulas."""

import shlex
from itertools import pairwise

from probes.smoke.traces import HASH_SEED
from wizard.decision.proof import probed_machine
from wizard.decision.selection import Selection, answers_file
from wizard.document import formats
from wizard.document.context.common import Context
from wizard.document.markdown import CELL_LIMIT, Table
from wizard.machine import plan_of


def annexes(selection: Selection) -> Context:
    """Annex A and B; annex C is text of its own."""
    return {
        "evidence": _evidence(selection),
        "keeps_identifiers": any(file.file == "machine.json" for file in selection.evidence),
        "limit": formats.number(CELL_LIMIT),
        "commands": commands(selection),
        "search": selection.smoke is not None and any(p.kind == "search" for p in selection.smoke.points),
        "tpot_excluded": _excluded(selection),
    }


def _evidence(selection: Selection) -> Table | None:
    columns = ("Evidence id", "What", "File", "SHA-256", "When (UTC)", "Command id")
    rows = tuple((f.id, f.what, f.file, f.sha256, f.when, f.command) for f in selection.evidence)
    return Table(columns, rows) if rows else None


def _excluded(selection: Selection) -> str:
    if selection.smoke is None or not selection.smoke.points:
        return "no run"
    return formats.number(sum(point.excluded for point in selection.smoke.points))


def commands(selection: Selection) -> str:
    """The commands that lead to the same document, each with the id that the evidence names."""
    smoke = selection.smoke
    files = [row.file for row in selection.evidence if row.what == "Answers"] or [answers_file(0)]
    answers = " ".join(f"--answers EVIDENCE/{file}" for file in files)
    lines = [
        "CMD-1  selwiz probe --json > machine.json"
        if probed_machine(selection) is not None
        else "CMD-1  no machine was probed",
    ]
    if smoke is None:
        lines.append("CMD-2  no server was started: nothing was measured")
        lines.append("CMD-3  no load was sent: nothing was measured")
    else:
        started = smoke.runtime.command
        lines.append(f"CMD-2  {shown(started) if started else 'the endpoint was already running'}")
        search = " --search" if any(p.kind == "search" for p in smoke.points) else ""
        lines.append(f"CMD-3  selwiz smoke {answers} --mode {smoke.mode}{search} --yes --out EVIDENCE")
        lines.append(f"       load: PYTHONHASHSEED={HASH_SEED} {shown(smoke.load.command)}")
    lines.append(
        f"CMD-4  selwiz propose {answers}{_machine_options(selection)} --no-smoke "
        f"--date {selection.prepared_on.isoformat()} -o NAME.md"
    )
    return "\n".join(lines)


def _machine_options(selection: Selection) -> str:
    """Where the document's readings come from: the evidence, a plan, or both where a plan stands beside a run."""
    machine = selection.machine
    evidence = " --evidence EVIDENCE" if probed_machine(selection) is not None or selection.smoke is not None else ""
    if machine is None or not machine.planned:
        return evidence
    return f"{evidence} --machine {shlex.quote(plan_of(machine))}"


#: Flags whose value is a secret.
_SECRET_FLAGS = frozenset({"--api-key", "--hf-token", "--token", "--header"})


def shown(command: tuple[str, ...]) -> str:
    """A command line without secrets and folders of this machine: of an absolute path the last part stays."""
    words = []
    hide = False
    for before, word in pairwise(("", *command)):
        name, equals, value = word.partition("=")
        if hide:
            words.append("(secret)")
            hide = False
        elif name in _SECRET_FLAGS:
            words.append(f"{name}=(secret)" if equals else name)
            hide = not equals
        elif word.startswith("/") and before != "--endpoint":
            words.append(shlex.quote(word.rstrip("/").rpartition("/")[2]))
        elif equals and value.startswith("/"):
            words.append(f"{name}={shlex.quote(value.rstrip('/').rpartition('/')[2])}")
        else:
            words.append(shlex.quote(word))
    return " ".join(words)
