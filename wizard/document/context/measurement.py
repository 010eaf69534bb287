"""2.5: what the smoke measured, under which conditions, and what it may say."""

from typing import NamedTuple

from probes.smoke.result import Latency, Point, SmokeResult
from probes.smoke.statistics import error_rate_bound
from wizard.document import claims, formats
from wizard.document.context.common import Context
from wizard.document.context.money import Rate
from wizard.document.context.strategies import titled
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.proof import is_own_state, qualifier, ran_other_model
from wizard.selection import Selection

_STATES = {
    "asked_shared": "shared prefix as the workload asks",
    "asked_unshared": "nothing shared between prompts",
    "search": "search",
}
_SEEN = {"in_force": "in force", "not_in_force": "not in force", "not_visible": "not visible from outside"}


class Run(NamedTuple):
    """One RUN of the document: a measured point, or all points of a search."""

    id: str
    points: tuple[Point, ...]

    @property
    def point(self) -> Point:
        """The point of a run that is no search."""
        return self.points[0]


def runs(smoke: SmokeResult) -> tuple[Run, ...]:
    """The runs in the order in which the document counts them: asked points, then the search as one run."""
    asked = sorted((p for p in smoke.points if p.kind != "search"), key=lambda p: p.kind != "asked_shared")
    found = [Run(f"RUN-{position}", (point,)) for position, point in enumerate(asked, 1)]
    search = tuple(point for point in smoke.points if point.kind == "search")
    if search:
        found.append(Run(f"RUN-{len(found) + 1}", search))
    return tuple(found)


def capacity_run(smoke: SmokeResult) -> str:
    """The run that a capacity was found in: the search, else the first one."""
    found = runs(smoke)
    return next((run.id for run in found if run.point.kind == "search"), "RUN-1")


def measurement(selection: Selection) -> Context:
    """Everything that 2.5 says; without a smoke, that nothing was measured."""
    smoke = selection.smoke
    context: Context = {
        "measured": False,
        "nothing": claims.NO_MEASUREMENT,
        "failure": None,
        "asymmetry": claims.ASYMMETRY,
    }
    if smoke is None:
        return context
    if smoke.failure is not None:
        failure = smoke.failure
        context["failure"] = (
            f"A measurement was tried in mode {smoke.mode} and failed in the phase {failure.phase}: {failure.message} "
            f"{failure.advice}"
        )
    if not smoke.points:
        return context
    found = runs(smoke)
    asked = tuple(run for run in found if run.point.kind != "search")
    where = _where(selection, smoke)
    return context | {
        "measured": True,
        "mode": smoke.mode,
        "mode_words": claims.MODES[smoke.mode],
        "attribution": claims.ATTRIBUTION if smoke.mode == "endpoint" else None,
        "hardware_words": _hardware_words(selection),
        "memory_of": "of the CPU process" if smoke.runtime.build == "cpu" else "per GPU",
        "strategies_note": _STAND_IN if qualifier(selection) == "pipeline only" else None,
        "scopes": [f"{run.id}, {_STATES[run.point.kind]}: {claims.scope(run.point, where)}" for run in asked],
        "closed_loop": claims.closed_loop(found[0].point.concurrency),
        "conditions": _conditions(smoke, found),
        "results": _results(selection, smoke, asked),
        "statements": _statements(asked, claimed=qualifier(selection) != "pipeline only"),
        "per_ceiling": claims.PER_CEILING if any(len(run.point.ceilings) > 1 for run in asked) else None,
        "search": _search(smoke, found),
        "memory": _memory(smoke),
        "memory_predicted": any(row.predicted_bytes is not None for row in smoke.memory),
        "cache": _cache(smoke),
        "strategies": _strategies(selection, smoke),
        "not_shown": claims.NOT_SHOWN,
        "independence": claims.INDEPENDENCE,
        "notes": [*smoke.notes, *smoke.left_behind],
    }


def not_usable(selection: Selection) -> str | None:
    """Return why no figure of the run may be carried over to the proposed runtime; None where it may."""
    smoke = selection.smoke
    if smoke is None or not smoke.points:
        return "nothing was measured"
    limit = qualifier(selection)
    if limit == "pipeline only":
        return "the run used a stand-in for the model or a smaller load"
    if limit == "other hardware":
        return "the run was not on the proposed hardware"
    if ran_other_model(selection):
        return "the run was of another model"
    if smoke.mode == "endpoint":
        return "the hardware behind the endpoint was not verified by the run"
    return None


