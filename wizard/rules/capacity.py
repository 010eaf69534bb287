"""Rules on whether the lines pay for the capacity that section 2 proposes, once and in full."""

import re
from collections.abc import Iterator
from decimal import Decimal

from wizard.answers import Item
from wizard.catalogue import EngineRow, engine_id, engines
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import qualifier
from wizard.decision.selection import Selection
from wizard.rules.budget import every_item, is_owned, is_priced, needed_items, unit_of
from wizard.rules.rule import Rule, counted, finding, listed, number
from wizard.serving.trace import realised

#: GPU-hours that one unit of capacity pays for; a month is a twelfth of 8,760 hours.
_HOURS = {"gpu-hours": Decimal(1), "gpu-months": Decimal(730), "gpu-years": Decimal(8760)}
#: By how much the hours of a year differ, as they are counted: 12 x 720, 8,760 or 8,784.
_HOURS_OF_A_YEAR = Decimal("0.015")
_PERIODS = {"monthly": 12, "yearly": 1, "usage-yearly": 1}
_BOUGHT_UNITS = {"gpus", "servers", "nodes", "systems", "accelerators"}
#: From this availability on, the loss of one node uses up what is allowed in a month.
_NEEDS_SPARE = 99.0
_PERCENT = re.compile(r"(\d{2}(?:[.,]\d+)?)\s*%")
_ACCEPTED = re.compile(r"accept", re.IGNORECASE)
_LEGAL = re.compile(r"legal|counsel|lawyer|compliance", re.IGNORECASE)


def _rows(selection: Selection, base: str, *, needed: bool = True) -> list[tuple[str, Item]]:
    """The items of line R of one kind: R1, R1a, R1b; those that another line causes are left out."""
    items = needed_items(selection, "runtime") if needed else every_item(selection, "runtime")
    return [(key, item) for key, item in items if re.fullmatch(rf"{base}[a-z]?", item.id or "") and item.cause is None]


def availability_is_paid(selection: Selection) -> list[Finding]:
    """B10: a spare replica is paid by R2, and an availability target has a spare or an accepted risk."""
    # Redundancy stands in a row of its own, so that the price of availability is seen.
    answers = selection.answers
    spare, target = answers.runtime.layout.spare_replicas, answers.runtime.operations.availability
    if spare and not _rows(selection, "R2"):
        message = f"Section 2 has {counted(spare, 'spare replica')}, and no row R2 of line R pays for it."
        remedy = "Add R2 with the GPUs of the spare, bundled in R1 if that price holds it, or set the spare to 0."
        return [finding("B10", "block", message, "budget.runtime.items", remedy)]
    percents = [float(text.replace(",", ".")) for text in _PERCENT.findall(target or "")]
    if spare != 0 or not percents or max(percents) < _NEEDS_SPARE or _risk_is_accepted(selection):
        return []
    message = f"The availability target of {number(max(percents))} % needs a spare replica, and there is none."
    remedy = "Propose a spare with its row R2, or write down who accepts the loss of a node."
    return [finding("B10", "block", message, "runtime.layout.spare_replicas", remedy)]


def _risk_is_accepted(selection: Selection) -> bool:
    answers = selection.answers
    texts = [answers.runtime.operations.node_loss, *(risk.text for risk in answers.governance.risks)]
    texts += [risk.consequence for risk in answers.governance.risks]
    return any(text and _ACCEPTED.search(text) for text in texts)


def volume_is_given(selection: Selection) -> list[Finding]:
    """B11: the yearly volume is known, without which no cost per million tokens can be stated."""
    # Unit cost = yearly cost / yearly tokens; the tokens are those of the answers.
    load = selection.answers.runtime.workload
    missing = [name for name in ("calls_per_year", "output_tokens") if getattr(load, name) is None]
    if not missing:
        return []
    words = {"calls_per_year": "the calls a year", "output_tokens": "the output tokens of a call"}
    names = listed([words[name] for name in missing])
    message = f"No cost per million tokens can be stated: {names} are not given."
    remedy = "Estimate them, with the assumption that they rest on."
    return [finding("B11", "warn", message, f"runtime.workload.{missing[0]}", remedy)]


