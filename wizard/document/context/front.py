"""The front of the document: control table, decision in brief, drivers and findings."""

from wizard.asking.open_answers import refinements_not_given
from wizard.decision.finding import Severity
from wizard.decision.selection import Selection, content_hash
from wizard.document import formats
from wizard.document.context import strategies
from wizard.document.context.common import (
    Context,
    Row,
    answer,
    machine_kind,
    numbered,
    row,
    said,
    sources,
)
from wizard.document.markdown import Table

_SEVERITIES: tuple[Severity, ...] = ("block", "warn", "note")

#: Where a reader of the document finds what a finding is about: the longest key that fits wins.
_PLACES = {
    "project": "document control",
    "project.drivers": "decision in brief",
    "engine": "1.1",
    "engine.models": "1.2",
    "engine.strategies": "1.3",
    "engine.gates": "1.4",
    "engine.criteria": "1.4",
    "engine.options": "1.4",
    "engine.consequences": "1.5",
    "engine.licence": "1.6",
    "engine.support_source": "1.6",
    "engine.confirmation": "1.8",
    "runtime": "2.1",
    "runtime.hardware": "2.2",
    "runtime.layout": "2.2",
    "runtime.existing": "2.2",
    "runtime.workload": "2.3",
    "runtime.ceilings": "2.3",
    "runtime.settings": "2.4",
    "runtime.smoke": "2.5",
    "runtime.security": "2.6",
    "runtime.operations": "2.7",
    "runtime.options": "2.8",
    "budget.engine": "line E",
    "budget.runtime": "line R",
    "governance": "risks, assumptions, open questions",
    "governance.ai_register": "2.6",
    "governance.approvals": "approvals",
}


def place(key: str) -> str:
    """The part of the document that shows the answer under `key`."""
    path = key.split("[")[0]
    while path not in _PLACES and "." in path:
        path = path.rpartition(".")[0]
    return _PLACES.get(path, "the whole document")


def front(selection: Selection) -> Context:
    """Title, status line and document control."""
    counts = {word: sum(f.severity == word for f in selection.findings) for word in _SEVERITIES}
    return {
        "title": answer(selection, "project.title"),
        "status": selection.status,
        "blocking": counts["block"],
        "warnings": formats.counted(counts["warn"], "warning finding"),
        "notes": formats.counted(counts["note"], "note"),
        "open_answers": f"{formats.counted(len(selection.open_answers), 'open answer')}, "
        f"{formats.counted(refinements_not_given(selection.answers), 'refinement')} not given",
        "machine": _machine_sentence(selection),
        "control": _control(selection),
    }


def _machine_sentence(selection: Selection) -> str | None:
    machine = selection.machine
    if machine is None:
        return "No machine was probed: everything about hardware is an answer."
    if machine.recorded:
        kind = machine_kind(selection).removeprefix("a ")
        return f"Readings in this document come from a {kind}, not from a probe of this day."
    return None


def _control(selection: Selection) -> Table:
    tool = selection.tool
    rows: list[Row] = [
        row(selection, "Document id", "project.document_id"),
        row(selection, "Version", "project.version"),
        row(selection, "Supersedes", "project.supersedes"),
        ("Content hash: SHA-256 of the selection file", content_hash(selection), "tool"),
        ("Status", selection.status, "tool"),
        ("Generated", formats.day(selection.prepared_on), "tool"),
        (
            "Written by",
            f"selwiz {tool.version}, template {tool.template}, schema {tool.schema_version}",
            "tool",
        ),
        row(selection, "Author", "project.author"),
        row(selection, "Sponsor", "project.sponsor"),
        row(selection, "Owner of section 1, engine", "engine.owner"),
        row(selection, "Owner of section 2, runtime", "runtime.owner"),
        row(selection, "Requirement document", "project.requirement_ref"),
        row(selection, "Related documents", "project.related"),
        row(selection, "Review by", "project.review_by"),
        ("Expires when", "a trigger of 1.8 or 2.10 occurs, or a price passes its date", "derived F-11"),
        (
            "Numbers and currency",
            f"1,234.56; currency of line E {said(selection, 'budget.engine.currency')}, of line R "
            f"{said(selection, 'budget.runtime.currency')}; 1 GiB is 1,073,741,824 bytes; 1 year is 8,760 hours",
            f"tool, {sources(selection, 'budget.engine.currency', 'budget.runtime.currency')}",
        ),
    ]
    return Table(("Field", "Value", "Source"), tuple(rows))