def rate(selection: Selection) -> Rate:
    """The measured output rate that the unit cost of line R may use, or why none may be used.

    It is the rate of one replica at the asked load, times the serving replicas: all the capacity that R1 pays for.
    """
    smoke, replicas = selection.smoke, selection.answers.runtime.layout.replicas
    doubt = not_usable(selection)
    if smoke is None or doubt is not None:
        return Rate(None, "", doubt or "nothing was measured")
    asked = [run for run in runs(smoke) if run.point.kind != "search" and is_own_state(selection, run.point)]
    if not asked or replicas is None:
        return Rate(None, "", "no run has the asked load, or the number of serving replicas is not given")
    run = asked[0]
    if any(result.verdict == "contradicted" for result in run.point.ceilings):
        return Rate(None, "", f"{run.id} contradicts a ceiling, so its rate is not one that the selection may use")
    return Rate(run.point.output_tok_s * replicas, run.id, "")


def _where(selection: Selection, smoke: SmokeResult) -> str:
    if smoke.mode == "endpoint":
        return "an endpoint whose hardware this run did not verify"
    limit = qualifier(selection)
    if smoke.mode == "tiny":
        return "this machine, with a stand-in for the model"
    return "other hardware than proposed" if limit == "other hardware" else "the node of 2.2"


def _hardware_words(selection: Selection) -> str | None:
    if qualifier(selection) != "other hardware":
        return None
    return "The run was not on the proposed hardware of 2.2: its grades say other hardware."


_STAND_IN = "; the stand-in ran without what belongs to the proposed model, hardware and layout"
_TERMS = {
    "weights": "Weights",
    "kv_room": "Room for the KV cache",
    "graphs": "CUDA graphs",
    "activations": "Activations",
    "other": "Other",
}


def _model(smoke: SmokeResult, all_runs: str) -> tuple[str, str, str]:
    if smoke.mode == "tiny":
        return "Model", "the stand-in of selwiz, not the model of this selection", all_runs
    return "Model", formats.value(smoke.model), all_runs if smoke.model else "missing"


def _conditions(smoke: SmokeResult, found: tuple[Run, ...]) -> Table:
    all_runs = "measured " + formats.listed(run.id for run in found)
    rows = [
        ("Run id, mode", f"{smoke.run_id}, {smoke.mode}", all_runs),
        ("Start and end, UTC", f"{formats.utc(smoke.started_at)} to {formats.utc(smoke.ended_at)}", all_runs),
        _model(smoke, all_runs),
        (
            "Runtime",
            f"{smoke.runtime.product} {formats.value(smoke.runtime.version)}",
            all_runs if smoke.runtime.version else "missing",
        ),
        ("Environment set for the runs only", "; ".join(smoke.runtime.environment) or "none", all_runs),
        ("Load tool and path", f"{smoke.load.tool}, {_path(smoke)}", all_runs),
        *_client(smoke, all_runs),
        *_server(smoke),
    ]
    for run in found:
        if run.point.kind != "search":
            rows += _point_conditions(run)
    energy = smoke.telemetry.joule_per_output_token
    if energy is not None:
        rows.append(("Energy per output token", f"{formats.number(energy, 2)} J", all_runs))
    if smoke.telemetry.kv_usage_peak is not None:
        rows.append(("KV cache in use at most", formats.share(smoke.telemetry.kv_usage_peak), all_runs))
    if smoke.telemetry.preemptions is not None:
        rows.append(("Preemptions", formats.number(smoke.telemetry.preemptions), all_runs))
    if smoke.clean_stop is not None:
        rows.append(("Left nothing behind", formats.value(smoke.clean_stop), all_runs))
    return Table(("Condition", "Value", "Source"), tuple(rows))


def _path(smoke: SmokeResult) -> str:
    return "to the endpoint over the network" if smoke.mode == "endpoint" else "same host, loopback"


