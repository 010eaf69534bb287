"""Rules on the product that is bought: the engine inside, the model it must know, and the house it must fit."""

import difflib
import re
from collections.abc import Callable

from wizard.catalogue import EngineRow, engine_id, engines, knobs
from wizard.catalogue.vllm import packaged_facts, packaged_versions, release_of
from wizard.decision.finding import Finding, Severity
from wizard.decision.selection import Selection
from wizard.rules.governance import chosen_option
from wizard.rules.rule import Rule, finding, listed, shortened
from wizard.serving.fit import fit_rows, product_row

_EXISTING = ("platform", "gateway", "identity", "monitoring", "registry", "driver_policy")
_METRIC = re.compile(r"\b(vllm|sglang|trtllm|lmdeploy|llamacpp)[:_]\w+", re.IGNORECASE)
#: Renamed to kv_cache_usage_perc; expressions with the former name see nothing.
_GONE = "gpu_cache_usage_perc"
#: Keys of TensorRT-LLM whose defaults its code and its documentation state differently.
_WRITE_OUT = ("enable_chunked_prefill", "tokens_per_block", "max_seq_len")


def architectures_are_known(selection: Selection) -> list[Finding]:
    """C10: a model is named, and the engine's version lists the architecture of each that is carried here."""
    # vLLM model_executor/models/registry.py, as each version itself answered. Another architecture may still run
    # through Transformers, which the version has to be told.
    models = selection.answers.engine.models
    if not any(model.name or model.path for model in models):
        message = "No model is named, so nothing says which architecture the engine must support."
        where = "engine.models[0].name" if models else "engine.models"
        return [finding("C10", "block", message, where, "Name the models that the project needs.")]
    if selection.launch.runtime != "vllm":
        return []
    version = release_of(selection.answers.runtime.version or "")
    exact = version in packaged_versions()
    version = version if exact else packaged_versions()[0]
    facts = packaged_facts(version)
    listed_there = frozenset(facts.architectures) if facts else frozenset()
    told = selection.launch.find("--model-impl") is not None
    severity: Severity = "block" if exact and not told else "note"
    found = []
    for index, (model, known) in enumerate(zip(models, selection.models, strict=False)):
        architecture = known.architecture if known else None
        if not model.carried_here or architecture is None or not listed_there or architecture in listed_there:
            continue
        message = (
            f"{architecture}, the architecture of {known.name if known else ''}, is not in the list of vLLM {version}."
        )
        remedy = (
            "Choose a version or an engine that lists it, or run it through Transformers and measure (--model-impl)."
        )
        found.append(finding("C10", severity, message, f"engine.models[{index}].name", remedy))
    return found


def house_fits(selection: Selection) -> list[Finding]:
    """C14: what the organisation runs fits the runtime, and all of it was said."""
    # PRINCE2 project approach: the solution takes the operational environment into account.
    found = [
        finding("C14", "warn", row.because, row.key, f"It needs {row.need}: change one of the two.")
        for row in fit_rows(selection)
        if row.fits == "no"
    ]
    existing = selection.answers.runtime.existing
    unsaid = [name for name in _EXISTING if getattr(existing, name) is None]
    if unsaid:
        words = listed([name.replace("_", " ") for name in unsaid])
        message = f"Nothing is said of what exists: {words}."
        remedy = "Say what the organisation runs, or that there is none."
        found.append(finding("C14", "warn", message, f"runtime.existing.{unsaid[0]}", remedy))
    return found


