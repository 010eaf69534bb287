"""Values for answers that nobody gave: first what the probe read, then selwiz's own defaults, each with its source."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wizard.answers import Answers
from wizard.answers.runtime import Workload
from wizard.asking.provenance import Layer, Origin
from wizard.asking.ranges import middle, range_words
from wizard.asking.tree import path_of

if TYPE_CHECKING:
    from probes.machine import Gpu, Machine


@dataclass(frozen=True)
class Default:
    """How one open answer is filled; `source` may say the figures that it was worked out from.

    `rule` gives the value, or None where it has none for these answers and this machine; it sees the defaults
    before it. `source` says where the value comes from and is shown to the user.
    """

    key: str
    layer: Layer
    rule: "Callable[[Answers, Machine | None], Any]"
    source: "str | Callable[[Answers], str]"


def fill(answers: Answers, origins: dict[str, Origin], machine: "Machine | None") -> tuple[Answers, dict[str, Origin]]:
    """Fill what is open from the probe and from defaults; returns the filled answers and all origins."""
    filled = dict(origins)
    for given in answers.governance.ranges:
        value = middle(given)
        if given.key and value is not None and answer_at(answers, given.key) is None:
            changed = _set(answers, path_of(given.key), value)
            if changed is not None:
                answers = changed
                filled[given.key] = Origin(layer="derived", detail=range_words(given))
    for default in DEFAULTS:
        if answer_at(answers, default.key) is not None:
            continue
        value = default.rule(answers, machine)
        if value is not None:
            source = default.source if isinstance(default.source, str) else default.source(answers)
            answers = _set(answers, path_of(default.key), value)
            filled[default.key] = _origin(default.layer, source, machine)
    return answers, filled


def _origin(layer: Layer, source: str, machine: "Machine | None") -> Origin:
    """The origin of what is filled in; a machine that will be bought was not read: it is the catalogue's."""
    if layer != "probe" or machine is None:
        return Origin(layer=layer, detail=source)
    if machine.planned:
        return Origin(layer="catalogue", detail="the GPUs of a machine that will be bought")
    return Origin(layer=layer, detail=source + (" (a recorded machine)" if machine.recorded else ""))


def _usable(machine: "Machine | None") -> "list[Gpu]":
    """The GPUs that a runtime started from this shell could use."""
    if machine is None:
        return []
    visible = machine.shell.visible_gpus.value
    return [gpu for gpu in machine.gpus if gpu.usable and (visible is None or gpu.index in visible)]


def _gpu_name(_: Answers, machine: "Machine | None") -> str | None:
    names = {gpu.name.value for gpu in _usable(machine)}
    return names.pop() if len(names) == 1 else None


def _gpu_count(answers: Answers, machine: "Machine | None") -> int | None:
    gpus = [gpu for gpu in _usable(machine) if gpu.name.value == answers.runtime.hardware.gpu]
    return len(gpus) or None


def _vllm_version(answers: Answers, machine: "Machine | None") -> str | None:
    if machine is None or (answers.runtime.product or "").casefold() != "vllm":
        return None
    # The CPU build is here to try the chain out; its version says nothing of what is proposed for a GPU.
    return next((found.version for found in machine.runtimes if found.product == "vllm" and found.build != "cpu"), None)


def _tensor_parallel(answers: Answers, _: "Machine | None") -> int | None:
    layout, gpus = answers.runtime.layout, answers.runtime.hardware.gpus_per_replica
    others = (layout.pipeline_parallel or 1) * (layout.data_parallel or 1)
    return gpus // others if gpus and gpus % others == 0 else None


def _context(answers: Answers, _: "Machine | None") -> int | None:
    carried = [m.context_tokens for m in answers.engine.models if m.carried_here and m.context_tokens]
    return max(carried, default=None)


def _e2e_ms(answers: Answers, _: "Machine | None") -> float | None:
    load, ceilings = answers.runtime.workload, answers.runtime.ceilings
    if ceilings.e2e_from == "tokens":
        return e2e_of_tokens_ms(ceilings.ttft_ms, ceilings.tpot_ms, load.output_tokens)
    return load.task_seconds * 1000 / load.calls_per_task if load.task_seconds and load.calls_per_task else None


def e2e_of_tokens_ms(ttft_ms: float | None, tpot_ms: float | None, output_tokens: int | None) -> float | None:
    """The longest call whose first token and further tokens keep their ceilings, in ms: TTFT + TPOT x (tokens - 1)."""
    if ttft_ms is None or tpot_ms is None or output_tokens is None:
        return None
    return ttft_ms + tpot_ms * (output_tokens - 1)


