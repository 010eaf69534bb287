"""From the first screen to the last one, by keyboard alone."""

import datetime
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.conftest import at, paste, settle, words
from tests.unit.document_selections import full
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.decision.selection import to_json
from wizard.screens.changes import ChangesScreen
from wizard.screens.modals import ChoiceScreen, PathScreen, UnknownScreen, WhyScreen
from wizard.screens.preview import PreviewScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.smoke import SmokeScreen
from wizard.screens.start import StartScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session
from wizard.sessions.session_store import listed

NARROW, MIDDLE, WIDE = (80, 24), (100, 30), (120, 40)


def example(folder: Path) -> Path:
    path = folder / "example.toml"
    path.write_text(render_answers(example_tree(datetime.date(2026, 11, 30)), blanks=False), encoding="utf-8")
    return path


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    return WizardApp(answers=[example(tmp_path)])


def on_step(app: object) -> bool:
    return isinstance(getattr(app, "screen", None), StepScreen)


@pytest.mark.parametrize("size", [NARROW, MIDDLE, WIDE])
async def test_the_first_screen_has_a_focused_list(wizard: WizardApp, size: tuple[int, int]) -> None:
    async with wizard.run_test(size=size) as pilot:
        await settle(pilot)
        assert wizard.focused is not None


async def test_the_short_way_asks_at_most_nine_questions_and_writes_a_document(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot, on_step)
        typed = iter(["Desk agent", "AI lead", "vLLM", "Qwen/Qwen3-32B-FP8", "16384", "Ops lead", "16", "6144", "256"])
        for count in (1, 4, 1, 3):
            for _ in range(count):
                await paste(pilot, next(typed))
                await pilot.press("enter")
            await pilot.press("f4")
            await settle(pilot)
        assert isinstance(wizard.screen, SmokeScreen)
        await pilot.press("f4")
        await settle(pilot, lambda _: wizard.checked is not None)
        await pilot.press("f4")
        await settle(pilot, lambda app: isinstance(app.screen, PathScreen))
        await pilot.press("enter")
        await settle(pilot, lambda _: wizard.written is not None)
        await pilot.press("escape", "f10")
        await settle(pilot, lambda app: isinstance(app.screen, ChoiceScreen))
        await pilot.press("enter")  # once it is written, leaving is what is offered first
    written = [name for name in Path().glob("technology-selection-desk-agent-*.md") if ".brief." not in name.name]
    assert (wizard.return_code, len(written)) == (0, 1)


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_every_step_can_be_passed_forward_and_back(opened: WizardApp, size: tuple[int, int]) -> None:
    async with opened.run_test(size=size) as pilot:
        await settle(pilot, on_step)
        before = opened.session.to_toml()
        for _ in range(11):
            await pilot.press("f4")
            await settle(pilot)
        assert isinstance(opened.screen, SmokeScreen)
        for _ in range(11):
            await pilot.press("f3")
            await settle(pilot)
        assert (opened.step_number, opened.session.to_toml()) == (0, before)


