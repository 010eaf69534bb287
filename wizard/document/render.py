"""The document of a selection: the same selection gives the same bytes, whatever the machine, locale or day."""

from wizard.budget import tokens_per_year
from wizard.decision.selection import Selection
from wizard.document.context import coupling
from wizard.document.context.annexes import annexes
from wizard.document.context.board import board
from wizard.document.context.common import sources
from wizard.document.context.engine import engine
from wizard.document.context.front import brief, front
from wizard.document.context.governance import governance
from wizard.document.context.hardware import hardware
from wizard.document.context.measurement import measurement, rate
from wizard.document.context.money import engine_block, funding, runtime_block
from wizard.document.context.runtime import runtime
from wizard.document.context.sizing import sizing
from wizard.document.markdown import Table, rendered

FUNDING = ("Line", "Purpose", "One-time", "Recurring per year", "Currency", "Owner", "Approval route")


def render(selection: Selection) -> str:
    """Return the document as Markdown, UTF-8 with LF line ends, ending in one newline."""
    section_2 = runtime(selection) | hardware(selection) | sizing(selection)
    parts = {
        "front": rendered("front.md.j2", front(selection)),
        "brief": rendered("brief.md.j2", brief(selection) | {"funding": _funding(selection)}),
        "engine": rendered("engine.md.j2", engine(selection)),
        "runtime": rendered("runtime.md.j2", section_2),
        "measurement": rendered("measurement.md.j2", measurement(selection)),
        "runtime_rest": rendered("runtime_rest.md.j2", section_2),
        "split": rendered("split.md.j2", {}),
        "line_e": _line_e(selection),
        "line_r": _line_r(selection),
        "moves": rendered("moves.md.j2", coupling.coupling(selection)),
        "governance": rendered("governance.md.j2", governance(selection)),
        "annexes": rendered("annexes.md.j2", annexes(selection)),
    }
    return _single_blanks(rendered("document.md.j2", parts))


def render_brief(selection: Selection) -> str:
    """Return the page for the board as Markdown: the decision, the two requests, and what stands behind them."""
    context = front(selection) | brief(selection) | board(selection) | {"funding": _funding(selection)}
    return _single_blanks(rendered("board.md.j2", context))


def _funding(selection: Selection) -> Table:
    """Two rows of text, each made from its own line; no row of both exists."""
    lines = selection.answers.budget
    return Table(
        FUNDING,
        (
            funding(selection.engine_line, lines.engine, "Engine: licences, support, know-how"),
            funding(selection.runtime_line, lines.runtime, "Runtime: what carries the load"),
        ),
    )


def _tokens(selection: Selection) -> int | None:
    load = selection.answers.runtime.workload
    return tokens_per_year(load.calls_per_year, load.output_tokens)


def _line_e(selection: Selection) -> str:
    context = engine_block(
        selection.engine_line,
        selection.answers.budget.engine,
        lambda *keys: sources(selection, *keys),
        _tokens(selection),
    )
    return rendered("line_e.md.j2", context)


def _line_r(selection: Selection) -> str:
    context = runtime_block(
        selection.runtime_line,
        selection.answers.budget.runtime,
        lambda *keys: sources(selection, *keys),
        _tokens(selection),
        rate(selection),
    )
    return rendered("line_r.md.j2", context)


def _single_blanks(text: str) -> str:
    """One blank line between blocks and none at the end; what stands in a code block is left alone."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if len(mark) >= 3 and not fence:
            fence = mark
        elif fence and line.rstrip() == fence:
            fence = ""
        if fence or line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"
