"""2.5: what the smoke measured, under which conditions, and what it may say."""

from probes.smoke.planning import TINY_KEPT_FLAGS
from probes.smoke.result import Point, SmokeResult, StrategySeen
from wizard.decision.proof import Limit, hardware_verified, is_own_state, limit_of, qualifier, ran_other_model
from wizard.decision.selection import Selection
from wizard.document import claims, formats
from wizard.document.context.common import Context
from wizard.document.context.measurement_tables import Run, conditions, memory, results
from wizard.document.context.money import Rate
from wizard.document.context.over_load import over_load
from wizard.document.context.strategies import titled
from wizard.document.markdown import Table
from wizard.serving.launch import switch_of

_STATES = {
    "asked_shared": "shared prefix as the workload asks",
    "asked_unshared": "nothing shared between prompts",
    "search": "search",
}
_SEEN = {"in_force": "in force", "not_in_force": "not in force", "not_visible": "not visible from outside"}


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
        "asymmetry": claims.ASYMMETRY if limit_of(selection) is None else None,
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
    found, judged = runs(smoke), qualifier(selection) != "pipeline only"
    asked = tuple(run for run in found if run.point.kind != "search")
    return context | {
        "measured": True,
        "mode": smoke.mode,
        "mode_words": claims.MODES[smoke.mode],
        "attribution": _attribution(selection, smoke),
        "hardware_words": _hardware_words(selection),
        "memory_of": "of the CPU process" if smoke.runtime.build == "cpu" else "per GPU",
        "strategies_note": None if judged else _STAND_IN,
        "scopes": _scopes(selection, smoke, asked),
        "closed_loop": claims.closed_loop(found[0].point.concurrency),
        "conditions": conditions(selection, smoke, found),
        "results": results(selection, smoke, asked),
        "statements": _statements(asked, claimed=judged),
        "per_ceiling": claims.PER_CEILING if judged and any(len(run.point.ceilings) > 1 for run in asked) else None,
        "search": _search(smoke, found, limit_of(selection)),
        **over_load(selection, found),
        "memory": memory(smoke),
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
    if not hardware_verified(selection):
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


def _scopes(selection: Selection, smoke: SmokeResult, asked: tuple[Run, ...]) -> list[str]:
    """What each run was; the limit that all of them have is said once."""
    where, limit = _where(selection, smoke), limit_of(selection)
    said = [claims.scope(run.point, where, limit) for run in asked[:1]]
    said += [claims.scope_again(run.point) for run in asked[1:]]
    return [f"{run.id}, {_state(smoke, run)}: {words}" for run, words in zip(asked, said, strict=True)]


def _state(smoke: SmokeResult, run: Run) -> str:
    return "what its prompts shared is not known" if smoke.load.imported else _STATES[run.point.kind]


def _where(selection: Selection, smoke: SmokeResult) -> str:
    if not hardware_verified(selection):
        return "an endpoint whose hardware this run did not verify"
    limit = qualifier(selection)
    if smoke.mode == "tiny":
        return "this machine, with a stand-in for the model"
    return "other hardware than proposed" if limit == "other hardware" else "the node of 2.2"


def _attribution(selection: Selection, smoke: SmokeResult) -> str | None:
    if smoke.mode != "endpoint":
        return None
    return claims.ATTRIBUTION_ON_SEEN_GPUS if hardware_verified(selection) else claims.ATTRIBUTION


def _hardware_words(selection: Selection) -> str | None:
    if qualifier(selection) != "other hardware":
        return None
    return "The run was not on the proposed hardware of 2.2: its grades say other hardware."


_STAND_IN = "; the stand-in ran without what belongs to the proposed model, hardware and layout"


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


def _search(smoke: SmokeResult, found: tuple[Run, ...], limited: Limit | None) -> list[str]:
    """What the search looked at, how often, and where it ended."""
    said = []
    for run in found:
        if run.point.kind == "search":
            judged = limited != "pipeline only"
            looks = formats.listed(_look(point, judged=judged) for point in run.points)
            sought = "at which every ceiling holds" if judged else "of the stand-in, held against no ceiling here"
            said.append(
                f"{run.id}, search for the greatest concurrency {sought}, "
                f"{formats.counted(len(run.points), 'look')}: {looks}."
            )
    if smoke.capacity is not None:
        at_least = "" if smoke.capacity.kind == "edge" else "at least "
        said.append(
            f"{claims.capacity_of(limited)}: {at_least}{formats.number(smoke.capacity.concurrency)} concurrent calls, "
            f"kind {smoke.capacity.kind.replace('_', ' ')}, confidence {formats.share(smoke.capacity.confidence, 0)} "
            "(the share of simulated searches that name no load above the true one); "
            f"stopped because {smoke.capacity.stop_reason}."
        )
    return said


def _look(point: Point, *, judged: bool) -> str:
    if not judged:
        return f"{formats.number(point.concurrency)} ({formats.counted(point.completed, 'request')})"
    bad = [r for r in point.ceilings if r.verdict != "supported"]
    if not bad:
        return f"{formats.number(point.concurrency)} held ({formats.counted(point.completed, 'request')})"
    worst = max(bad, key=lambda r: r.over / max(r.n, 1))
    over = f"{formats.number(worst.over)} of {formats.number(worst.n)}"
    return f"{formats.number(point.concurrency)} did not hold ({over} over the {claims.METRICS[worst.metric]} ceiling)"


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
        (titled(selection, seen.id), seen.decision, *seen_in_run(selection, smoke, seen), "measured RUN-1")
        for seen in smoke.strategies
    )
    return Table(("Strategy", "Decision", "Seen in the run", "Because", "Source"), rows)


def seen_in_run(selection: Selection, smoke: SmokeResult, seen: StrategySeen) -> tuple[str, str]:
    """What the run showed of a strategy and why; a stand-in does not test what it leaves out on purpose."""
    if smoke.mode == "tiny" and seen.decision == "adopt" and seen.seen == "not_in_force":
        switch = switch_of(seen.id, selection.launch.runtime)
        flags = () if switch is None else (*switch.enable, *switch.disable)
        if not any(flag.flag in TINY_KEPT_FLAGS for flag in flags):
            return "not tested", "the stand-in ran without it"
    return _SEEN[seen.seen], seen.because
