"""2.2: the hardware that was found beside the hardware that is proposed, and the fit with what exists."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from probes.cuda import branch_in
from probes.machine import Gpu, Machine
from probes.nodes import DIFFERENCES, named
from probes.reading import Reading
from wizard.catalogue.loader import gpus_named
from wizard.decision.proof import gpus_in_all, same_gpu, usable_gpus
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context.common import SPARE_NOT_GIVEN, Context, machine_kind, said, source, sources
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.machine import confidence_of
from wizard.serving.fit import fit_rows
from wizard.serving.spread import nodes_in_all, spread

#: Why a reading is absent, in words.
_WHY = {
    "not_supported": "the device has no such value",
    "no_permission": "the driver does not tell this user",
    "lost": "the device has left the bus",
    "unknown": "could not be read",
    "driver_too_old": "the driver does not know the call",
    "deprecated": "the driver no longer answers",
    "timeout": "not answered in time",
    "not_asked": "not asked",
    "not_in_capture": "not in the recorded machine",
    "single_gpu": "one GPU only",
    "known_on_delivery": "known on delivery",
}
_SAME = "same"
_FREE_TEXT = "not compared, the answer is free text"


def hardware(selection: Selection) -> Context:
    """Found against proposed, what the probe complained of, and the fit with what exists."""
    machine, table = selection.machine, _table(selection)
    return {
        "found": machine_kind(selection) if machine else "not given, because no machine was probed",
        "proposed": sources(
            selection,
            *(f"runtime.hardware.{name}" for name in ("gpu", "gpus_per_replica", "driver", "interconnect")),
        ),
        "heading": _heading(machine),
        "measured_on": _measured_on(selection),
        "hardware": table,
        "kinds": _kinds(machine),
        "proposed_facts": _proposed_facts(selection, table),
        "problems": [problem.message for problem in machine.problems] if machine else [],
        "unusable": _unusable(machine),
        "fit": _fit(selection),
    }


def _unusable(machine: Machine | None) -> list[str]:
    gpus = machine.gpus if machine else ()
    return [f"GPU {gpu.index}: {gpu.unusable_because or 'not usable'}" for gpu in gpus if not gpu.usable]


def _read(reading: Reading[Any], show: Callable[[Any], str] = formats.value) -> str:
    if reading.value is None:
        return f"{NOT_GIVEN}: {_WHY[reading.why or 'unknown']}"
    return show(reading.value)


def _figure(gpu: Gpu, reading: Reading[Any], show: Callable[[Any], str] = formats.value) -> str:
    """A figure of a GPU; one of the catalogue is shown with its confidence."""
    confidence = confidence_of(gpu, reading)
    return _read(reading, show) + (f" (catalogue, confidence: {confidence})" if confidence else "")


def _each(gpus: Iterable[Gpu], read: Callable[[Gpu], str]) -> str:
    """One text for all GPUs, or each different one with how many GPUs it is true for."""
    counts = Counter(read(gpu) for gpu in gpus)
    if not counts:
        return NOT_GIVEN
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{count} × {text}" for text, count in sorted(counts.items()))


def _switch(value: object) -> str:
    return "on" if value else "off"


def _table(selection: Selection) -> Table:
    machine = selection.machine
    gpus = machine.gpus if machine else ()
    given = selection.answers.runtime
    proposed_name = given.hardware.gpu
    found_name = _each(gpus, lambda gpu: _read(gpu.name))
    same = _SAME if proposed_name is not None and same_gpu(proposed_name, found_name) else NOT_GIVEN
    catalogue = {} if same == _SAME else _of_catalogue(proposed_name)
    each, in_all = given.hardware.gpus_per_replica, gpus_in_all(selection)
    rows = [
        ("GPU", found_name, formats.value(proposed_name), _difference(found_name, proposed_name)),
        (
            "GPUs in all",
            _count(machine),
            _proposed_in_all(selection, in_all),
            _more(_all_gpus(machine), in_all),
        ),
        ("GPUs per replica", "not applicable", formats.value(each), "not applicable"),
    ]
    rows += _nodes_row(selection)
    for item, text in (
        ("Compute capability", _each(gpus, lambda gpu: _figure(gpu, gpu.compute_capability))),
        ("Memory per GPU, NVML", _each(gpus, lambda gpu: _figure(gpu, gpu.memory_total_bytes, _memory))),
        ("Memory bandwidth", _each(gpus, lambda gpu: _figure(gpu, gpu.memory_bandwidth_gb_s, _bandwidth))),
        ("ECC", _each(gpus, lambda gpu: _read(gpu.ecc_enabled, _switch))),
        ("MIG", _each(gpus, lambda gpu: _read(gpu.mig.enabled, _switch))),
        (
            "Power limit",
            _each(gpus, lambda gpu: _figure(gpu, gpu.power_limit_w, lambda w: f"{formats.number(w, 0)} W")),
        ),
    ):
        known = same == _SAME and not text.startswith(NOT_GIVEN)
        proposed = same if known else catalogue.get(item, NOT_GIVEN)
        rows.append((item, text, proposed, "none" if known else _other(text, proposed)))
    driver = _read(machine.driver.version) if machine else NOT_GIVEN
    cuda = _read(machine.driver.cuda) if machine else NOT_GIVEN
    links = _links(machine)
    rows += [
        ("Driver", driver, said(selection, "runtime.hardware.driver"), _driver_difference(selection)),
        ("CUDA of the driver", cuda, NOT_GIVEN, NOT_GIVEN),
        (
            "Interconnect of the GPUs",
            links,
            said(selection, "runtime.hardware.interconnect"),
            _link_difference(selection, links),
        ),
    ]
    return Table(("Item", _heading(machine), "Proposed", "Difference"), tuple(rows))


def _proposed_in_all(selection: Selection, in_all: int | None) -> str:
    """The GPUs of all replicas, or those that serve where the spare ones are not given."""
    serving, each = selection.answers.runtime.layout.replicas, selection.answers.runtime.hardware.gpus_per_replica
    if in_all is not None or serving is None or each is None:
        return formats.value(in_all)
    return f"{formats.number(serving * each)} for serving; {SPARE_NOT_GIVEN}"


def _nodes_row(selection: Selection) -> list[tuple[str, str, str, str]]:
    """How many nodes there are and are needed, where a replica spans some or a fleet was probed."""
    machine, over = selection.machine, spread(selection.answers)
    found = len(machine.nodes) if machine is not None and machine.nodes else None
    if over.nodes == 1 and found is None:
        return []
    needed = nodes_in_all(selection.answers)
    proposed = NOT_GIVEN if needed is None else formats.number(needed)
    if over.nodes > 1:
        proposed += f", {over.nodes} for each replica"
    return [("Nodes in all", NOT_GIVEN if found is None else formats.number(found), proposed, _more(found, needed))]


def _kinds(machine: Machine | None) -> Table | None:
    """The kinds of nodes of a fleet, equal ones in one row, each by its part in the fleet."""
    if machine is None or not machine.nodes:
        return None
    rows = []
    for number, kind in enumerate(machine.kinds):
        names = [node.name for node in machine.nodes if node.kind == number]
        said_of = {what: of(kind) for what, of in DIFFERENCES}
        rows.append(
            (
                f"{named(names)} ({formats.number(len(names))})",
                f"{said_of['the GPU model']}, {said_of['the GPU memory']}",
                said_of["the GPU driver"],
                said_of["the vLLM version"],
                f"{said_of['the network interfaces']}; MTU {said_of['the MTU']}",
                f"{said_of['the shared memory']} of /dev/shm; NVLink fabric {said_of['the NVLink fabric']}",
                "probe",
            )
        )
    columns = ("Nodes (how many)", "GPUs of each", "Driver", "vLLM", "Network", "Shared memory and fabric", "Source")
    return Table(columns, tuple(rows))


def _all_gpus(machine: Machine | None) -> int | None:
    if machine is None:
        return None
    return machine.usable_gpu_count if machine.nodes else len(machine.gpus)


def _count(machine: Machine | None) -> str:
    count = _all_gpus(machine)
    if machine is None or count is None:
        return NOT_GIVEN
    return formats.number(count) + (
        f" usable on {formats.counted(len(machine.nodes), 'node')}" if machine.nodes else ""
    )


def _of_catalogue(name: str | None) -> dict[str, str]:
    """The figures of a proposed GPU that is not the one found, where the catalogue knows exactly one of that name."""
    named = gpus_named(name)
    if len(named) != 1:
        return {}
    row = named[0]
    figures = {"Compute capability": row.compute_capability, "Memory bandwidth": _bandwidth(row.memory_bandwidth_gb_s)}
    if len(row.memory_gb) == 1 and not row.unified_memory:
        known = row.nvml_memory_mib
        marketed = f"{formats.number(row.memory_gb[0])} GB as marketed"
        figures["Memory per GPU, NVML"] = marketed if known is None else _memory(known * 1024**2)
    return figures


def _proposed_facts(selection: Selection, table: Table) -> str | None:
    """Where the figures of the proposed GPU come from, where the table states any."""
    named = gpus_named(selection.answers.runtime.hardware.gpu)
    figures = _of_catalogue(selection.answers.runtime.hardware.gpu)
    shown = {(row[0], row[2]) for row in table.rows}
    if not shown & set(figures.items()):
        return None
    return (
        f"Memory, bandwidth and compute capability of the proposed GPU: catalogue, confidence: {named[0].confidence}."
    )


def _other(found: str, proposed: str) -> str:
    if found.startswith(NOT_GIVEN) or proposed == NOT_GIVEN:
        return NOT_GIVEN
    return "none" if found.partition(" (")[0] == proposed else "another figure"


def _heading(machine: Machine | None) -> str:
    """A machine that will be bought was not found anywhere."""
    return "Planned" if machine is not None and machine.planned else "Found"


def _measured_on(selection: Selection) -> str | None:
    """The machine of the run, where it is not the one of the table."""
    machine = selection.measured_on
    if machine is None:
        return None
    gpus = _each(usable_gpus(machine), lambda gpu: _read(gpu.name))
    count = formats.counted(len(usable_gpus(machine)), "usable GPU")
    return f"another machine, with {count}{f': {gpus}' if usable_gpus(machine) else ''}"


def _memory(size_bytes: int) -> str:
    return f"{formats.gib(size_bytes)} GiB"


def _bandwidth(rate: float) -> str:
    return f"{formats.number(rate, 0)} GB/s"


def _difference(found: str, proposed: str | None) -> str:
    if proposed is None or found.startswith(NOT_GIVEN):
        return NOT_GIVEN
    return "none" if same_gpu(proposed, found) else "another GPU"


def _more(found: int | None, proposed: int | None) -> str:
    if found is None or proposed is None:
        return NOT_GIVEN
    if proposed == found:
        return "none"
    more = "more" if proposed > found else "fewer"
    return f"{formats.number(abs(proposed - found))} {more} proposed"


def _driver_difference(selection: Selection) -> str:
    machine = selection.machine
    found = branch_in(machine.driver.version.value) if machine else None
    proposed = branch_in(selection.answers.runtime.hardware.driver)
    if found is None or selection.answers.runtime.hardware.driver is None:
        return NOT_GIVEN
    if proposed is None:
        return _FREE_TEXT
    return "none" if found >= proposed else f"branch {proposed} named, branch {found} found"


def _links(machine: Machine | None) -> str:
    if machine is None or not machine.gpus:
        return NOT_GIVEN
    if not machine.links:
        return "one GPU" if len(machine.gpus) == 1 else NOT_GIVEN
    kinds = Counter(
        f"{'NVLink' if link.kind == 'nvlink' else 'PCIe' if link.kind == 'pcie' else 'unknown'} ({link.level})"
        for link in machine.links
    )
    return "; ".join(f"{text} between {formats.counted(count, 'pair')}" for text, count in sorted(kinds.items()))


def _link_difference(selection: Selection, found: str) -> str:
    proposed = selection.answers.runtime.hardware.interconnect
    if proposed is None or not found.startswith(("NVLink", "PCIe")):
        return NOT_GIVEN
    for kind in ("NVLink", "PCIe"):
        if proposed.lower().startswith(kind.lower()):
            return "none" if found.startswith(kind) else f"{kind} proposed, not found"
    return _FREE_TEXT


def _fit(selection: Selection) -> Table:
    """What exists against what the runtime needs."""
    rows = []
    for row in fit_rows(selection):
        if row.exists is None:
            # A row that fails by another answer still shows what exists in its own place.
            field = f"runtime.existing.{row.item.lower().replace(' ', '_')}"
            exists, word = said(selection, field), source(selection, field)
        else:
            exists, word = row.exists, "probe" if row.exists != NOT_GIVEN else "missing"
        fits = NOT_GIVEN if word == "missing" and row.fits == "not checked" else row.fits
        rows.append((row.item, exists, row.need, fits, f"{word}, catalogue"))
    return Table(("Item", "What exists", "What the runtime needs", "Fits?", "Source"), tuple(rows))
