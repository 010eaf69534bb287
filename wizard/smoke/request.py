"""What the smoke is asked to do, from the answers: the same flags as section 2, the same load, the same ceilings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from probes.models import facts_of, has_weights
from probes.smoke.plan import Ceiling, GpuNeed, Nodes, SmokeRequest, WantedStrategy, Workload
from probes.smoke.profiles import shaped
from wizard.answers import Answers
from wizard.answers.runtime import Ceilings
from wizard.decision.gather import Gathered
from wizard.errors import UsageError
from wizard.serving.gpu_needs import format_needs
from wizard.serving.launch import Launch, launch
from wizard.sizing.run import predicted_memory
from wizard.smoke.option_checks import check_options

Mode = Literal["local", "dummy", "endpoint", "tiny"]


@dataclass(frozen=True)
class SmokeOptions:
    """What the command line says about a smoke; `mode` None means: choose by what is there."""

    out_dir: Path
    state_dir: Path
    mode: Mode | None = None
    vllm: Path | None = None
    devices: tuple[str, ...] = ()
    master_addr: str | None = None
    master_port: int | None = None
    endpoint: str | None = None
    api_key_env: str | None = None
    ca: Path | None = None
    allow_remote_load: bool = False
    allow_download: bool = False
    search: bool = False
    resume: bool = False
    prompts: Path | None = None
    time_limit_s: float = 1800
    replace: bool = False


def smoke_request(gathered: Gathered, options: SmokeOptions) -> SmokeRequest:
    """The request for this selection. Missing workload answers raise `UsageError`: there is nothing to measure then."""
    check_options(options, gathered.machine)
    if options.endpoint and "@" in options.endpoint.split("//", 1)[-1].split("/", 1)[0]:
        raise UsageError(
            "The address of the endpoint holds a name or a password.",
            "Leave it out, and name the variable that holds the key with --api-key-env.",
        )
    if options.endpoint and not _is_address(options.endpoint):
        raise UsageError(
            f"{options.endpoint} is no address of a server.",
            "Give --endpoint a URL such as http://127.0.0.1:8000.",
        )
    answers = gathered.answers
    if options.search and not _ceilings(answers.runtime.ceilings):
        raise UsageError(
            "A search looks for the greatest concurrency at which every ceiling holds, and no ceiling is given.",
            "Give runtime.ceilings.ttft_ms, .tpot_ms or .e2e_ms in the answers, or leave --search out.",
        )
    command = launch(answers)
    mode = options.mode or choose_mode(gathered, options)
    nodes = _nodes(command, mode, options)
    model = answers.engine.carried_model
    if mode in ("local", "dummy") and not (model and (model.path or model.name)):
        raise UsageError(
            f"--mode {mode} serves the model of the selection, and the answers name none.",
            "Answer engine.models[].path, or take --mode tiny, which needs no model.",
        )
    devices = options.devices or tuple(
        part.strip() for part in (answers.runtime.smoke.devices or "").split(",") if part.strip()
    )
    return SmokeRequest(
        mode=mode,
        vllm=options.vllm,
        model=(model.path or model.name) if model and mode != "tiny" else None,
        serve_flags=command.serve_flags(),
        environment=command.serve_environment(),
        workload=_workload(answers),
        ceilings=_ceilings(answers.runtime.ceilings),
        strategies=tuple(
            WantedStrategy(id=name, decision=strategy.decision, expected=expected_value(name, answers))
            for name, strategy in answers.engine.strategies.items()
            if strategy.decision is not None
        ),
        predicted_memory=predicted_memory(
            mode, answers, command, gathered.machine, gathered.configuration, gathered.weights, devices, nodes
        ),
        needs=_needs(gathered, command),
        nodes=nodes,
        devices=devices,
        machine=gathered.machine,
        endpoint_url=options.endpoint,
        api_key_env=options.api_key_env,
        ca_file=options.ca,
        allow_remote_load=options.allow_remote_load,
        allow_download=options.allow_download,
        search=options.search,
        resume=options.resume,
        prompts_file=options.prompts,
        time_limit_s=options.time_limit_s,
        out_dir=options.out_dir,
        state_dir=options.state_dir,
        replace=options.replace,
    )


def _is_address(url: str) -> bool:
    """Whether a URL can be taken apart and names a host; whether its scheme will do is found out later."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _nodes(command: Launch, mode: Mode, options: SmokeOptions) -> Nodes | None:
    """The nodes that the server is to span: those of a replica where the head's address is named, else none.

    A run on one machine would not be what a layout of several nodes proposes: only the stand-in is started without it.
    """
    address = options.master_addr
    if address is None:
        if options.master_port is not None:
            raise UsageError("--master-port has no meaning without --master-addr.", "Give both, or neither.")
        if command.nodes > 1 and mode in ("local", "dummy"):
            raise UsageError(
                f"A replica spans {command.nodes} nodes, and a server on this machine alone is not what is proposed.",
                "On the head node name the address where the other nodes reach it (--master-addr ADDRESS), or measure "
                "the running fleet with --endpoint URL. Mode tiny shows that the chain works here.",
            )
        return None
    if mode == "endpoint":
        raise UsageError(
            "--master-addr starts a head node, and an endpoint runs already.",
            "Leave one of --endpoint, --master-addr out.",
        )
    if command.nodes == 1:
        raise UsageError(
            "--master-addr joins the nodes of a replica, and the answers put a replica on one.",
            "Answer runtime.layout.nodes_per_replica, or leave --master-addr out.",
        )
    if command.launcher == "ray":
        raise UsageError(
            "The answers let Ray start the nodes, which selwiz does not.",
            'Measure what Ray started with --endpoint URL, or answer runtime.layout.launcher = "vllm".',
        )
    return Nodes(count=command.nodes, head_address=address, port=options.master_port)


