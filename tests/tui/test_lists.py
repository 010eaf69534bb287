"""The lists of strategies and options: what matters is shown, the rest is one key away, options come from a list."""

import datetime
from pathlib import Path

import pytest

from tests.tui.conftest import on_list, paste, settle, words
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.catalogue import strategies
from wizard.screens.modals import ChoiceScreen, PathScreen
from wizard.views.budget_list import item_lines
from wizard.widgets.field import QuestionRow

STRATEGIES, OPTIONS, LINE_E, LINE_R = 2, 3, 8, 9


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    path = tmp_path / "example.toml"
    path.write_text(render_answers(example_tree(datetime.date(2026, 11, 30)), blanks=False), encoding="utf-8")
    return WizardApp(answers=[path])


async def test_only_the_strategies_that_matter_are_shown(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        rows = await on_list(pilot, opened, "engine.strategies", STRATEGIES)
        assert sum(not option.disabled for option in rows.options) < 20  # a heading is no strategy


async def test_the_others_are_one_key_away(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        rows = await on_list(pilot, opened, "engine.strategies", STRATEGIES)
        await pilot.press("m")
        await settle(pilot)
        assert sum(not option.disabled for option in rows.options) == 36


async def test_a_letter_decides_on_the_strategy_of_the_line(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await on_list(pilot, opened, "engine.strategies", STRATEGIES)
        await pilot.press("down", "d")
        await settle(pilot)
        second = [name for name in opened.strategy_list.ids if name][1]
        assert opened.session.tree["engine"]["strategies"][second]["decision"] == "defer"


async def test_an_option_is_chosen_from_the_catalogue(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await on_list(pilot, opened, "engine.options", OPTIONS)
        await pilot.press("a")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("enter")
        await settle(pilot)
        assert opened.session.rows("engine.options")[-1]["name"] == "TensorRT-LLM"


async def test_the_gates_stand_beside_an_option(opened: WizardApp) -> None:
    async with opened.run_test(size=(100, 30)) as pilot:
        await on_list(pilot, opened, "engine.options", OPTIONS)
        assert "Licence policy: pass, as you said" in " ".join(words(opened).split())


async def test_an_input_of_owned_hardware_is_added_and_typed(opened: WizardApp) -> None:
    key = "budget.runtime.owned"
    async with opened.run_test(size=(100, 30)) as pilot:
        await on_list(pilot, opened, key, LINE_R)
        await pilot.press("a")
        await settle(pilot)
        assert f"{key}[0].value" in [row.place.key for row in opened.screen.query(QuestionRow)]
        opened.answer(f"{key}[0].value", "240000")
        assert str(opened.session.rows(key)[0]["value"]) == "240000"


async def test_a_strategy_is_found_among_all_of_them(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await on_list(pilot, opened, "engine.strategies", STRATEGIES)
        await pilot.press("slash")
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await paste(pilot, "EXPERT")
        await pilot.press("enter")
        await settle(pilot, lambda a: 'found for "EXPERT"' in words(a))
        assert "moe_kernel" in opened.strategy_list.ids
        await pilot.press("m")
        await settle(pilot, lambda _: len(opened.strategy_list.ids) > 5)


async def test_the_name_of_a_strategy_is_whole_at_80_columns(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        rows = await on_list(pilot, opened, "engine.strategies", STRATEGIES)
        await pilot.press("m")
        await settle(pilot)
        shown = "\n".join(str(option.prompt)[: rows.size.width - 1] for option in rows.options)
        assert [row.name for row in strategies().values() if row.name not in shown] == []


async def test_a_budget_line_shows_its_amounts_and_its_own_subtotals(opened: WizardApp) -> None:
    async with opened.run_test(size=(100, 30)) as pilot:
        await on_list(pilot, opened, "budget.engine.items", LINE_E)
        shown = words(opened)
        assert opened.checked is not None
        money = opened.checked.engine_line.one_time.money
        assert money is not None
        assert f"once, line E: {money.amount:,} {money.currency}" in shown
        assert "line R" not in shown


async def test_an_item_without_a_price_takes_the_subtotal_of_its_line_only(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await on_list(pilot, opened, "budget.engine.items", LINE_E)
        await pilot.press("n")
        await settle(pilot, lambda a: getattr(a.focused, "key", "") == "budget.engine.items[0].reason")
        await pilot.press("f3")
        await settle(pilot, lambda a: "incomplete: 1 of" in words(a))
        assert opened.checked is not None
        assert opened.checked.runtime_line.recurring.money is not None


async def test_a_price_is_asked_of_a_colleague_from_the_list(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await on_list(pilot, opened, "budget.engine.items", LINE_E)
        await pilot.press("k")
        await settle(pilot, lambda a: "I do not know: Unit price" in words(a))


def test_a_row_of_owned_hardware_says_that_its_price_is_worked_out() -> None:
    (line,) = item_lines("budget.runtime.items", [{"id": "R10", "owned_part": "energy", "quantity": 4}], None, 80)
    assert line.endswith("4 GPU-Years, energy, worked out")
