"""Works out what a smoke will do before anything is started, so that it can be shown and confirmed.

`make_plan` is pure: the request, what is known of the tool and of the model, and a port go in, a `SmokePlan`
comes out. `probes.smoke.prepare` gathers those facts.
"""

from __future__ import annotations

from pathlib import Path

from probes.smoke.plan import (
    CHUNK_TOKENS,
    SHUTDOWN_TIMEOUT_S,
    Ceiling,
    ModelFacts,
    PlannedRun,
    SmokePlan,
    SmokeRequest,
    VllmTool,
    Workload,
)
from probes.smoke.preflight import duration_lines
from probes.smoke.search import MOST_LOOKS
from probes.smoke.spanning import devices_of, environment_of, head_flags, plan_lines, worker_commands
from probes.smoke.statistics import requests_needed, requests_to_send, warmups_to_send

TINY_BLOCK_TOKENS = 128
"""Cache block of vLLM's CPU build: a shared prefix shorter than one block is never found again."""
TINY_MAX = {"concurrency": 4, "input_tokens": 512, "output_tokens": 16}
"""What two CPU cores carry in about ten seconds a run (measured)."""
TINY_MODEL_LEN = 1024
TINY_SERVED_NAME = "selwiz-tiny"
TINY_KEPT_FLAGS = frozenset(
    {
        "--enable-prefix-caching",
        "--no-enable-prefix-caching",
        "--enable-chunked-prefill",
        "--no-enable-chunked-prefill",
    }
)
"""Switches of the proposal that mean the same for any model on any device, so that they can be tried here."""


