"""Section 2, the runtime decision, but for hardware (`hardware`) and measurement (`measurement`)."""

from wizard.decision.proof import probed_machine
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context import strategies
from wizard.document.context.common import SPARE_NOT_GIVEN, Context, Row, answer, facts, ids, row, said, source, sources
from wizard.document.context.expiry import runtime_triggers
from wizard.document.context.measurement import capacity_run, not_usable
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.serving.spread import spread


def runtime(selection: Selection) -> Context:
    """Everything that 2.1, 2.3, 2.4 and 2.6 to 2.10 say."""
    return {
        "product": answer(selection, "runtime.product"),
        "version": answer(selection, "runtime.version"),
        "owner": said(selection, "runtime.owner"),
        "owner_known": answer(selection, "runtime.owner") or "a person who is not given",
        "products": _products(selection),
        "load": _load(selection),
        "error_budget": _error_budget(selection),
        "configuration": strategies.configuration(selection),
        "security": _security(selection),
        "operations": _operations(selection),
        "options": _options(selection),
        "ceilings_given": any(
            answer(selection, f"runtime.ceilings.{name}") is not None for name in ("ttft_ms", "tpot_ms", "e2e_ms")
        ),
        "concurrency": answer(selection, "runtime.workload.concurrency"),
        "defaults": _defaults(selection),
        "defaults_of": f"vLLM {_SECURITY_READ_AT}",
        "triggers": runtime_triggers(selection),
        "e_items": ids(selection.engine_line, ("E3", "E4")),
        "r_items": ids(selection.runtime_line, _QUOTED_ANEW),
        "r_exit": ids(selection.runtime_line, ("R12",)),
    }


def _products(selection: Selection) -> Table:
    rows = []
    machine = probed_machine(selection)
    if machine is not None:
        for found in machine.runtimes:
            build = f"{found.build} build" + (f", CUDA {found.cuda_major}" if found.cuda_major else "")
            rows.append(
                (
                    f"{found.product}, found",
                    found.version,
                    f"{found.distribution}, {build}",
                    "Python package",
                    "probe",
                )
            )
    smoke = selection.smoke
    if smoke is not None:
        how = "already running" if smoke.mode == "endpoint" else "started by selwiz for the run"
        rows.append(
            (
                f"{smoke.runtime.product}, measured",
                formats.value(smoke.runtime.version),
                f"{smoke.runtime.build} build" if smoke.runtime.build else NOT_GIVEN,
                how,
                "measured RUN-1",
            )
        )
    keys = tuple(f"runtime.{name}" for name in ("product", "version", "image", "installed_how"))
    product, version, image, how = (said(selection, key) for key in keys)
    rows.append((f"{product}, proposed", version, image, how, sources(selection, *keys)))
    return Table(("Runtime", "Version", "Image or wheel", "How installed", "Source"), tuple(rows))


def _load(selection: Selection) -> Table:
    given = selection.answers.runtime
    percentile = given.ceilings.percentile
    calls = said(selection, "runtime.workload.concurrency")
    rows = [
        (
            name,
            NOT_GIVEN if limit is None else f"{formats.limit_ms(limit)} ms",
            NOT_GIVEN if percentile is None else f"p{percentile}",
            calls,
            sources(
                selection,
                f"runtime.ceilings.{key}",
                "runtime.ceilings.percentile",
                "runtime.workload.concurrency",
            ),
        )
        for name, key, limit in (
            ("TTFT", "ttft_ms", given.ceilings.ttft_ms),
            ("TPOT", "tpot_ms", given.ceilings.tpot_ms),
            ("E2E", "e2e_ms", given.ceilings.e2e_ms),
        )
    ]
    load = given.workload
    if selection.origin("runtime.workload.concurrency").word == "derived":
        worked = selection.origin("runtime.workload.concurrency").detail
        formula = source(selection, "runtime.workload.concurrency")
        rows.append(("Concurrency, worked out", worked, "not applicable", "not applicable", formula))
    if given.ceilings.e2e_from == "tokens" and selection.origin("runtime.ceilings.e2e_ms").word == "derived":
        worked = selection.origin("runtime.ceilings.e2e_ms").detail
        rows.append(("E2E, worked out", worked, "not applicable", "not applicable", "derived F-20"))
    elif load.task_seconds is not None and load.calls_per_task is not None:
        limit = formats.number(load.task_seconds * 1000 / load.calls_per_task, 0)
        worked = f"{formats.number(load.task_seconds)} s a task / {load.calls_per_task} calls = {limit} ms a call"
        rows.append(("E2E, worked out", worked, "not applicable", "not applicable", "derived F-9"))
    for name, key in (
        ("Workload profile", "profile"),
        ("Prompt tokens per call", "input_tokens"),
        ("Prompt tokens shared by all calls", "shared_prefix_tokens"),
        ("Output tokens per call", "output_tokens"),
        ("Turns per conversation", "turns"),
        ("Calls per year", "calls_per_year"),
        ("Users in the peak hour", "users_peak_hour"),
        ("Tasks per user and hour", "tasks_per_user_hour"),
        ("Model calls per task", "calls_per_task"),
        ("Seconds per call", "call_seconds"),
        ("Peak factor", "peak_factor"),
    ):
        field = f"runtime.workload.{key}"
        if answer(selection, field) is None and key in _WORKING_OUT:
            continue
        per_call = calls if key in _PER_CALL else "not applicable"
        rows.append(
            (
                name,
                said(selection, field),
                "mean" if key in _PER_CALL else "not applicable",
                per_call,
                source(selection, field),
            )
        )
    if load.calls_per_year is not None and load.output_tokens is not None:
        tokens = f"{formats.number(load.calls_per_year * load.output_tokens)} output tokens a year"
        rows.append(("Annual volume", tokens, "not applicable", "not applicable", "derived F-8"))
    return Table(("Metric", "Ceiling or target", "Percentile", "Concurrency", "Source"), tuple(rows))


