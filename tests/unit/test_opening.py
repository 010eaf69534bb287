"""An earlier selection opened again: what people answered comes back, and nothing else."""

from pathlib import Path

import pytest

from tests.unit.document_selections import DAY, full, machine
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.decision.compare import compare
from wizard.decision.selection import Selection, to_json
from wizard.screens.opening import changes_since, session_with_files
from wizard.sessions.snapshot import Snapshot
from wizard.sessions.writing import selection_of


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Selection:
    answers = tmp_path_factory.mktemp("first") / "answers.toml"
    answers.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    return opened(answers)


@pytest.fixture
def earlier(first: Selection, tmp_path: Path) -> Path:
    path = tmp_path / "v1.selection.json"
    path.write_text(to_json(first), encoding="utf-8")
    return path


def opened(path: Path) -> Selection:
    session = session_with_files([path], resumed=False, short=False)
    return selection_of(Snapshot.of(session), machine())


def test_the_answers_are_the_same_again(earlier: Path, first: Selection) -> None:
    assert opened(earlier).answers == first.answers


def test_what_nobody_chose_is_still_a_default(earlier: Path) -> None:
    assert opened(earlier).origin("runtime.settings.gpu_memory_utilization").word == "default"


def test_a_gate_that_nobody_judged_is_judged_again(tmp_path: Path) -> None:
    tree = example_tree(DAY)
    tree["engine"]["gates"].append({"name": "Hardware vendor"})
    (tmp_path / "answers.toml").write_text(render_answers(tree, blanks=False), encoding="utf-8")
    (tmp_path / "v1.selection.json").write_text(to_json(opened(tmp_path / "answers.toml")), encoding="utf-8")
    again = opened(tmp_path / "v1.selection.json")
    assert [again.origin(f"engine.options[0].gates.{name}").word for name in ("Hardware vendor", "Licence policy")] == [
        "default",
        "answer",
    ]


def test_nothing_changed(earlier: Path, first: Selection) -> None:
    assert compare(first, opened(earlier)).changes == ()


def test_a_selection_that_has_gone_says_nothing(tmp_path: Path) -> None:
    assert changes_since(str(tmp_path / "gone.selection.json"), full()) is None
