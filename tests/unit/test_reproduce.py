"""The commands that a document prints give that document again, byte for byte, and so the same content hash."""

import datetime
import re
import shlex
from pathlib import Path

import pytest

from probes.machine import Machine
from probes.recorded import recorded_text
from tests.unit.document_selections import full
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.cli import run

DAY = "2026-05-04"
#: A reply as a colleague mails it: some values, and a row of its own.
REPLY = """answered_by = "Purchasing"
[runtime.existing]
platform = "Kubernetes 1.34"
[[budget.runtime.items]]
id = "R9"
item = "Colleague's row"
state = "not_given"
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "of one person"
    folder.mkdir()
    tree = example_tree(datetime.date.fromisoformat(DAY))
    tree["runtime"]["existing"].pop("platform")
    tree["budget"]["runtime"]["items"] = [row for row in tree["budget"]["runtime"]["items"] if row["id"] != "R9"]
    (folder / "my answers.toml").write_text(render_answers(tree, blanks=False))
    (folder / "reply.toml").write_text(REPLY)
    made = full()
    assert (made.machine, made.smoke) != (None, None)
    assert made.machine is not None
    assert made.smoke is not None
    (folder / "machine.json").write_text(recorded_text(made.machine))
    (folder / "run").mkdir()
    (folder / "run" / "machine.json").write_text(made.machine.model_dump_json())
    (folder / "run" / "smoke.json").write_text(made.smoke.to_json())
    return folder


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--answers reply.toml",
        "--machine machine.json",
        "--machine plan:L40Sx4",
        "--evidence run",
        "--evidence run --machine plan:L40Sx4",
        "--answers reply.toml --evidence run",
    ],
)
def test_the_printed_command_gives_the_same_document(
    options: str, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    run(["propose", "--answers", "my answers.toml", *options.split(), "--date", DAY, "-o", str(tmp_path / "first.md")])
    first = (tmp_path / "first.md").read_text(encoding="utf-8")
    found = re.search(r"^CMD-4  selwiz (propose .*)$", first, re.MULTILINE)
    assert found is not None
    printed = found[1].replace("EVIDENCE", "first.evidence").replace("NAME.md", "second.md")
    monkeypatch.chdir(tmp_path)
    run(shlex.split(printed))
    assert (tmp_path / "second.md").read_text(encoding="utf-8") == first


def test_every_answers_file_is_kept_apart_with_its_author(inputs: Path, tmp_path: Path) -> None:
    files = [str(inputs / name) for name in ("my answers.toml", "reply.toml")]
    run(["propose", "--answers", files[0], "--answers", files[1], "-o", str(tmp_path / "p.md")])
    kept = (tmp_path / "p.evidence" / "answers-2.toml").read_text()
    assert 'answered_by = "Purchasing"' in kept


def test_a_plan_is_not_called_found(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = str(inputs / "my answers.toml")
    run(["propose", "--answers", answers, "--machine", "plan:L40Sx4", "--dry-run"])
    assert "| Item | Planned | Proposed" in re.sub(" +", " ", capsys.readouterr().out)


def test_a_plan_beside_a_run_names_the_machine_of_the_run(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, evidence = str(inputs / "my answers.toml"), str(inputs / "run")
    run(["propose", "--answers", answers, "--evidence", evidence, "--machine", "plan:L40Sx4", "--dry-run"])
    assert "The run of 2.5 was made on another machine" in capsys.readouterr().out


def test_the_evidence_holds_the_machine_of_the_run_and_not_the_plan(inputs: Path, tmp_path: Path) -> None:
    answers, evidence, target = (str(path) for path in (inputs / "my answers.toml", inputs / "run", tmp_path / "p.md"))
    run(["propose", "--answers", answers, "--evidence", evidence, "--machine", "plan:L40Sx4", "-o", target])
    kept = Machine.model_validate_json((tmp_path / "p.evidence" / "machine.json").read_text())
    assert not kept.planned