def scale_down(asked: Workload) -> Workload:
    """Return a load of the same form that two CPU cores carry; the asked one where it is no larger."""
    input_tokens = min(asked.input_tokens, TINY_MAX["input_tokens"])
    prompts = input_tokens / asked.input_tokens
    answers = min(1.0, TINY_MAX["output_tokens"] / asked.output_tokens)
    prefix = 0
    if asked.shared_prefix_tokens and input_tokens > TINY_BLOCK_TOKENS:
        share = asked.shared_prefix_tokens / asked.input_tokens * input_tokens
        blocks = max(1, min(round(share / TINY_BLOCK_TOKENS), (input_tokens - 1) // TINY_BLOCK_TOKENS))
        prefix = blocks * TINY_BLOCK_TOKENS
    return Workload(
        concurrency=min(asked.concurrency, TINY_MAX["concurrency"]),
        input_tokens=input_tokens,
        output_tokens=min(asked.output_tokens, TINY_MAX["output_tokens"]),
        shared_prefix_tokens=prefix,
        turns=min(asked.turns, 4),
        output_mix=tuple(max(1, round(tokens * answers)) for tokens in asked.output_mix),
        input_mix=tuple(max(prefix + 1, round(tokens * prompts)) for tokens in asked.input_mix),
        burst=asked.burst,
    )


def plan_runs(
    workload: Workload, ceilings: tuple[Ceiling, ...], *, has_prompts: bool = False
) -> tuple[PlannedRun, ...]:
    """Return the load runs in order: a warm-up to throw away, unshared, and shared if anything is shared."""
    count = requests_to_send(workload.concurrency, [ceiling.percentile for ceiling in ceilings])
    unshared = workload.model_copy(update={"shared_prefix_tokens": 0, "turns": 1, "burst": 1})
    runs = [
        PlannedRun(name="warmup", kind="warmup", requests=warmups_to_send(workload.concurrency), workload=unshared),
        PlannedRun(name="unshared", kind="asked_unshared", requests=count, workload=unshared),
    ]
    if workload.shared_prefix_tokens or workload.turns > 1 or has_prompts:
        runs.append(PlannedRun(name="shared", kind="asked_shared", requests=count, workload=workload))
    return tuple(runs)


def search_run(number: int, workload: Workload, concurrency: int, ceilings: tuple[Ceiling, ...]) -> PlannedRun:
    """Return one look of a capacity search: the asked load at another concurrency.

    A look has the requests that still support a ceiling when two of them are over it, so that chance alone does not
    fail a load that holds.
    """
    percentiles = [ceiling.percentile for ceiling in ceilings]
    count = max(requests_to_send(concurrency, percentiles), *(requests_needed(each, 2) for each in percentiles), 0)
    load = workload.model_copy(update={"concurrency": concurrency})
    return PlannedRun(name=f"search-{number}", kind="search", requests=count, workload=load)


def flag_value(flags: tuple[str, ...], *names: str) -> str | None:
    """Return the value of the last of `names` in `flags` (`--flag value` or `--flag=value`), or None."""
    found = None
    for position, flag in enumerate(flags):
        name, equals, value = flag.partition("=")
        if name.replace("_", "-") in names:
            found = value if equals else (flags[position + 1] if position + 1 < len(flags) else None)
    return found


def _has_flag(flags: tuple[str, ...], *names: str) -> bool:
    return any(flag.partition("=")[0].replace("_", "-") in names for flag in flags)


def serve_flags_for(request: SmokeRequest, tool: VllmTool) -> tuple[str, ...]:
    """Return the flags the server gets in this mode, our own first."""
    shutdown: tuple[str, ...] = (
        () if _has_flag(request.serve_flags, "--shutdown-timeout") else ("--shutdown-timeout", str(SHUTDOWN_TIMEOUT_S))
    )
    if request.mode == "tiny":
        kept = tuple(flag for flag in request.serve_flags if flag in TINY_KEPT_FLAGS)
        # A tenth of a GPU is plenty for a few megabytes, and leaves its other users alone.
        memory = () if tool.build == "cpu" else ("--gpu-memory-utilization", "0.1")
        own = ("--load-format", "dummy", "--max-model-len", str(TINY_MODEL_LEN), "--enforce-eager", *memory)
        # One rank a node: that the nodes find each other is what a stand-in can show of a fleet.
        ranks = () if request.nodes is None else ("--tensor-parallel-size", str(request.nodes.count))
        return (*own, *ranks, *kept, *shutdown)
    dummy = ("--load-format", "dummy") if request.mode == "dummy" else ()
    return (*dummy, *request.serve_flags, *shutdown)


def serve_environment_for(request: SmokeRequest, tool: VllmTool, rank: int = 0) -> tuple[tuple[str, str], ...]:
    """Return the variables that matter for the figures, sorted; quiet and private ones come on top.

    `rank` is that of the node, where all nodes of a replica are this machine.
    """
    values = dict(request.environment)
    if request.nodes is not None:
        values = environment_of(request.nodes) | values
    if request.devices:
        devices = devices_of(request.nodes, request.devices, rank)
        values["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        if all(device.isdigit() for device in devices):
            values.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which NVML counts
    if tool.build == "cpu":
        flags = request.serve_flags
        if not _has_flag(flags, "--kv-cache-memory-bytes"):
            values.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        parallel = flag_value(flags, "--tensor-parallel-size", "-tp") or "1"
        if request.nodes is not None or (request.mode != "tiny" and parallel != "1"):
            values.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")  # workers of one node must not share cores
    # Opens /server_info and /reset_prefix_cache on the loopback address, for our own child only.
    values["VLLM_SERVER_DEV_MODE"] = "1"
    if not request.allow_download:
        values |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    return tuple(sorted(values.items()))


def base_url(url: str) -> str:
    """Return an endpoint's URL without a trailing slash and without /v1."""
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def load_command(
    executable: tuple[str, ...], url: str, model: str, tokenizer: str, run: PlannedRun, *, work: str
) -> tuple[str, ...]:
    """Return the `vllm bench serve` command of one run.

    `--num-warmups 0`, because the tool's own warm-ups repeat request 0 and so fill the prefix cache; the
    warm-up is a run of its own. The tool takes the API key from its environment, so none is in the command.
    """
    options = {
        "--backend": "openai",
        "--base-url": url,
        "--endpoint": "/v1/completions",
        "--model": model,
        "--served-model-name": model,
        "--tokenizer": tokenizer,
        "--dataset-name": "timed_trace",
        "--dataset-path": f"{work}/traces/{run.name}.jsonl",
        "--timed-trace-chunk-hash-size": str(CHUNK_TOKENS),
        "--num-prompts": str(run.requests),
        "--max-concurrency": str(run.workload.concurrency),
        "--request-rate": "inf",
        "--num-warmups": "0",
        "--temperature": "0",
        "--percentile-metrics": "ttft,tpot,itl,e2el",
        "--metric-percentiles": "50,95,99",
        "--result-dir": f"{work}/bench",
        "--result-filename": f"{run.name}.json",
    }
    pairs = [word for pair in options.items() for word in pair]
    return (
        *executable,
        "bench",
        "serve",
        *pairs,
        "--no-self-timed",
        "--ignore-eos",
        "--save-result",
        "--save-detailed",
    )


def make_plan(
    request: SmokeRequest, tool: VllmTool, model: ModelFacts, port: int | None, *, devices_words: str = ""
) -> SmokePlan:
    """Work out runs, commands and the plain description. `port` is None in mode endpoint.

    `devices_words` says what is known of the chosen GPUs.
    """
    scaled = scale_down(request.workload) if request.mode == "tiny" else request.workload
    runs = plan_runs(scaled, request.ceilings, has_prompts=request.prompts_file is not None)
    endpoint = request.mode == "endpoint"
    writes_model = request.mode == "tiny"
    writes_tokenizer = writes_model or not (model.has_tokenizer or (request.mode == "local"))
    served = request.served_model_name
    source = "$WORK/model" if writes_model else str(model.folder or request.model)
    if not endpoint:
        served = TINY_SERVED_NAME if writes_model else (served or Path(str(request.model)).name)
    tokenizer = "$WORK/tokenizer" if writes_tokenizer else source
    flags = serve_flags_for(request, tool)
    serve: tuple[str, ...] | None = None
    workers: tuple[tuple[str, ...], ...] = ()
    if not endpoint:
        own_tokenizer = ("--tokenizer", tokenizer) if writes_tokenizer and not writes_model else ()
        place = ("--host", "127.0.0.1", "--port", str(port), "--served-model-name", str(served))
        serve = (*tool.executable, "serve", source, *place, *own_tokenizer, *flags)
        if request.nodes is not None:
            serve = (*serve, *head_flags(request.nodes))
            workers = worker_commands(request.nodes, tool.executable, source, flags)
    url = base_url(request.endpoint_url or "") if endpoint else f"http://127.0.0.1:{port}"
    load = load_command(
        tool.executable,
        url,
        served or "$MODEL",
        "$WORK/model" if writes_model else tokenizer,
        runs[-1],
        work="$WORK",
    )
    notes = _notes(request, scaled, flags)
    downloads = None
    if not (model.is_local or endpoint) and request.allow_download:
        downloads = f"{request.model} from the Hugging Face Hub; its size is not known beforehand"
    plan = SmokePlan(
        request=request,
        tool=tool,
        workload=scaled,
        runs=runs,
        warmups=runs[0].requests,
        port=port,
        served_model_name=served,
        serve_command=serve,
        worker_commands=workers,
        serve_environment=() if endpoint else serve_environment_for(request, tool),
        load_command=load,
        writes_model=writes_model,
        writes_tokenizer=writes_tokenizer,
        scaled_down=scaled != request.workload,
        downloads=downloads,
        notes=notes,
        gpus=None if endpoint or tool.build == "cpu" else _gpus_held(request),
        devices_words=devices_words,
        description=(),
    )
    return plan.model_copy(update={"description": describe(plan, model)})


def _notes(request: SmokeRequest, sent: Workload, flags: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    asked = request.workload
    if request.mode == "tiny":
        notes.append("The model is a few megabytes of random weights: this shows that the chain works, never speed.")
        dropped = [flag for flag in request.serve_flags if flag.startswith("--") and flag not in flags]
        if dropped:
            notes.append("Left out, because they belong to the proposed model: " + " ".join(dropped) + ".")
    if sent != asked:
        notes.append(
            f"The load is scaled down: {sent.concurrency} callers instead of {asked.concurrency}, prompts of "
            f"{sent.input_tokens} instead of {asked.input_tokens} tokens "
            f"({sent.shared_prefix_tokens} shared), "
            f"answers of {sent.output_tokens} instead of {asked.output_tokens}."
        )
    if request.prompts_file is not None:
        notes.append(
            "The load has the lengths and the shared beginnings of the prompts of a file; their text is neither sent "
            "nor kept."
        )
    form = _form(sent)
    if form and request.prompts_file is None:
        notes.append(f"The load's form: {form}.")
    prefix = sent.shared_prefix_tokens
    if prefix % CHUNK_TOKENS:
        notes.append(
            f"Of the shared prefix, {prefix - prefix % CHUNK_TOKENS} tokens are shared: whole chunks of {CHUNK_TOKENS}."
        )
    return tuple(notes)


def _form(sent: Workload) -> str:
    """Say how the requests differ from one another; empty where all are alike."""
    said = []
    if sent.input_mix:
        said.append(f"prompts of {min(sent.input_mix)} to {max(sent.input_mix)} tokens")
    if sent.output_mix:
        said.append(f"answers of {min(sent.output_mix)} to {max(sent.output_mix)} tokens")
    if sent.turns > 1:
        said.append(f"tasks of {sent.turns} turns, each repeating the one before")
    if sent.burst > 1 and sent.turns > 1:
        said.append(f"bursts of {sent.burst} parallel calls a turn")
    return ", ".join(said)


def _model_line(plan: SmokePlan, model: ModelFacts) -> str:
    if plan.writes_model:
        return "Model: a Llama of a few megabytes with random weights, written into a temporary folder."
    weights = "" if model.weights_bytes is None else f", {model.weights_bytes / 1e9:.1f} GB of weights"
    if plan.request.mode == "dummy":
        return f"Model: {plan.request.model} with random weights, nothing is loaded from disk."
    return f"Model: {plan.request.model}{weights}."


def _gpu_line(plan: SmokePlan) -> str:
    if plan.tool.build == "cpu":
        return "GPUs: none, this is vLLM's CPU build."
    if not plan.request.devices:
        return "GPUs: those the runtime picks itself."
    words = f" ({plan.devices_words})" if plan.devices_words else ""
    return f"GPUs: {', '.join(plan.request.devices)}{words}."


def _gpus_held(request: SmokeRequest) -> int:
    """Return how many GPUs are held while it runs, those of other nodes too."""
    elsewhere = request.nodes is not None and not request.nodes.all_here
    return (len(request.devices) or gpus_needed(request)) * (request.nodes.count if request.nodes and elsewhere else 1)


def gpus_needed(request: SmokeRequest) -> int:
    """Return how many GPUs of this machine the layout in the flags takes; the tiny model takes one a node."""
    nodes = request.nodes
    if request.mode == "tiny":
        return nodes.count if nodes is not None and nodes.all_here else 1
    sizes = (
        ("--tensor-parallel-size", "-tp"),
        ("--pipeline-parallel-size", "-pp"),
        ("--data-parallel-size", "-dp"),
    )
    product = 1
    for names in sizes:
        value = flag_value(request.serve_flags, *names)
        product *= int(value) if value and value.isdigit() else 1
    if nodes is not None and not nodes.all_here:
        product //= nodes.count
    return max(1, product)


def describe(plan: SmokePlan, model: ModelFacts) -> tuple[str, ...]:
    """Say in plain lines what is started, downloaded and sent, on which port and GPUs, and for how long."""
    request = plan.request
    lines = []
    if plan.serve_command is None:
        lines.append(f"Nothing is started or stopped; the load goes to {base_url(request.endpoint_url or '')}.")
    else:
        lines += [
            f"Starts vLLM {plan.tool.version} on 127.0.0.1, port {plan.port}:",
            "  " + " ".join(f"{name}={value}" for name, value in plan.serve_environment),
            "  " + " ".join(plan.serve_command),
            _model_line(plan, model),
            _gpu_line(plan),
            *plan_lines(plan),
        ]
    lines.append(f"Downloads: {plan.downloads or 'nothing'}.")
    measured = [run for run in plan.runs if run.kind != "warmup"]
    lines.append(
        f"Sends {plan.warmups} warm-up requests, then "
        + " and ".join(f"{run.requests} {run.name}" for run in measured)
        + f", {plan.workload.concurrency} at a time, with the command (last run):"
    )
    lines.append("  " + " ".join(plan.load_command))
    if request.search:
        lines.append(
            "Then searches for the greatest concurrency at which every ceiling holds: "
            f"at most {MOST_LOOKS} more load runs."
        )
    lines += plan.notes
    ceilings = () if request.mode == "tiny" else request.ceilings
    lines += duration_lines(plan.runs, ceilings, request.time_limit_s, plan.gpus)
    lines.append("Ends everything it started.")
    return tuple(lines)
