"""The answer of the sizing as plain values; nothing here computes, so that whoever only shows it imports little."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

GpuSource = Literal["probe", "catalogue"]


@dataclass(frozen=True)
class Term:
    """One row of the bill of a GPU. `method` says where it comes from and, for an estimate, how far it may be off."""

    name: str
    bytes: int
    method: str


@dataclass(frozen=True)
class Floor:
    """The least TPOT and TTFT in milliseconds; None where what they depend on is not known."""

    tpot_ms: float | None
    ttft_ms: float | None
    because: str

    def e2e_ms(self, output_tokens: int | None) -> float | None:
        """The least time of a call: its first token and all that follow; None where their number is not given."""
        if self.tpot_ms is None or not output_tokens:
            return None
        return (self.ttft_ms or 0.0) + self.tpot_ms * (output_tokens - 1)


@dataclass(frozen=True)
class Sizing:
    """The answer. Bytes are of one GPU where the name says so; None is what the method does not cover.

    `max_concurrency` is what one engine logs at `context`; `max_concurrency_at_workload` counts requests of the
    workload's own length. `fits` says that the engine starts and that all calls in flight have room at a time.
    `free_bytes_per_gpu` is what is free now, where it was measured. The two least figures hold nothing estimated, so
    that a refusal may rest on them: `start_bytes_per_gpu` is weights and one request of full length, without which the
    runtime does not start; `least_bytes_per_gpu` is weights and all calls in flight with their shared prefix held once.
    """

    model: str
    architecture: str | None
    method: str
    method_note: str | None
    context: int
    parameters: int | None
    weight_bytes: int | None
    weight_bytes_per_gpu: int | None
    kv_bytes_per_request: int | None
    kv_bytes_per_request_per_gpu: int | None
    state_bytes_per_request: int | None
    block_size: int | None
    assumptions: dict[str, int]
    start_bytes_per_gpu: int | None
    least_bytes_per_gpu: int | None
    required_bytes_per_gpu: int | None
    reserved_bytes_per_gpu: int | None
    free_bytes_per_gpu: int | None
    kv_room_bytes_per_gpu: int | None
    max_concurrency: float | None
    max_concurrency_at_workload: float | None
    fits: bool | None
    floor: Floor
    terms: tuple[Term, ...]
    not_modelled: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The shape of `size --json`."""
        fields = dict(self.__dict__)
        fields["floor"] = dict(self.floor.__dict__)
        fields["terms"] = [dict(term.__dict__) for term in self.terms]
        fields["not_modelled"] = list(self.not_modelled)
        return {"schema_version": 1, **fields}


@dataclass(frozen=True)
class LeastGpus:
    """The least number of GPUs of one type that holds the asked load, and the layout; None where none does.

    `nodes` are nodes of eight GPUs.
    """

    gpu: str
    gpus: int | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    room_bytes_per_gpu: int | None
    floor: Floor | None
    because: str | None
    confidence: str
    nodes: int | None = None


class ProposedSizing(BaseModel):
    """The sizing of the carried model on the proposed hardware and layout.

    `gpu_source` says where memory and rates of the GPU come from, `bandwidth_confidence` how far a bandwidth of the
    catalogue may be trusted (None: read from the machine, or not known). `calls` are those in flight in one replica.
    `sizing` is None where nothing can be said at all, and `because` is the sentence why; it also says why no GPU is
    known. `utilization` is the share that the runtime reserves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    gpu: str | None = None
    gpu_source: GpuSource | None = None
    bandwidth_confidence: str | None = None
    gpus: int = 1
    calls: int | None = None
    utilization: float | None = None
    sizing: Sizing | None = None
    because: str | None = None
    least: tuple[LeastGpus, ...] = ()