def choose_mode(gathered: Gathered, options: SmokeOptions) -> Mode:
    """`endpoint` if one is given, else `local` if the weights are there, else `dummy` on a GPU, else `tiny`."""
    if options.endpoint:
        return "endpoint"
    model = gathered.answers.engine.carried_model
    folder = Path(model.path).expanduser() if model and model.path else None
    if folder and has_weights(folder):
        return "local"
    machine = gathered.machine
    if folder and machine and any(gpu.usable for gpu in machine.gpus):
        return "dummy"
    return "tiny"


def _needs(gathered: Gathered, command: Launch) -> tuple[GpuNeed, ...]:
    """What the weight format, set by a flag or that of the checkpoint, and the cache type ask of the GPUs."""
    setting = command.find("--quantization")
    given = setting.value if setting is not None and setting.value != "none" else None
    own = facts_of(gathered.configuration).quantization if gathered.configuration is not None else None
    needs = format_needs(gathered.answers, command, given or own)
    return tuple(GpuNeed(what=need.what, compute_capability=need.capability) for need in needs)


def _workload(answers: Answers) -> Workload:
    load = answers.runtime.workload
    if load.concurrency is None or load.input_tokens is None or load.output_tokens is None:
        raise UsageError(
            "The smoke needs the concurrency, the prompt tokens and the output tokens of a call.",
            "Give runtime.workload.concurrency, .input_tokens and .output_tokens in the answers.",
        )
    shared = load.shared_prefix_tokens or 0
    if shared >= load.input_tokens:
        raise UsageError(
            f"The shared prefix ({shared:,} tokens) is not shorter than the prompt ({load.input_tokens:,} tokens).",
            "Correct runtime.workload.shared_prefix_tokens or .input_tokens: each call has some tokens of its own.",
        )
    made = Workload(
        concurrency=load.concurrency,
        input_tokens=load.input_tokens,
        output_tokens=load.output_tokens,
        shared_prefix_tokens=shared,
        turns=load.turns or 1,
    )
    return shaped(load.profile or "custom", made, answers.runtime.settings.max_model_len)


def _ceilings(given: Ceilings) -> tuple[Ceiling, ...]:
    percentile = given.percentile or 95
    ceilings = []
    if given.ttft_ms is not None:
        ceilings.append(Ceiling(metric="ttft_ms", percentile=percentile, limit_ms=given.ttft_ms))
    if given.tpot_ms is not None:
        ceilings.append(Ceiling(metric="tpot_ms", percentile=percentile, limit_ms=given.tpot_ms))
    if given.e2e_ms is not None:
        ceilings.append(Ceiling(metric="e2e_ms", percentile=percentile, limit_ms=given.e2e_ms))
    return tuple(ceilings)


def expected_value(strategy: str, answers: Answers) -> str | None:
    """The value that the strategy must resolve to in the running server, where it is more than on or off."""
    layout, settings = answers.runtime.layout, answers.runtime.settings
    value = {
        "tensor_parallel": layout.tensor_parallel,
        "pipeline_parallel": layout.pipeline_parallel,
        "data_parallel": layout.data_parallel,
        "kv_quantization": settings.kv_cache_dtype if settings.kv_cache_dtype != "auto" else None,
    }.get(strategy)
    return str(value) if value is not None else None
