"""The shapes of catalogue rows. A row without its source and the day or version it was read is refused."""

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Group = Literal["operator", "memory", "scheduling", "speculative", "parallelism", "serving"]
#: What the runtime does unless told otherwise: `auto` means that it decides and normally switches it on,
#: `value` that the strategy has a size or a format instead of a switch.
DefaultState = Literal["on", "off", "auto", "value"]
#: What a strategy may need of model, machine or workload; `by_hand` is what selwiz cannot see.
NeedKind = Literal[
    "gpu",
    "compute_capability",
    "nvlink",
    "gpus_per_replica",
    "instances",
    "host_memory",
    "cpu_cores",
    "concurrency",
    "mixture_of_experts",
    "quantized_checkpoint",
    "native_format",
    "cache_kernel",
    "decoder",
    "heads_divide",
    "mtp_layers",
    "shared_prefix",
    "one_tenant",
    "parser",
    "by_hand",
]
Words = Annotated[str, Field(min_length=1)]


class _Row(BaseModel):
    # Most of these are never made in a run; the validator is built for those that are.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Flag(_Row):
    """One flag that switches a strategy on or off, or tunes it.

    `value` is fixed; `answer` is the key of the answer that gives the value; `with_answer` the key of an
    answer without which the flag is not written; `typed` flags are only ever written by a person. `off` are
    values that leave the strategy off, `contains` words of which a typed value holds one. An `optional`
    flag tunes what is on already. A `variable` is one of the environment and no flag.
    """

    flag: Words
    value: str | None = None
    answer: str | None = None
    with_answer: str | None = None
    typed: bool = False
    optional: bool = False
    off: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    variable: bool = False


class Need(_Row):
    """One thing that a strategy needs, in words; `at_least` is the least value where the kind is a number."""

    kind: NeedKind
    what: Words
    at_least: str | None = None


class Switch(_Row):
    """How one strategy is switched in one runtime, as read from `version` of it.

    `enable` lists all flags that together switch it on, or with `any` alternatives of which one suffices.
    `disable` is the off-switch; `disabled_by` are flags that switch it off as a side effect.
    """

    version: Words
    default: DefaultState
    default_value: str | None = None
    enable: tuple[Flag, ...] = ()
    any: bool = False
    disable: tuple[Flag, ...] = ()
    disabled_by: tuple[str, ...] = ()
    note: str | None = None

    @model_validator(mode="after")
    def _value_is_named(self) -> "Switch":
        if (self.default == "value") != (self.default_value is not None):
            raise ValueError("default_value belongs to the default state `value`, and to no other")
        return self


class Strategy(_Row):
    """One optimisation strategy: the question it answers, what it costs, and its switch in each runtime."""

    id: Words
    name: Words
    group: Group
    question: Words
    helps: Words
    hurts: Words
    requires: Words
    sources: Annotated[tuple[Words, ...], Field(min_length=1)]
    read_on: datetime.date
    needs: tuple[Need, ...] = ()
    switches: Annotated[dict[str, Switch], Field(min_length=1)]


class PlainSetting(_Row):
    """The flag of an answer that serves no strategy, per runtime; a runtime that is not named has none."""

    answer: Words
    flags: Annotated[dict[str, Words], Field(min_length=1)]
    source: Words
    read_on: datetime.date


class EngineRow(_Row):
    """An engine design, a product around one, an orchestrator above one, or a library.

    `released` is a year, or year and month. `inner` are the ids of the engines that may be inside: the name of a
    packaged product or an orchestrator says none, so a decision names one, and `pins` the versions it was made with.
    Empty `vendors`, `weight_formats` and `interfaces` mean that they were not read. `min_compute_capability` is
    NVIDIA's.
    """

    id: Words
    name: Words
    aliases: Annotated[tuple[Words, ...], Field(min_length=1)]
    role: Literal["engine", "orchestrator", "packaged product", "library"]
    licence: Words
    licence_kind: Literal["open-source", "commercial"]
    release: Words
    released: Words
    maintenance: Literal["active", "young", "low activity", "maintenance mode", "dormant"]
    vendors: tuple[Words, ...] = ()
    min_compute_capability: str | None = None
    weight_formats: tuple[Words, ...] = ()
    interfaces: tuple[Words, ...] = ()
    metrics: str | None = None
    governance: str | None = None
    inner: tuple[Words, ...] = ()
    pins: dict[str, str] = Field(default_factory=dict)
    note: str | None = None
    source: Words
    read_on: datetime.date

    @model_validator(mode="after")
    def _names_what_is_inside(self) -> "EngineRow":
        if self.role in ("orchestrator", "packaged product") and not self.inner:
            raise ValueError("inner is required: the name of this product names no engine")
        if not set(self.pins) <= set(self.inner):
            raise ValueError("pins names an engine that is not inside")
        return self

    @property
    def needs_inner(self) -> bool:
        """Whether a decision for it must also name the engine inside and its version."""
        return self.role in ("orchestrator", "packaged product")


