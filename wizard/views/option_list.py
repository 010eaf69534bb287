"""The engine options as a screen shows them: which may be added, how each passes the gates, and the facts behind it."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from wizard.advice.of_selection import situation_in
from wizard.advice.options import Gate, gates_of
from wizard.answers import EngineOption
from wizard.asking.answers_file import Tree
from wizard.catalogue import engines
from wizard.decision.selection import Selection
from wizard.decision.weighing import robustness, score
from wizard.printable import printable


class Choice(NamedTuple):
    """One option that may be added; an empty name is one of the person's own."""

    name: str
    kind: str
    words: str


def choices() -> list[Choice]:
    """What may be added: the engines of the catalogue, the two ways without one, and an engine of one's own."""
    rows = [
        Choice(row.name, "engine", f"{row.name:<22.21}{row.role}, {row.licence}"[:70]) for row in engines().values()
    ]
    return [
        *rows,
        Choice("Managed API", "managed_api", "Managed API           somebody else runs the engine"),
        Choice("Do nothing", "do_nothing", "Do nothing            what happens without this project"),
        Choice("", "engine", "Another engine        with its own facts, typed below"),
    ]


def names_of_option(index: int, selection: Selection | None) -> dict[str, list[str]]:
    """The gates and the criteria that one option is asked about, by the field that holds them."""
    if selection is None:
        return {}
    known, engine = _known(selection), selection.answers.engine
    gates = [gate.name for gate in engine.gates if gate.name]
    gates += [name for name in known[index].gates if name not in gates] if index < len(known) else []
    scored = [criterion.name for criterion in engine.criteria if criterion.name]
    scored += [name for name in known[index].scores if name not in scored] if index < len(known) else []
    return {"gates": gates, "scores": scored}


def option_lines(rows: Sequence[Tree], selection: Selection | None) -> list[str]:
    """One line for each option: its name, its kind, how many gates it passes, and why it was rejected."""
    known = _known(selection)
    lines = []
    for number, row in enumerate(rows, 1):
        option = known[number - 1] if number <= len(known) else None
        name = printable(str(row.get("name") or "nothing typed yet"))
        gates = _counted(option) if option else "gates are being checked"
        reason = printable(str((option.rejected_because if option else None) or row.get("rejected_because") or ""))
        lines.append(f"{number:>3}  {name:<24.23}{gates:<28}{reason}".rstrip())
    return lines or ["     none yet: Enter adds one"]


def about_option(index: int, selection: Selection | None) -> list[str]:
    """What stands beside one option: every gate with its result and the fact behind it."""
    known = _known(selection)
    if index >= len(known) or selection is None:
        return ["Engine options", "", "The gates are checked when the typing stops.", ""]
    option, facts = known[index], _facts(known[index], selection)
    lines = [printable(option.name or "no name yet"), "", "An option that fails a gate is not scored.", ""]
    for name, result in option.gates.items():
        fact = facts.get(name)
        origin = selection.origin(f"engine.options[{index}].gates.{name}")
        words = "by default" if origin.layer == "default" else "as you said"
        lines.append(f"{printable(name)}: {result}, {words}" + (f" ({fact.fact})" if fact else ""))
    if option.rejected_because:
        lines += ["", f"Rejected because {printable(option.rejected_because)}"]
    return [*lines, "", "Enter edits it, a adds one, Delete removes it."]


def about_criteria(selection: Selection | None) -> list[str]:
    """What stands beside the criteria: whether the weights are 100, the scores, and whether the order holds."""
    lines = ["Criteria", "", "All weights together are 100, and are fixed before any measurement.", ""]
    if selection is None:
        return lines
    weights = {c.name: c.weight for c in selection.answers.engine.criteria if c.name and c.weight is not None}
    lines.append(f"Weights so far: {sum(weights.values())} of 100")
    scored = {
        option.name: option.scores
        for option in _known(selection)
        if option.name and option.scores and "fail" not in option.gates.values()
    }
    totals = {name: score(weights, given) for name, given in scored.items()}
    lines += [f"{printable(name)}: {total}" for name, total in totals.items() if total is not None]
    return [
        *lines,
        "",
        printable(robustness(weights, scored)),
        "",
        "Enter edits a row, a adds one, Delete removes one.",
    ]


def _known(selection: Selection | None) -> tuple[EngineOption, ...]:
    return selection.answers.engine.options if selection else ()


def _facts(option: EngineOption, selection: Selection) -> dict[str, Gate]:
    return {gate.name: gate for gate in gates_of(option, situation_in(selection))}


def _counted(option: EngineOption) -> str:
    counts = Counter(option.gates.values())
    words = [f"{counts[result]} {result}" for result in ("pass", "fail", "not known") if counts[result]]
    return ", ".join(words) or "no gate"
