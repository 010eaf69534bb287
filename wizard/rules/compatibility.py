"""Rules on whether model, strategies, settings and hardware fit together."""

from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import carried_model, is_planned, probed_machine, same_gpu, usable_gpus
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, listed, number, strategy_named
from wizard.serving.launch import EXTRA_FLAGS, answer_at, switch_of
from wizard.serving.spread import spread
from wizard.serving.trace import Realised, default_of, realised

_TENSOR = "runtime.layout.tensor_parallel"
_WORDS = {"adopt": "adopted", "defer": "deferred", "reject": "rejected"}


def tensor_parallel_divides_heads(selection: Selection) -> list[Finding]:
    """C3: attention heads and key-value heads must divide over the tensor parallel ranks."""
    # vLLM 0.33.0: ModelConfig.verify_with_parallel_config ("must be divisible by tensor parallel size");
    # key-value heads: the assertions of models/llama.py, which replicate them where there are fewer heads
    # than ranks.
    size, carried = selection.answers.runtime.layout.tensor_parallel, carried_model(selection)
    if size is not None and selection.launch.runtime == "lmdeploy" and size & (size - 1):
        # InternLM/lmdeploy at 1263d5c: TurboMind takes powers of two.
        message = f"LMDeploy takes tensor parallel sizes that are powers of two, and {size} is none."
        return [
            finding("C3", "block", message, _TENSOR, f"Use {1 << (size.bit_length() - 1)} or {1 << size.bit_length()}.")
        ]
    facts = carried[2] if carried else None
    if size is None or facts is None or facts.attention_heads is None:
        return []
    heads, kv_heads = facts.attention_heads, facts.kv_heads
    works = [n for n in range(1, heads + 1) if heads % n == 0 and _kv_divides(kv_heads, n)]
    remedy = f"Use one of the sizes that divide: {', '.join(map(str, works))}."
    if heads % size:
        message = f"{heads} attention heads of {facts.name} cannot be divided over {size} tensor parallel ranks."
        return [finding("C3", "block", message, _TENSOR, remedy)]
    if not _kv_divides(kv_heads, size):
        message = (
            f"{kv_heads} key-value heads of {facts.name} cannot be divided over or replicated on "
            f"{size} tensor parallel ranks."
        )
        return [finding("C3", "block", message, _TENSOR, remedy)]
    if kv_heads is not None and kv_heads < size:
        message = (
            f"{facts.name} has {kv_heads} key-value heads, fewer than {size} tensor parallel ranks: each is "
            f"kept {size // kv_heads} times, and the cache per GPU no longer shrinks."
        )
        return [finding("C3", "warn", message, _TENSOR, "Consider a smaller size, or accept the memory.")]
    return []


def _kv_divides(kv_heads: int | None, size: int) -> bool:
    return kv_heads is None or (kv_heads % size == 0 if kv_heads >= size else size % kv_heads == 0)


def layout_fits_replica(selection: Selection) -> list[Finding]:
    """C4: a replica's layout needs no more GPUs than it has, and the machine found can hold one replica."""
    # vLLM 0.33.0: world size = TP x PP on the GPUs of a node, once for each data parallel rank.
    layout, gpus = selection.answers.runtime.layout, selection.answers.runtime.hardware.gpus_per_replica
    found: list[Finding] = []
    if gpus is None:
        return found
    sizes = (layout.tensor_parallel, layout.pipeline_parallel or 1, layout.data_parallel or 1)
    if sizes[0] is not None and sizes[0] * sizes[1] * sizes[2] > gpus:
        message = (
            f"The layout needs {sizes[0]} x {sizes[1]} x {sizes[2]} = {sizes[0] * sizes[1] * sizes[2]} GPUs "
            f"(tensor x pipeline x data parallel), a replica has {gpus}."
        )
        remedy = "Make the layout smaller, or give each replica more GPUs."
        found.append(finding("C4", "block", message, _TENSOR, remedy))
    machine, across = selection.machine, spread(selection.answers)
    if machine is None:
        return found
    # Of a machine that is no fleet a replica over several nodes uses the GPUs of one.
    need = gpus if machine.nodes or is_planned(machine) else across.gpus_per_node or gpus
    if machine.usable_gpu_count < need:
        planned = is_planned(machine)
        whose = "One replica" if need == gpus else "One node of a replica"
        message = (
            f"{whose} needs {need} GPUs; the {'planned' if planned else 'probed'} "
            f"{'fleet' if machine.nodes else 'machine'} has {machine.usable_gpu_count} that can be used."
        )
        remedy = "Probe the machine that will carry a replica, or propose fewer GPUs per replica."
        severity: Severity = "note" if planned else "warn"
        found.append(finding("C4", severity, message, "runtime.hardware.gpus_per_replica", remedy))
    return found


