"""Asks an installed vLLM itself: it builds the model on PyTorch's meta device and plans the cache, without memory.

One child a rank, because vLLM's groups wait for all ranks; each in vLLM's own interpreter, with `-P`, its own session
and a private temporary folder that is removed afterwards. Whatever fails is a sentence: the caller then computes.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.models.configuration import NESTED, ModelConfiguration

CHILD = Path(__file__).with_name("drybuild_child.py")
#: Ranks that are built unless more are asked for: each takes a Python with PyTorch, about 1 GB.
MOST_RANKS = 4
_KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True)
class DryBuildRequest:
    """What is built and planned. `available_bytes` is the memory for the cache of each rank, for the concurrency.

    `ignore_quantization` builds the model as if its checkpoint were not quantised; `any_kernel` builds a quantised one
    although this machine has no kernel for the format, for its weights.
    """

    context: int
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: bool = False
    block_size: int | None = None
    kv_cache_dtype: str = "auto"
    max_num_batched_tokens: int = 8192
    max_num_seqs: int = 256
    available_bytes: int | None = None
    ignore_quantization: bool = False
    any_kernel: bool = False

    @property
    def ranks(self) -> int:
        """Children that are started."""
        return self.tensor_parallel * self.pipeline_parallel


@dataclass(frozen=True)
class DryBuild:
    """What vLLM's own code answered; lists run over the ranks, tensor parallel ranks of a stage side by side.

    `parameters` and `weight_bytes` are as vLLM holds them. `refusal` is what it would say instead of starting.
    """

    version: str
    platform: str
    parameters: tuple[int, ...]
    weight_bytes: tuple[int, ...]
    kv_bytes_per_request: tuple[int, ...]
    block_size: int
    batches_in_flight: int
    max_concurrency: float | None
    refusal: str | None
    layers: dict[str, int]


def dry_build(
    interpreter: Path,
    configuration: ModelConfiguration,
    request: DryBuildRequest,
    *,
    timeout_s: float = 180.0,
    most_ranks: int = MOST_RANKS,
) -> DryBuild:
    """Build the model in `interpreter` and plan its cache; takes 5 to 30 s.

    Raises `ProbeError` with the reason where it cannot be built: too many ranks, an architecture or a weight format
    without kernels on this machine, internals that have changed, or the time limit.
    """
    if request.ranks > most_ranks:
        raise ProbeError(
            f"A dry build of {request.ranks} ranks would start as many children; at most {most_ranks} are started.",
            "Use the formula, or ask for fewer ranks.",
        )
    with tempfile.TemporaryDirectory(prefix="selwiz-dry-", ignore_cleanup_errors=True) as private:
        folder = Path(private) / "model"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(_own_code_only(configuration.whole)))
        if configuration.modelopt is not None:
            (folder / "hf_quant_config.json").write_text(json.dumps(configuration.modelopt))
        asked = {
            "folder": str(folder),
            "rendezvous": f"file://{private}/rendezvous",
            "multimodal": any(isinstance(configuration.whole.get(key), dict) for key in (*NESTED, "vision_config")),
            **asdict(request),
        }
        return _answer(_run(interpreter, asked, request.ranks, Path(private), timeout_s))


def _own_code_only(config: dict[str, Any]) -> dict[str, Any]:
    """The same without `auto_map`: a dry build executes no code of the model's repository."""
    return {key: value for key, value in config.items() if key != "auto_map"}


def _run(interpreter: Path, asked: dict[str, Any], ranks: int, private: Path, timeout_s: float) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key in _KEPT}
    environment |= {
        "TMPDIR": str(private),
        "VLLM_RPC_BASE_PATH": str(private),
        "VLLM_CACHE_ROOT": str(private),
        "HF_HOME": str(private),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_LOGGING_COLOR": "0",
    }
    children: list[subprocess.Popen[str]] = []
    until = time.monotonic() + timeout_s
    try:
        for rank in range(ranks):
            with (private / f"log-{rank}").open("w") as log:
                children.append(
                    subprocess.Popen(
                        [str(interpreter), "-P", str(CHILD), json.dumps({**asked, "rank": rank})],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        env=environment,
                        cwd=private,
                        text=True,
                        start_new_session=True,
                    )
                )
        said = [_said(child, until) for child in children]
    except OSError as error:
        raise ProbeError(
            f"{interpreter} cannot be started: {error.strerror}.", "Name vLLM's command or environment with --vllm."
        ) from None
    finally:
        for child in children:
            _end(child)
    failed = next((answer for answer in said if "error" in answer), None)
    return failed or said[0]


def _said(child: "subprocess.Popen[str]", until: float) -> dict[str, Any]:
    try:
        output, _ = child.communicate(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return {"error": "it did not answer within the time limit"}
    try:
        answer = json.loads(output)
    except ValueError:
        return {"error": f"it ended without an answer (exit code {child.returncode})"}
    return answer if isinstance(answer, dict) else {"error": "it gave no object"}


def _end(child: "subprocess.Popen[str]") -> None:
    """End a child and all it started; one that has ended leaves its session's group to be ended too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _answer(said: dict[str, Any]) -> DryBuild:
    if "error" in said:
        raise ProbeError(
            f"vLLM could not build the model dry: {str(said['error'])[:400]}",
            "The formula is used instead; a vLLM for this machine and this weight format may build it.",
        )
    try:
        return DryBuild(
            version=str(said["version"]),
            platform=str(said["platform"]),
            parameters=tuple(int(rank["parameters"]) for rank in said["ranks"]),
            weight_bytes=tuple(int(rank["weight_bytes"]) for rank in said["ranks"]),
            kv_bytes_per_request=tuple(int(size) for size in said["kv_bytes_per_request"]),
            block_size=int(said["block_size"]),
            batches_in_flight=int(said["batches_in_flight"]),
            max_concurrency=said["max_concurrency"],
            refusal=said["refusal"],
            layers=dict(said["layers"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProbeError(
            f"vLLM's dry build answered in a form that is not known ({type(error).__name__}).",
            "The formula is used instead.",
        ) from None
