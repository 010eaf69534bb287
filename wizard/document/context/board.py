"""The page for the board: the document's own sentences and tables, fewer of them."""

from collections.abc import Iterator

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.budget import EngineLine, RuntimeLine
from wizard.decision.selection import Selection, content_hash
from wizard.document import formats
from wizard.document.claims import METRICS
from wizard.document.context.common import Context
from wizard.document.context.front import findings_table
from wizard.document.context.governance import approvals_table
from wizard.document.context.measurement import measurement, not_usable, runs
from wizard.document.context.money import priced_so_far
from wizard.document.markdown import NOT_GIVEN, Table

#: So many rows of findings and of risks leave one page.
MOST_ROWS = 5


def board(selection: Selection) -> Context:
    """What the page says besides the decision and the funding requests."""
    findings, risks = findings_table(selection), _risks(selection)
    return {
        "day": formats.day(selection.prepared_on),
        "hash": content_hash(selection),
        "lines": [
            _line_words("E", selection.engine_line, selection.answers.budget.engine, _lacking(selection, "engine")),
            _line_words("R", selection.runtime_line, selection.answers.budget.runtime, _lacking(selection, "runtime")),
        ],
        "grounds": list(_grounds(selection)),
        "findings": _first(findings),
        "more_findings": _more(findings),
        "risks": _first(risks),
        "more_risks": _more(risks),
        "approvals": _needed(selection),
    }


def _first(table: Table | None) -> Table | None:
    return None if table is None else Table(table.columns, table.rows[:MOST_ROWS])


def _more(table: Table | None) -> int:
    return 0 if table is None else max(0, len(table.rows) - MOST_ROWS)


def _lacking(selection: Selection, table: str) -> list[str]:
    """The items of one line whose price a blocking finding calls incomplete: no basis, no date, no quantity."""
    items = selection.answers.budget.engine.items if table == "engine" else selection.answers.budget.runtime.items
    at = {f.where.rpartition(".")[0] for f in selection.findings if (f.rule, f.severity) == ("B7", "block")}
    return [item.id or item.item or "an item" for n, item in enumerate(items) if f"budget.{table}.items[{n}]" in at]


def _line_words(
    name: str, line: EngineLine | RuntimeLine, answers: EngineBudget | RuntimeBudget, lacking: list[str]
) -> str:
    """What a board asks of one line: what has no price, which price is not complete, how long the prices hold."""
    if not line.rows:
        return f"Line {name} holds no item yet."
    unpriced = list(dict.fromkeys(line.unpriced))
    prices = f"no price is given for {formats.listed(unpriced)}" if unpriced else "every item has a price"
    if lacking:
        prices += f", and B7 calls the price of {formats.listed(dict.fromkeys(lacking))} incomplete"
    days = [item.valid_until for item in answers.items if item.valid_until is not None]
    until = f"the first price ends on {formats.day(min(days))}" if days else "no price says until which day it holds"
    so_far = priced_so_far(line)
    return f"Line {name}: {prices}; {until}.{f' {so_far}' if so_far else ''}"


def _grounds(selection: Selection) -> Iterator[str]:
    said = measurement(selection)
    if not said["measured"]:
        yield str(said["failure"] or said["nothing"])
    else:
        yield from (str(scope) for scope in _texts(said["scopes"])[:1])
        doubt = not_usable(selection)
        if doubt is not None:
            yield f"No figure of the run is carried over to the proposed runtime: {doubt}."
        else:
            yield from _verdicts(selection)
    proposed = selection.sizing
    sizing = proposed.sizing if proposed else None
    if sizing is not None and sizing.required_bytes_per_gpu is not None and sizing.reserved_bytes_per_gpu is not None:
        yield (
            f"By formula a GPU needs {formats.gib(sizing.required_bytes_per_gpu)} GiB of the "
            f"{formats.gib(sizing.reserved_bytes_per_gpu)} GiB that the runtime reserves."
        )
    else:
        yield "Whether the model fits the hardware is not calculated."


def _verdicts(selection: Selection) -> Iterator[str]:
    """One sentence a run at the asked load: what it says of each ceiling, in the words of the grades."""
    for run in runs(selection.smoke) if selection.smoke else ():
        results = run.point.ceilings
        if run.point.kind == "search" or not results:
            continue
        state = "nothing shared between prompts" if run.point.kind == "asked_unshared" else "the shared prefix cached"
        words = formats.listed(
            f"{METRICS[result.metric]} of {formats.limit_ms(result.limit)} ms {result.verdict.replace('_', ' ')}"
            for result in results
        )
        percentile = formats.number(results[0].percentile)
        yield f"{run.id}, {state}, at p{percentile} and 95 % confidence each: {words}."


def _texts(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _risks(selection: Selection) -> Table | None:
    given = selection.answers.governance.risks
    rows = tuple(
        (
            f"RK-{place}",
            risk.text or NOT_GIVEN,
            risk.owner or NOT_GIVEN,
            formats.day(risk.due),
            risk.consequence or NOT_GIVEN,
        )
        for place, risk in enumerate(given, 1)
    )
    return Table(("Id", "Risk", "Owner", "Due", "If it happens"), rows) if rows else None


def _needed(selection: Selection) -> Table:
    """Who decides what; the cells for decision and date stand in the document only."""
    table = approvals_table(selection)
    kept = [table.columns.index(name) for name in ("Role", "Name", "Covers", "Conditions")]
    return Table(tuple(table.columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in table.rows))