class Knob(_Row):
    """A setting that looks alike in every engine and is not: what it means in each, and what a copy breaks."""

    id: Words
    name: Words
    meaning: Annotated[dict[str, Words], Field(min_length=1)]
    trap: Words
    sources: Annotated[tuple[Words, ...], Field(min_length=1)]
    read_on: datetime.date


class Migration(_Row):
    """One piece of work that a change of engine or hardware brings.

    `line` is the budget line that pays by the keep-test, `items` are the ids of that line in which it usually stands.
    """

    id: Words
    change: Literal["engine", "hardware"]
    line: Literal["E", "R"]
    name: Words
    what: Words
    evidence: Words
    kind: Literal["one-time", "recurring", "risk"]
    items: tuple[Words, ...] = ()
    sources: Annotated[tuple[Words, ...], Field(min_length=1)]
    read_on: datetime.date

    @model_validator(mode="after")
    def _items_are_of_the_line(self) -> "Migration":
        if any(not item.startswith(self.line) for item in self.items):
            raise ValueError("items holds an item of the other line")
        return self


class Exclusion(_Row):
    """Two flags of vLLM of which one may be given; with `key`, only where the JSON of the second one holds it."""

    flags: tuple[Words, Words]
    key: str | None = None
    source: Words
    read_on: datetime.date


class Pair(_Row):
    """Strategies that a runtime does not take together with another one.

    `says` is how firm the source is: the code refuses it, the matrix of features says no, or says untested. An id in
    `with_` may end in `*` for every strategy whose id begins so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    runtime: Words
    strategy: Words
    with_: Annotated[tuple[Words, ...], Field(min_length=1, alias="with")]
    says: Literal["refused", "no", "untested"]
    source: Words
    read_on: datetime.date


class ModelRow(_Row):
    """Facts of a model, as its config.json states them; what it does not state is None."""

    name: Words
    aliases: tuple[Words, ...] = ()
    architecture: Words
    model_type: Words
    layers: int
    attention_heads: int
    kv_heads: int | None = None
    head_dim: int | None = None
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int
    quantization: str | None = None
    dtype: str | None = None
    is_moe: bool
    experts: int | None = None
    experts_per_token: int | None = None
    source: Words
    read_on: datetime.date


class GpuRow(_Row):
    """What is known of a GPU before one is at hand; rates are dense. A figure that is not known is None.

    `nvml_name` is a pattern for the whole name that NVML reports. `memory_gb` (as marketed, 10^9 bytes) and `power_w`
    hold one value, or the variants. `unified_memory` is shared with the CPU, so NVML reports none. `confidence` says
    how far the figures may be trusted: what was read in a source, quoted by others, derived from clocks, written from
    memory, or only announced.
    """

    name: Words
    nvml_name: Words
    architecture: Words
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")]
    memory_gb: Annotated[tuple[float, ...], Field(min_length=1)]
    nvml_memory_mib: int | None = None
    unified_memory: bool = False
    memory_type: Words
    memory_bandwidth_gb_s: float
    bf16_tflops: float | None = None
    fp16_tflops: float | None = None
    fp8_tflops: float | None = None
    int8_tops: float | None = None
    fp4_tflops: float | None = None
    nvlink_generation: int | None = None
    nvlink_bidirectional_gb_s: float | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    power_w: tuple[float, ...] = ()
    confidence: Literal["read", "quoted", "derived", "memory", "announced"]
    sources: Annotated[tuple[Words, ...], Field(min_length=1)]
    read_on: datetime.date
    note: str | None = None
