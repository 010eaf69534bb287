"""What changed between two selections, and what follows from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.document_selections import DAY, almost_empty, full, select
from wizard.asking.example import example_tree
from wizard.cli import run
from wizard.decision.compare import compare, later_change
from wizard.decision.selection import Selection, to_json
from wizard.views.comparison import comparison_lines, later_lines

Change = Callable[[dict[str, Any]], object]


def example() -> dict[str, Any]:
    return example_tree(DAY)


def changed(change: Change) -> Selection:
    tree = example()
    change(tree)
    return select(tree)


def test_a_selection_does_not_differ_from_itself() -> None:
    assert compare(full(), full()).changes == ()


#: One change, the path it is known by, and the lines it touches.
CHANGES: dict[str, tuple[Change, str, tuple[str, ...]]] = {
    "engine": (lambda t: t["engine"].update(chosen="SGLang"), "engine.chosen", ("E", "R")),
    "version": (lambda t: t["runtime"].update(version="0.34.0"), "runtime.version", ("E",)),
    "gpu": (lambda t: t["runtime"]["hardware"].update(gpu="NVIDIA H200"), "runtime.hardware.gpu", ("E", "R")),
    "a ceiling": (lambda t: t["runtime"]["ceilings"].update(ttft_ms=900), "runtime.ceilings.ttft_ms", ("E", "R")),
    "traffic": (lambda t: t["runtime"]["workload"].update(concurrency=48), "runtime.workload.concurrency", ("R",)),
    "a strategy": (
        lambda t: t["engine"]["strategies"]["prefix_caching"].update(decision="reject"),
        "engine.strategies.prefix_caching.decision",
        ("E",),
    ),
    "a price of line R": (
        lambda t: t["budget"]["runtime"]["items"][0].update(unit_price="4.00"),
        "budget.runtime.items[R1].unit_price",
        ("R",),
    ),
    "a price of another option": (
        lambda t: t["budget"]["runtime"]["alternatives"][3].update(unit_price="0.60"),
        "budget.runtime.alternatives[Input tokens].unit_price",
        (),
    ),
    "an owner": (lambda t: t["budget"]["engine"].update(owner="CTO"), "budget.engine.owner", ("E",)),
    "the title": (lambda t: t["project"].update(title="Other"), "project.title", ()),
    "replicas of GPUs that a licence counts": (
        lambda t: t["runtime"]["layout"].update(replicas=3),
        "runtime.layout.replicas",
        ("E", "R"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_under_its_path(name: str) -> None:
    change, path, _ = CHANGES[name]
    assert path in [found.path for found in compare(select(example()), changed(change)).changes]


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_touches_its_lines_and_no_other(name: str) -> None:
    change, _, lines = CHANGES[name]
    assert compare(select(example()), changed(change)).lines_touched == lines


def test_a_row_goes_by_its_id_and_not_by_its_place() -> None:
    moved = changed(lambda t: t["budget"]["runtime"]["items"].reverse())
    assert compare(select(example()), moved).changes == ()


def test_a_row_that_is_gone_is_one_line_for_a_person() -> None:
    found = compare(select(example()), changed(lambda t: t["budget"]["runtime"]["items"].pop(1)))
    gone = example()["budget"]["runtime"]["items"][1]["id"]
    assert f"  budget.runtime.items[{gone}] removed" in comparison_lines(found)


def test_another_gpu_voids_every_point_of_the_old_run() -> None:
    old = full()
    assert old.smoke is not None
    found = compare(old, changed(lambda t: t["runtime"]["hardware"].update(gpu="NVIDIA H200")))
    assert len(found.lapsed_measurements) == len(old.smoke.points)


def test_another_price_voids_no_run() -> None:
    old = full()
    items = [item.model_copy(update={"provider": "Other"}) for item in old.answers.budget.engine.items]
    line = old.answers.budget.engine.model_copy(update={"items": tuple(items)})
    budget = old.answers.budget.model_copy(update={"engine": line})
    new = old.model_copy(update={"answers": old.answers.model_copy(update={"budget": budget})})
    assert compare(old, new).lapsed_measurements == ()


def test_a_change_of_engine_brings_the_work_of_the_catalogue() -> None:
    found = compare(select(example()), changed(lambda t: t["engine"].update(chosen="SGLang")))
    assert {row.change for row in found.migration} == {"engine"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, selection in (("old", full()), ("new", almost_empty())):
        (tmp_path / f"{name}.selection.json").write_text(to_json(selection), encoding="utf-8")
    return str(tmp_path / "old.selection.json"), str(tmp_path / "new.selection.json")


def test_selections_that_differ_are_6(files: tuple[str, str]) -> None:
    assert run(["diff", *files]) == 6


def test_the_same_selection_is_0(files: tuple[str, str]) -> None:
    assert run(["diff", files[0], files[0]]) == 0


def test_json_has_the_keys_of_the_contract(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["diff", *files, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {"schema_version", "changes", "lines_touched", "lapsed_measurements"} <= set(found)


def test_a_change_has_the_keys_of_the_contract(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["diff", *files, "--json"])
    assert set(json.loads(capsys.readouterr().out)["changes"][0]) == {"path", "old", "new", "section"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema_version": 1}', '{"schema_version": 2, "engine_line": {}}', "[" * 100_000]
)
def test_a_file_that_is_no_selection_is_2(text: str, tmp_path: Path, files: tuple[str, str]) -> None:
    (tmp_path / "bad.json").write_text(text)
    assert run(["diff", str(tmp_path / "bad.json"), files[0]]) == 2


def test_a_question_says_what_changing_it_later_costs() -> None:
    lines = later_lines("engine.chosen")
    assert lines[0] == "Changed later, it touches line E and line R and voids what was measured before."
    assert [line.split(":")[0] for line in lines[1:]] == ["Paid again in line E", "Paid again in line R"]


def test_a_change_of_a_row_is_known_by_its_number_too() -> None:
    assert later_change("engine.models[0].name").lapses


def test_a_change_that_costs_nothing_says_nothing() -> None:
    assert later_lines("governance.standards") == []
