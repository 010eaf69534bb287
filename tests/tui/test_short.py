"""The short way: what it settles beside what it asks, and what it does not say before anybody was asked."""

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import DAY, paste, settle, words
from wizard.app import WizardApp
from wizard.asking.steps import SHORT
from wizard.screens.modals import ChoiceScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session
from wizard.sessions.snapshot import Snapshot
from wizard.sessions.writing import draft_of, selection_of
from wizard.widgets.field import QuestionRow


@pytest.fixture
def short() -> WizardApp:
    return WizardApp(way="new", short=True)


async def on_step(pilot: Pilot[int], app: WizardApp) -> None:
    await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.checked is not None)


def owned(runtime_owner: str) -> Session:
    session = Session(short=True)
    for key, raw in (("project.title", "Desk"), ("engine.owner", "AI lead"), ("runtime.owner", runtime_owner)):
        session.set(key, raw)
    return session


def test_the_short_way_is_at_most_nine_questions() -> None:
    assert len(SHORT) <= 9


def test_one_owner_of_both_decisions_is_one_small_team_and_the_document_says_so() -> None:
    text = draft_of(owned("ai lead"), None, DAY).text
    assert "One small team owns both lines" in text
    assert "one approver may sign for both sections and both lines" in text


def test_another_owner_later_is_no_small_team_any_more() -> None:
    session = owned("AI lead")
    session.set("runtime.owner", "Ops lead")
    assert session.given.governance.small_team is None


def test_what_a_person_said_of_the_team_stays() -> None:
    session = owned("Ops lead")
    session.set("governance.small_team", "no")
    session.set("runtime.owner", "AI lead")
    assert session.given.governance.small_team is False


def test_the_full_way_takes_one_owner_for_no_small_team() -> None:
    session = owned("Ops lead")
    session.short = False
    session.set("runtime.owner", "AI lead")
    assert session.given.governance.small_team is None


def test_the_owner_of_a_section_owns_its_line_by_default() -> None:
    selection = selection_of(Snapshot.of(owned("Ops lead")), None)
    owners = (selection.answers.budget.engine.owner, selection.answers.budget.runtime.owner)
    origins = {selection.origin(f"budget.{line}.owner").layer for line in ("engine", "runtime")}
    assert (owners, origins) == (("AI lead", "Ops lead"), {"default"})


async def test_nothing_blocks_before_anybody_was_asked(short: WizardApp) -> None:
    async with short.run_test(size=(80, 24)) as pilot:
        await on_step(pilot, short)
        assert "Findings so far: 0 block, 0 warn, 0 note" in words(short)
        await pilot.press("f4", "f4")
        await settle(
            pilot, lambda a: "Findings so far: 3 block" in words(a)
        )  # model, owner and engine were asked by now


async def test_a_finding_about_a_refining_question_shows_its_table_and_no_more(short: WizardApp) -> None:
    async with short.run_test(size=(80, 24)) as pilot:
        await on_step(pilot, short)
        short.go_to("runtime.existing.platform")
        await settle(pilot, lambda a: getattr(a.focused, "key", "") == "runtime.existing.platform")
        assert len(short.screen.query(QuestionRow)) < 12
        assert short.session.short is False
        assert "[5/11]" in words(short)


async def test_a_chosen_engine_that_is_no_option_is_offered_as_one(short: WizardApp) -> None:
    async with short.run_test(size=(80, 24)) as pilot:
        await on_step(pilot, short)
        short.session.add_row("engine.options", name="SGLang")
        short.answer("engine.chosen", "vLLM")
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen))
        short.mend("engine.chosen")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen))
        assert [row["name"] for row in short.session.rows("engine.options")] == ["SGLang", "vLLM"]


async def test_the_note_of_a_typed_unit_goes_before_the_note_of_the_short_way(short: WizardApp) -> None:
    async with short.run_test(size=(80, 24)) as pilot:
        await on_step(pilot, short)
        await pilot.press("f4")
        await settle(pilot, lambda a: "answers for line E too" in words(a))
        short.go_to("engine.models[0].context_tokens")
        await settle(pilot, lambda a: getattr(a.focused, "key", "") == "engine.models[0].context_tokens")
        await paste(pilot, "16k")
        await pilot.press("enter")
        await settle(pilot, lambda a: "16k: 16,000 tokens (16K is 16,384)" in words(a))
