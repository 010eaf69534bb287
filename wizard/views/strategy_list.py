"""The list of strategies as a screen shows it: those that matter, the others on one key, and what is said of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from wizard.advice import Advice, advise, situation_of
from wizard.advice.of_selection import situation_in
from wizard.answers import Answers
from wizard.asking.answers_file import Tree
from wizard.catalogue import strategies
from wizard.decision.selection import Selection
from wizard.printable import printable
from wizard.views.heading import Heading

#: The groups of the catalogue in the order in which they are decided, as headings.
_GROUPS = {
    "operator": "OPERATORS",
    "memory": "MEMORY",
    "scheduling": "SCHEDULING",
    "speculative": "SPECULATION",
    "parallelism": "PARALLELISM",
    "serving": "SERVING",
}
_PLACES = {"follows": "by itself", "not_here": "not here"}


@dataclass
class StrategyList:
    """What is shown: `everything`, only what matters, or what `search` finds.

    `columns` stands above the lines. `ids` are the strategies of the lines, empty where a line is a heading.
    """

    columns: ClassVar[str] = f"{'Strategies':<50}{'possible':<10}{'by':<8}reason"
    everything: bool = False
    search: str = ""
    ids: tuple[str, ...] = ()

    def lines(self, decided: Tree, selection: Selection | None) -> list[str]:
        """One line a strategy, and a last one that says what is left out; `decided` is what a person decided."""
        rows = advice_of(selection)
        mine = [row for row in rows if row.place == "matters" or row.id in decided]
        others = [row for row in rows if row not in mine]
        shown = [*mine, *others] if self.everything else mine
        if self.search:
            shown = [row for row in rows if _found(row.id, self.search)]
        lines, ids = [], []
        for group, heading in _GROUPS.items():
            of_group = [row for row in shown if strategies()[row.id].group == group]
            if of_group:
                lines += [Heading(heading), *(_line(row, decided, selection) for row in of_group)]
                ids += ["", *(row.id for row in of_group)]
        self.ids = tuple(ids)
        if self.search:
            return [*lines, f'm  {len(shown)} found for "{printable(self.search)[:40]}"; m shows what matters']
        if self.everything:
            return [*lines, f"m  fewer: only the {len(mine)} that matter here"]
        return [*lines, f"m  {len(others)} more do not matter here"]

    def about(self, index: int, selection: Selection | None) -> list[str]:
        """What stands beside one line."""
        if index >= len(self.ids) or not self.ids[index]:
            words = "Which of the 35 matter follows from model, machine and workload. What does not is listed with why."
            return ["All strategies", "", words, "", "m or Enter shows or hides them."]
        row = next(row for row in advice_of(selection) if row.id == self.ids[index])
        return list(_about(row, selection))


_cached: tuple[Selection | None, tuple[Advice, ...]] | None = None


def advice_of(selection: Selection | None) -> tuple[Advice, ...]:
    """What is to be said of every strategy for this selection, worked out once; for none, of one without answers."""
    global _cached
    if _cached is None or _cached[0] is not selection:
        situation = situation_of(Answers()) if selection is None else situation_in(selection)
        _cached = (selection, advise(situation))
    return _cached[1]


def _found(identifier: str, search: str) -> bool:
    row = strategies()[identifier]
    return search.casefold().strip() in f"{identifier} {row.name} {row.group} {row.question}".casefold()


def _line(row: Advice, decided: Tree, selection: Selection | None) -> str:
    decision, chosen, reason = _decision(row, decided, selection)
    name = strategies()[row.id].name
    if not decision:
        return f"{'-':<8}{name:<40}{_PLACES.get(row.place, 'open'):<10}{row.why}"
    return f"{decision:<8}{name:<40}{row.here:<10}{chosen:<8}{reason}"


def _decision(row: Advice, decided: Tree, selection: Selection | None) -> tuple[str, str, str]:
    """The decision in force, who took it, and why."""
    own = decided.get(row.id, {})
    if own.get("decision"):
        return str(own["decision"]), "you", printable(str(own.get("reason") or "no reason given yet"))
    given = selection.answers.engine.strategies.get(row.id) if selection else None
    is_default = selection is not None and selection.origin(f"engine.strategies.{row.id}.decision").layer == "default"
    if given is not None and given.decision and is_default:
        return given.decision, "you" if own.get("reason") else "default", printable(given.reason or "")
    return (row.decision, "default", row.reason) if row.decision else ("", "", "")


def _about(row: Advice, selection: Selection | None) -> Iterator[str]:
    known = strategies()[row.id]
    yield from (known.name, "", known.question, "", f"group  {known.group}", "")
    if row.why:
        yield from (f"{_PLACES.get(row.place, 'note')}  {row.why}", "")
    for item in row.prerequisites:
        yield f"needs  {item.what}: {item.met} ({item.fact})"
    if not row.prerequisites:
        yield f"needs  {known.requires}"
    yield from ("", f"helps  {known.helps}", "", f"hurts  {known.hurts}", "")
    if row.by_default:
        yield f"becomes  {', '.join(row.becomes) or 'no flag'}"
        yield f"         {row.by_default}"
        yield f"off      {', '.join(row.off) or 'no switch'}"
    else:
        yield "becomes  not known for this product"
    seen = (
        next((s for s in selection.smoke.strategies if s.id == row.id), None) if selection and selection.smoke else None
    )
    if seen is not None:
        yield f"seen     {seen.seen.replace('_', ' ')}: {printable(seen.because)}"
    if row.decision:
        yield from ("", f"default  {row.decision}: {row.reason}")