def _error_budget(selection: Selection) -> str | None:
    """How many calls may miss a ceiling before it is broken; None where no ceiling or no percentile is given."""
    given = selection.answers.runtime.ceilings
    if given.percentile is None or (given.ttft_ms, given.tpot_ms, given.e2e_ms) == (None, None, None):
        return None
    return (
        f"The error budget of each ceiling: at p{given.percentile}, {100 - given.percentile} of 100 calls may take "
        "longer. The budget for time without service follows from the availability target of 2.7."
    )


_WORKING_OUT = frozenset({"users_peak_hour", "tasks_per_user_hour", "calls_per_task", "call_seconds", "peak_factor"})
_PER_CALL = frozenset({"input_tokens", "shared_prefix_tokens", "output_tokens"})


def _security(selection: Selection) -> Table:
    return facts(
        selection,
        (
            ("Which address does it listen on, and who calls it?", "runtime.security.listening"),
            ("How are callers authenticated?", "runtime.security.authentication"),
            ("Which paths are open, and what is encrypted?", "runtime.security.open_paths"),
            ("How many tenants share it, and what separates them?", "runtime.security.tenants"),
            ("Which traffic leaves it?", "runtime.security.outbound"),
            ("Remote code, development mode, media addresses?", "runtime.security.remote_code"),
            ("Are prompts and answers logged, and for how long?", "runtime.security.logging"),
            ("How fast do security releases arrive?", "runtime.security.patches"),
            ("Which tools may the agent call?", "runtime.security.agent_tools"),
            ("Where is the data allowed to be?", "engine.data_class"),
            ("Which register of AI systems lists it?", "governance.ai_register"),
        ),
        columns=("Question", "Answer", "Source"),
    )


_SECURITY_READ_AT = "0.33.0"


def _defaults(selection: Selection) -> Table | None:
    """What the runtime does unless it is told otherwise (vLLM, docs/usage/security.md), and what 2.4 tells it."""
    if selection.launch.runtime != "vllm":
        return None
    launch = selection.launch
    environment = dict(launch.environment)

    def flag(name: str, there: str, absent: str) -> str:
        return absent if launch.find(name) is None else there

    rows = (
        (
            "Key of the runtime",
            "guards only paths below /v1, /v2 and /inference; others stay open",
            flag("--api-key", "set, and not the only control", "not set") + _before(selection),
        ),
        (
            "Traffic between nodes",
            "not encrypted, no authorisation",
            _between_nodes(selection),
        ),
        (
            "Development mode",
            "off; on, it opens paths that change the server",
            "set" if "VLLM_SERVER_DEV_MODE" in environment else "not set in 2.4",
        ),
        (
            "Code from the model's repository",
            "not run",
            flag("--trust-remote-code", "run: the revision has to be pinned and read", "not run"),
        ),
        (
            "Format of the weight files",
            "safetensors where the model has them, else pickled files, which can run code when they are read",
            _load_format(selection),
        ),
        (
            "Media addresses in prompts",
            "fetched from anywhere by multimodal models",
            flag("--allowed-media-domains", "limited to a list", "no list set"),
        ),
        (
            "Usage statistics, hub access",
            "both on",
            f"statistics {'off' if 'VLLM_NO_USAGE_STATS' in environment else 'on'}, hub "
            f"{'off' if 'HF_HUB_OFFLINE' in environment else 'on'}",
        ),
        (
            "Answers per call",
            "at most 16,384 (VLLM_MAX_N_SEQUENCES)",
            "set" if "VLLM_MAX_N_SEQUENCES" in environment else "not set in 2.4",
        ),
    )
    return Table(
        ("Topic", "Unless told otherwise", "In this selection", "Source"),
        tuple((*cells, "catalogue, derived F-15") for cells in rows),
    )


