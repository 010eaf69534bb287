"""`selwiz smoke --import` from a file to a document."""

import json
from pathlib import Path

import pytest

from tests.unit.test_smoke_imported import DETAILED, SUMMARY
from wizard.cli import run


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """The example answers."""
    path = tmp_path / "project.toml"
    assert run(["answers", "--example", "-o", str(path)]) == 0
    return path


def imported(answers: Path, content: object, *more: str) -> int:
    """Import a file beside the answers."""
    file = answers.parent / "result.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    out = str(answers.parent / "evidence")
    return run(["smoke", "--answers", str(answers), "--import", str(file), "--out", out, *more])


def document(answers: Path) -> str:
    """The document that is made of it."""
    target = answers.parent / "proposal.md"
    run(["propose", "--answers", str(answers), "--evidence", str(answers.parent / "evidence"), "-o", str(target)])
    return target.read_text(encoding="utf-8")


def test_an_imported_result_comes_into_the_document_with_its_source(answers: Path) -> None:
    imported(answers, DETAILED)
    assert "Imported from result.json, SHA-256" in document(answers)


def test_the_document_claims_nothing_that_the_file_does_not_tell(answers: Path) -> None:
    imported(answers, SUMMARY)
    text = document(answers)
    assert "RUN-1, what its prompts shared is not known" in text
    assert "an unknown number of warm-up" in text
    assert "50.0 (no interval: single requests are not known)" in text


@pytest.mark.parametrize(
    "option",
    [
        *(["--search"], ["--resume"], ["--mode", "tiny"], ["--endpoint", "http://127.0.0.1"], ["--endpoint", ""]),
        *(["--prompts", "x"], ["--devices", "0"], ["--allow-remote-load"], ["--api-key-env", "X"]),
    ],
)
def test_an_option_that_runs_something_is_refused_beside_it(answers: Path, option: list[str]) -> None:
    assert imported(answers, DETAILED, *option) == 2


def test_another_tool_s_file_is_wrong_usage(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (imported(answers, {"results": []}), "no result of vllm bench serve" in capsys.readouterr().err) == (2, True)
