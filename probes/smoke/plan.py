"""What is asked of a smoke and what it will do, as plain frozen values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from probes.machine import Machine
from probes.smoke.result import Decision, Frozen, Metric, Mode, PointKind

CHUNK_TOKENS = 16
"""Tokens that one chunk id of a trace stands for; vLLM's default cache block on GPUs has the same size."""
SHUTDOWN_TIMEOUT_S = 10

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]


class Workload(Frozen):
    """The load of one run: a closed loop of `concurrency` callers."""

    concurrency: Positive
    input_tokens: Positive
    """Tokens of a prompt, the shared prefix included: of every one, or on average with `input_mix`."""
    output_tokens: Positive
    shared_prefix_tokens: NotNegative = 0
    turns: Positive = 1
    """Calls of one task; from the second on a call repeats what the calls before it sent."""
    output_mix: tuple[Positive, ...] = ()
    """Exact output lengths that requests take in turn; empty means `output_tokens` for all."""
    input_mix: tuple[Positive, ...] = ()
    """Exact prompt lengths of the turns of a task, or that requests take in turn where tasks have one turn."""
    burst: Positive = 1
    """Parallel calls of one turn of a task; they repeat the same earlier part."""

    @model_validator(mode="after")
    def _prefix_fits(self) -> Self:
        if self.shared_prefix_tokens >= min((self.input_tokens, *self.input_mix)):
            raise ValueError("the shared prefix must be shorter than the prompt")
        return self

    @property
    def longest_request(self) -> int:
        """Tokens of the longest prompt and the longest answer together."""
        return max(self.input_mix or (self.input_tokens,)) + max(self.output_mix or (self.output_tokens,))


class Ceiling(Frozen):
    """A latency limit at a percentile."""

    metric: Metric
    percentile: Annotated[float, Field(gt=0, lt=100)] = 95
    limit_ms: Annotated[float, Field(gt=0)]


class WantedStrategy(Frozen):
    """A strategy of section 1 to look for in the measured server.

    `expected` is the value it must resolve to, as text ("4" for tensor_parallel, "fp8" for kv_quantization);
    None means merely switched on.
    """

    id: str
    decision: Decision
    expected: str | None = None


class PredictedMemory(Frozen):
    """A memory term of the sizing, to stand beside what the server's log says."""

    term: Literal["weights", "kv_room", "graphs", "activations", "other"]
    bytes_per_gpu: int | None


class GpuNeed(Frozen):
    """What a proposed format asks of every GPU at least, such as "8.9"."""

    what: str
    compute_capability: str


class Nodes(Frozen):
    """The nodes of one replica, joined by vLLM's own launcher; selwiz stands on the head node, which has rank 0."""

    count: Annotated[int, Field(ge=2)]
    head_address: str
    """Where the other nodes reach this one. A loopback address: all nodes are this machine, which is a test."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Where the ranks meet (`--master-port`); None: vLLM's default, or a free one where all nodes are this machine."""
    interface: str | None = None
    """The network interface of `head_address`, for Gloo and NCCL; None: they pick one themselves."""

    @property
    def all_here(self) -> bool:
        """Whether all nodes are this machine, so that every process is ours to start and to end."""
        return self.head_address == "localhost" or self.head_address.startswith("127.")


class SmokeRequest(Frozen):
    """What is asked of a smoke. Paths may be relative; nothing is looked up here."""

    mode: Mode
    vllm: Path | None = None
    """The vllm command or the interpreter that owns it; None: the running environment, then PATH."""
    model: str | None = None
    """Folder or Hub id; not needed in mode tiny, optional in mode endpoint (its tokenizer is then used)."""
    served_model_name: str | None = None
    serve_flags: tuple[str, ...] = ()
    """Flags of section 2 without model, host, port and served name."""
    environment: tuple[tuple[str, str], ...] = ()
    """Further variables for the server, as proposed in section 2."""
    workload: Workload
    ceilings: tuple[Ceiling, ...] = ()
    strategies: tuple[WantedStrategy, ...] = ()
    predicted_memory: tuple[PredictedMemory, ...] = ()
    needs: tuple[GpuNeed, ...] = ()
    nodes: Nodes | None = None
    """None: the runtime stands on this machine alone."""
    devices: tuple[str, ...] = ()
    """GPU indices or UUIDs for CUDA_VISIBLE_DEVICES; empty: free ones of `machine`, else what the runtime picks."""
    prompts_file: Path | None = None
    """JSONL of the user's own prompts: the load takes on their lengths and shared beginnings, never their text."""
    machine: Machine | None = None
    """This machine as probed, to choose free GPUs from."""
    endpoint_url: str | None = None
    """Base URL with or without /v1."""
    api_key_env: str | None = None
    """Name of the variable that holds the endpoint's key; the key itself is never stored."""
    ca_file: Path | None = None
    allow_remote_load: bool = False
    allow_download: bool = False
    search: bool = False
    """Whether to look for the greatest concurrency at which every ceiling holds, after the asked one."""
    resume: bool = False
    """Whether points that an unfinished run of the same kind left are taken over instead of measured again."""
    time_limit_s: Annotated[float, Field(gt=0)] = 1800
    out_dir: Path
    state_dir: Path
    """Where the run file goes, so that a later start can end what a crash left."""
    replace: bool = False
    """Whether files of an earlier smoke in `out_dir` may be replaced."""
    seed: NotNegative = 0

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode in ("local", "dummy") and not self.model:
            raise ValueError(f"mode {self.mode} needs a model")
        if self.mode == "endpoint" and not self.endpoint_url:
            raise ValueError("mode endpoint needs the endpoint's URL")
        return self


class VllmTool(Frozen):
    """The installed vLLM that serves and loads."""

    executable: tuple[str, ...]
    """What is executed, `("/path/bin/vllm",)` for example."""
    interpreter: Path
    version: str
    build: Literal["cpu", "cuda", "other"]


class ModelFacts(Frozen):
    """What is known of the model before the start."""

    folder: Path | None
    """Where it lies, None for a Hub id or our own tiny model."""
    has_tokenizer: bool
    weights_bytes: int | None
    is_local: bool
    """Whether it can be used without a download."""


class PlannedRun(Frozen):
    """One run of the load tool."""

    name: str
    kind: PointKind | Literal["warmup"]
    requests: int
    workload: Workload


class SmokePlan(Frozen):
    """Everything that will happen. Commands name the private folder, which lives with the run, `$WORK`."""

    request: SmokeRequest
    tool: VllmTool
    workload: Workload
    """The load that is sent; smaller than the asked one in mode tiny."""
    runs: tuple[PlannedRun, ...]
    warmups: int
    port: int | None
    served_model_name: str | None
    serve_command: tuple[str, ...] | None
    worker_commands: tuple[tuple[str, ...], ...] = ()
    """What the further nodes of a replica run, by rank from 1 on; empty where it has one node."""
    serve_environment: tuple[tuple[str, str], ...]
    load_command: tuple[str, ...]
    writes_model: bool
    writes_tokenizer: bool
    scaled_down: bool
    downloads: str | None
    notes: tuple[str, ...]
    gpus: int | None = None
    """How many GPUs are held while it runs; None without GPUs, and where it is not known."""
    devices_words: str = ""
    description: tuple[str, ...]
    """Plain lines to show before asking for the go-ahead."""
