"""A smoke as words: the lines that its screen shows. Nothing here draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wizard import catalogue
from wizard.printable import fitted, printable
from wizard.smoke.state import SmokeRun, Status
from wizard.views.smoke_figures import figure_lines, latency_plot

if TYPE_CHECKING:
    from probes.smoke.result import CeilingResult, Latency, Point, StrategySeen

WORDS: dict[Status, str] = {
    "none": "not planned yet",
    "planning": "looking at what would be started",
    "planned": "waits for your yes",
    "cannot": "cannot be run",
    "running": "running",
    "stopping": "stopping, the GPUs are freed",
    "stopped": "stopped",
    "failed": "failed",
    "done": "done",
}
METRICS = ("ttft_ms", "tpot_ms", "e2e_ms")
GIB = 1024**3
#: Lines of the server's log under a run that failed.
_LOG_TAIL = 6


def smoke_lines(run: SmokeRun, elapsed_s: float, width: int) -> list[str]:
    """What the smoke screen shows, the most urgent first; it scrolls where there is less room."""
    lines = [_head(run, elapsed_s), *_problem_lines(run)]
    if run.result is None and not run.phases:
        return [*lines, "", *_plan_lines(run)]
    lines += _section(_phase_lines(run, elapsed_s), width)
    if run.active:
        doing = f"server  {run.log[-1]}" if run.log else ""
        lines += [fitted(line, width) for line in (*_next_lines(run), doing) if line]
        lines += _section(figure_lines(run.live, width), width)
        lines += _section(claim_lines(run), None)
    lines += _section(point_lines(run.points, pipeline_only=run.pipeline_only), None)
    lines += _section(outcome_lines(run, width), None)
    lines += _section([f"! {printable(note)}" for note in run.notes], None)
    if run.status == "failed":
        lines += _section([f"server  {line}" for line in list(run.log)[-_LOG_TAIL:]], width)
    return lines


def _section(lines: list[str], width: int | None) -> list[str]:
    """Lines below an empty one, cut to a width where they are better cut than wrapped; nothing if there are none."""
    return ["", *(line if width is None else fitted(line, width) for line in lines)] if lines else []


def clock(seconds: float) -> str:
    """Minutes and seconds, as on a clock."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _head(run: SmokeRun, elapsed_s: float) -> str:
    words = WORDS[run.status]
    if run.active and run.plan is not None:
        words += f"   {clock(elapsed_s)} of at most {clock(run.plan.request.time_limit_s)}"
    if run.status == "stopped":
        count = len(run.points)
        words += f"; {_points(count)} kept, r takes {'it' if count == 1 else 'them'} over" if count else ""
        words += "" if count else "; no point was finished"
    if run.pipeline_only:
        words += "   (stand-in: its speed says nothing)"
    return f"Smoke: {words}"


def _points(count: int) -> str:
    return "1 finished point is" if count == 1 else f"{count} finished points are"


def _problem_lines(run: SmokeRun) -> list[str]:
    if not run.problem:
        return []
    lines = ["", *(printable(line) for line in run.problem.splitlines())]
    if run.remedy is not None:
        sign = "=" if run.remedy.how == "set" else "+="
        lines.append(f"a changes the answer: {run.remedy.key} {sign} {printable(run.remedy.value)}")
    return lines


def _plan_lines(run: SmokeRun) -> list[str]:
    if run.plan is None:
        return []
    lines = list(run.plan.description)
    if run.leftovers:
        lines += ["", f"! {run.leftovers} processes of an earlier run that was killed are still there (e ends them)."]
    return lines


def _phase_lines(run: SmokeRun, elapsed_s: float) -> list[str]:
    """One row for each phase, the parts of the server's start together in one; with what is to come below."""
    rows: list[tuple[str, float, list[str]]] = []
    for number, (phase, detail, start_s) in enumerate(run.phases):
        last = number == len(run.phases) - 1
        end_s = run.phases[number + 1][2] if not last else elapsed_s if run.active else start_s
        took = max(0.0, end_s - start_s)
        if phase == "start" and rows and rows[-1][0] == "start":
            rows[-1] = (phase, rows[-1][1] + took, [*rows[-1][2], _part(detail, took)])
        else:
            rows.append((phase, took, [_part(detail, took) if phase == "start" else printable(detail)]))
    lines = []
    for number, (phase, took, details) in enumerate(rows):
        now = number == len(rows) - 1 and run.active
        lines.append(f"{'now ' if now else 'done'}  {phase:<10}{took:>5.0f} s  {'   '.join(details)}")
    name, done, total = run.progress or ("", 0, None)
    if run.active and name and total:
        filled = round(min(done / total, 1) * 28)
        lines.append(f"      {'█' * filled}{'░' * (28 - filled)}  {done} of {total}")
    return lines


def _part(detail: str, took_s: float) -> str:
    return f"{printable(detail)} {took_s:.0f}" if took_s >= 0.5 else printable(detail)


