"""What a change does to each line, in words: no amount stands here, so nothing can be added."""

from wizard.document.markdown import Table
from wizard.selection import Selection

_COLUMNS = ("Change", "Engine line", "Runtime line", "Evidence that lapses")

_ROWS: tuple[tuple[str, str, str], ...] = (
    (
        "GPU model, same engine",
        "tuning and the check of kernels and formats; support and licences counted by GPU follow the new count",
        "GPU capacity, spare, host and energy are priced anew; commitments end early",
    ),
    (
        "Provider, same GPU",
        "the image is integrated again; a licence bought through the provider changes its price",
        "every row, egress, and both providers at once for a while",
    ),
    (
        "Rented to owned",
        "a licence that comes with the cards may replace E1",
        "GPU capacity becomes amortised; energy, space and maintenance appear",
    ),
    (
        "Engine, same GPUs",
        "integration, tuning, evaluation and training again; the exit provision is drawn",
        "the number of replicas is derived again",
    ),
    (
        "Minor version of the engine",
        "requalification",
        "none unless the driver must follow",
    ),
    (
        "Quantisation",
        "quantisation and evaluation again",
        "GPUs per replica may change; the GPU-hours that the evaluation uses",
    ),
    (
        "Model",
        "evaluation, licence of the weights, support of its architecture",
        "GPUs per replica may change",
    ),
    ("Latency ceiling tightened", "tuning", "more serving replicas, or more GPUs in each"),
    (
        "Peak above the measured capacity",
        "support and licences counted by GPU grow",
        "one more serving replica",
    ),
)
_LAPSES = {
    "Rented to owned": "none by itself",
    "Minor version of the engine": "every run of the old version",
    "Quantisation": "all runs, quality gate",
    "Model": "all runs, quality gate",
    "Latency ceiling tightened": "none; results are read again at the new ceiling",
    "Peak above the measured capacity": "none",
}


def moves(selection: Selection) -> Table:
    """The table "What moves which line". Without a run there is no evidence that could lapse, which it says."""
    measured = selection.smoke is not None and bool(selection.smoke.points)
    rows = []
    for change, engine, runtime in _ROWS:
        lapses = _LAPSES.get(change, "all runs")
        rows.append((change, engine, runtime, lapses if measured else "none yet, nothing was measured"))
    return Table(_COLUMNS, tuple(rows))
