"""The tables of 2.5: conditions of the runs, results, memory."""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from probes.smoke.owners import is_loopback
from probes.smoke.result import CeilingResult, Latency, Point, SmokeResult
from probes.smoke.statistics import error_rate_bound, two_sided_requests
from wizard.decision.proof import endpoint_gpus, qualifier
from wizard.decision.selection import Selection
from wizard.document import claims, formats
from wizard.document.context.measured_gpus import gpu_rows
from wizard.document.markdown import NOT_GIVEN, Table

_TERMS = {
    "weights": "Weights",
    "kv_room": "Room for the KV cache",
    "graphs": "CUDA graphs",
    "activations": "Activations",
    "other": "Other",
}


class Run(NamedTuple):
    """One RUN of the document: a measured point, or all points of a search."""

    id: str
    points: tuple[Point, ...]

    @property
    def point(self) -> Point:
        """The point of a run that is no search."""
        return self.points[0]


def _model(smoke: SmokeResult, all_runs: str) -> tuple[str, str, str]:
    if smoke.mode == "tiny":
        return "Model", "the stand-in of selwiz, not the model of this selection", all_runs
    return "Model", formats.value(smoke.model), all_runs if smoke.model else "missing"


def conditions(selection: Selection, smoke: SmokeResult, found: tuple[Run, ...]) -> Table:
    """Under what the runs were made, with the source of every line."""
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
        *_nodes(smoke, all_runs),
        _environment(smoke, all_runs),
        ("Load tool and path", f"{smoke.load.tool}, {_path(smoke)}", all_runs),
        *_endpoint_hardware(selection, smoke),
        *_client(smoke, all_runs),
        *_server(smoke),
    ]
    for run in found:
        if run.point.kind != "search":
            rows += _point_conditions(run)
    rows += gpu_rows(smoke, all_runs)
    if smoke.telemetry.waiting_peak is not None:
        rows.append(("Requests waiting at most", formats.number(smoke.telemetry.waiting_peak), all_runs))
    if smoke.telemetry.kv_usage_peak is not None:
        rows.append(("KV cache in use at most", formats.share(smoke.telemetry.kv_usage_peak), all_runs))
    if smoke.telemetry.preemptions is not None:
        rows.append(("Preemptions", formats.number(smoke.telemetry.preemptions), all_runs))
    if smoke.clean_stop is not None:
        rows.append(("Left nothing behind", formats.value(smoke.clean_stop), all_runs))
    return Table(("Condition", "Value", "Source"), tuple(rows))


def _nodes(smoke: SmokeResult, source: str) -> list[tuple[str, str, str]]:
    """Over which processes a replica of several nodes was measured; a server on one machine has no row."""
    nodes = smoke.runtime.nodes
    if not nodes:
        return []
    others = formats.listed(f"rank {node.rank}" for node in nodes if node.role == "headless")
    said = f"{formats.number(len(nodes))} processes: head (rank 0), headless ({others})"
    here = all(node.where == "this_machine" for node in nodes)
    where = "; all on one machine, so nothing went over the network between nodes" if here else ""
    return [("Nodes of the replica", said + where, source)]


def _environment(smoke: SmokeResult, source: str) -> tuple[str, str, str]:
    name = "Environment set for the runs only"
    if smoke.load.imported:
        return name, NOT_GIVEN, "missing"
    return name, "; ".join(smoke.runtime.environment) or "none", source


def _path(smoke: SmokeResult) -> str:
    if smoke.load.imported:
        return "result file imported, path to the server unknown"
    words = smoke.load.command
    url = dict(pairwise(words)).get("--base-url", "")
    away = smoke.mode == "endpoint" and not is_loopback(url)
    return "to the endpoint over the network" if away else "same host, loopback"


def _endpoint_hardware(selection: Selection, smoke: SmokeResult) -> list[tuple[str, str, str]]:
    """The GPUs of an endpoint beside those of one proposed replica."""
    if smoke.mode != "endpoint":
        return []
    gpus, hardware = endpoint_gpus(selection), selection.answers.runtime.hardware
    if not gpus:
        return [("GPUs of the endpoint", "not visible", "missing")]
    names = Counter(formats.value(gpu.name.value) for gpu in gpus)
    found = formats.listed(f"{count} × {name}" for name, count in names.items())
    asked = f"{formats.value(hardware.gpus_per_replica)} × {formats.value(hardware.gpu)}"
    beside = "as proposed" if qualifier(selection) is None else f"proposed: {asked}"
    where = formats.listed(f"GPU {gpu.index}" for gpu in gpus)
    return [("GPUs of the endpoint", f"{found} ({where}), by its processes there; {beside}", "probe")]


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
        if not point.requests
        else (
            f"; error rate at most {formats.share(error_rate_bound(point.requests, point.failed))} at 95 % confidence"
        )
    )
    steady = {
        True: "halves differ by at most 20 %",
        False: "not steady: halves differ by more than 20 %",
        None: NOT_GIVEN,
    }[point.steady]
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


def results(selection: Selection, smoke: SmokeResult, asked: tuple[Run, ...]) -> Table | None:
    """One row for each latency of each asked run; None where no request was completed.

    A stand-in is held against no ceiling, so its rows count nothing over one.
    """
    rows, limit = [], qualifier(selection)
    judged = limit != "pipeline only"
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
                    _ceilings(tested) if judged else "not judged",
                    _over(tested) if judged else "not judged",
                    claims.grade(
                        tested,
                        interval=latency.p50_ci is not None,
                        limit=limit,
                        client_limited=bool(smoke.load.client_limited),
                    ),
                )
            )
    columns = ("Metric", "n", "Median (95 % interval)", "p95", "Ceiling", "Over ceiling", "Grade")
    return Table(columns, tuple(rows)) if rows else None


def _ceilings(tested: tuple[CeilingResult, ...]) -> str:
    return "; ".join(f"p{formats.number(r.percentile)} {formats.limit_ms(r.limit)}" for r in tested) or "none set"


def _over(tested: tuple[CeilingResult, ...]) -> str:
    return "; ".join(f"{formats.number(r.over)} of {formats.number(r.n)}" for r in tested) or "not applicable"


def _median(latency: Latency) -> str:
    if latency.p50 is None:
        return NOT_GIVEN
    middle = formats.milliseconds(latency.p50)
    if latency.p50_ci is None:
        few = latency.n < two_sided_requests(50)
        return f"{middle} (no interval: {'too few requests' if few else 'single requests are not known'})"
    low, high = latency.p50_ci
    return f"{middle} ({formats.milliseconds(low)} to {formats.milliseconds(high)})"


def _p95(latency: Latency) -> str:
    if latency.p95 is None:
        return "not claimed"
    upper = "no upper bound" if latency.p95_upper is None else f"upper bound {formats.milliseconds(latency.p95_upper)}"
    return f"{formats.milliseconds(latency.p95)} ({upper})"


def memory(smoke: SmokeResult) -> Table | None:
    """Memory predicted beside measured; None where neither is known."""
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
