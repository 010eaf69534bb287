"""The checks: each thing that was approved against what was seen of it. Nothing is assumed.

What nobody approved is no check: there is nothing that it could differ from.
"""

from collections.abc import Iterator

from probes.cuda import branch_in
from probes.machine import Gpu, Machine
from probes.smoke.endpoint import Served
from wizard.catalogue import engine_id
from wizard.catalogue.vllm import release_of
from wizard.decision.proof import (
    asked_points,
    carried_model,
    gpus_in_all,
    is_own_state,
    qualifier,
    same_gpu,
    usable_gpus,
)
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.verify.check import DOCUMENT, ENDPOINT, LOG, MACHINE, METRICS, SMOKE, Check, Delivered, seen
from wizard.verify.settings import flag_checks, strategy_checks

_ENDPOINT_SHOWS, _LOG_SHOWS = "the endpoint (--endpoint)", "the start-up log (--log)"
_MACHINE_SHOWS, _SMOKE_SHOWS = "a recorded machine (--machine)", "a new run (--smoke)"
#: Two starts of one configuration leave room for the cache that differs by what else used the GPU's memory.
ROOM_TOLERANCE = 0.02
#: Memory of one GPU model as NVML counts it moves a little with the driver's own reserve.
MEMORY_TOLERANCE = 0.01
_CEILINGS = (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "E2E"))


def compare(selection: Selection, delivered: Delivered) -> tuple[Check, ...]:
    """Hold everything that was approved against the delivery, in the order of the document."""
    return (
        _document(delivered),
        *_evidence(delivered),
        *_models(selection, delivered),
        *strategy_checks(selection, delivered),
        *_product(selection, delivered),
        *_hardware(selection, delivered),
        *_layout(selection, delivered),
        *flag_checks(selection, delivered),
        *_room(selection, delivered),
        *_ceilings(selection, delivered),
    )


def _document(delivered: Delivered) -> Check:
    """The document prints the hash of the selection that it was made from."""
    found = delivered.printed_hash
    same = None if found is None else found == delivered.selection_hash
    return seen(
        "document.content_hash", delivered.selection_hash, found, same, DOCUMENT, "NAME.md beside the selection"
    )


def _evidence(delivered: Delivered) -> Iterator[Check]:
    """The files behind the figures, by the hashes of Annex A."""
    if not delivered.evidence:
        return
    changed = [name for name, same in delivered.evidence if same is False]
    absent = [name for name, same in delivered.evidence if same is None]
    words = [f"{formats.listed(changed)} changed"] if changed else []
    words += [f"{formats.listed(absent)} not there"] if absent and len(absent) < len(delivered.evidence) else []
    found = "; ".join(words) or (None if absent else "all unchanged")
    same = False if changed else None if absent else True
    approved = formats.counted(len(delivered.evidence), "file")
    yield seen("document.evidence", approved, found, same, "the evidence folder", "NAME.evidence beside the selection")


