"""Options and files that cannot be used, through the command: one sentence, a remedy, and never a fault of selwiz."""

import os
from pathlib import Path

import pytest

from wizard.cli import run

ANSWERS = """\
schema_version = 1
[engine]
chosen = "vllm"
[runtime]
product = "vllm"
[runtime.workload]
concurrency = 2
input_tokens = 64
output_tokens = 8
"""


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A workload, and no model."""
    path = tmp_path / "project.toml"
    path.write_text(ANSWERS, encoding="utf-8")
    return path


def smoke(answers: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit code and what is said."""
    out = [] if "--out" in options else ["--out", str(answers.parent / "out")]
    code = run(["smoke", "--yes", "--answers", str(answers), *out, *options])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("mode", ["local", "dummy"])
def test_a_mode_that_serves_a_model_needs_one(answers: Path, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    code, said = smoke(answers, capsys, "--mode", mode)
    assert (code, "the answers name none" in said) == (2, True)


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999", "http://", "127.0.0.1:8000", "http://a]b"])
def test_an_address_that_is_none_is_wrong_usage(answers: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    code, said = smoke(answers, capsys, "--endpoint", url)
    assert (code, "is no address of a server" in said) == (2, True)


@pytest.mark.parametrize("what", ["text", "folder", "pipe", "nothing"])
def test_an_authority_that_is_none_is_told_before_anything_is_sent(
    answers: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    path = answers.parent / "authority.pem"
    if what == "text":
        path.write_text("root:x:0:0\n", encoding="utf-8")
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    code, said = smoke(answers, capsys, "--endpoint", "https://127.0.0.1:1", "--ca", str(path))
    assert (code, "certificate authority, in PEM" in said, "fault" in said) == (4, True, False)


def test_a_folder_whose_name_is_too_long_is_told(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = smoke(answers, capsys, "--mode", "tiny", "--out", str(answers.parent / ("x" * 300)))
    assert (code, "cannot be written: File name too long" in said) == (7, True)


def test_evidence_that_is_a_pipe_is_not_waited_for(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = answers.parent / "evidence"
    folder.mkdir()
    os.mkfifo(folder / "smoke.json")
    code = run(["propose", "--answers", str(answers), "--evidence", str(folder), "--dry-run"])
    assert (code, "smoke.json cannot be read: it is no regular file" in capsys.readouterr().err) == (2, True)
