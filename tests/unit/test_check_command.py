"""`selwiz check` as a person reads it, and the one count of what is open."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.document_selections import FLEET, full, two_nodes
from wizard.cli import run
from wizard.rules import RULES


def _answers(folder: Path, text: str) -> str:
    file = folder / "answers.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_what_blocks_is_printed_first_and_by_subject(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--answers", _answers(tmp_path, "[project]\ntitle = 'x'")]) == 5
    headings = [line for line in capsys.readouterr().out.splitlines() if re.fullmatch(r"[A-Z]\w+: [a-z ]+", line)]
    assert headings[:2] == ["Blocking: engine and hardware", "Blocking: governance"]
    assert headings == sorted(headings, key=lambda line: ["Blocking", "Warning", "Note"].index(line.split(":")[0]))


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_each_rule_can_be_explained(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", rule.lower()]) == 0
    said = capsys.readouterr().out
    for word in (rule, "Severity:", "Source:", "What to do:"):
        assert word in said


def test_a_rule_is_explained_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", "C3", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {
        "schema_version", "rule", "title", "severities", "group", "source", "remedy",
    }  # fmt: skip


@pytest.mark.parametrize("words", [["--explain", "Z9"], [], ["--explain", "C3", "--answers", "x.toml"]])
def test_what_cannot_be_explained_is_wrong_usage(words: list[str]) -> None:
    assert run(["check", *words]) == 2


def test_check_and_missing_count_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _answers(tmp_path, "[project]\ntitle = 'x'\n[engine]\nchosen = 'vLLM'")
    run(["check", "--answers", file])
    (counted,) = re.findall(r"\d+ answers open, \d+ refinements not given", capsys.readouterr().out)
    run(["answers", "--missing", "--answers", file])
    assert counted in capsys.readouterr().err


def test_the_example_has_exactly_these_findings() -> None:
    assert [(found.rule, found.severity) for found in full().findings] == [
        ("M1", "warn"),
        ("S2", "warn"),
        ("M6", "note"),
    ]


def test_the_example_over_two_nodes_is_checked_and_proposed(tmp_path: Path) -> None:
    """It has one warning: the commit of the weights is not pinned."""
    file = str(tmp_path / "two-nodes.toml")
    assert run(["answers", "--example", "two-nodes", "-o", file]) == 0
    assert run(["check", "--answers", file, "--machine", str(FLEET)]) == 0
    assert run(["propose", "--answers", file, "--machine", str(FLEET), "-o", str(tmp_path / "p.md")]) == 0
    assert [(found.rule, found.severity) for found in two_nodes().findings] == [("S2", "warn")]
