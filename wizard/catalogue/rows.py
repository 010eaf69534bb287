"""The shapes of catalogue rows. A row without its source and the day or version it was read is refused."""

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Group = Literal["operator", "memory", "scheduling", "speculative", "parallelism", "serving"]
#: What the runtime does unless told otherwise: `auto` means that it decides and normally switches it on,
#: `value` that the strategy has a size or a format instead of a switch.
DefaultState = Literal["on", "off", "auto", "value"]
Words = Annotated[str, Field(min_length=1)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Flag(_Row):
    """One flag that switches a strategy on or off, or tunes it.

    `value` is fixed; `answer` is the key of the answer that gives the value; `with_answer` the key of an
    answer without which the flag is not written; `typed` flags are only ever written by a person. `off` are
    values that leave the strategy off, `contains` words of which a typed value holds one. An `optional`
    flag tunes what is on already.
    """

    flag: Words
    value: str | None = None
    answer: str | None = None
    with_answer: str | None = None
    typed: bool = False
    optional: bool = False
    off: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()


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
    switches: Annotated[dict[str, Switch], Field(min_length=1)]


class PlainSetting(_Row):
    """The flag of an answer that serves no strategy, per runtime; a runtime that is not named has none."""

    answer: Words
    flags: Annotated[dict[str, Words], Field(min_length=1)]
    source: Words
    read_on: datetime.date


class EngineRow(_Row):
    """An engine design, or a product around one. `released` is a year, or year and month."""

    id: Words
    name: Words
    aliases: Annotated[tuple[Words, ...], Field(min_length=1)]
    role: Literal["engine", "orchestrator", "packaged product"]
    licence: Words
    licence_kind: Literal["open-source", "commercial"]
    release: Words
    released: Words
    min_compute_capability: str | None = None
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