def nothing_is_paid_twice(selection: Selection) -> list[Finding]:
    """B12: GPUs are rented or owned but not both, energy of rented ones is in their price, a spare is paid once."""
    # GAO cost guide, comprehensive: nothing is left out and nothing counted twice.
    return [*_rented_and_owned(selection), *_spare_twice(selection)]


def _rented_and_owned(selection: Selection) -> Iterator[Finding]:
    ownership = selection.answers.runtime.hardware.ownership
    capacity = [(key, item) for key, item in _rows(selection, "R1") if is_priced(item)]
    rented = [item for _, item in capacity if unit_of(item) in _HOURS]
    bought = [(key, item) for key, item in capacity if unit_of(item) in _BOUGHT_UNITS]
    if bought and (rented or ownership == "rented"):
        key, item = bought[0]
        others = listed([other.id or "a row" for other in rented]) if rented else "the answer"
        message = f"{item.id} buys GPUs, while {others} says that they are rented."
        yield finding("B12", "block", message, f"{key}.unit", "Pay for the GPUs one way, rented or owned.")
    owned = [(key, item) for key, item in needed_items(selection, "runtime") if is_owned(item)]
    if owned and (rented or ownership == "rented"):
        key, item = owned[0]
        others = listed([other.id or "a row" for other in rented]) if rented else "the answer"
        message = f"{item.id} is a part of owned hardware, while {others} says that the GPUs are rented."
        yield finding("B12", "block", message, f"{key}.owned_part", "Pay for the GPUs one way, rented or owned.")
    energy = [(key, item) for key, item in _rows(selection, "R10") if is_priced(item) and item.unit_price]
    if energy and ownership == "rented":
        key, item = energy[0]
        message = f"{item.id} charges energy or space of GPUs that are rented, whose price holds both."
        remedy = "Mark the item as not needed, or say that the GPUs are owned."
        yield finding("B12", "block", message, f"{key}.id", remedy)


def _spare_twice(selection: Selection) -> Iterator[Finding]:
    layout, gpus = selection.answers.runtime.layout, selection.answers.runtime.hardware.gpus_per_replica
    if gpus is None or layout.replicas is None or layout.spare_replicas is None:
        return
    spare_rows = [(key, item) for key, item in _rows(selection, "R2") if is_priced(item) and item.unit_price]
    paid = _gpus_paid(_rows(selection, "R1"))
    serving = layout.replicas * gpus
    if spare_rows and layout.spare_replicas == 0:
        key, item = spare_rows[0]
        message = f"{item.id} pays for a spare, and section 2 proposes none."
        remedy = "Propose the spare replica, or mark the item as not needed."
        yield finding("B12", "block", message, f"{key}.id", remedy)
    elif spare_rows and paid is not None and _holds_the_spare(paid[1], serving, layout.spare_replicas * gpus):
        key, most = paid
        message = (
            f"R1 pays for {number(float(most))} GPUs around the clock, {number(serving)} serve: "
            f"the spare is paid there and again in {listed([item.id or 'R2' for _, item in spare_rows])}."
        )
        remedy = f"Let R1 pay for {counted(serving, 'GPU')} and R2 for the spare ones."
        yield finding("B12", "block", message, f"{key}.quantity", remedy)


def _holds_the_spare(paid: Decimal, serving: int, spare: int) -> bool:
    """Whether the price of the serving GPUs pays for more than a leap year's hours: for half of the spare or more."""
    return (paid - serving) * 2 >= spare