async def test_what_is_typed_survives_going_on_without_enter(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await paste(pilot, "A title")
        await pilot.press("f4")
        await settle(pilot)
        await pilot.press("f3")
        await settle(pilot)
        assert "A title" in words(new)


async def test_text_that_cannot_be_used_is_kept_and_explained(opened: WizardApp) -> None:
    async with opened.run_test(size=MIDDLE) as pilot:
        await settle(pilot, on_step)
        opened.go_to("runtime.workload.concurrency")
        await settle(pilot)
        await pilot.press("end", "x", "enter")
        await settle(pilot)
        assert "must be a whole number in calls (given: 16x)" in words(opened)
        assert opened.session.given.runtime.workload.concurrency == 16


async def test_enter_stays_in_a_field_whose_text_cannot_be_used(opened: WizardApp) -> None:
    async with opened.run_test(size=MIDDLE) as pilot:
        await settle(pilot, on_step)
        opened.go_to("runtime.workload.concurrency")
        await settle(pilot)
        await pilot.press("end", "x", "enter")
        await settle(pilot)
        assert isinstance(opened.screen, StepScreen)
        assert opened.screen.focused_key == "runtime.workload.concurrency"


async def test_enter_on_a_finding_goes_to_its_question(opened: WizardApp) -> None:
    async with opened.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        opened.answer("runtime.layout.tensor_parallel", "3")
        await pilot.press("f6")
        await settle(pilot, lambda _: opened.checked is not None)
        where = opened.checked.findings[0].where if opened.checked else ""
        await pilot.press("enter")
        await settle(pilot, on_step)
        assert isinstance(opened.screen, StepScreen)
        assert opened.screen.focused_key == where


async def test_one_key_asks_someone(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await pilot.press("tab", "f2")
        await settle(pilot, lambda app: isinstance(app.screen, UnknownScreen))
        await pilot.press("k")
        await paste(pilot, "Ops lead")
        await pilot.press("enter", "enter")
        await settle(pilot, on_step)
        assert new.session.asked("project.author") == "Ops lead"


async def test_one_key_leaves_a_question_open(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f2")
        await settle(pilot, lambda app: isinstance(app.screen, UnknownScreen))
        await pilot.press("n")
        await settle(pilot, on_step)
        assert new.session.place("project.title").state == "left open"


async def test_the_reason_is_one_key_away(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f1")
        await settle(pilot, lambda app: isinstance(app.screen, WhyScreen))
        assert "It names the document and its file." in words(new)


async def test_what_a_change_of_the_engine_costs_stands_beside_the_question(opened: WizardApp) -> None:
    async with opened.run_test(size=WIDE) as pilot:
        await at(pilot, opened, "engine.chosen")
        await settle(pilot, lambda app: "Paid again in line R" in words(app))


async def test_rows_are_added_edited_and_removed(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        new.go_to("engine.models")
        await settle(pilot)
        new.row_action("engine.models", "a", None)
        await settle(pilot)
        await paste(pilot, "Example/Model")
        await pilot.press("f3")
        await settle(pilot)
        assert [row["name"] for row in new.session.rows("engine.models")] == ["Example/Model"]
        new.row_action("engine.models", "delete", 0)
        await settle(pilot, lambda app: isinstance(app.screen, ChoiceScreen))
        await pilot.press("down", "enter")
        await settle(pilot)
        assert new.session.rows("engine.models") == []


async def test_a_letter_decides_on_a_strategy(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        new.go_to("engine.strategies")
        await settle(pilot)
        await pilot.press("down", "a")
        await settle(pilot)
        assert [answer.decision for answer in new.session.given.engine.strategies.values()] == ["adopt"]


async def test_the_preview_shows_the_document(opened: WizardApp) -> None:
    async with opened.run_test(size=MIDDLE) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f6")
        await settle(pilot, lambda _: opened.checked is not None)
        await pilot.press("p")
        await settle(pilot, lambda app: isinstance(app.screen, PreviewScreen))
        assert "Purchasing desk agent assistant" in words(opened)


async def test_an_existing_document_is_shown_as_a_difference_and_kept(opened: WizardApp) -> None:
    Path("there.md").write_text("mine\n", encoding="utf-8")
    async with opened.run_test(size=MIDDLE) as pilot:
        await settle(pilot, on_step)
        opened.session.target = "there.md"
        opened.write()
        await settle(pilot, lambda app: isinstance(app.screen, PathScreen))
        await pilot.press("enter")
        await settle(pilot, lambda app: isinstance(app.screen, ChoiceScreen))
        assert "-mine" in words(opened)
        await pilot.press("down", "down", "enter")
        await settle(pilot)
    assert Path("there.md").read_text(encoding="utf-8") == "mine\n"


async def test_leaving_without_a_document_is_130_and_keeps_the_session(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await paste(pilot, "Kept")
        await pilot.press("f10")
        await settle(pilot, lambda app: isinstance(app.screen, ChoiceScreen))
        await pilot.press("down", "enter")
    assert (new.return_code, Session.resume(listed()[0].path).title) == (130, "Kept")


async def test_control_c_outside_a_field_asks_before_leaving(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot, on_step)
        wizard.go_to("engine.strategies")
        await settle(pilot)
        await pilot.press("ctrl+c")
        await settle(pilot, lambda app: isinstance(app.screen, ChoiceScreen))
        assert "Leave selwiz?" in words(wizard)


async def test_a_session_is_resumed_at_its_step() -> None:
    earlier = Session()
    earlier.set("project.title", "Earlier work")
    earlier.step = "engine need"
    earlier.save()
    app = WizardApp(way="resume")
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        assert ("Earlier work" in words(app), app.step_number) == (True, 1)


async def test_a_session_of_an_unknown_schema_is_explained_and_left_alone() -> None:
    earlier = Session()
    earlier.set("project.title", "From the future")
    earlier.save()
    text = earlier.path.read_text(encoding="utf-8").replace('"schema_version": 1', '"schema_version": 99')
    earlier.path.write_text(text, encoding="utf-8")
    app = WizardApp()
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("1")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen))
        assert "schema_version 99" in words(app)
    assert earlier.path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    ["[/", "[b]x[/b] [@click=app.bell]y[/]", "a\x1b[2Jb\x07\x00c", "مرحبا עולם abc", "two\nlines\n", "x" * 100_000],
    ids=["closing tag", "markup", "control characters", "right to left", "lines", "100 kB"],
)
async def test_hostile_text_is_kept_and_harms_nothing(new: WizardApp, text: str) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await paste(pilot, text)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("f4", "f6")
        await settle(pilot, lambda _: new.checked is not None)
        await pilot.press("f3", "f1")
        await settle(pilot)
        kept = new.session.raw("project.title")
        assert [char for char in kept if char.isalnum()] == [char for char in text if char.isalnum()]


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 60)])
async def test_the_size_may_change_at_any_time(opened: WizardApp, size: tuple[int, int]) -> None:
    async with opened.run_test(size=MIDDLE) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f6")
        await settle(pilot)
        await pilot.resize_terminal(*size)
        await settle(pilot)
        assert isinstance(opened.screen, ReviewScreen)


async def test_back_from_the_first_step_shows_the_first_screen(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f3")
        await settle(pilot)
        assert isinstance(new.screen, StartScreen)


async def test_a_colleagues_reply_is_merged_into_the_open_project() -> None:
    earlier = Session()
    earlier.set("project.title", "Earlier work")
    earlier.save()
    Path("reply.toml").write_text('answered_by = "Ops lead"\n[runtime]\nowner = "Ops"\n', encoding="utf-8")
    app = WizardApp()
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        app.open_file()
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await paste(pilot, "reply.toml")
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, ChoiceScreen))
        await pilot.press("down", "enter")
        await settle(pilot, on_step)
        session = app.session
        assert (session.title, session.place("runtime.owner").source) == ("Earlier work", "reply.toml, Ops lead")


