"""How well founded a selection is, in the words of the review: sources, promise and proof, who still owes an answer."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from wizard.asking.open_answers import OpenAnswer
from wizard.asking.provenance import SourceWord
from wizard.catalogue import strategies
from wizard.decision.compare import Comparison
from wizard.decision.selection import Selection
from wizard.document.context.measurement import seen_in_run
from wizard.document.reader import read
from wizard.document.render import render
from wizard.printable import printable
from wizard.views.common import since_words

#: Weakest first: a row that rests on two sources counts as its weaker one.
_WORDS: tuple[SourceWord, ...] = get_args(SourceWord)
_BAR = 16


def source_counts(selection: Selection) -> Counter[SourceWord]:
    """How many rows of the document rest on which source; a row counts once, as the weakest word in its Source cell.

    The document itself is read, so that the review says nothing else than what a reader can count.
    """
    found: Counter[SourceWord] = Counter()
    for part in read(render(selection)):
        for table in part.tables:
            for cell in table.column("Source") if "Source" in table.columns else ():
                named = [word for word in _WORDS if word in cell.replace(",", " ").split()]
                found.update(named[:1])
    return found


def sources_line(counts: Counter[SourceWord]) -> str:
    """The counts in one line, the most frequent first; facts of selwiz itself say nothing about the selection."""
    return "Sources: " + ", ".join(f"{count} {word}" for word, count in counts.most_common() if word != "tool")


def source_lines(counts: Counter[SourceWord]) -> list[str]:
    """The counts as bars, the strongest source first."""
    most = max(counts.values(), default=0)
    lines = [f"WHERE THE FIGURES COME FROM  {counts.total()} rows"]
    for word in ("measured", "probe", "catalogue", "derived", "answer", "default", "missing", "tool"):
        if counts[word]:
            filled = max(1, round(_BAR * counts[word] / most))
            lines.append(f"  {word:<10}{'█' * filled}{'░' * (_BAR - filled)} {counts[word]:>4}")
    return lines


def proof_lines(selection: Selection) -> list[str]:
    """What section 1 promises of strategies, and what of it was seen in the run; those not seen by name."""
    given = selection.answers.engine.strategies
    decided = [strategy.decision for strategy in given.values() if strategy.decision is not None]
    adopted = [name for name, strategy in given.items() if strategy.decision == "adopt"]
    lines = ["STRATEGIES, FROM PROMISE TO PROOF", f"  {len(decided)} decided, {len(adopted)} adopted"]
    smoke = selection.smoke
    if smoke is None or not smoke.strategies:
        return [*lines, "  none seen: no run has shown any of them"]
    seen = {row.id: seen_in_run(selection, smoke, row)[0] for row in smoke.strategies}
    words = Counter(seen.get(name, "not looked at") for name in adopted)
    lines.append("  of these " + ", ".join(f"{count} {word}" for word, count in words.most_common()))
    others = [name for name in adopted if seen.get(name) != "in force"]
    return lines + [f"  ! {_name(name)}: {seen.get(name, 'not looked at')}" for name in others]


def _name(identifier: str) -> str:
    known = strategies().get(identifier)
    return known.name if known else printable(identifier)


def open_lines(answers: tuple[OpenAnswer, ...]) -> list[str]:
    """What is open with whom, with the day: those who were asked for a day first."""
    lines = [f"OPEN WITH COLLEAGUES  {len(answers)}"]
    by_owner: dict[str, list[OpenAnswer]] = {}
    for answer in answers:
        by_owner.setdefault(answer.owner or "nobody yet", []).append(answer)
    for owner, mine in sorted(by_owner.items(), key=lambda item: _soonest(item[1])):
        lines.append(f"  {printable(owner)}: {len(mine)}")
        lines += [
            f"    {printable(answer.title)}" + (f", due {answer.due.isoformat()}" if answer.due else "")
            for answer in sorted(mine, key=lambda answer: _soonest([answer]))
        ]
    return lines if answers else ["OPEN WITH COLLEAGUES  nothing"]


def _soonest(answers: list[OpenAnswer]) -> str:
    """The earliest day as text that sorts; no day comes last."""
    return min((answer.due.isoformat() for answer in answers if answer.due), default="9999")


def ground_lines(
    selection: Selection, counts: Counter[SourceWord] | None, since: Comparison | None, name: str
) -> Iterator[str]:
    """All of it, as it stands beside the findings or in a window; `name` is the selection that this one began from."""
    yield from source_lines(counts) if counts else ["WHERE THE FIGURES COME FROM  being counted …"]
    yield ""
    yield from proof_lines(selection)
    yield ""
    yield from open_lines(selection.open_answers)
    if since is not None:
        yield from ("", "CHANGES", f"  {since_words(since, name)}")
