"""The review says how well founded a selection is; a sign and a heading say in lists where one is."""

import datetime
from collections import Counter
from pathlib import Path

import pytest
from textual.app import App

from tests.tui.conftest import DAY, settle, words
from tests.unit.document_selections import full
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.asking.open_answers import OpenAnswer
from wizard.document.render import render
from wizard.screens.modals import WhyScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.step import StepScreen
from wizard.views.grounds import ground_lines, open_lines, proof_lines, source_counts
from wizard.views.heading import Heading
from wizard.widgets.rows import RowsList


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    path = tmp_path / "example.toml"
    path.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    return WizardApp(answers=[path])


def test_the_sources_are_those_that_a_reader_counts_in_the_document() -> None:
    selection = full()
    cells = [line.rstrip(" |").rpartition("|")[2].strip() for line in render(selection).splitlines()]
    measured = sum(cell.startswith("measured") for cell in cells)
    counts = source_counts(selection)
    assert (counts["measured"] > 0, counts["measured"] <= measured) == (True, True)


def test_a_promise_that_the_run_did_not_show_is_named() -> None:
    selection = full()
    assert selection.smoke is not None
    hidden = tuple(row.model_copy(update={"seen": "not_visible"}) for row in selection.smoke.strategies[:1])
    smoke = selection.smoke.model_copy(update={"strategies": (*hidden, *selection.smoke.strategies[1:])})
    said = proof_lines(selection.model_copy(update={"smoke": smoke}))
    assert any(line.startswith("  ! ") and "not visible" in line for line in said)


def test_without_a_run_no_strategy_counts_as_seen() -> None:
    said = proof_lines(full().model_copy(update={"smoke": None}))
    assert said[-1] == "  none seen: no run has shown any of them"


def test_what_is_open_stands_with_its_colleague_the_earliest_day_first() -> None:
    day = datetime.date(2026, 12, 1)
    waiting = (
        OpenAnswer(key="a", title="Price", owner="Finance", due=None),
        OpenAnswer(key="b", title="[/ tenants", owner="Security", due=day),
    )
    assert open_lines(waiting) == [
        "OPEN WITH COLLEAGUES  2",
        "  Security: 1",
        "    [/ tenants, due 2026-12-01",
        "  Finance: 1",
        "    Price",
    ]


def test_nothing_is_counted_before_it_was() -> None:
    assert next(iter(ground_lines(full(), None, None, ""))).endswith("being counted …")
    assert next(iter(ground_lines(full(), Counter({"answer": 2}), None, ""))).endswith("2 rows")


@pytest.mark.parametrize("width", [80, 100])
async def test_the_grounds_stand_beside_the_findings_or_one_key_away(opened: WizardApp, width: int) -> None:
    async with opened.run_test(size=(width, 30)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and opened.checked is not None)
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen) and " answer" in words(a))
        assert ("FROM PROMISE TO PROOF" in words(opened)) == (width >= 100)
        await pilot.press("g")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen))
        assert "FROM PROMISE TO PROOF" in words(opened)


async def test_the_line_with_the_focus_has_a_sign_and_a_heading_never_has_it(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and opened.checked is not None)
        opened.go_to("engine.strategies")
        await settle(pilot, lambda a: bool(a.screen.query(RowsList)))
        rows = opened.screen.query_one(RowsList)
        rows.focus()
        await settle(pilot)
        signs = []
        for _ in range(7):  # past the next heading
            signs.append([line.strip() for line in words(opened).splitlines() if line.strip().startswith("> ")])
            await pilot.press("down")
            await settle(pilot)
        assert {len(found) for found in signs} == {1}
        assert rows.option_count > sum(option.disabled for option in rows.options) > 0
        assert not any(option.disabled for option in rows.options if not isinstance(option.prompt, Heading))


def _flat(app: App[int]) -> str:
    """The words of the screen in one line, without the borders between which they are broken."""
    return " ".join(words(app).replace("│", " ").split())


async def test_a_quantity_that_follows_section_2_says_so(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and opened.checked is not None)
        opened.step_number = 8
        opened.show_step()
        await settle(pilot, lambda a: bool(a.screen.query(RowsList)))
        assert "4 GPUs x" in words(opened)
        opened.screen.query(RowsList).first().focus()
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen) and "4 GPUs with the spare ones" in _flat(a))