def _client(smoke: SmokeResult, source: str) -> list[tuple[str, str, str]]:
    if smoke.load.cpu_core_share is None:
        return []
    limited = {True: "client-limited", False: "not client-limited", None: "limit not judged"}
    share = formats.share(smoke.load.cpu_core_share, 0)
    return [("Load process, of one core", f"{share}, {limited[smoke.load.client_limited]}", source)]


def _server(smoke: SmokeResult) -> list[tuple[str, str, str]]:
    rows = []
    server = smoke.server
    if server.ready_s is not None:
        phases = ", ".join(f"{phase.name} {formats.number(phase.s, 0)}" for phase in server.phases)
        rows.append(
            (
                "Server start",
                f"{formats.number(server.ready_s, 0)} s{f': {phases}' if phases else ''}",
                "measured RUN-1",
            )
        )
    for name, value in (
        ("Longest request of the server", server.max_model_len),
        ("KV cache block", server.block_size),
    ):
        if value is not None:
            rows.append((name, f"{formats.number(value)} tokens", "measured RUN-1"))
    if server.attention_backend is not None:
        rows.append(("Attention backend", server.attention_backend, "measured RUN-1"))
    return rows


def _point_conditions(run: Run) -> list[tuple[str, str, str]]:
    point = run.point
    bound = (
        ""
        if point.failed or not point.completed
        else (f"; error rate at most {formats.share(error_rate_bound(point.completed))} at 95 % confidence")
    )
    steady = "halves differ by at most 20 %" if point.steady else "not steady: halves differ by more than 20 %"
    rows = [
        ("prompt tokens", _lengths(point.input_len, point.input_tokens, point.completed)),
        ("output tokens", _lengths(point.output_len, point.output_tokens, point.completed)),
        (
            "requests ok, failed, excluded from TPOT",
            ", ".join(formats.number(count) for count in (point.completed, point.failed, point.excluded)) + bound,
        ),
        ("steady", steady),
        ("output rate", _rate(point)),
        (
            "prompt tokens from cache",
            NOT_GIVEN if point.prefix_hit_rate is None else formats.share(point.prefix_hit_rate),
        ),
    ]
    return [
        (f"{run.id}, {name}", text, "missing" if text == NOT_GIVEN else f"measured {run.id}") for name, text in rows
    ]


def _lengths(lengths: object, total: int, completed: int) -> str:
    mean = formats.number(total / completed, 0) if completed else NOT_GIVEN
    if lengths is None:
        return f"mean {mean}"
    low, middle, high = (formats.number(getattr(lengths, name), 0) for name in ("min", "p50", "max"))
    return f"{low} to {high}, median {middle}, mean {mean}"


def _rate(point: Point) -> str:
    whole = f"{formats.number(point.output_tok_s, 0)} tokens/s over the whole run"
    if point.output_tok_s_full_load is None:
        return whole
    return f"{formats.number(point.output_tok_s_full_load, 0)} tokens/s with all calls in flight, {whole}"


def _results(selection: Selection, smoke: SmokeResult, asked: tuple[Run, ...]) -> Table | None:
    rows = []
    for run in asked:
        for metric, name in claims.METRICS.items():
            latency: Latency = getattr(run.point, metric)
            if latency.p50 is None:
                continue
            tested = tuple(result for result in run.point.ceilings if result.metric == metric)
            rows.append(
                (
                    f"{run.id}: {name}, ms",
                    formats.number(latency.n),
                    _median(latency),
                    _p95(latency),
                    "; ".join(f"p{formats.number(r.percentile)} {formats.limit_ms(r.limit)}" for r in tested)
                    or "none set",
                    "; ".join(f"{formats.number(r.over)} of {formats.number(r.n)}" for r in tested) or "not applicable",
                    claims.grade(
                        tested,
                        interval=latency.p50_ci is not None,
                        limit=qualifier(selection),
                        client_limited=bool(smoke.load.client_limited),
                    ),
                )
            )
    columns = ("Metric", "n", "Median (95 % interval)", "p95", "Ceiling", "Over ceiling", "Grade")
    return Table(columns, tuple(rows)) if rows else None


def _median(latency: Latency) -> str:
    if latency.p50 is None:
        return NOT_GIVEN
    middle = formats.milliseconds(latency.p50)
    if latency.p50_ci is None:
        return f"{middle} (no interval: too few requests)"
    low, high = latency.p50_ci
    return f"{middle} ({formats.milliseconds(low)} to {formats.milliseconds(high)})"


