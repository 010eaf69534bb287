"""Answers about the runtime: the product that is bought and run, its hardware, load, ceilings and operation."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wizard.answers.field import Count, CountOrNone, Milliseconds, Share, Table, Text, ask, rows


class Hardware(Table):
    """The GPUs that carry one replica."""

    section: ClassVar[str] = "hardware and layout"

    gpu: Text | None = ask(
        "GPU proposed", "The full name that NVML gives; form factors of one chip differ in memory and price."
    )
    gpus_per_replica: Count | None = ask(
        "GPUs per replica", "Decides whether the model fits and what line R pays for.", unit="GPUs"
    )
    provider: Text | None = ask("Provider", "Rented from whom, or owned.", advanced=True)
    ownership: Literal["rented", "owned"] | None = ask(
        "Rented or owned", "Owned hardware is amortised and needs power and space.", advanced=True
    )
    interconnect: Text | None = ask(
        "Interconnect in a replica", "Tensor parallelism without fast links is slow.", advanced=True
    )
    driver: Text | None = ask(
        "Driver proposed", "The CUDA version of the runtime needs a driver branch.", advanced=True
    )


class Layout(Table):
    """How the model is spread over the GPUs, and how many copies run."""

    section: ClassVar[str] = "hardware and layout"

    tensor_parallel: Count | None = ask(
        "Tensor parallel size", "Splits every layer over GPUs; must divide the attention heads.", unit="GPUs"
    )
    pipeline_parallel: Count | None = ask(
        "Pipeline parallel size", "Splits the layers into stages.", unit="stages", advanced=True
    )
    data_parallel: Count | None = ask(
        "Data parallel size", "Copies of the model inside one replica.", unit="copies", advanced=True
    )
    replicas: Count | None = ask(
        "Serving replicas", "Copies that carry load; spares are counted apart.", unit="replicas"
    )
    spare_replicas: CountOrNone | None = ask(
        "Spare replicas", "The price of availability, as a row of its own.", unit="replicas"
    )


class Workload(Table):
    """The load that the runtime must carry."""

    section: ClassVar[str] = "workload and ceilings"

    profile: Literal["agent", "chat", "rag", "batch", "custom"] | None = ask(
        "Workload profile", "An agent sends a long shared prefix; a chat grows; a batch does not wait."
    )
    concurrency: Count | None = ask(
        "Calls in flight at peak", "The load at which the ceilings must hold.", unit="calls"
    )
    input_tokens: Count | None = ask(
        "Prompt tokens per call", "Prompt length decides the time to the first token.", unit="tokens"
    )
    output_tokens: Count | None = ask(
        "Output tokens per call", "Output length decides how long a call takes.", unit="tokens"
    )
    shared_prefix_tokens: CountOrNone | None = ask(
        "Prompt tokens shared by all calls",
        "A shared system prompt is computed once when prefix caching is on.",
        unit="tokens",
    )
    turns: Count | None = ask(
        "Turns per conversation",
        "Later turns repeat the earlier ones as their prefix.",
        unit="turns",
        advanced=True,
    )
    calls_per_year: Count | None = ask(
        "Calls per year", "Turns yearly cost into cost per million tokens.", unit="calls", advanced=True
    )
    users_peak_hour: Count | None = ask(
        "Users in the peak hour",
        "With tasks, calls and seconds it gives the concurrency.",
        unit="users",
        advanced=True,
    )
    tasks_per_user_hour: Milliseconds | None = ask(
        "Tasks per user and hour", "Part of working out the concurrency.", unit="tasks", advanced=True
    )
    calls_per_task: Count | None = ask(
        "Model calls per task",
        "Part of working out the concurrency and the E2E ceiling.",
        unit="calls",
        advanced=True,
    )
    call_seconds: Milliseconds | None = ask(
        "Seconds per call", "Part of working out the concurrency.", unit="s", advanced=True
    )
    peak_factor: Milliseconds | None = ask(
        "Peak factor", "How much the worst minute exceeds the mean of the peak hour.", advanced=True
    )
    task_seconds: Milliseconds | None = ask(
        "Seconds a task may take",
        "Divided by the calls per task it is the E2E ceiling.",
        unit="s",
        advanced=True,
    )


class Ceilings(Table):
    """Latency limits at a percentile."""

    section: ClassVar[str] = "workload and ceilings"

    percentile: Annotated[int, Field(ge=50, le=99)] | None = ask(
        "Percentile of the ceilings",
        "A higher percentile needs many more requests to be shown.",
        unit="percentile",
        advanced=True,
    )
    ttft_ms: Milliseconds | None = ask(
        "TTFT ceiling", "The wait until the first token; long prompts move it.", unit="ms"
    )
    tpot_ms: Milliseconds | None = ask(
        "TPOT ceiling", "The time for each further token; memory bandwidth limits it.", unit="ms"
    )
    e2e_ms: Milliseconds | None = ask("E2E ceiling", "The whole call, from sending to the last token.", unit="ms")
    e2e_from: Literal["task", "tokens"] | None = ask(
        "E2E ceiling worked out from",
        "From the time a task may take, or from the ceilings of TTFT and TPOT and the output tokens.",
        advanced=True,
    )


class Settings(Table):
    """Settings of the runtime that are not a strategy of their own."""

    section: ClassVar[str] = "runtime product"

    max_model_len: Count | None = ask(
        "Longest request", "Decides how many calls the KV cache holds.", unit="tokens", advanced=True
    )
    gpu_memory_utilization: Share | None = ask(
        "GPU memory reserved",
        "The share of GPU memory that the runtime takes for itself.",
        unit="share of total",
        advanced=True,
    )
    quantization: Text | None = ask(
        "Quantisation", "The weight format; the checkpoint must carry it or be converted.", advanced=True
    )
    kv_cache_dtype: Text | None = ask("KV cache type", "FP8 halves the cache and may cost accuracy.", advanced=True)
    max_num_seqs: Count | None = ask(
        "Greatest batch", "Calls that run together; more wait.", unit="calls", advanced=True
    )
    max_num_batched_tokens: Count | None = ask(
        "Tokens per engine step",
        "Smaller steps favour running answers, larger ones new prompts.",
        unit="tokens",
        advanced=True,
    )
    max_num_queued_reqs: Count | None = ask(
        "Calls admitted",
        "Above it the runtime refuses instead of missing every ceiling.",
        unit="calls",
        advanced=True,
    )
    tool_call_parser: Text | None = ask(
        "Tool call parser",
        "The model's own syntax of tool calls; a wrong one returns them as text.",
        advanced=True,
    )
    reasoning_parser: Text | None = ask(
        "Reasoning parser", "Separates the reasoning of the model from its answer.", advanced=True
    )
    extra_flags: tuple[Text, ...] = rows(
        "Further flags",
        "Flags of the runtime that no question covers; the rules read them too.",
        advanced=True,
    )


class Existing(Table):
    """What the organisation already runs and the runtime must fit."""

    section: ClassVar[str] = "runtime product"

    platform: Text | None = ask(
        "Platform", "Where the runtime will run: cluster, virtual machines, single hosts.", advanced=True
    )
    gateway: Text | None = ask(
        "Gateway",
        "The runtime's own key guards only some paths, so something must stand before it.",
        advanced=True,
    )
    identity: Text | None = ask("Identity", "Who may call it is decided there.", advanced=True)
    monitoring: Text | None = ask(
        "Monitoring", "The runtime offers Prometheus metrics; something must read them.", advanced=True
    )
    registry: Text | None = ask("Registry", "Images and weights need a place that is pinned.", advanced=True)
    driver_policy: Text | None = ask(
        "Driver policy", "A CUDA 13 build needs driver branch 580 or later.", advanced=True
    )


class SmokeAnswers(Table):
    """How the short measurement is run."""

    section: ClassVar[str] = "runtime product"

    devices: Text | None = ask(
        "GPUs to measure on", "Only these GPUs are touched; empty means free ones.", advanced=True
    )


class Security(Table):
    """What a security reviewer asks."""

    section: ClassVar[str] = "security and operations"

    listening: Text | None = ask(
        "Listening address and callers", "Without an address the runtime listens on every interface."
    )
    authentication: Text | None = ask("Authentication", "The runtime's key alone does not guard every path.")
    open_paths: Text | None = ask(
        "Open paths and encryption", "Everything not on the list must be closed.", advanced=True
    )
    tenants: Text | None = ask("Tenants", "A shared prefix cache is not a wall between tenants.")
    outbound: Text | None = ask(
        "Outbound traffic", "Usage statistics and hub access are on unless switched off.", advanced=True
    )
    remote_code: Text | None = ask(
        "Remote code, development mode, media",
        "Each of them lets somebody else decide what runs.",
        advanced=True,
    )
    logging: Text | None = ask("Prompts and answers in logs", "Prompts may hold personal data.")
    patches: Text | None = ask("Security releases", "Says how fast a fix reaches the runtime.", advanced=True)
    agent_tools: Text | None = ask(
        "Tools the agent may call", "The model's answers reach other systems through them.", advanced=True
    )


class Operations(Table):
    """What whoever runs the machines asks."""

    section: ClassVar[str] = "security and operations"

    availability: Text | None = ask("Availability target", "Decides whether a spare replica is needed.")
    service_hours: Text | None = ask("Service hours and repair", "Decides what on-call costs.", advanced=True)
    node_loss: Text | None = ask("Loss of a node", "What callers notice, and for how long.", advanced=True)
    cold_start: Text | None = ask("Cold start", "A replica that starts slowly needs a warm spare.", advanced=True)
    overload: Text | None = ask("Overload", "What happens above the concurrency of the ceilings.", advanced=True)
    upgrade: Text | None = ask("Upgrade and roll back", "Releases are frequent and rename flags.", advanced=True)
    on_call: Text | None = ask("On call", "Who is woken.")
    alerts: Text | None = ask("Alerts", "How anybody notices.", advanced=True)
    launch_gate: Text | None = ask("Launch gate", "What must be done before anybody depends on it.", advanced=True)


class RuntimeOption(Table):
    """Another way to carry the load that was considered."""

    section: ClassVar[str] = "hardware and layout"

    name: Text | None = ask("Runtime option", "Other GPUs, another provider, owning, or doing nothing.")
    rejected_because: Text | None = ask("Rejected because", "Says why the load is not carried this way.")


class Runtime(Table):
    """Section 2: the runtime decision."""

    section: ClassVar[str] = "runtime product"

    owner: Text | None = ask(
        "Owner of the runtime decision", "Section 2 and line R need one; without an owner it stays a draft."
    )
    product: Text | None = ask("Product", "What is installed and started, which is not the same as the engine design.")
    version: Text | None = ask("Exact version", "Flags, defaults and supported models are true for one version.")
    inner_engine: Text | None = ask(
        "Engine inside the product",
        "NIM, Dynamo, llm-d and Ollama carry an engine of another name; section 1 is about that one.",
        advanced=True,
    )
    inner_version: Text | None = ask(
        "Version of the engine inside", "An orchestrator pins it, and flags are true for it.", advanced=True
    )
    image: Text | None = ask("Image or wheel", "What is rolled out, by digest.", advanced=True)
    installed_how: Text | None = ask("How it is installed", "Decides who can repeat it.", advanced=True)
    hardware: Hardware = Field(default_factory=Hardware)
    layout: Layout = Field(default_factory=Layout)
    workload: Workload = Field(default_factory=Workload)
    ceilings: Ceilings = Field(default_factory=Ceilings)
    settings: Settings = Field(default_factory=Settings)
    existing: Existing = Field(default_factory=Existing)
    smoke: SmokeAnswers = Field(default_factory=SmokeAnswers)
    security: Security = Field(default_factory=Security)
    operations: Operations = Field(default_factory=Operations)
    options: tuple[RuntimeOption, ...] = rows(
        "Runtime options", "Other ways to carry the load, with the reason against each.", advanced=True
    )
