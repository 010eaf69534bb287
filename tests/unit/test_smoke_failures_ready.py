"""Why a server that was ready ended: the true error, nothing that a user wrote, and no expression that never ends."""

import time

import pytest

from probes.smoke.failures import explain_log
from tests.unit.test_smoke_failures import ENGINE, MESSAGES, WORKER

READY = "(APIServer pid=1) INFO 12-03 05:00:00 [api_server.py:1] Application startup complete."
REQUEST = "(APIServer pid=1) INFO 12-03 05:00:10 [logger.py:40] Received request cmpl-1: prompt: 'Explain this:"
API = "(APIServer pid=1) ERROR 12-03 05:10:00 [async_llm.py:906] "
ENGINE_DEAD = [
    API + "AsyncLLM output_handler failed.",
    API + "Traceback (most recent call last):",
    API + '  File "/x/vllm/v1/engine/core_client.py", line 1235, in get_output_async',
    API + "    raise self._format_exception(outputs) from None",
    API + "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above).",
]


def engine_died_of(error: str) -> list[str]:
    """The log of a server whose engine died while it served."""
    traceback = [
        ENGINE + "EngineCore encountered a fatal error.",
        ENGINE + "Traceback (most recent call last):",
        ENGINE + '  File "/x/gpu_model_runner.py", line 5, in execute',
        ENGINE + "    raise RuntimeError(f'{what} jammed')",
        ENGINE + error,
    ]
    return [READY, *traceback, *ENGINE_DEAD]


def test_the_engine_s_own_error_is_shown_and_not_what_the_api_server_makes_of_it() -> None:
    found = explain_log(engine_died_of("RuntimeError: frobnicator jammed at step 5"))
    assert (found.kind, found.line) == ("unknown", "RuntimeError: frobnicator jammed at step 5")


def test_a_known_error_of_a_serving_engine_is_explained() -> None:
    assert explain_log(engine_died_of("torch.OutOfMemoryError: CUDA out of memory.")).kind == "out_of_memory"


def test_an_engine_that_dies_without_a_word_was_killed() -> None:
    found = explain_log([READY, *ENGINE_DEAD], 0)
    assert (found.kind, "killed from outside" in found.cause, found.line) == ("killed", True, None)


def test_a_server_that_is_stopped_has_no_error() -> None:
    stop = "(APIServer pid=1) INFO 12-03 05:00:20 [launcher.py:254] [shutdown] API server: shutdown triggered"
    found = explain_log([READY, stop, *ENGINE_DEAD], 0)
    assert (found.kind, "stopped by a signal" in found.cause, found.line) == ("unknown", True, None)


def test_code_that_raises_is_never_the_error() -> None:
    start = [ENGINE + "Traceback (most recent call last):", ENGINE + '    raise ValueError("No module named x")']
    assert explain_log(start, 1).kind == "unknown"


@pytest.mark.parametrize(
    "lines",
    [
        [REQUEST, "OSError: [Errno 98] Address already in use", "', params: SamplingParams(n=1)"],
        [REQUEST, "Traceback (most recent call last):", "OSError: [Errno 98] Address already in use", READY],
        ["OSError: [Errno 98] Address already in use"],
        [API + "Error in preprocessing prompt inputs: user said \"No module named 'foo'\" in the chat"],
        ["WARNING 12-03 05:00:00 [x.py:1] Address already in use, trying the next port"],
    ],
)
def test_what_a_user_writes_to_a_ready_server_is_no_cause(lines: list[str]) -> None:
    assert explain_log([READY, *lines]).kind == "unknown"


def test_a_traceback_outside_of_a_request_is_one_of_the_server() -> None:
    lines = [
        "Process EngineCore:",
        "Traceback (most recent call last):",
        '  File "/x"',
        "OSError: No space left on device",
    ]
    assert explain_log([READY, REQUEST, "x', params: SamplingParams(n=1)", *lines]).kind == "disk_full"


def test_a_second_start_in_the_same_log_counts_and_not_the_first() -> None:
    start = "(APIServer pid=1) INFO 12-03 05:00:00 [utils.py:1] non-default args: {'model': 'x'}"
    lines = [start, READY, *engine_died_of("RuntimeError: a"), start, "OSError: [Errno 98] Address already in use"]
    assert explain_log(lines, 1).kind == "port_in_use"


def test_a_limit_of_zero_is_no_answer_to_try() -> None:
    line = MESSAGES[11][0].replace("8192", "0")
    assert explain_log([WORKER + line], 1).remedy is None


@pytest.mark.parametrize("begin", [[], [READY]])
@pytest.mark.parametrize("piece", ["a.", "a-", "ERROR ", "max_model_len (", "Received request ", "(pid=1", "a | "])
def test_a_line_of_megabytes_is_looked_at_in_the_time_of_a_short_one(piece: str, begin: list[str]) -> None:
    started_s = time.process_time()
    explain_log([*begin, piece * (3_000_000 // len(piece)), *[piece * 5_000] * 20])
    assert time.process_time() - started_s < 5  # an expression that looks back at every character takes hours