async def test_back_from_the_first_question_of_new_is_the_first_screen(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        await pilot.press("f3")
        await settle(pilot, lambda app: isinstance(app.screen, StartScreen))
        await pilot.press("1")
        await settle(pilot, on_step)
        await pilot.press("f3")
        await settle(pilot, lambda app: isinstance(app.screen, StartScreen))
        assert len(new.screen_stack) == 2


async def test_an_earlier_selection_is_opened_as_its_next_version(tmp_path: Path) -> None:
    earlier = tmp_path / "v1.selection.json"
    earlier.write_text(to_json(full()), encoding="utf-8")
    app = WizardApp(answers=[earlier])
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot, lambda app: isinstance(app.screen, ChangesScreen))
        await pilot.press("f4")
        await settle(pilot, on_step)
        app.answer("budget.runtime.items[0].unit_price", "9.99")
        await pilot.press("f6")
        await settle(pilot, lambda app: "Since v1.selection.json" in words(app))
        await pilot.press("d")
        await settle(pilot, lambda app: "budget.runtime.items[R1].unit_price: 3.05" in words(app))


async def ahead(pilot: Pilot[int], keys: str) -> None:
    """Type without waiting, as over a slow line: every key is there before the first one is handled."""
    names = {"\n": "enter", "\x15": "ctrl+u"}
    for char in keys:
        pilot.app.post_message(events.Key(names.get(char, char), char))
    await settle(pilot, lambda app: not app._keys and app._handing_on is not None and app._handing_on.done())  # type: ignore[attr-defined]


