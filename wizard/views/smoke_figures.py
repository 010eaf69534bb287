"""The figures of a smoke as lines of characters: what the last seconds showed, and latency against concurrency."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from probes.smoke.result import Latency, Point
    from probes.smoke.telemetry import Live

_BLOCKS = "▁▂▃▄▅▆▇█"
_NAME, _FIGURE, _GAP = 16, 9, 3
#: From this width on two figures stand beside each other.
_TWO = 70
_BAR = 24
_METRICS = ("ttft_ms", "tpot_ms", "e2e_ms")


class Figure(NamedTuple):
    """One live figure: its name, its value in each second, oldest first (None: not told), its top, the newest value."""

    name: str
    values: tuple[float | None, ...]
    top: float | None
    """The value of a full block; None: the greatest that was seen."""
    words: str


def figures(live: "Sequence[Live]") -> list[Figure]:
    """The figures of the last seconds. One that neither server nor GPU ever told is `not visible`."""
    if not live:
        return []
    gpus = live[-1].gpus
    rows: list[tuple[str, list[float | None], float | None, str]] = [
        ("output tokens/s", [one.server.output_tok_s for one in live], None, "{:,.0f}"),
        ("running", [one.server.running for one in live], None, "{:,.0f}"),
        ("cache in use", [one.server.kv_usage for one in live], 1.0, "{:.0%}"),
        ("waiting", [one.server.waiting for one in live], None, "{:,.0f}"),
        ("power" if gpus < 2 else f"power, {gpus} GPUs", [one.power_w for one in live], None, "{:,.0f} W"),
        ("cache hits", [one.server.prefix_hit_rate for one in live], 1.0, "{:.0%}"),
    ]
    found = []
    for name, values, top, form in rows:
        newest, told = values[-1], any(value is not None for value in values)
        words = form.format(newest) if newest is not None else "no news" if told else "not visible"
        found.append(Figure(name, tuple(values), top, words))
    return found


def figure_lines(live: "Sequence[Live]", width: int) -> list[str]:
    """The live figures, one or two a line: name, course, newest value."""
    columns = 2 if width >= _TWO else 1
    cell = (width - _GAP * (columns - 1)) // columns
    cells = [_cell(figure, cell) for figure in figures(live)]
    return [(" " * _GAP).join(cells[at : at + columns]).rstrip() for at in range(0, len(cells), columns)]


def _cell(figure: Figure, width: int) -> str:
    room = max(4, min(40, width - _NAME - _FIGURE - 1))
    if figure.words == "not visible":
        return f"{figure.name:<{_NAME}}{figure.words}".ljust(width)
    return f"{figure.name:<{_NAME}}{course(figure.values, room, figure.top):<{room}} {figure.words:>{_FIGURE}}".ljust(
        width
    )


def course(values: Sequence[float | None], cells: int, top: float | None = None) -> str:
    """Values over time as blocks, from 0 to `top`, else to the greatest; what was not told is empty.

    Several seconds share a block, by their mean, where there are more values than cells.
    """
    each = -(-len(values) // cells) if values else 1
    groups = [[v for v in values[at : at + each] if v is not None] for at in range(0, len(values), each)]
    means = [sum(group) / len(group) if group else None for group in groups]
    full = top or max((mean for mean in means if mean is not None), default=0) or 1
    return "".join(
        " " if mean is None else _BLOCKS[min(len(_BLOCKS) - 1, int(max(mean, 0) / full * len(_BLOCKS)))]
        for mean in means
    )


def latency_plot(points: "Sequence[Point]", width: int) -> list[str]:
    """Latency against concurrency after a search, a bar for each load; `|` marks the ceiling.

    The bars are of the p95 where it may be claimed, else of the median, which is said.
    """
    searched = [point for point in points if point.kind == "search"]
    if not searched:
        return []
    asked = [point for point in points if point.kind == "asked_shared"] or [
        point for point in points if point.kind == "asked_unshared"
    ]
    loads = sorted([*searched, *asked[-1:]], key=lambda point: point.concurrency)
    lines = []
    for name in _METRICS:
        known = [(point.concurrency, *_shown(getattr(point, name))) for point in loads]
        rows = [(load, value, which) for load, value, which in known if value is not None]
        limits = [ceiling.limit for point in loads for ceiling in point.ceilings if ceiling.metric == name]
        if not rows or not limits:
            continue
        limit, cells = limits[0], max(8, min(_BAR, width - 34))
        top = max(*(value for _, value, _ in rows), limit)
        lines.append(f"{name[:-3].upper()} against calls at a time; | is the ceiling of {limit:,.0f} ms")
        lines += [
            f" {load:>5}  {_bar(value, limit, top, cells)}  {value:>9,.1f} ms {which}" for load, value, which in rows
        ]
    return lines


def _shown(latency: "Latency") -> tuple[float | None, str]:
    return (latency.p95, "p95") if latency.p95 is not None else (latency.p50, "median")


def _bar(value: float, limit: float, top: float, cells: int) -> str:
    """A bar from 0 to `top`. A value above the ceiling passes its mark, one below it does not reach it."""
    mark = min(cells - 2, round(limit / top * cells))
    filled = max(1, round(value / top * cells))
    filled = max(filled, mark + 2) if value > limit else min(filled, mark)
    row = ["█" if place < filled else " " for place in range(cells)]
    row[mark] = "|"
    return "".join(row)
