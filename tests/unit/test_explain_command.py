"""`selwiz explain` on files and on standard input."""

import io
import os
import sys
from pathlib import Path

import pytest

from probes.smoke.evidence import MOST_LOG_BYTES, read_bounded
from probes.smoke.failure_table import TABLE
from wizard.asking.questions import by_key
from wizard.cli import run

LOG = """\
(Worker pid=78) ERROR 11-30 22:30:12 [multiproc_executor.py:800] ValueError: To serve at least one request with the \
model's max seq len (40960), 5.0 GiB KV cache is needed. Based on the available memory, the estimated maximum model \
length is 8192.
(EngineCore pid=77) ERROR 11-30 22:30:13 [core.py:1100] EngineCore failed to start.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def explained(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints for a log."""
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    assert run(["explain", str(tmp_path / "server.log")]) == 0
    return capsys.readouterr().out


def test_the_cause_the_advice_and_the_answer_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(tmp_path, LOG, capsys).splitlines()
    assert [line.split(":")[0] for line in lines] == ["Cause", "Advice", "Answer", "The log says"]


def test_the_true_error_is_shown_and_not_its_wrapper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = explained(tmp_path, LOG, capsys)
    assert ("The log says: ValueError: To serve" in said, "root cause above" in said) == (True, False)


def test_the_answer_is_the_one_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Answer: runtime.settings.max_model_len = 8192" in explained(tmp_path, LOG, capsys)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    run(["explain", "-"])
    assert "8192" in capsys.readouterr().out


def test_an_unknown_error_is_quoted_and_called_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = explained(tmp_path, "ERROR 11-30 22:30:13 [x.py:1] ValueError: something new\n", capsys)
    assert ("not one that selwiz knows" in said, "The log says: ValueError: something new" in said) == (True, True)


def test_a_server_that_became_ready_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "became ready" in explained(tmp_path, "INFO:     Application startup complete.\n", capsys)


def test_what_steers_a_terminal_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in explained(tmp_path, "ERROR ValueError: \x1b]0;title\x07 red\n", capsys)


@pytest.mark.parametrize("name", ["no-such.log", "."])
def test_a_log_that_cannot_be_read_is_wrong_usage(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (run(["explain", name]), "cannot be read" in capsys.readouterr().err) == (2, True)


def test_the_middle_of_a_long_log_is_not_read_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tick = "INFO 12-03 05:00:00 [core.py:1] tick\n" * 120_000
    said = explained(tmp_path, f"{tick}ERROR 12-03 05:00:00 [core.py:1] OSError: hidden\n{tick}", capsys)
    left_out = (tmp_path / "server.log").stat().st_size - MOST_LOG_BYTES
    assert (f"Not read: {left_out:,} bytes in the middle of the log." in said, "hidden" in said) == (True, False)


def test_of_a_pipe_no_more_is_held_than_of_a_file() -> None:
    reader, writer = os.pipe()
    content = bytes(range(1, 251)) * 40
    os.write(writer, content)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        log = read_bounded(pipe, most_bytes=1000)
    assert log == read_bounded(io.BytesIO(content), most_bytes=1000)
    assert (log.left_out_bytes, len(log.begin.encode("utf-8", "replace")) > 0) == (len(content) - 1000, True)


def test_a_long_line_is_cut_where_it_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = explained(tmp_path, f"ERROR 11-30 22:30:13 [x.py:1] ValueError: {'x' * 50_000}\n", capsys)
    assert max(len(line) for line in said.splitlines()) <= 1000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "INFO 12-03 05:00:20 [x.py:1] [shutdown] API server: shutdown triggered\n",
            "stopped by a signal after it was",
        ),
        ("", "became ready, and no error after that"),
    ],
)
def test_a_log_without_an_error_is_said_to_hold_none(
    more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in explained(tmp_path, f"INFO:     Application startup complete.\n{more}", capsys)


def test_an_empty_log_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.log").write_text("\n", encoding="utf-8")
    assert (run(["explain", str(tmp_path / "empty.log")]), "is empty" in capsys.readouterr().err) == (2, True)


def test_every_answer_that_a_row_changes_is_a_question() -> None:
    keys = {row.change.key for row in TABLE if row.change is not None}
    assert keys <= set(by_key())


def test_a_second_known_cause_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out_of_memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    lines = explained(tmp_path, f"{LOG}{out_of_memory}\n", capsys).splitlines()
    also = [line for line in lines if line.startswith("Also:")]
    assert len(also) == 1
    assert "the cache has no room for one request of 40960 tokens" in also[0]