def capacity_is_paid(selection: Selection) -> list[Finding]:
    """B24: R1 pays for the GPUs that serve and R2 for those of the spare, no fewer and no more, around the clock."""
    # GAO cost guide, comprehensive: nothing is left out and nothing counted twice; twice is B12.
    layout, gpus = selection.answers.runtime.layout, selection.answers.runtime.hardware.gpus_per_replica
    if gpus is None or layout.replicas is None or layout.spare_replicas is None:
        return []
    serving, spare = layout.replicas * gpus, layout.spare_replicas * gpus
    ones, twos = _rows(selection, "R1"), _rows(selection, "R2")
    twice = any(found.where.endswith(".quantity") for found in _spare_twice(selection))
    in_one = bool(twos) and all(item.basis == "bundled" for _, item in twos)
    asked = [(ones, serving + spare if in_one else serving, "serve")] if not twice else []
    asked += [(twos, spare, "are spare")] if spare and not in_one else []
    found = []
    for rows, count, do in asked:
        paid = _gpus_paid(rows)
        if paid is None or abs(paid[1] - count) <= count * _HOURS_OF_A_YEAR:
            continue
        names = listed([item.id or "a row" for _, item in rows if is_priced(item)])
        message = (
            f"{names} pays for {number(round(float(paid[1]), 2))} of the GPUs around the clock, and {number(count)} "
            f"{'serve or are spare' if in_one else do}."
        )
        remedy = "Pay for the hours of all of them, or propose as many as are paid for."
        found.append(finding("B24", "warn", message, f"{paid[0]}.quantity", remedy))
    return found


def _gpus_paid(rows: list[tuple[str, Item]]) -> tuple[str, Decimal] | None:
    """How many GPUs around the clock the rows pay for, and the key of the first; None where it cannot be counted."""
    hours, first = Decimal(0), ""
    for key, item in rows:
        each, periods = _HOURS.get(unit_of(item)), _PERIODS.get(item.frequency or "")
        if not is_priced(item) or item.quantity is None:
            continue
        if each is None or periods is None:
            return None
        hours += item.quantity * each * periods
        first = first or key
    return (first, hours / 8760) if first else None


