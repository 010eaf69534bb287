"""What ends each section: the events and dates, what lapses with them, who looks, and how it stands on this day."""

import datetime
from collections.abc import Iterable

from probes.cuda import branch_in
from wizard.answers.budget import Item
from wizard.decision.proof import carried_model, hardware_verified, limit_of, probed_machine
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context.common import answer, said, sources
from wizard.document.context.measurement import capacity_run
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.rules.hardware import weight_format
from wizard.rules.lapses import STALE_DAYS, Trigger, day_of, lapses, run_revision

_COLUMNS = ("Trigger", "As it stands", "What lapses", "Who looks", "On the day of this document", "Source")
_Row = tuple[str, str, str, str, str, str]
#: What the run cannot show of a server that somebody else started.
_BEHIND: frozenset[Trigger] = frozenset({"revision", "driver", "format", "layout", "settings"})
_NOTHING = "nothing measured yet"


def engine_triggers(selection: Selection) -> Table:
    """What ends section 1."""
    owner = said(selection, "engine.owner")
    carried = carried_model(selection)
    key = f"engine.models[{carried[0]}].revision" if carried else "engine.chosen"
    cache, held = "runtime.settings.kv_cache_dtype", weight_format(selection)
    rows: list[_Row] = [
        (
            "Minor version of the engine",
            said(selection, "runtime.version"),
            "flags of 1.3 and 2.4, every run",
            owner,
            _today(selection, "version"),
            sources(selection, "runtime.version"),
        ),
        (
            "Another revision of the weights",
            said(selection, key) if carried else NOT_GIVEN,
            "every run, the quality gate",
            owner,
            _today(selection, "revision", comparable=_revision_known(selection)),
            sources(selection, key) if carried else "missing",
        ),
        (
            "Another format of weights or cache",
            f"weights {held or NOT_GIVEN}, cache {said(selection, cache)}",
            "every run, the memory plan of 2.4, the quality gate",
            owner,
            _today(selection, "format"),
            f"{sources(selection, cache)}, {_format_source(selection)}",
        ),
        (
            "The quality gate fails",
            said(selection, "engine.quality_gate"),
            "the strategies of 1.3 that change answers",
            owner,
            "a person looks: no run of selwiz tests answers",
            sources(selection, "engine.quality_gate"),
        ),
        _review(selection, owner),
        _prices(selection, "E", selection.answers.budget.engine.items, "budget.engine"),
    ]
    return Table(_COLUMNS, tuple(rows))


def runtime_triggers(selection: Selection) -> Table:
    """What ends section 2."""
    owner = said(selection, "runtime.owner")
    hardware = ("runtime.hardware.gpu", "runtime.hardware.gpus_per_replica")
    load = ("runtime.workload.input_tokens", "runtime.workload.output_tokens", "runtime.workload.shared_prefix_tokens")
    limits = ("runtime.ceilings.ttft_ms", "runtime.ceilings.tpot_ms", "runtime.ceilings.e2e_ms")
    rows: list[_Row] = [
        (
            "Another GPU model, count or layout",
            _given(selection, hardware, "{}, {} for each replica"),
            "every run; what is counted by GPU in both lines",
            owner,
            _today(selection, "layout"),
            sources(selection, *hardware),
        ),
        (
            "Another driver branch",
            said(selection, "runtime.hardware.driver"),
            "every run",
            owner,
            _today(selection, "driver", comparable=_driver_known(selection)),
            sources(selection, "runtime.hardware.driver"),
        ),
        (
            "Another flag or variable",
            "those of 2.4",
            "every run",
            owner,
            _today(selection, "settings"),
            "derived F-15",
        ),
        (
            "Another load",
            _given(selection, load, "tokens of the prompt: {}; of the output: {}; shared: {}"),
            "every run",
            owner,
            _today(selection, "load"),
            sources(selection, *load),
        ),
        (
            "A ceiling is tightened",
            _given(selection, limits, "TTFT {}, TPOT {}, E2E {} ms"),
            "no run: its results are read again at the new ceiling",
            owner,
            _today(selection, "ceilings"),
            sources(selection, *limits),
        ),
        _peak(selection, owner),
        _age(selection, owner),
        _review(selection, owner),
        _prices(selection, "R", selection.answers.budget.runtime.items, "budget.runtime"),
    ]
    return Table(_COLUMNS, tuple(rows))


