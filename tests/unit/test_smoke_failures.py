import pytest

from probes.smoke.failures import KINDS, TABLE, explain_log, log_tail, strip_prefix

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
