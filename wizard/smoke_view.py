"""A smoke as words: the lines and figures that its screen shows. Nothing here draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wizard.printable import printable
from wizard.smoke_run import SmokeRun, Status

if TYPE_CHECKING:
    from probes.smoke.result import CeilingResult, Point, SmokeResult
    from probes.smoke.telemetry import Live

WORDS: dict[Status, str] = {
    "none": "not planned yet",
    "planning": "looking at what would be started",
    "planned": "waits for your yes",
    "cannot": "cannot be run",
    "running": "running",
    "stopping": "stopping, the GPUs are freed",
    "stopped": "stopped; nothing was kept",
    "failed": "failed",
    "done": "done",
}

_METRICS = ("ttft_ms", "tpot_ms", "e2e_ms")
_BAR = 24
GIB = 1024**3


def smoke_lines(run: SmokeRun, elapsed_s: float, width: int, height: int) -> list[str]:
    """What the smoke screen shows, at most `height` lines; the log gives way first, then the oldest phases."""
    lines = [f"Smoke: {WORDS[run.status]}" + (f", {elapsed_s:.0f} s" if run.active else "")]
    if run.problem:
        lines += ["", *run.problem.splitlines()]
        if run.remedy is not None:
            sign = "=" if run.remedy.how == "set" else "+="
            lines.append(f"a changes the answer: {run.remedy.key} {sign} {printable(run.remedy.value)}")
    if run.result is None and (run.status in ("planned", "planning", "none", "cannot") or run.plan is None):
        return [*lines, "", *_plan_lines(run)]
    rows = _phase_lines(run)
    tail = [*point_lines(run), *outcome_lines(run, width), *(f"! {note}" for note in run.notes)]
    room = height - len(lines) - len(tail) - 3
    lines += ["", *(rows[-max(3, room) :] if len(rows) > max(3, room) else rows)]
    if run.active:
        lines += _progress_lines(run, width)
    lines += ["", *tail] if tail else []
    left = height - len(lines) - 1
    if left > 1 and run.log:
        lines += ["", *(f"server  {line[: width - 10]}" for line in list(run.log)[-(left - 1) :])]
    return lines


def _plan_lines(run: SmokeRun) -> list[str]:
    if run.plan is None:
        return []
    lines = list(run.plan.description)
    if run.leftovers:
        lines += ["", f"! {run.leftovers} processes of an earlier run that was killed are still there (e ends them)."]
    return lines


def _phase_lines(run: SmokeRun) -> list[str]:
    rows = []
    for number, (phase, detail, start_s) in enumerate(run.phases):
        last = number == len(run.phases) - 1
        end_s = None if last else run.phases[number + 1][2]
        took = "" if end_s is None else f"{end_s - start_s:>5.0f} s"
        rows.append(f"{'now ' if last and run.active else 'done'}  {phase:<10}{took:>8}  {printable(detail)}")
    return rows


def _progress_lines(run: SmokeRun, width: int) -> list[str]:
    name, done, total = run.progress or ("", 0, None)
    if not total:
        return []
    filled = round(min(done / total, 1) * 28)
    return [f"      {name:<10}{'█' * filled}{'░' * (28 - filled)}  {done} of {total}"[:width]]


def point_lines(run: SmokeRun) -> list[str]:
    """Every finished point, with its verdicts and the requests that each of them needs."""
    lines = []
    pipeline_only = "tiny" in (run.result.mode if run.result else "", run.plan.request.mode if run.plan else "")
    for point in run.points:
        hits = "" if point.prefix_hit_rate is None else f", {point.prefix_hit_rate:.0%} of prompts from cache"
        lines.append(
            f"{point.kind.replace('_', ' ')}: {point.completed} of {point.requests} requests, "
            f"{point.concurrency} at a time, {point.output_tok_s:,.0f} output tokens/s{hits}"
        )
        for name in _METRICS:
            latency = getattr(point, name)
            if latency.p50 is None:
                continue
            p95 = "not claimed" if latency.p95 is None else f"{latency.p95:,.1f}"
            lines.append(f"  {name[:-3].upper():<5}{latency.p50:>9,.1f} ms, p95 {p95}")
            tested = [ceiling for ceiling in point.ceilings if ceiling.metric == name]
            lines += [f"       {verdict_words(one, pipeline_only=pipeline_only)}" for one in tested]
    return lines


def verdict_words(ceiling: "CeilingResult", *, pipeline_only: bool) -> str:
    """What may be claimed of one ceiling so far, and how many requests would be enough where these are not."""
    words = f"p{ceiling.percentile:g} <= {ceiling.limit:,.0f}: {ceiling.over} of {ceiling.n} over, "
    if pipeline_only:
        return f"{words}not claimed (pipeline only)"
    needed = ceiling.n_needed
    if ceiling.verdict in ("not_claimed", "not_supported") and needed is not None and needed > ceiling.n:
        return f"{words}{ceiling.verdict.replace('_', ' ')} (needs {needed:,} with {ceiling.over} over)"
    return f"{words}{ceiling.verdict.replace('_', ' ')}"


def outcome_lines(run: SmokeRun, width: int) -> list[str]:
    """What the finished run showed besides its points: capacity, strategies, memory, energy, the end."""
    result = run.result
    if result is None:
        return []
    lines = []
    searched = [point for point in result.points if point.kind == "search"]
    if result.capacity is not None:
        kind = "edge, a higher load failed" if result.capacity.kind == "edge" else "at least"
        lines.append(f"Greatest concurrency: {result.capacity.concurrency} ({kind}: {result.capacity.stop_reason})")
    if searched:
        lines += latency_plot(result.points, width)
    lines += _strategy_lines(result)
    for row in result.memory:
        if row.predicted_bytes is not None and row.measured_bytes:
            off = (row.predicted_bytes - row.measured_bytes) / row.measured_bytes
            figures = f"predicted {row.predicted_bytes / GIB:.2f} GiB, measured {row.measured_bytes / GIB:.2f}"
            lines.append(f"Memory, {row.term.replace('_', ' ')}: {figures} ({off:+.1%})")
    if result.telemetry.joule_per_output_token is not None:
        lines.append(f"Energy: {result.telemetry.joule_per_output_token:.2f} J per output token")
    if result.clean_stop is not None:
        lines.append("Nothing was left behind." if result.clean_stop else "! Something was left behind.")
    return lines


def _strategy_lines(result: "SmokeResult") -> list[str]:
    lines = []
    for seen, words in (
        ("in_force", "seen in force"),
        ("not_in_force", "not in force"),
        ("not_visible", "not visible"),
    ):
        ids = [row.id.replace("_", " ") for row in result.strategies if row.seen == seen]
        if ids:
            lines.append(f"Strategies {words}: {', '.join(ids)}")
    return lines


def latency_plot(points: "Sequence[Point]", width: int) -> list[str]:
    """Latency against concurrency, a bar for each measured load; `|` marks the ceiling where it lies in the plot.

    The bars are of the percentile that the ceiling is for where it is claimed, else of the median, which is said.
    """
    lines = []
    for name in _METRICS:
        measured = sorted((p.concurrency, p) for p in points if p.kind == "search" or p is _asked(points))
        rows = [(number, _shown(getattr(point, name)), point) for number, point in measured]
        known = [value for _, (value, _), _ in rows if value is not None]
        limits = [ceiling.limit for _, _, point in rows for ceiling in point.ceilings if ceiling.metric == name]
        if not known or not limits:
            continue
        limit, bar = limits[0], max(8, min(_BAR, width - 44))
        scale = max(*known, limit)
        lines.append(f"{name[:-3].upper()} against calls at a time; | is the ceiling of {limit:,.0f} ms")
        for number, (value, which), _point in rows:
            if value is not None:
                lines.append(f"  {number:>5}  {_bar(value, limit, scale, bar)}  {value:>9,.1f} ms {which}")
    return lines


def _asked(points: "Sequence[Point]") -> "Point | None":
    """The point from which the search began: the last that was asked for."""
    return next((point for point in reversed(points) if point.kind != "search"), None)


def _shown(latency: object) -> tuple[float | None, str]:
    p95 = getattr(latency, "p95", None)
    return (p95, "p95") if p95 is not None else (getattr(latency, "p50", None), "median")


def _bar(value: float, limit: float, scale: float, width: int) -> str:
    filled, mark = max(1, round(value / scale * width)), min(width - 1, round(limit / scale * width))
    cells = ["█" if place < filled else " " for place in range(width)]
    cells[mark] = "|"
    return "".join(cells)


class Series(NamedTuple):
    """One live figure: its name, its values over time, oldest first, and the newest in words."""

    name: str
    values: tuple[float, ...]
    words: str


def live_series(live: "Sequence[Live]") -> list[Series]:
    """The figures of the last seconds that a server or a GPU told; one that none tells is left out."""
    rows: list[tuple[str, list[float | None], str]] = [
        ("output tokens/s", [one.server.output_tok_s for one in live], "{:,.0f}"),
        ("running", [one.server.running for one in live], "{:,.0f}"),
        ("waiting", [one.server.waiting for one in live], "{:,.0f}"),
        ("cache in use", [one.server.kv_usage for one in live], "{:.0%}"),
        ("cache hits", [one.server.prefix_hit_rate for one in live], "{:.0%}"),
        (
            f"power, {live[-1].gpus} GPUs" if live and live[-1].gpus != 1 else "power",
            [o.power_w for o in live],
            "{:,.0f} W",
        ),
    ]
    found = []
    for name, values, words in rows:
        known = tuple(value for value in values if value is not None)
        if known:
            newest = values[-1]
            found.append(Series(name, known, "not told now" if newest is None else words.format(newest)))
    return found