def _given(selection: Selection, keys: tuple[str, ...], words: str) -> str:
    """The answers in words; "not given" alone where there is none of them."""
    if all(answer(selection, key) is None for key in keys):
        return NOT_GIVEN
    return words.format(*(said(selection, key) for key in keys))


def _format_source(selection: Selection) -> str:
    """Where the weight format is known from: the flag that sets it, or the checkpoint."""
    key = "runtime.settings.quantization"
    if answer(selection, key) is not None:
        return sources(selection, key)
    carried = carried_model(selection)
    if carried is None or carried[2] is None:
        return "missing"
    return "catalogue" if carried[2].source.startswith("catalogue") else "probe"


def _today(selection: Selection, trigger: Trigger, *, comparable: bool = True) -> str:
    """Whether the trigger has occurred since the run, in words; what the run cannot show is said to be so."""
    happened = [lapse.words for lapse in lapses(selection) if lapse.trigger == trigger]
    smoke = selection.smoke
    if happened:
        return f"lapsed: {'; '.join(happened)}"
    if smoke is None or smoke.failure is not None:
        return _NOTHING
    limit = limit_of(selection)
    if limit is not None:
        return f"not shown by the run: {limit}"
    seen = trigger == "driver" and hardware_verified(selection)
    if smoke.mode == "endpoint" and trigger in _BEHIND and not seen:
        return "not visible behind the endpoint"
    return "the same as in the run" if comparable else "cannot be compared with the run"


def _revision_known(selection: Selection) -> bool:
    return bool(selection.launch.pinned_revision and selection.smoke and run_revision(selection.smoke))


def _driver_known(selection: Selection) -> bool:
    machine = probed_machine(selection)
    read = machine.driver.version.value if machine else None
    return branch_in(read) is not None and branch_in(selection.answers.runtime.hardware.driver) is not None


def _peak(selection: Selection, owner: str) -> _Row:
    asked, smoke = answer(selection, "runtime.workload.concurrency"), selection.smoke
    capacity = smoke.capacity if smoke is not None and limit_of(selection) is None else None
    held = f"{formats.number(capacity.concurrency)} held by one replica" if capacity else "capacity not measured"
    run = f", measured {capacity_run(smoke)}" if capacity and smoke else ""
    return (
        "A peak above the measured capacity",
        f"{NOT_GIVEN if asked is None else f'{formats.value(asked)} calls in flight'}, {held}",
        "the number of replicas in 2.7",
        owner,
        "the peak is seen in operation, not here",
        f"{sources(selection, 'runtime.workload.concurrency')}{run}",
    )


def _age(selection: Selection, owner: str) -> _Row:
    smoke = selection.smoke
    ended = day_of(smoke.ended_at) if smoke is not None and smoke.failure is None else None
    if ended is None:
        return ("Age of the run", "no run", "every run", owner, _NOTHING, "missing")
    until = ended + datetime.timedelta(days=STALE_DAYS)
    state = "lapsed" if until < selection.prepared_on else "not reached"
    stands = f"{STALE_DAYS} days from {formats.day(ended)}: {formats.day(until)}"
    return ("Age of the run", stands, "every run", owner, state, "measured RUN-1, tool")


def _review(selection: Selection, owner: str) -> _Row:
    day = selection.answers.project.review_by
    state = NOT_GIVEN if day is None else "has passed" if day < selection.prepared_on else "not reached"
    return (
        "The day of the next review",
        formats.day(day),
        "nothing by itself: the section is read again",
        owner,
        state,
        sources(selection, "project.review_by"),
    )


def _prices(selection: Selection, line: str, items: Iterable[Item], at: str) -> _Row:
    """The first price of a line to end; those that have ended by their items."""
    dated = [(item.valid_until, item.id) for item in items if item.valid_until is not None]
    ended = [str(name) for day, name in dated if day < selection.prepared_on]
    first = min((day for day, _ in dated), default=None)
    return (
        f"A price of line {line} passes its date",
        f"first on {formats.day(first)}" if first else NOT_GIVEN,
        "that price; the item has to be quoted again",
        said(selection, f"{at}.owner"),
        NOT_GIVEN if first is None else f"lapsed: {', '.join(ended)}" if ended else "not reached",
        "answer" if first else "missing",
    )
