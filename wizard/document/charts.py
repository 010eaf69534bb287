"""Charts of the document's own tables, as Mermaid beside the table that holds the same figures.

A chart is drawn from the cells of its table, so the two cannot differ. It holds words of this program and figures only,
never a person's text. A reader without Mermaid sees a code block and loses nothing.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Literal, NamedTuple

from markupsafe import Markup

from wizard.document.markdown import NOT_GIVEN, Table, fenced

#: Room above the highest figure, as a share of it.
_HEADROOM = Decimal("1.1")
#: Rows of the table of memory that are compared with each other; the others are parts of the first.
_MEMORY = ("Required", "Reserved by the runtime", "Free when it was probed")


class Series(NamedTuple):
    """One row of figures, drawn as bars or as a line; `cells` as the table prints them."""

    kind: Literal["bar", "line"]
    cells: tuple[str, ...]


def xy_chart(
    title: str, described: str, axis: str, labels: Sequence[str], unit: str, series: Sequence[Series]
) -> Markup:
    """Return a Mermaid chart as a code block; `described` is what a screen reader says of it.

    `xychart-beta` is the keyword that old and new versions of Mermaid both read.
    """
    figures = [[cell.replace(",", "") for cell in row.cells] for row in series]
    top = max(Decimal(figure) for row in figures for figure in row) * _HEADROOM
    quoted = ", ".join(f'"{label}"' for label in labels)
    lines = [
        "xychart-beta",
        f"    accTitle: {title}",
        f"    accDescr: {described}",
        f'    title "{title}"',
        f'    x-axis "{axis}" [{quoted}]',
        f'    y-axis "{unit}" 0 --> {top.to_integral_value(ROUND_CEILING)}',
        *(f"    {row.kind} [{', '.join(cells)}]" for row, cells in zip(series, figures, strict=True)),
    ]
    return fenced("\n".join(lines), "mermaid")


def memory_chart(table: Table) -> Markup | None:
    """What a GPU needs, what the runtime reserves and what was free; None where there is nothing to compare."""
    known = [row for row in table.rows if row[0] in _MEMORY and row[1] != NOT_GIVEN]
    if len(known) < 2:
        return None
    return xy_chart(
        "Memory per GPU, GiB",
        "Bars of the memory that is required, reserved and free, as in the table above.",
        "Memory of one GPU",
        [row[0] for row in known],
        "GiB",
        [Series("bar", tuple(row[1] for row in known))],
    )


def latency_chart(table: Table, metric: str, ceiling: str | None) -> Markup | None:
    """The p95 of one metric over the calls in flight, with its ceiling as a second line.

    None where fewer than two points have a p95: one point is no curve.
    """
    calls, at = table.columns.index("Calls in flight"), table.columns.index(f"{metric} p95, ms")
    known = [row for row in table.rows if row[at] not in (NOT_GIVEN, "not claimed")]
    if len(known) < 2:
        return None
    series = [Series("line", tuple(row[at] for row in known))]
    if ceiling is not None:
        series.append(Series("line", (ceiling,) * len(known)))
    return xy_chart(
        f"{metric}, p95 in ms, over calls in flight",
        f"The p95 of {metric} at each measured number of calls{' and its ceiling' if ceiling else ''} of the table.",
        "Calls in flight",
        [row[calls] for row in known],
        "ms",
        series,
    )
