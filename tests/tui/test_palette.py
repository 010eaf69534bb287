"""The palette, the keys and the looks."""

from pathlib import Path

import pytest
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot

from tests.tui.conftest import DAY, settle, words
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.modals import WhyScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.step import StepScreen
from wizard.themes import keep_look


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    file = tmp_path / "example.toml"
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    return WizardApp(answers=[file])


def on_step(app: object) -> bool:
    return isinstance(getattr(app, "screen", None), StepScreen)


async def chosen(app: WizardApp, pilot: Pilot[int], typed: str) -> None:
    """Open the palette, type, wait until the entry of that name is the first, and take it."""
    await pilot.press("ctrl+p")
    await settle(pilot, lambda _: isinstance(app.screen, CommandPalette))
    await pilot.press(*("space" if letter == " " else letter for letter in typed))
    await settle(pilot, lambda _: typed in _first_entry(app))
    await pilot.press("enter")
    await settle(pilot, lambda _: not isinstance(app.screen, CommandPalette))


def _first_entry(app: WizardApp) -> str:
    entries = app.screen.query(CommandList)
    if not entries or not entries.first().option_count:
        return ""
    return str(entries.first().get_option_at_index(0).prompt).lower()


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_a_question_is_reached_by_its_title_from_the_review(opened: WizardApp, size: tuple[int, int]) -> None:
    async with opened.run_test(size=size) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f6")
        await settle(pilot, lambda app: isinstance(app.screen, ReviewScreen))
        await chosen(opened, pilot, "calls in flight")
        await settle(pilot, lambda app: getattr(app.focused, "key", "") == "runtime.workload.concurrency")


async def test_what_is_typed_is_taken_before_one_jumps(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await settle(pilot, on_step)
        await pilot.press("end", "x")
        await chosen(opened, pilot, "step 3")
        assert str(opened.session.given.project.title).endswith("x")


async def test_the_first_screen_has_no_questions_to_jump_to(wizard: WizardApp) -> None:
    async with wizard.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await chosen(wizard, pilot, "keys")
        assert isinstance(wizard.screen, WhyScreen)


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_the_keys_are_shown_whole(wizard: WizardApp, size: tuple[int, int]) -> None:
    async with wizard.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        await settle(pilot, lambda app: isinstance(app.screen, WhyScreen))
        assert "Ctrl+P" in words(wizard)


async def test_a_look_is_kept_for_the_next_start(wizard: WizardApp) -> None:
    async with wizard.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await chosen(wizard, pilot, "high contrast")
        assert wizard.theme == "high-contrast"
    later = WizardApp()
    async with later.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert later.theme == "high-contrast"


async def test_a_look_that_is_not_known_is_the_first_one(wizard: WizardApp) -> None:
    keep_look("sepia")
    async with wizard.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert wizard.theme == "textual-dark"
