"""The lists of strategies and options: what matters is shown, the rest is one key away, options come from a list."""

import datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import settle, words
from wizard.answers_writer import render_answers
from wizard.app import WizardApp
from wizard.example import example_tree
from wizard.screens.modals import ChoiceScreen
from wizard.screens.step import StepScreen
from wizard.widgets.field import QuestionRow
from wizard.widgets.rows import RowsList, row_lines

STRATEGIES, OPTIONS, LINE_R = 2, 3, 9


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    path = tmp_path / "example.toml"
    path.write_text(render_answers(example_tree(datetime.date(2026, 11, 30)), blanks=False), encoding="utf-8")
    return WizardApp(answers=[path])


async def _on_list(app: WizardApp, pilot: Pilot[int], step: int, key: str) -> RowsList:
    await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.checked is not None)
    app.step_number = step
    app.show_step()
    await settle(pilot)
    rows = next(rows for rows in app.screen.query(RowsList) if rows.rows_key == key)
    rows.focus()
    await settle(pilot)
    return rows


async def test_only_the_strategies_that_matter_are_shown(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        rows = await _on_list(opened, pilot, STRATEGIES, "engine.strategies")
        assert len(rows.options) < 20


async def test_the_others_are_one_key_away(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        rows = await _on_list(opened, pilot, STRATEGIES, "engine.strategies")
        await pilot.press("m")
        await settle(pilot)
        assert len(rows.options) == 36


async def test_a_letter_decides_on_the_strategy_of_the_line(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await _on_list(opened, pilot, STRATEGIES, "engine.strategies")
        await pilot.press("down", "d")
        await settle(pilot)
        second = opened.strategy_list.ids[1]
        assert opened.session.tree["engine"]["strategies"][second]["decision"] == "defer"


async def test_an_option_is_chosen_from_the_catalogue(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await _on_list(opened, pilot, OPTIONS, "engine.options")
        await pilot.press("a")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("enter")
        await settle(pilot)
        assert opened.session.rows("engine.options")[-1]["name"] == "TensorRT-LLM"


async def test_the_gates_stand_beside_an_option(opened: WizardApp) -> None:
    async with opened.run_test(size=(100, 30)) as pilot:
        await _on_list(opened, pilot, OPTIONS, "engine.options")
        assert "Licence policy: pass, as you said" in " ".join(words(opened).split())


async def test_an_input_of_owned_hardware_is_added_and_typed(opened: WizardApp) -> None:
    key = "budget.runtime.owned"
    async with opened.run_test(size=(100, 30)) as pilot:
        await _on_list(opened, pilot, LINE_R, key)
        await pilot.press("a")
        await settle(pilot)
        assert f"{key}[0].value" in [row.place.key for row in opened.screen.query(QuestionRow)]
        opened.answer(f"{key}[0].value", "240000")
        assert str(opened.session.rows(key)[0]["value"]) == "240000"


def test_a_row_of_owned_hardware_says_that_its_price_is_worked_out() -> None:
    (line,) = row_lines("budget.runtime.items", [{"id": "R10", "owned_part": "energy", "quantity": 4}])
    assert line.endswith("4 GPU-Years, energy, worked out")