def _product(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    runtime = selection.answers.runtime
    if runtime.product is not None:
        found = _product_seen(delivered)
        approved, known = engine_id(runtime.product), engine_id(found)
        same = None if approved is None or known is None else approved == known
        yield seen("runtime.product", runtime.product, found, same, _place(delivered), _ENDPOINT_SHOWS)
    if runtime.version is not None:
        version, where = _version_seen(delivered)
        same = None if version is None else _same_version(runtime.version, version)
        yield seen("runtime.version", runtime.version, version, same, where, _ENDPOINT_SHOWS)


def _product_seen(delivered: Delivered) -> str | None:
    owners = [model.owned_by for model in delivered.served if model.owned_by]
    return owners[0] if owners else "vllm" if delivered.log is not None else None


def _place(delivered: Delivered) -> str:
    return ENDPOINT if any(model.owned_by for model in delivered.served) else LOG


def _version_seen(delivered: Delivered) -> tuple[str | None, str | None]:
    if delivered.version is not None:
        return delivered.version, ENDPOINT
    if delivered.log is not None and delivered.log.version is not None:
        return delivered.log.version, LOG
    return None, None


def _same_version(approved: str, found: str) -> bool | None:
    """A build (`+cpu`) counts only where the approved version names one; a server may not tell its own."""
    if release_of(approved) != release_of(found):
        return False
    wanted, built = (text.strip().lower().partition("+")[2] for text in (approved, found))
    return True if not wanted else None if not built else wanted == built


def _models(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    carried = carried_model(selection)
    if carried is None:
        return
    index, model, _ = carried
    key = f"engine.models[{index}]"
    alias = selection.launch.find("--served-model-name")
    if model.name is not None:
        found, same, where = _model_seen(model.name, model.path, delivered)
        shown_by = _ENDPOINT_SHOWS if found is None else "a look into that folder; its name does not tell the model"
        yield seen(f"{key}.name", model.name, found, same, where, shown_by)
    if alias is not None and alias.value is not None:
        names = " ".join(entry.id for entry in delivered.served) or None
        same = None if names is None else set(alias.words()[1:]) <= {entry.id for entry in delivered.served}
        wanted = " ".join(alias.words()[1:])
        yield seen("runtime.settings: --served-model-name", wanted, names, same, ENDPOINT, _ENDPOINT_SHOWS)
    if selection.launch.pinned_revision is not None:
        log = delivered.log
        revision = None if log is None or log.resolved is None else log.resolved.get("revision", "")
        same = None if revision == "" or log is None or log.resolved is None else revision == model.revision
        shown = None if same is None else revision or "none pinned"
        yield seen(f"{key}.revision", selection.launch.pinned_revision, shown, same, LOG, _LOG_SHOWS)
    if model.context_tokens is not None:
        length, where = _context_seen(delivered)
        same = None if length is None else length >= model.context_tokens
        approved = f"at least {formats.number(model.context_tokens)} tokens"
        shown = None if length is None else f"{formats.number(length)} tokens"
        yield seen(f"{key}.context_tokens", approved, shown, same, where, _ENDPOINT_SHOWS)


def _context_seen(delivered: Delivered) -> tuple[int | None, str | None]:
    lengths = [entry.max_model_len for entry in delivered.served if entry.max_model_len is not None]
    if lengths:
        return max(lengths), ENDPOINT
    if delivered.log is not None and delivered.log.max_model_len is not None:
        return delivered.log.max_model_len, LOG
    return None, None


def _model_seen(name: str, path: str | None, delivered: Delivered) -> tuple[str | None, bool | None, str | None]:
    """A server names what it loaded, or an alias; a folder of another name may hold the same model."""
    loaded = [(_loaded(entry), ENDPOINT) for entry in delivered.served]
    if not loaded and delivered.log is not None and delivered.log.model is not None:
        loaded = [(delivered.log.model, LOG)]
    if not loaded:
        return None, None, None
    for found, where in loaded:
        if any(_last_part(found) == _last_part(known) for known in (name, path) if known):
            return found, True, where
    found, where = loaded[0]
    on_the_hub = found.count("/") == 1 and not found.startswith(("/", ".", "~"))
    return found, False if on_the_hub else None, where


def _loaded(entry: Served) -> str:
    return entry.root or entry.id


def _last_part(name: str) -> str:
    parts = name.rstrip("/").split("/")
    cached = next((part for part in parts if part.startswith("models--")), parts[-1])
    return cached.rsplit("--", 1)[-1].casefold()


def _hardware(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    hardware, machine = selection.answers.runtime.hardware, delivered.machine
    gpus = usable_gpus(machine) if machine is not None and not machine.planned else ()
    # Nothing listens where the endpoint's port is merely forwarded to, so an absent GPU proves nothing about it.
    blind = machine is None or machine.planned or (delivered.machine_is_here and not gpus)
    if hardware.gpu is not None:
        found = None if blind else formats.listed(sorted({_name(gpu) for gpu in gpus})) if gpus else "no usable GPU"
        same = None if blind else bool(gpus) and all(_is_gpu(gpu, hardware.gpu) for gpu in gpus)
        yield seen("runtime.hardware.gpu", hardware.gpu, found, same, MACHINE, _MACHINE_SHOWS)
    if hardware.gpus_per_replica is not None:
        found = None if blind else formats.counted(len(gpus), "usable GPU")
        same = None if blind else len(gpus) >= hardware.gpus_per_replica
        approved = f"at least {hardware.gpus_per_replica}"
        yield seen("runtime.hardware.gpus_per_replica", approved, found, same, MACHINE, _MACHINE_SHOWS)
    yield from _memory(selection, gpus)
    if branch_in(hardware.driver) is not None:
        version = machine.driver.version.value if machine is not None and not blind else None
        branch = branch_in(version)
        same = None if branch is None else branch >= (branch_in(hardware.driver) or 0)
        yield seen("runtime.hardware.driver", hardware.driver, version, same, MACHINE, _MACHINE_SHOWS)


def _name(gpu: Gpu) -> str:
    return gpu.name.value or "a GPU without a name"


def _is_gpu(gpu: Gpu, approved: str) -> bool:
    return gpu.name.value is not None and same_gpu(gpu.name.value, approved)


def _memory(selection: Selection, gpus: tuple[Gpu, ...]) -> Iterator[Check]:
    """Memory of one GPU, where the approved machine showed it for the approved GPU."""
    approved = _approved_memory(selection.machine, selection.answers.runtime.hardware.gpu)
    if approved is None:
        return
    sizes = [gpu.memory_total_bytes.value for gpu in gpus]
    known = [size for size in sizes if size is not None]
    least = min(known) if known and len(known) == len(sizes) else None
    same = None if least is None else abs(least - approved) <= MEMORY_TOLERANCE * approved
    found = None if least is None else f"{formats.gib(least)} GiB"
    yield seen("runtime.hardware.memory", f"{formats.gib(approved)} GiB", found, same, MACHINE, _MACHINE_SHOWS)


def _approved_memory(machine: Machine | None, gpu: str | None) -> int | None:
    if machine is None or gpu is None:
        return None
    sizes = [each.memory_total_bytes.value for each in usable_gpus(machine) if _is_gpu(each, gpu)]
    known = [size for size in sizes if size is not None]
    return min(known, default=None)


def _layout(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    layout = selection.answers.runtime.layout
    if layout.data_parallel is not None:
        engines, where = _engines(delivered)
        same = None if not engines else engines == layout.data_parallel
        approved = formats.counted(layout.data_parallel, "engine")
        found = formats.counted(engines, "engine") if engines else None
        yield seen("runtime.layout.data_parallel", approved, found, same, where, "its metrics (--metrics-url)")
    in_all, machine = gpus_in_all(selection), delivered.machine
    if in_all is not None:
        count = len(usable_gpus(machine)) if machine is not None and not machine.planned else 0
        # Replicas may stand on several machines, and one endpoint answers for all of them.
        same = True if count >= in_all else None
        found = f"{formats.counted(count, 'usable GPU')} on one machine" if count else None
        approved = f"{formats.counted(in_all, 'GPU')}, spare replicas among them"
        yield seen("runtime.layout.replicas", approved, found, same, MACHINE, "a machine that holds all replicas")


def _engines(delivered: Delivered) -> tuple[int, str]:
    """Data-parallel engines of one replica; 0 where nothing tells."""
    if delivered.metrics is not None and delivered.metrics.engines:
        return delivered.metrics.engines, METRICS
    size = ((delivered.log.resolved if delivered.log else None) or {}).get("data_parallel_size")
    return (size, LOG) if isinstance(size, int) else (0, LOG)


def _room(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    """Room of the cache, where the approved run was made as proposed. More room is no fault."""
    run = selection.smoke
    if run is None or run.mode not in ("local", "dummy") or qualifier(selection) is not None:
        return
    approved = run.server.kv_cache_size_tokens
    if approved is None:
        return
    size = delivered.metrics.number("kv_cache_size_tokens") if delivered.metrics is not None else None
    where = METRICS
    if size is None and delivered.log is not None and delivered.log.kv_cache_size_tokens is not None:
        size, where = float(delivered.log.kv_cache_size_tokens), LOG
    same = None if size is None else size >= approved * (1 - ROOM_TOLERANCE)
    found = None if size is None else f"{formats.number(int(size))} tokens"
    wanted = f"at least {formats.number(approved)} tokens, less {formats.share(ROOM_TOLERANCE, 0)}"
    yield seen("runtime.cache_room", wanted, found, same, where, "its metrics (--metrics-url)")


def _ceilings(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    """The ceilings by a new run of the approved load: contradicted is different, only supported is the same."""
    ceilings, load = selection.answers.runtime.ceilings, selection.answers.runtime.workload
    fresh = None if delivered.smoke is None else selection.model_copy(update={"smoke": delivered.smoke})
    points = [] if fresh is None else [point for point in asked_points(fresh) if is_own_state(fresh, point)]
    for metric, name in _CEILINGS:
        limit = getattr(ceilings, metric)
        if limit is None:
            continue
        found, same = None, None
        tested = next((row for row in points[0].ceilings if row.metric == metric), None) if points else None
        if tested is not None:
            verdict = tested.verdict.replace("_", " ")
            found = f"{formats.number(tested.over)} of {formats.number(tested.n)} calls above it, {verdict}"
            same = {"contradicted": False, "supported": True}.get(tested.verdict)
        calls = "" if load.concurrency is None else f" at {formats.counted(load.concurrency, 'call')} at a time"
        approved = f"{name} p{ceilings.percentile or 95} at most {formats.limit_ms(limit)} ms{calls}"
        yield seen(f"runtime.ceilings.{metric}", approved, found, same, SMOKE, _SMOKE_SHOWS)