async def on_workload(pilot: Pilot[int], app: WizardApp) -> None:
    await settle(pilot, on_step)
    app.go_to("runtime.workload.concurrency")
    await settle(pilot, lambda app: getattr(app.focused, "key", "") == "runtime.workload.concurrency")


async def test_what_is_typed_ahead_lands_in_the_fields_it_was_typed_for(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await on_workload(pilot, new)
        await ahead(pilot, "12\n5000\n300\n3500\n2000\n50\n")
        keys = ("concurrency", "input_tokens", "output_tokens", "shared_prefix_tokens")
        typed = [new.session.raw(f"runtime.workload.{key}") for key in keys]
        typed += [new.session.raw(f"runtime.ceilings.{key}") for key in ("ttft_ms", "tpot_ms")]
        assert typed == ["12", "5000", "300", "3500", "2000", "50"]


async def test_a_value_replaced_in_one_burst_is_the_new_one(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await on_workload(pilot, new)
        new.answer("runtime.workload.concurrency", "4")
        await ahead(pilot, "\x152\n")
        assert new.session.raw("runtime.workload.concurrency") == "2"


async def test_a_field_that_is_reached_again_is_replaced_by_what_is_typed(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await on_workload(pilot, new)
        await ahead(pilot, "12\n")
        await pilot.press("up")
        await ahead(pilot, "7\n")
        assert new.session.raw("runtime.workload.concurrency") == "7"


async def test_enter_on_the_last_field_of_a_row_goes_back_to_its_list(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await settle(pilot, on_step)
        new.row_action("governance.risks", "a", None)
        await settle(pilot, lambda app: isinstance(app.screen, StepScreen) and app.screen.is_row)
        await ahead(pilot, "prompts change\nOps\n\n\n\n\n")
        assert not new.screen.is_row  # type: ignore[attr-defined]


async def test_the_arrows_move_the_focus_where_the_form_is_taller_than_the_screen(new: WizardApp) -> None:
    async with new.run_test(size=(80, 16)) as pilot:
        await on_workload(pilot, new)
        await pilot.press("f5")
        await settle(pilot, lambda app: getattr(app.focused, "key", "") == "runtime.workload.concurrency")
        for _ in range(6):
            await pilot.press("down")
        await settle(pilot, lambda app: getattr(app.focused, "key", "") != "runtime.workload.concurrency")
        assert new.focused is not None
        assert new.screen.find_widget(new.focused).visible_region.height == 1


async def test_a_space_does_not_change_a_choice(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await on_workload(pilot, new)
        await pilot.press("up", "space")
        await settle(pilot)
        assert new.session.raw("runtime.workload.profile") == ""


async def test_escape_takes_back_what_was_typed_over_an_answer(new: WizardApp) -> None:
    async with new.run_test(size=NARROW) as pilot:
        await on_workload(pilot, new)
        await ahead(pilot, "12\n")
        await pilot.press("up")
        await ahead(pilot, "a")
        await pilot.press("escape")
        await settle(pilot, lambda app: getattr(app.focused, "value", "") == "12")
        assert isinstance(new.screen, StepScreen)
