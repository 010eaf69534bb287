"""2.5: the latency over the calls in flight, as a table and as a chart of it."""

from probes.smoke.result import Latency, Metric, Point
from wizard.decision.proof import is_own_state, qualifier
from wizard.decision.selection import Selection
from wizard.document import claims, formats
from wizard.document.charts import latency_chart
from wizard.document.context.common import Context
from wizard.document.context.measurement_tables import Run
from wizard.document.markdown import Table


def over_load(selection: Selection, found: tuple[Run, ...]) -> Context:
    """The table and its chart; None each where fewer than two numbers of calls were measured.

    A stand-in is held against no ceiling, so it has neither.
    """
    points = _points(selection, found)
    if len(points) < 2 or qualifier(selection) == "pipeline only":
        return {"over_load": None, "latency_chart": None}
    columns = ("Calls in flight", "n", *(f"{name} p95, ms" for name in claims.METRICS.values()))
    table = Table(
        (*columns, "Every ceiling held?", "Source"),
        tuple(
            (
                formats.number(point.concurrency),
                formats.number(point.completed),
                *(_p95(getattr(point, metric)) for metric in claims.METRICS),
                _held(point),
                f"measured {run}",
            )
            for run, point in points
        ),
    )
    nearest = _nearest([point for _, point in points])
    chart = None
    if nearest is not None:
        metric, limit = nearest
        chart = latency_chart(table, claims.METRICS[metric], formats.limit_ms(limit))
    return {"over_load": table, "latency_chart": chart}


def _points(selection: Selection, found: tuple[Run, ...]) -> list[tuple[str, Point]]:
    """The points in the workload's own prefix state, by calls in flight; of two at one number the larger one."""
    best: dict[int, tuple[str, Point]] = {}
    for run in found:
        for point in run.points:
            if point.kind != "search" and not is_own_state(selection, point):
                continue
            kept = best.get(point.concurrency)
            if kept is None or point.completed > kept[1].completed:
                best[point.concurrency] = (run.id, point)
    return [best[calls] for calls in sorted(best)]


def _p95(latency: Latency) -> str:
    return "not claimed" if latency.p95 is None else formats.milliseconds(latency.p95)


def _held(point: Point) -> str:
    if not point.ceilings:
        return "none set"
    return "yes" if all(result.verdict == "supported" for result in point.ceilings) else "no"


def _nearest(points: list[Point]) -> tuple[Metric, float] | None:
    """The metric whose p95 comes nearest to its ceiling, or passes it by most, with that ceiling."""
    shares = [
        (latency.p95 / result.limit, result.metric, result.limit)
        for point in points
        for result in point.ceilings
        if result.percentile == 95 and result.limit > 0
        if (latency := getattr(point, result.metric)).p95 is not None
    ]
    if not shares:
        return None
    _, metric, limit = max(shares)
    return metric, limit