def _next_lines(run: SmokeRun) -> list[str]:
    """The loads of the plan that were not begun yet."""
    if run.plan is None or run.status != "running":
        return []
    begun = {detail.split(",")[0] for phase, detail, _ in run.phases if phase in ("measure", "search")}
    begun |= {"warmup"} if any(phase == "warm-up" for phase, _, _ in run.phases) else set()
    lines = []
    for planned in run.plan.runs:
        if planned.name not in begun and planned.kind not in begun:
            words = f"{planned.requests} requests, {planned.workload.concurrency} at a time"
            lines.append(f"next  {planned.name:<10}{'':>7}  {words}")
    if run.plan.request.search and not any(phase == "search" for phase, _, _ in run.phases):
        lines.append(f"next  {'search':<10}{'':>7}  the greatest load at which every ceiling holds")
    return lines


def claim_lines(run: SmokeRun) -> list[str]:
    """What the loads of the plan will be enough for: a percentile needs its least number of requests."""
    if run.plan is None:
        return []
    if run.pipeline_only:
        return ["No ceiling is judged: what the stand-in takes says nothing of the selection."]
    from probes.smoke.statistics import requests_needed

    planned = min((one.requests for one in run.plan.runs if one.kind != "warmup"), default=0)
    lines = []
    for percentile in sorted({ceiling.percentile for ceiling in run.plan.request.ceilings}):
        least = requests_needed(percentile)
        can = "can be claimed" if planned >= least else "will not be claimed"
        lines.append(f"p{percentile:g} {can}: a load has {planned} requests, {least} needed with none over.")
    return lines


def point_lines(points: "Sequence[Point]", *, pipeline_only: bool) -> list[str]:
    """Every finished point, with its verdicts and the requests that each of them needs."""
    lines = []
    for point in points:
        hits = "" if point.prefix_hit_rate is None else f", {point.prefix_hit_rate:.0%} from cache"
        failed = f", {point.failed} failed" if point.failed else ""
        lines.append(
            f"{point.kind.replace('_', ' ')}: {point.concurrency} at a time, {point.completed} of {point.requests} done"
            f"{failed}, {point.output_tok_s:,.0f} tokens/s{hits}"
        )
        if point.kind == "search":
            lines += _short_verdicts(point, pipeline_only=pipeline_only)
        else:
            lines += _table(point, pipeline_only=pipeline_only)
    return lines


def _table(point: "Point", *, pipeline_only: bool) -> list[str]:
    lines = [f" {'ms':<5}{'median':>8}{'p95':>9}{'ceiling':>11}{'over':>12}"]
    for name in METRICS:
        latency: Latency = getattr(point, name)
        if latency.p50 is None:
            continue
        p95 = "no claim" if latency.p95 is None else _ms(latency.p95)
        start = f" {name[:-3].upper():<5}{_ms(latency.p50):>8}{p95:>9}"
        tested = [ceiling for ceiling in point.ceilings if ceiling.metric == name]
        if not tested:
            lines.append(f"{start}{'none':>11}")
        for one in tested:
            ceiling, over = f"p{one.percentile:g} {_limit(one.limit)}", f"{one.over} of {one.n}"
            words = verdict_words(one, pipeline_only=pipeline_only)
            lines.append(f"{start}{ceiling:>11}{over:>12}  {words}")
            start = " " * len(start)
    return lines


def _short_verdicts(point: "Point", *, pipeline_only: bool) -> list[str]:
    words = [
        f"{one.metric[:-3].upper()} {verdict_words(one, pipeline_only=pipeline_only)} ({one.over} of {one.n} over)"
        for one in point.ceilings
    ]
    return [f" {'; '.join(words)}"] if words else []


def _ms(value: float) -> str:
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _limit(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def verdict_words(ceiling: "CeilingResult", *, pipeline_only: bool) -> str:
    """What may be claimed of one ceiling so far, and how many requests would be enough where these are not."""
    if pipeline_only:
        return "not judged"
    words, needed = ceiling.verdict.replace("_", " "), ceiling.n_needed
    if ceiling.verdict in ("not_claimed", "not_supported") and needed is not None and needed > ceiling.n:
        return f"{words}, needs {needed:,}"
    return words


def outcome_lines(run: SmokeRun, width: int) -> list[str]:
    """What the run showed besides its points: strategies, and at its end capacity, memory, energy, what was left."""
    lines, result = strategy_lines(run.strategies, so_far=run.active), run.result
    if result is None:
        return lines
    if result.capacity is not None:
        kind = "edge, a higher load failed" if result.capacity.kind == "edge" else "at least"
        lines.append(f"Greatest concurrency: {result.capacity.concurrency} ({kind}: {result.capacity.stop_reason})")
    lines += latency_plot(result.points, width)
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


def strategy_lines(strategies: "Sequence[StrategySeen]", *, so_far: bool) -> list[str]:
    """The strategies of section 1 by what the server shows of them; some are tried only after the loads."""
    lines, known = [], catalogue.strategies()
    for seen in ("in_force", "not_in_force", "not_visible"):
        names = [known[row.id].name if row.id in known else row.id for row in strategies if row.seen == seen]
        if names:
            words = {"in_force": "seen in force"}.get(seen, seen.replace("_", " "))
            until = " so far" if so_far and seen == "not_visible" else ""
            lines.append(f"Strategies {words}{until}: {', '.join(names)}")
    return lines