def longest_request_fits(selection: Selection) -> list[Finding]:
    """C6: the longest request holds prompt and answer, and the model can take it."""
    # vLLM 0.33.0: config/model.py refuses a max_model_len above the derived one; longer requests get an
    # HTTP 400.
    key = "runtime.settings.max_model_len"
    length, load = selection.answers.runtime.settings.max_model_len, selection.answers.runtime.workload
    found: list[Finding] = []
    if length is None:
        return found
    if load.input_tokens is not None and load.output_tokens is not None:
        asked = load.input_tokens + load.output_tokens
        if length < asked:
            message = (
                f"A call of {number(load.input_tokens)} prompt and {number(load.output_tokens)} output "
                f"tokens does not fit into the longest request of {number(length)} tokens."
            )
            remedy = f"Set the longest request to at least {number(asked)} tokens, or shorten the calls."
            found.append(finding("C6", "block", message, key, remedy))
    carried = carried_model(selection)
    limit = carried[2].longest_request_tokens or carried[2].max_position_embeddings if carried and carried[2] else None
    # Overrides of the model's own configuration may extend its positions, which its facts do not show.
    if limit is not None and length > limit and selection.launch.find("--hf-overrides") is None:
        message = f"The longest request of {number(length)} tokens passes the model's limit of {number(limit)}."
        remedy = (
            f"Set it to at most {number(limit)} tokens, choose a model with a longer context, or raise the positions "
            "with --hf-overrides where the model's scaling (YaRN) allows it."
        )
        found.append(finding("C6", "block", message, key, remedy))
    return found


def adopted_is_switched_on(selection: Selection) -> list[Finding]:
    """C7: an adopted strategy has a switch in the launch settings, or is on by default in that version."""
    # The switches and defaults are the catalogue's, read from the named version of the runtime.
    carried = carried_model(selection)
    found = []
    for identifier, answer in selection.answers.engine.strategies.items():
        seen = realised(identifier, selection.launch, carried[2] if carried else None)
        if answer.decision != "adopt" or seen.in_force is not False:
            continue
        keys, flags = _switch_questions(identifier, selection)
        if any(key.startswith("runtime.layout.") and answer_at(selection.answers, key) is None for key in keys):
            continue  # how the model is spread is still open
        named = strategy_named(identifier)
        if seen.by == "off_switch":
            message = f"{named} is adopted, but {listed(list(seen.flags))} switches it off."
            where, remedy = (
                _origin(selection, seen),
                f"Remove {listed(list(seen.flags))}, or reject the strategy.",
            )
        elif seen.by == "checkpoint":
            message = f"{named} is adopted, but the checkpoint carries no such format and no flag sets one."
            where = f"engine.models[{carried[0] if carried else 0}].name"
            remedy = "Name the quantised checkpoint, or set the quantisation of the runtime."
        else:
            message = f"{named} is adopted, but nothing switches it on; {_default(selection, identifier, seen)}."
            where = keys[0] if keys else EXTRA_FLAGS
            remedy = f"Set {listed(flags)}, or defer the strategy."
        found.append(finding("C7", "block", message, where, remedy))
    return found


def rejected_is_switched_off(selection: Selection) -> list[Finding]:
    """C8: nothing that was rejected or deferred is in force in the proposed launch."""
    # A default that is on needs its off-switch; launch settings write it for a rejected strategy where
    # there is one.
    carried = carried_model(selection)
    found = []
    for identifier, answer in selection.answers.engine.strategies.items():
        if answer.decision not in ("reject", "defer"):
            continue
        seen = realised(identifier, selection.launch, carried[2] if carried else None)
        switch = switch_of(identifier, selection.launch.runtime)
        if not seen.in_force or switch is None or (seen.by == "default" and switch.default == "auto"):
            continue
        named, decided = strategy_named(identifier), _WORDS[answer.decision]
        decision = f"engine.strategies.{identifier}.decision"
        if seen.by == "flags":
            flags = listed(list(seen.flags))
            message = f"{named} is {decided}, but {flags} switches it on."
            where, remedy = _origin(selection, seen), f"Remove {flags}, or adopt the strategy."
        elif seen.by == "checkpoint":
            message = f"{named} is {decided}, but the checkpoint is in such a format."
            where, remedy = decision, "Adopt the strategy, or name a checkpoint that is not quantised."
        elif switch.disable:
            off = listed([flag.flag for flag in switch.disable])
            message = f"{named} is {decided}, but {_default(selection, identifier, seen)}."
            where, remedy = decision, f"Adopt it, or reject it, which sets {off}."
        else:
            message = f"{named} is {decided}, but {_default(selection, identifier, seen)} and cannot be switched off."
            where, remedy = decision, "Adopt the strategy: it is part of this runtime."
        found.append(finding("C8", "block", message, where, remedy))
    return found