def brief(selection: Selection) -> Context:
    """The two decision sentences, the drivers and the findings; the funding requests come from each line."""
    return {
        "engine": answer(selection, "engine.chosen"),
        "strategies": strategies.adopted_names(selection),
        "strategies_given": bool(selection.answers.engine.strategies),
        "runtime": _runtime_phrase(selection),
        "hardware": _hardware_phrase(selection),
        "load": _load_phrase(selection),
        "drivers": _drivers(selection),
        "findings": findings_table(selection),
    }


def _runtime_phrase(selection: Selection) -> str | None:
    product, version = (answer(selection, f"runtime.{name}") for name in ("product", "version"))
    if product is None:
        return None
    return f"{product}, version not given," if version is None else f"{product} {version}"


def _hardware_phrase(selection: Selection) -> str:
    gpu = answer(selection, "runtime.hardware.gpu")
    each = answer(selection, "runtime.hardware.gpus_per_replica")
    if gpu is None and each is None:
        return "hardware that is not given"
    parts = [
        f"{'a GPU that is not given' if gpu is None else gpu}",
        "GPUs per replica not given" if each is None else f"{each} GPUs per replica",
    ]
    serving, spare = (answer(selection, f"runtime.layout.{name}") for name in ("replicas", "spare_replicas"))
    if serving is None:
        parts.append("serving replicas not given")
    elif spare is None:
        parts.append(f"{serving} serving, spare replicas not given")
    else:
        parts.append(f"{serving} serving and {spare} spare {'replica' if spare == 1 else 'replicas'}")
    return ", ".join(parts)


def _load_phrase(selection: Selection) -> str:
    calls = answer(selection, "runtime.workload.concurrency")
    load = "a load that is not given" if calls is None else f"{formats.value(calls)} concurrent calls"
    ceilings = [
        f"{formats.limit_ms(limit)} ms {words}"
        for limit, words in (
            (selection.answers.runtime.ceilings.ttft_ms, "to the first token"),
            (selection.answers.runtime.ceilings.tpot_ms, "per further token"),
            (selection.answers.runtime.ceilings.e2e_ms, "per call"),
        )
        if limit is not None
    ]
    if not ceilings:
        return f"{load}; no latency ceiling is given"
    percentile = answer(selection, "runtime.ceilings.percentile")
    at = "ceilings at a percentile that is not given" if percentile is None else f"p{percentile} ceilings"
    return f"{load} at {at} of {formats.listed(ceilings)}"


def _drivers(selection: Selection) -> Table | None:
    drivers = selection.answers.project.drivers
    if not drivers:
        return None
    rows = []
    for position in range(len(drivers)):
        keys = [f"project.drivers[{position}].{name}" for name in ("text", "requirement", "threshold")]
        rows.append((numbered("DR", position), *(said(selection, key) for key in keys), sources(selection, *keys)))
    return Table(("#", "Driver", "Requirement id", "Threshold", "Source"), tuple(rows))


def findings_table(selection: Selection) -> Table | None:
    """Every finding with the part of the document it is about, the gravest first; None where there is none."""
    ordered = sorted(selection.findings, key=lambda f: (_SEVERITIES.index(f.severity), f.rule, f.where))
    if not ordered:
        return None
    rows = tuple((f.rule, f.severity, f"{f.message} {f.remedy}", place(f.where)) for f in ordered)
    return Table(("Rule", "Severity", "Finding", "Where"), rows)
