"""Where somebody who had never seen the wizard hesitated or was led astray, and what happens there now."""

from pathlib import Path

import pytest

from tests.tui.conftest import DAY, at, on_list, paste, settle, words
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.modals import ChoiceScreen, UnknownScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session

SMALL = (80, 24)
OPTIONS, STRATEGIES, ITEMS_E = "engine.options", "engine.strategies", "budget.engine.items"


@pytest.fixture
def opened() -> WizardApp:
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    return WizardApp(answers=[file])


@pytest.fixture
def short() -> WizardApp:
    return WizardApp(way="new", short=True)


def count_line(app: WizardApp) -> str:
    return next(line for line in words(app).splitlines() if "Findings" in line).partition(".")[0].strip()


async def test_a_second_enter_on_the_only_question_goes_on(short: WizardApp) -> None:
    async with short.run_test(size=SMALL) as pilot:
        await at(pilot, short, "project.title")
        await paste(pilot, "Desk")
        await pilot.press("enter")
        await settle(pilot)
        assert "[1/4]" in words(short)
        await pilot.press("enter")
        await settle(pilot, lambda a: "[2/4]" in words(a))


async def test_the_full_way_is_one_key_from_the_short_one(short: WizardApp) -> None:
    async with short.run_test(size=SMALL) as pilot:
        await at(pilot, short, "engine.chosen")
        await paste(pilot, "vLLM")
        await pilot.press("f5")
        await settle(pilot, lambda a: "[2/11]" in words(a))
        assert (short.session.short, short.session.raw("engine.chosen")) == (False, "vLLM")


async def test_before_a_review_the_count_says_that_it_is_not_of_all(short: WizardApp) -> None:
    async with short.run_test(size=SMALL) as pilot:
        await settle(pilot, lambda _: short.checked is not None)
        assert count_line(short).startswith("Findings so far: 0 block")


@pytest.mark.parametrize("resumed", [False, True])
async def test_after_a_review_a_step_counts_what_the_review_counts(short: WizardApp, resumed: bool) -> None:
    async with short.run_test(size=SMALL) as pilot:
        await at(pilot, short, "project.title")
        await paste(pilot, "Desk")
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen) and "FINDINGS" in words(a))
        reviewed = next(line for line in words(short).splitlines() if "FINDINGS" in line).split(";")[0].split(" ", 2)[2]
        if not resumed:
            await pilot.press("f3")
            await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and not short.checking)
            assert reviewed in count_line(short)
    if resumed:
        again = WizardApp(way="resume")
        async with again.run_test(size=SMALL) as pilot:
            await settle(pilot, lambda _: again.checked is not None)
            assert reviewed in count_line(again)


async def test_an_option_that_was_only_added_is_judged(opened: WizardApp) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        await on_list(pilot, opened, OPTIONS, 3)
        await pilot.press("a")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and a.screen.is_row)
        await pilot.press("f4")
        count = len(opened.session.rows(OPTIONS))
        await settle(
            pilot, lambda _: opened.checked is not None and len(opened.checked.answers.engine.options) == count
        )
        assert "being checked" not in words(opened)


async def test_a_name_is_typed_at_once_where_a_colleague_is_asked_for_a_price(opened: WizardApp) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        await on_list(pilot, opened, ITEMS_E, 8)
        await pilot.press("k")
        await settle(pilot, lambda a: isinstance(a.screen, UnknownScreen))
        await pilot.press(*"Legend", "enter", "enter")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        assert opened.session.asked(f"{ITEMS_E}[0].unit_price") == "Legend"


async def test_a_new_row_is_the_one_that_the_list_stands_on(opened: WizardApp) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        rows = await on_list(pilot, opened, ITEMS_E, 8)
        await pilot.press("a")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and a.screen.is_row)
        assert getattr(opened.focused, "key", "").endswith(".quantity")
        await pilot.press("f4")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and not a.screen.is_row)
        row = opened.session.rows(ITEMS_E)[rows.highlighted or 0]
        assert row["id"] == "E1a"


async def test_the_arrows_leave_a_list_at_its_ends(opened: WizardApp) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        rows = await on_list(pilot, opened, "governance.risks", 10)
        for _ in range(len(rows.options)):
            await pilot.press("down")
        await settle(pilot)
        assert getattr(opened.focused, "rows_key", "") == "governance.assumptions"
        await pilot.press("up")
        await settle(pilot)
        assert opened.focused is rows


async def test_showing_the_other_strategies_stays_on_the_one_that_was_read(opened: WizardApp) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        rows = await on_list(pilot, opened, STRATEGIES, 2)
        await pilot.press("down", "down", "down")
        before = opened.strategy_list.ids[rows.highlighted or 0]
        await pilot.press("m")
        await settle(pilot)
        assert (opened.strategy_list.everything, opened.strategy_list.ids[rows.highlighted or 0]) == (True, before)


@pytest.mark.parametrize(("where", "found"), [(OPTIONS, OPTIONS), (f"{OPTIONS}[1]", f"{OPTIONS}[1].name")])
async def test_a_finding_about_options_leads_to_them(opened: WizardApp, where: str, found: str) -> None:
    async with opened.run_test(size=SMALL) as pilot:
        await settle(pilot, lambda _: opened.checked is not None)
        opened.mend(where)
        await settle(pilot)
        assert found in (getattr(opened.focused, "rows_key", ""), getattr(opened.focused, "key", ""))


@pytest.mark.parametrize(("before", "after"), [("", ""), ("16", "16")])
async def test_escape_takes_back_a_text_that_cannot_be_used(short: WizardApp, before: str, after: str) -> None:
    key = "runtime.workload.concurrency"
    async with short.run_test(size=SMALL) as pilot:
        await at(pilot, short, key)
        short.answer(key, before)
        await settle(pilot)
        await pilot.press("home", "ctrl+k")
        await paste(pilot, "many")
        await pilot.press("enter")
        await settle(pilot, lambda a: "must be a whole number" in words(a))
        await pilot.press("escape")
        await settle(pilot, lambda a: "must be a whole number" not in words(a))
        assert (short.session.raw(key), isinstance(short.screen, StepScreen)) == (after, True)


def test_a_session_remembers_that_it_was_reviewed() -> None:
    session = Session()
    session.set("project.title", "Desk")
    session.reviewed = True
    session.save()
    assert Session.resume(session.path).reviewed