def _default(selection: Selection, identifier: str, seen: Realised) -> str:
    runtime, state = selection.launch.runtime, "on" if seen.by == "default" else "off"
    switch = switch_of(identifier, runtime)
    where = default_of(switch, runtime, selection.answers.runtime.version) if switch and runtime else "it"
    return f"it is {state} by default in {where}"


def _switch_questions(identifier: str, selection: Selection) -> tuple[list[str], list[str]]:
    """Return the keys of the answers that would switch the strategy on, and its flags."""
    switch = switch_of(identifier, selection.launch.runtime)
    enabling = [flag for flag in switch.enable if not flag.with_answer] if switch else []
    return [flag.answer for flag in enabling if flag.answer], [flag.flag for flag in enabling]


def _origin(selection: Selection, seen: Realised) -> str:
    """Return the answer that the deciding flag was made from."""
    setting = selection.launch.find(seen.flags[0])
    return setting.source_keys[0] if setting and setting.source_keys else EXTRA_FLAGS


def proposed_hardware_was_probed(selection: Selection) -> list[Finding]:
    """C11: the machine that was probed and measured has the GPU that is proposed."""
    # MLPerf results messaging: a figure belongs to the system it was measured on, and to no other.
    machine, proposed = probed_machine(selection), selection.answers.runtime.hardware.gpu
    if proposed is None:
        return []
    planned = selection.machine if selection.machine is not None and selection.machine.planned else None
    other = (
        sorted({g.name.value for g in planned.gpus if g.name.value and not same_gpu(g.name.value, proposed)})
        if planned
        else []
    )
    if other:
        message = f"{proposed} is proposed, the machine that will be bought has {listed(other)}."
        return [
            finding(
                "C11",
                "warn",
                message,
                "runtime.hardware.gpu",
                "Plan the machine that is proposed, or propose that one.",
            )
        ]
    if machine is None:
        return []
    names = sorted({gpu.name.value for gpu in usable_gpus(machine) if gpu.name.value is not None})
    if not names and (selection.smoke is None or usable_gpus(machine)):
        return []  # C4 says that there are too few; a name that cannot be read is unknown
    if names and all(same_gpu(name, proposed) for name in names):
        return []
    message = (
        f"{proposed} is proposed, the probed machine has {listed(names) if names else 'no usable GPU'}: "
        "what was measured there holds for other hardware."
    )
    remedy = "Measure on the proposed hardware, or propose what was probed."
    return [finding("C11", "warn", message, "runtime.hardware.gpu", remedy)]


RULES = (
    Rule(
        "C3",
        "Tensor parallel size divides the heads",
        ("block", "warn"),
        "vLLM 0.33.0, ModelConfig.verify_with_parallel_config and models/llama.py",
        tensor_parallel_divides_heads,
        "Use a tensor parallel size that divides the heads; pipeline parallelism takes any number of GPUs.",
    ),
    Rule(
        "C4",
        "The layout fits the GPUs of a replica",
        ("block", "warn", "note"),
        "vLLM 0.33.0, world size in config/parallel.py",
        layout_fits_replica,
        "Make the layout smaller, or give each replica more GPUs.",
    ),
    Rule(
        "C6",
        "The longest request holds prompt and answer, within the model's limit",
        ("block",),
        "vLLM 0.33.0, config/model.py",
        longest_request_fits,
        "Set the longest request between the length of a call and the model's limit.",
    ),
    Rule(
        "C7",
        "An adopted strategy is switched on",
        ("block",),
        "the catalogue of strategies, for the version it was read from",
        adopted_is_switched_on,
        "Set the switch of the strategy, or defer it.",
    ),
    Rule(
        "C8",
        "A rejected or deferred strategy is not in force",
        ("block",),
        "the catalogue of strategies, for the version it was read from",
        rejected_is_switched_off,
        "Set the off-switch of the strategy, or adopt it.",
    ),
    Rule(
        "C11",
        "The proposed GPU is the probed one",
        ("warn",),
        "MLCommons, MLPerf results messaging guidelines: like is compared with like",
        proposed_hardware_was_probed,
        "Measure on the proposed hardware, or propose what was probed.",
    ),
)
