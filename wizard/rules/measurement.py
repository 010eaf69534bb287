"""Rules on what was measured: they say no more than the run may prove."""

from probes.smoke.result import CeilingResult, Point, SmokeResult
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import asked_points, carried_model, is_own_state, limit_of, qualifier, ran_other_model
from wizard.decision.selection import Selection
from wizard.rules.lapses import lapses
from wizard.rules.rule import Rule, finding, listed, number

_METRICS = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}


def ceilings_hold(selection: Selection) -> list[Finding]:
    """M1: no ceiling is contradicted by the run."""
    # Exact one-sided binomial test at 5 %: contradicted when P(Bin(n, 1 - p) >= t) <= 0.05. A smoke can
    # refute a selection; it blocks only where the run is of the proposed model on the proposed hardware and
    # meets prompts in the workload's own prefix state.
    # What a stand-in takes says nothing of the selection, not even as a note.
    if qualifier(selection) == "pipeline only":
        return []
    found = []
    limit = limit_of(selection)
    for point in asked_points(selection):
        missed = [result for result in point.ceilings if result.verdict == "contradicted"]
        if not missed:
            continue
        own = is_own_state(selection, point)
        severity: Severity = "note" if limit else "block" if own else "warn"
        state = "with the shared prefix cached" if point.kind == "asked_shared" else "without prefix reuse"
        message = (
            f"At {point.concurrency} calls {state} the run contradicts "
            f"{'a ceiling' if len(missed) == 1 else 'ceilings'}: {listed([_missed(m) for m in missed])}"
            f"{f' ({limit})' if limit else ''}."
        )
        where = f"runtime.ceilings.{missed[0].metric}"
        found.append(finding("M1", severity, message, where, _M1_REMEDY[own]))
    return found


_M1_REMEDY = {
    True: "Choose other hardware, another layout or less concurrency, or raise the ceiling with its owner.",
    False: "Name this case as a risk with an owner: it is met after a start and where prompts share less.",
}


def _missed(result: CeilingResult) -> str:
    return (
        f"{_METRICS[result.metric]} p{number(result.percentile)} of {number(result.limit)} ms "
        f"({number(result.over)} of {number(result.n)} over)"
    )


def run_is_of_selection(selection: Selection) -> list[Finding]:
    """M3: the run had the model, quantisation and layout of the selection."""
    # MLPerf inference rules: a result describes the system under test, which here is the selection.
    smoke = selection.smoke
    if smoke is None or smoke.failure is not None:
        return []
    severity: Severity = "note" if qualifier(selection) else "block"
    found = []
    if ran_other_model(selection):
        carried = carried_model(selection)
        name = carried[1].name if carried else None
        message = f"The run was of {_model_shown(smoke)}, the selection is {name or 'another model'}."
        where = f"engine.models[{carried[0] if carried else 0}].name"
        found.append(finding("M3", severity, message, where, "Measure the proposed model."))
    differing = [lapse for lapse in lapses(selection) if lapse.trigger in ("layout", "format")]
    if differing:
        message = f"The run differs from the selection in {listed([lapse.words for lapse in differing])}."
        found.append(finding("M3", severity, message, differing[0].key, "Measure again with the proposed settings."))
    return found


def _model_shown(smoke: SmokeResult) -> str:
    """Name the model of a run without the folder it lay in, which may hold a user's name."""
    if smoke.mode == "tiny":
        return "the tiny model of selwiz"
    if smoke.model is None:
        return "another model"
    is_hub_name = smoke.model.count("/") == 1 and smoke.model[0] not in "/~."
    return smoke.model if is_hub_name else smoke.model.rstrip("/").rsplit("/", 1)[-1]


def asked_concurrency_was_measured(selection: Selection) -> list[Finding]:
    """M7: the run reached the asked concurrency; nothing is extrapolated from a lower one."""
    # Latency over load is not linear: a closed loop says what its own concurrency saw.
    asked, points = selection.answers.runtime.workload.concurrency, asked_points(selection)
    if asked is None or not points or max(map(_concurrency, points)) >= asked:
        return []
    severity: Severity = "note" if qualifier(selection) else "warn"
    message = f"{max(map(_concurrency, points))} calls were measured, {asked} are asked; nothing is extrapolated."
    remedy = f"Measure at {asked} calls, or lower the concurrency that is asked."
    return [finding("M7", severity, message, "runtime.workload.concurrency", remedy)]


def _concurrency(point: Point) -> int:
    return point.concurrency


RULES = (
    Rule(
        "M1",
        "No ceiling is contradicted by the run",
        ("block", "warn", "note"),
        "exact binomial test, one-sided, 5 %; MLPerf inference rules, early stopping",
        ceilings_hold,
        "Choose other hardware, another layout or less concurrency, or raise the ceiling with its owner.",
    ),
    Rule(
        "M3",
        "The run was of the proposed model, quantisation and layout",
        ("block", "note"),
        "MLCommons, MLPerf results messaging guidelines: a result names its system",
        run_is_of_selection,
        "Measure the proposed model with the proposed layout and formats.",
    ),
    Rule(
        "M7",
        "The run reached the asked concurrency",
        ("warn", "note"),
        "closed-loop load: a result holds for its own concurrency",
        asked_concurrency_was_measured,
        "Measure at the concurrency that is asked, or ask for less.",
    ),
)
