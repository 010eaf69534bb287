"""An earlier selection opened again: what people answered comes back, and nothing else."""

from pathlib import Path

import pytest

from probes.machine import Machine
from probes.recorded import recorded_text
from tests.unit.document_selections import DAY, GPU, full, machine
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.asking.tree import drop
from wizard.decision.compare import compare
from wizard.decision.selection import Selection, to_json
from wizard.machine import machine_at, planned
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


def opened(path: Path, on: Machine | None = None) -> Selection:
    session = session_with_files([path], resumed=False, short=False)
    return selection_of(Snapshot.of(session), on or machine())


@pytest.fixture
def without_hardware(tmp_path: Path) -> Path:
    """Answers in which nobody named the hardware, so that the machine says it."""
    tree = example_tree(DAY)
    for key in ("runtime.hardware.gpu", "runtime.hardware.gpus_per_replica", "runtime.layout.tensor_parallel"):
        drop(tree, key)
    path = tmp_path / "answers.toml"
    path.write_text(render_answers(tree, blanks=False), encoding="utf-8")
    return path


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


def test_a_planned_machine_comes_back_and_nothing_changed(without_hardware: Path, tmp_path: Path) -> None:
    first = opened(without_hardware, planned("L40Sx2"))
    path = tmp_path / "v1.selection.json"
    path.write_text(to_json(first), encoding="utf-8")
    session = session_with_files([path], resumed=False, short=False)
    assert (session.where, session.notices) == ("plan:NVIDIA L40Sx2", [])
    assert compare(first, opened(path, machine_at(session.where))).changes == ()


@pytest.fixture
def of_recorded(without_hardware: Path, tmp_path: Path) -> Path:
    """A selection for a recorded machine, without its evidence."""
    first = opened(without_hardware, machine().model_copy(update={"recorded": True}))
    path = tmp_path / "v1.selection.json"
    path.write_text(to_json(first), encoding="utf-8")
    return path


def test_a_recorded_machine_comes_back_out_of_the_evidence(of_recorded: Path) -> None:
    file = of_recorded.with_name("v1.evidence") / "machine.json"
    file.parent.mkdir()
    file.write_text(recorded_text(machine()), encoding="utf-8")
    session = session_with_files([of_recorded], resumed=False, short=False)
    assert (session.where, session.notices) == (str(file), [])


def test_a_recorded_machine_that_is_gone_is_said_and_its_gpus_stay(of_recorded: Path) -> None:
    session = session_with_files([of_recorded], resumed=False, short=False)
    assert [session.where, *session.notices][:2] == [
        "",
        "v1.selection.json is for a recorded machine, and v1.evidence/machine.json is not there: "
        "this machine is read instead, and the GPUs of the selection stay.",
    ]
    assert (session.given.runtime.hardware.gpu, session.given.runtime.hardware.gpus_per_replica) == (GPU, 2)