def _load_format(selection: Selection) -> str:
    form = selection.launch.find("--load-format")
    return "not limited in 2.4" if form is None or form.value is None else f"limited to {form.value}"


def _between_nodes(selection: Selection) -> str:
    if selection.launch.nodes == 1 and selection.launch.find("--nnodes") is None:
        return "no second node is named in 2.4"
    given = selection.answers.runtime.security.node_network
    return f"several nodes: {'a closed network is needed' if given is None else given}"


def _before(selection: Selection) -> str:
    """What has to decide who may call, as far as the answers name it."""
    if selection.answers.runtime.existing.gateway is None:
        return "; no gateway that decides who may call is given"
    return "; the gateway of 2.2 has to decide who may call"


_QUOTED_ANEW = ("R1", "R2", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R13")


def _operations(selection: Selection) -> Table:
    rows: list[Row] = [
        row(selection, "Serving replicas", "runtime.layout.replicas"),
        row(selection, "Spare replicas", "runtime.layout.spare_replicas"),
        _gpus_in_all(selection),
        *_nodes_in_all(selection),
    ]
    rows += _measured_operations(selection)
    rows += facts(
        selection,
        (
            ("Availability target", "runtime.operations.availability"),
            ("Service hours and repair", "runtime.operations.service_hours"),
            ("Loss of a node", "runtime.operations.node_loss"),
            ("Cold start", "runtime.operations.cold_start"),
            ("Overload", "runtime.operations.overload"),
            ("Upgrade and roll back", "runtime.operations.upgrade"),
            ("On call", "runtime.operations.on_call"),
            ("Alerts", "runtime.operations.alerts"),
            ("Launch gate", "runtime.operations.launch_gate"),
        ),
    ).rows  # type: ignore[arg-type]
    return Table(("Item", "Value", "Source"), tuple(rows))


def _measured_operations(selection: Selection) -> list[Row]:
    """What the run says about capacity and start, and the replicas that follow from it."""
    smoke = selection.smoke
    if smoke is None or smoke.failure is not None:
        return []
    rows = []
    peak, capacity = selection.answers.runtime.workload.concurrency, smoke.capacity
    doubt = not_usable(selection)
    if capacity is not None:
        run = capacity_run(smoke)
        held = "" if capacity.kind == "edge" else "at least "
        text = f"{held}{formats.number(capacity.concurrency)} concurrent calls"
        rows.append(("Capacity of one replica", f"{text}{f', but {doubt}' if doubt else ''}", f"measured {run}"))
        if doubt is None and peak is not None and capacity.concurrency > 0:
            needed = -(-peak // capacity.concurrency)
            worked = f"ceil({formats.number(peak)} asked / {formats.number(capacity.concurrency)} held) = {needed}"
            rows.append(("Serving replicas needed", worked, "derived F-6"))
    if smoke.server.ready_s is not None and smoke.mode != "tiny":
        start = f"{formats.number(smoke.server.ready_s, 0)} s until ready{f', but {doubt}' if doubt else ''}"
        rows.append(("Start of the runtime", start, "measured RUN-1"))
    return rows


def _gpus_in_all(selection: Selection) -> Row:
    given = selection.answers.runtime
    serving, spare, each = given.layout.replicas, given.layout.spare_replicas, given.hardware.gpus_per_replica
    if serving is None or each is None:
        return "GPUs in all", NOT_GIVEN, "missing"
    if spare is None:
        known = f"{serving} × {each} = {formats.number(serving * each)} for serving; {SPARE_NOT_GIVEN}"
        return "GPUs in all", known, "derived F-6, missing"
    total = formats.number((serving + spare) * each)
    return "GPUs in all", f"({serving} + {spare}) × {each} = {total}", "derived F-6"


def _nodes_in_all(selection: Selection) -> list[Row]:
    """The nodes that serve and those that wait for the loss of one (N + 1), where a replica spans several."""
    layout, over = selection.answers.runtime.layout, spread(selection.answers)
    if over.nodes == 1:
        return []
    serving, spare = layout.replicas, layout.spare_replicas
    if serving is None or spare is None:
        return [("Nodes in all", NOT_GIVEN, "missing")]
    total = formats.number((serving + spare) * over.nodes)
    worked = f"({serving} + {spare}) × {over.nodes} = {total}; {formats.number(spare * over.nodes)} of them spare"
    how = f"{over.across} parallelism, started by {_LAUNCHERS[selection.launch.launcher]}"
    return [
        ("Nodes in all", worked, "derived F-6"),
        ("Across the nodes of a replica", how, sources(selection, "runtime.layout.nodes_per_replica")),
    ]


_LAUNCHERS = {"vllm": "vLLM's own launcher", "ray": "Ray"}


def _options(selection: Selection) -> Table | None:
    options = selection.answers.runtime.options
    if not options:
        return None
    return Table(
        ("Runtime option", "Rejected because"),
        tuple((option.name or "option without a name", option.rejected_because or NOT_GIVEN) for option in options),
    )