def replicas_hold_the_load(selection: Selection) -> list[Finding]:
    """B17: the serving replicas hold their ceilings at the asked concurrency, as far as a search has found."""
    # The capacity search names the greatest concurrency at which every ceiling was held; above it, it saw one fail.
    smoke, answers = selection.smoke, selection.answers
    asked, replicas = answers.runtime.workload.concurrency, answers.runtime.layout.replicas
    if smoke is None or smoke.failure is not None or smoke.capacity is None or smoke.capacity.kind != "edge":
        return []
    held = smoke.capacity.concurrency
    if asked is None or replicas is None or held < 1 or held * replicas >= asked:
        return []
    needed = -(-asked // held)
    severity: Severity = "note" if qualifier(selection) else "warn"
    message = (
        f"A replica held its ceilings up to {counted(held, 'call')}; {counted(replicas, 'serving replica')} "
        f"cannot hold {number(asked)}, and line R pays for no more."
    )
    remedy = f"Propose {counted(needed, 'serving replica')}, or ask for less."
    return [finding("B17", severity, message, "runtime.layout.replicas", remedy)]


def host_memory_is_paid(selection: Selection) -> list[Finding]:
    """B18: a cache or weights in host memory have their memory in line R."""
    # vLLM 0.33.0 --kv-offloading-size: GiB of pinned host memory over all tensor parallel ranks.
    moved = [
        name
        for strategy, name in (("kv_offload", "the key-value cache"), ("weight_offload", "weights"))
        if realised(strategy, selection.launch).in_force
    ]
    if not moved or _rows(selection, "R4"):
        return []
    message = f"The runtime keeps {listed(moved)} in host memory, and no row R4 of line R pays for the host."
    remedy = "Add R4 with the memory that is needed, bundled in R1 if that price holds it."
    return [finding("B18", "block", message, "budget.runtime.items", remedy)]


def licence_class_is_heeded(selection: Selection) -> list[Finding]:
    """B19: a commercial runtime has its licence in line E, and an AGPL one was looked at by legal."""
    # NVIDIA AI Product Agreement: a licence for each GPU, in line E by the keep-test whoever invoices it.
    # AGPL-3.0 section 13: users over a network may ask for the source.
    answers, found = selection.answers, []
    rows = _engine_rows(selection)
    paid = next((row for row in rows if row.licence_kind == "commercial"), None)
    has_e1 = any(re.fullmatch(r"E1[a-z]?", item.id or "") for _, item in needed_items(selection, "engine"))
    if paid is not None and not has_e1:
        message = f"{paid.name} has a commercial licence ({paid.licence}), and line E has no row E1 for it."
        remedy = "Add E1 for all GPUs of section 2; until a quote is there it is not given."
        found.append(finding("B19", "block", message, "budget.engine.items", remedy))
    texts = [answers.engine.licence or "", *(row.licence for row in rows)]
    agpl = next((text for text in texts if re.search(r"\bAGPL", text)), None)
    signed = " ".join(f"{row.role} {row.name} {row.covers}" for row in answers.governance.approvals)
    if agpl is not None and not _LEGAL.search(signed):
        message = f"The licence of the runtime is {agpl}, and nobody from legal is among the approvals."
        remedy = "Have legal decide whether the licence fits the use, and add the approval."
        found.append(finding("B19", "block", message, "governance.approvals", remedy))
    return found


def _engine_rows(selection: Selection) -> list[EngineRow]:
    """What the catalogue knows of the engine that is chosen and the product that is bought."""
    answers = selection.answers
    known = (engine_id(name) for name in (answers.runtime.product, answers.engine.chosen))
    return [engines()[name] for name in dict.fromkeys(known) if name is not None]


RULES = (
    Rule(
        "B10",
        "Availability is paid for, or its lack is accepted",
        ("block",),
        "redundancy is priced in a row of its own (R2), so that finance sees the price of availability",
        availability_is_paid,
        "Propose a spare replica with its row R2, or write down who accepts the loss of a node.",
    ),
    Rule(
        "B11",
        "The volume behind the cost per million tokens is given",
        ("warn",),
        "InferenceX, TCO calculator: the token type and the volume are named",
        volume_is_given,
        "Estimate the calls a year and the output tokens of a call.",
    ),
    Rule(
        "B12",
        "Nothing is paid twice",
        ("block",),
        "GAO-20-195G, comprehensive: nothing omitted and nothing counted twice",
        nothing_is_paid_twice,
        "Pay for GPUs one way, leave energy to owned ones, and let R1 pay for serving and R2 for spare GPUs.",
    ),
    Rule(
        "B17",
        "The serving replicas hold the load",
        ("warn", "note"),
        "replicas = calls at peak / calls that one replica holds within the ceilings, rounded up",
        replicas_hold_the_load,
        "Propose as many replicas as the measured capacity asks for.",
    ),
    Rule(
        "B24",
        "The GPUs of section 2 are paid for, no fewer and no more",
        ("warn",),
        "GAO-20-195G, comprehensive: nothing omitted and nothing counted twice",
        capacity_is_paid,
        "Let R1 pay for the hours of the serving GPUs and R2 for those of the spare.",
    ),
    Rule(
        "B18",
        "Host memory that the runtime uses is in line R",
        ("block",),
        "vLLM 0.33.0, docs/features/kv_offloading_usage.md",
        host_memory_is_paid,
        "Add R4 with the host memory, or defer the strategy.",
    ),
    Rule(
        "B19",
        "The licence class of the runtime is paid for or reviewed",
        ("block",),
        "NVIDIA AI Product Agreement; AGPL-3.0, section 13",
        licence_class_is_heeded,
        "Give a commercial runtime its row E1; let legal approve an AGPL one.",
    ),
)