def product_carries_the_engine(selection: Selection) -> list[Finding]:
    """C26: the product carries the engine of section 1, in a version that is named where its own name says none."""
    # The engine written down and the runtime bought are two decisions; NIM, Dynamo, llm-d and Ollama carry an
    # engine of another name, and an orchestrator pins its version.
    answers = selection.answers
    chosen = engine_id(answers.engine.chosen)
    if chosen is not None and engines()[chosen].needs_inner:
        row = engines()[chosen]
        message = f"{row.name} is no engine design: it is {_a(row.role)} around {_any(row.inner)}."
        return [finding("C26", "block", message, "engine.chosen", "Name the engine inside as the design.")]
    product = product_row(selection)
    if product is None:
        return []
    if not product.needs_inner:
        if chosen is None or chosen == product.id:
            return []
        message = f"Section 1 decides on {engines()[chosen].name}, and the product of section 2 is {product.name}."
        remedy = "Buy the engine that was decided on, or decide on the one that is bought."
        return [finding("C26", "block", message, "runtime.product", remedy)]
    inner, version = answers.runtime.inner_engine, answers.runtime.inner_version
    asked = (("inner_engine", "the engine inside", inner), ("inner_version", "the engine's version", version))
    missing = [(f"runtime.{key}", word) for key, word, value in asked if value is None]
    if missing:
        words = " nor ".join(word for _, word in missing)
        no = "neither " if len(missing) > 1 else "not "
        message = f"{product.name} is {_a(product.role)} whose name tells {no}{words}, and nothing else does."
        remedy = f"Name the engine inside ({_any(product.inner)}) and its version."
        return [finding("C26", "block", message, missing[0][0], remedy)]
    carried = engine_id(inner)
    name = engines()[carried].name if carried else shortened(inner or "")
    if chosen is not None and carried != chosen:
        message = f"Section 1 decides on {engines()[chosen].name}, and {product.name} carries {name}."
        remedy = "Take a product with the engine that was decided on, or decide on the one inside."
        return [finding("C26", "block", message, "runtime.inner_engine", remedy)]
    pin = product.pins.get(carried or "")
    own = release_of(answers.runtime.version or "")
    if pin is not None and own == product.release and release_of(version or "") != release_of(pin):
        message = f"{product.name} {product.release} is made with {name} {pin}, not {version}."
        return [finding("C26", "block", message, "runtime.inner_version", f"Name {pin}, or another release of it.")]
    return []


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def _any(ids: tuple[str, ...]) -> str:
    return _or([engines()[name].name for name in ids])