def _e2e_source(answers: Answers) -> str:
    return e2e_words(answers, answers.runtime.ceilings.e2e_from or "task")


def e2e_words(answers: Answers, worked_from: str) -> str:
    """The figures that the E2E ceiling is worked out from: a task's time, or the tokens of a call."""
    load, ceilings = answers.runtime.workload, answers.runtime.ceilings
    if worked_from == "tokens":
        return f"{ceilings.ttft_ms:,g} ms TTFT + {ceilings.tpot_ms:g} ms TPOT x ({load.output_tokens} tokens - 1)"
    return f"{load.task_seconds:g} s a task / {load.calls_per_task} calls"


def _concurrency(answers: Answers, _: "Machine | None") -> int | None:
    return calls_in_flight(answers.runtime.workload)


def calls_in_flight(load: Workload) -> int | None:
    """Little's law: calls in flight = calls that arrive per second x seconds that each stays, rounded up."""
    if not (load.users_peak_hour and load.tasks_per_user_hour and load.calls_per_task and load.call_seconds):
        return None
    calls_per_second = load.users_peak_hour * load.tasks_per_user_hour * load.calls_per_task / 3600
    return max(1, -int(-calls_per_second * load.call_seconds * (load.peak_factor or 1) // 1))


def concurrency_words(answers: Answers) -> str:
    """The figures that the calls in flight are worked out from."""
    load = answers.runtime.workload
    peak = f" x {load.peak_factor:g}" if load.peak_factor else ""
    return (
        f"Little's law: {load.users_peak_hour} users x {load.tasks_per_user_hour:g} tasks an hour x "
        f"{load.calls_per_task} calls / 3,600 x {load.call_seconds:g} s{peak}"
    )


#: In the order in which they are filled: a later one may rest on an earlier one.
DEFAULTS: tuple[Default, ...] = (
    Default("runtime.product", "default", lambda *_: "vLLM", "the product that selwiz can start and measure"),
    Default("runtime.version", "probe", _vllm_version, "the vLLM found on this machine"),
    Default("runtime.hardware.gpu", "probe", _gpu_name, "NVML: the GPUs of this machine"),
    Default("runtime.hardware.gpus_per_replica", "probe", _gpu_count, "NVML: the usable GPUs of that name"),
    Default("runtime.layout.pipeline_parallel", "default", lambda *_: 1, "vLLM 0.33.0, --pipeline-parallel-size"),
    Default("runtime.layout.data_parallel", "default", lambda *_: 1, "vLLM 0.33.0, --data-parallel-size"),
    Default("runtime.layout.tensor_parallel", "default", _tensor_parallel, "all GPUs of the replica"),
    Default(
        "runtime.layout.replicas",
        "default",
        lambda *_: 1,
        "one serving replica until a measurement asks for more",
    ),
    Default("runtime.workload.profile", "default", lambda *_: "agent", "the project selwiz is made for"),
    Default(
        "runtime.workload.concurrency",
        "derived",
        _concurrency,
        concurrency_words,
    ),
    Default(
        "runtime.ceilings.percentile",
        "default",
        lambda *_: 95,
        "the highest percentile that 59 requests can show",
    ),
    Default("runtime.ceilings.e2e_ms", "derived", _e2e_ms, _e2e_source),
    Default("budget.engine.owner", "default", lambda a, _: a.engine.owner, "the owner of the engine decision"),
    Default("budget.runtime.owner", "default", lambda a, _: a.runtime.owner, "the owner of the runtime decision"),
    Default(
        "runtime.settings.max_model_len",
        "derived",
        _context,
        "the longest context that a carried model needs",
    ),
    Default("runtime.settings.gpu_memory_utilization", "default", lambda *_: 0.92, "vLLM 0.33.0, config/cache.py"),
    Default("runtime.settings.kv_cache_dtype", "default", lambda *_: "auto", "vLLM 0.33.0, the model's own type"),
)


def answer_at(answers: Answers, key: str) -> Any:
    """The value of an answer such as `budget.engine.items[0].quantity`; None where there is none, or no such row."""
    value: Any = answers
    for part in path_of(key):
        if isinstance(part, int):
            value = value[part] if part < len(value) else None
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            value = getattr(value, part, None)
        if value is None:
            return None
    return None if value in ((), {}) else value


def _set(table: Any, path: list[str | int], value: Any) -> Any:
    """The answers with another value; None where they have no such row."""
    if not path:
        return value
    name, *rest = path
    if isinstance(name, int):
        inner = _set(table[name], rest, value) if name < len(table) else None
        return None if inner is None else (*table[:name], inner, *table[name + 1 :])
    inner = _set(getattr(table, name), rest, value)
    return None if inner is None else table.model_copy(update={name: inner})