def _p95(latency: Latency) -> str:
    if latency.p95 is None:
        return "not claimed"
    upper = "no upper bound" if latency.p95_upper is None else f"upper bound {formats.milliseconds(latency.p95_upper)}"
    return f"{formats.milliseconds(latency.p95)} ({upper})"


def _statements(asked: tuple[Run, ...], *, claimed: bool) -> list[str]:
    """Say for every run what it shows of each ceiling and of p99; a stand-in is tested against no ceiling."""
    found = []
    for run in asked:
        if claimed:
            found += [f"{run.id}, {claims.METRICS[r.metric]}: {claims.ceiling(r)}" for r in run.point.ceilings]
        found.append(f"{run.id}: {_p99(run.point)}")
    return found


def _p99(point: Point) -> str:
    sentence = claims.p99_not_claimed(point.completed)
    if sentence is not None:
        return sentence
    stated = [
        f"{name} {formats.milliseconds(p99)} ms"
        for metric, name in claims.METRICS.items()
        if (p99 := getattr(point, metric).p99) is not None
    ]
    return f"p99 of {formats.number(point.completed)} requests: {formats.listed(stated)}."


def _search(smoke: SmokeResult, found: tuple[Run, ...]) -> list[str]:
    """What the search looked at, how often, and where it ended."""
    said = []
    for run in found:
        if run.point.kind == "search":
            looks = formats.listed(_look(point) for point in run.points)
            said.append(
                f"{run.id}, search for the greatest concurrency at which every ceiling holds, "
                f"{formats.counted(len(run.points), 'look')}: {looks}."
            )
    if smoke.capacity is not None:
        at_least = "" if smoke.capacity.kind == "edge" else "at least "
        said.append(
            f"Capacity of one replica: {at_least}{formats.number(smoke.capacity.concurrency)} concurrent calls, kind "
            f"{smoke.capacity.kind.replace('_', ' ')}, confidence {formats.share(smoke.capacity.confidence, 0)}; "
            f"stopped because {smoke.capacity.stop_reason}."
        )
    return said


def _look(point: Point) -> str:
    bad = [r for r in point.ceilings if r.verdict != "supported"]
    if not bad:
        return f"{formats.number(point.concurrency)} held ({formats.counted(point.completed, 'request')})"
    worst = max(bad, key=lambda r: r.over / max(r.n, 1))
    over = f"{formats.number(worst.over)} of {formats.number(worst.n)}"
    return f"{formats.number(point.concurrency)} did not hold ({over} over the {claims.METRICS[worst.metric]} ceiling)"


def _memory(smoke: SmokeResult) -> Table | None:
    if not smoke.memory:
        return None
    rows = []
    for row in smoke.memory:
        predicted, measured = row.predicted_bytes, row.measured_bytes
        error = NOT_GIVEN
        if predicted is not None and measured:
            sign = "+" if predicted >= measured else "-"
            error = f"{sign}{formats.share(abs(predicted - measured) / measured)}"
        rows.append(
            (
                _TERMS.get(row.term, row.term),
                NOT_GIVEN if predicted is None else formats.gib(predicted),
                NOT_GIVEN if measured is None else formats.gib(measured),
                error,
            )
        )
    return Table(("Term", "Predicted", "Measured", "Error of prediction"), tuple(rows))


def _cache(smoke: SmokeResult) -> str | None:
    size, calls = smoke.server.kv_cache_size_tokens, smoke.server.kv_cache_max_concurrency
    if size is None:
        return None
    longest = "" if calls is None else f": {formats.number(calls, 1)} calls of the longest request"
    return f"The KV cache of one engine holds {formats.number(size)} tokens{longest} (measured RUN-1)."


def _strategies(selection: Selection, smoke: SmokeResult) -> Table | None:
    if not smoke.strategies:
        return None
    rows = tuple(
        (titled(selection, seen.id), seen.decision, _SEEN[seen.seen], seen.because, "measured RUN-1")
        for seen in smoke.strategies
    )
    return Table(("Strategy", "Decision", "Seen in the run", "Because", "Source"), rows)