def _or(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def names_are_known(selection: Selection) -> list[Finding]:
    """C36: the engine, the product and the engine inside it are ones that the catalogue knows, or options compared."""
    # Rules, flags and sizing look an engine up by its name; under another name they say nothing, and nobody is told.
    answers = selection.answers
    chosen, named = answers.engine.chosen, any(option.name for option in answers.engine.options)
    asked: tuple[tuple[str, str, str | None, Callable[[EngineRow], bool]], ...] = (
        # A choice beside the options that were compared is G3's.
        ("engine.chosen", "engine", None if named or chosen_option(answers) else chosen, _is_design),
        ("runtime.product", "product", answers.runtime.product, lambda row: row.role != "library"),
        ("runtime.inner_engine", "engine inside the product", answers.runtime.inner_engine, _is_design),
    )
    found = []
    for key, what, name, fits in asked:
        if name is None or engine_id(name) is not None:
            continue
        message = f"{shortened(name)} is given as the {what}, and the catalogue knows none of that name."
        remedy = f"{_near(name, fits)}, or leave it: no rule then looks up its flags, formats or licence."
        found.append(finding("C36", "warn", message, key, remedy))
    return found


def _is_design(row: EngineRow) -> bool:
    return not row.needs_inner


def _near(name: str, fits: Callable[[EngineRow], bool]) -> str:
    """What may have been meant: at most three names, or those that the catalogue begins with."""
    rows = [row for row in engines().values() if fits(row)]
    known = {alias.casefold(): row.name for row in rows for alias in (row.name, *row.aliases)}
    close = difflib.get_close_matches(name.casefold(), known, 3, 0.5)
    if close:
        return f"Name {_or(list(dict.fromkeys(known[alias] for alias in close)))} if that is meant"
    return f"Name one that it knows, such as {_or(list(dict.fromkeys(known.values()))[:3])}"


def alerts_use_its_metrics(selection: Selection) -> list[Finding]:
    """C21: alerts name the metrics of this runtime, as they are called now."""
    # vLLM renamed gpu_cache_usage_perc to kv_cache_usage_perc; every engine has its own prefix.
    runtime = selection.answers.runtime
    own = engine_id(runtime.inner_engine) or selection.launch.runtime
    found = []
    for key, text in (
        ("runtime.operations.alerts", runtime.operations.alerts),
        ("runtime.existing.monitoring", runtime.existing.monitoring),
    ):
        gone = _GONE in (text or "")
        foreign = [name for name in _METRIC.findall(text or "") if own is not None and name.casefold() != own]
        if gone:
            message = f"An alert reads {_GONE}, a name that vLLM no longer has."
            found.append(finding("C21", "warn", message, key, "Read vllm:kv_cache_usage_perc."))
        elif foreign:
            message = f"An alert reads metrics that begin with {foreign[0]}, which this runtime does not show."
            found.append(finding("C21", "warn", message, key, "Use the names of the proposed runtime."))
    return found


def disputed_defaults_are_written(selection: Selection) -> list[Finding]:
    """C22: for TensorRT-LLM the keys whose defaults are stated differently are written out."""
    # TensorRT-LLM llm_args.py at 0004396 against docs/source/features/long-sequence.md at 1ec63b4.
    if selection.launch.runtime != "trtllm":
        return []
    written = " ".join([*(setting.flag for setting in selection.launch.settings), *_typed(selection)])
    missing = [key for key in _WRITE_OUT if key not in written]
    if not missing:
        return []
    message = f"The defaults of {listed(missing)} are stated differently in code and documentation of TensorRT-LLM."
    return [finding("C22", "warn", message, "runtime.settings.extra_flags", "Write them out, whatever their value.")]


def _typed(selection: Selection) -> tuple[str, ...]:
    return selection.answers.runtime.settings.extra_flags


def memory_share_is_not_copied(selection: Selection) -> list[Finding]:
    """C23: a share of GPU memory is only given to the engine that it was meant for."""
    # vLLM counts all it uses of all memory, SGLang weights and cache, TensorRT-LLM the cache of what is left.
    key = "runtime.settings.gpu_memory_utilization"
    value, product = selection.answers.runtime.settings.gpu_memory_utilization, product_row(selection)
    if value is None or product is None or product.id == "vllm" or selection.origin(key).layer == "default":
        return []
    meaning = knobs()["memory_fraction"].meaning.get(product.id)
    message = f"A share of GPU memory of {value:g} is vLLM's setting; it means something else in {product.name}."
    remedy = f"There it is {meaning}." if meaning else "Leave it out, and set the product's own."
    return [finding("C23", "warn", message, key, remedy)]


RULES = (
    Rule(
        "C10",
        "A model is named, and the engine lists its architecture",
        ("block", "note"),
        "vLLM itself, model_executor/models/registry.py, as kept in the catalogue for each version",
        architectures_are_known,
        "Name the models; choose a version or an engine that lists their architectures.",
    ),
    Rule(
        "C14",
        "What exists fits what the runtime needs",
        ("warn",),
        "PRINCE2, project approach: the operational environment; documentation of each runtime",
        house_fits,
        "Say what the organisation runs; change what does not fit, on one side or the other.",
    ),
    Rule(
        "C26",
        "The product carries the engine of section 1",
        ("block",),
        "metadata of the products: their names say no engine, and orchestrators pin its version",
        product_carries_the_engine,
        "Name engine and version inside the product, and decide on the engine that is bought.",
    ),
    Rule(
        "C36",
        "Engine and product are ones that the catalogue knows",
        ("warn",),
        "the catalogue of engines: every rule on flags, formats and licences looks a name up there",
        names_are_known,
        "Write the name as its makers do; what the catalogue does not know is checked by nobody.",
    ),
    Rule(
        "C21",
        "Alerts read metrics that this runtime shows",
        ("warn",),
        "vLLM 0.33.0, docs/usage/metrics.md; SGLang 0.5.23, metrics",
        alerts_use_its_metrics,
        "Use the names of the proposed runtime, and look at each once on a running one.",
    ),
    Rule(
        "C22",
        "Disputed defaults are written out",
        ("warn",),
        "TensorRT-LLM, llm_args.py at 0004396 and docs/source/features/long-sequence.md at 1ec63b4",
        disputed_defaults_are_written,
        "Write enable_chunked_prefill, tokens_per_block and max_seq_len, whatever their value.",
    ),
    Rule(
        "C23",
        "A memory share is not copied between engines",
        ("warn",),
        "vLLM 0.33.0 config/cache.py, SGLang 0.5.23 arg_groups/fields/memory.py, TensorRT-LLM llm_args.py",
        memory_share_is_not_copied,
        "Leave vLLM's share out, and set the product's own.",
    ),
)
