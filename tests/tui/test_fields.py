"""What happens in a field: units, defaults, one question for each gate, and the way back from the review."""

import datetime
from pathlib import Path

import pytest

from tests.tui.conftest import at, paste, settle, words
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.review import ReviewScreen
from wizard.screens.step import StepScreen
from wizard.screens.workout import RangeScreen, WorkOutScreen
from wizard.widgets.field import ChoiceField, QuestionRow


@pytest.fixture
def opened(tmp_path: Path) -> WizardApp:
    path = tmp_path / "example.toml"
    path.write_text(render_answers(example_tree(datetime.date(2026, 11, 30)), blanks=False), encoding="utf-8")
    return WizardApp(answers=[path])


async def test_a_number_with_a_unit_is_taken_and_said_back(new: WizardApp) -> None:
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, "runtime.ceilings.ttft_ms")
        await paste(pilot, "3,5 s")
        await pilot.press("enter")
        await settle(pilot, lambda a: "3,5 s: 3,500 ms" in words(a))
        assert new.session.given.runtime.ceilings.ttft_ms == 3500


async def test_the_unit_stands_beside_a_field_that_holds_a_value(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await at(pilot, opened, "runtime.workload.concurrency")
        line = next(line for line in words(opened).splitlines() if "16 " in line and "calls" in line)
        assert line.split().index("16") < line.split().index("calls")


async def test_enter_on_a_default_makes_it_an_answer(new: WizardApp) -> None:
    key = "runtime.ceilings.percentile"
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        await pilot.press("enter")
        await settle(pilot, lambda _: new.session.raw(key) == "95")
        assert new.session.place(key).state == "answered"


async def test_going_past_a_default_leaves_it_a_default(new: WizardApp) -> None:
    key = "runtime.ceilings.percentile"
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        await pilot.press("down", "f4")
        await settle(pilot)
        assert new.session.place(key).state == "default"


async def test_enter_leaves_a_reading_a_reading(opened: WizardApp) -> None:
    key = "runtime.hardware.gpu"
    async with opened.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda _: opened.machine is not None)
        opened.session.take_default(key)
        await at(pilot, opened, key)
        await pilot.press("enter")
        await settle(pilot)
        assert opened.session.raw(key) == ""


async def test_back_from_the_review_is_where_one_was(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await at(pilot, opened, "runtime.workload.input_tokens")
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen))
        await pilot.press("f3")
        await settle(pilot, lambda a: getattr(a.focused, "key", "") == "runtime.workload.input_tokens")


async def test_back_from_the_review_is_the_row_one_was_in(opened: WizardApp) -> None:
    key = "budget.engine.items[1].quantity"
    async with opened.run_test(size=(80, 24)) as pilot:
        await at(pilot, opened, key)
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen))
        await pilot.press("f3")
        await settle(pilot, lambda a: getattr(a.focused, "key", "") == key)


async def test_the_review_counts_the_texts_that_are_not_used(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        opened.answer("runtime.workload.concurrency", "many")
        await pilot.press("f6")
        await settle(pilot, lambda a: "1 text not used" in words(a))


async def test_each_gate_of_an_option_is_one_choice(opened: WizardApp) -> None:
    key = "engine.options[0].gates.Licence policy"
    async with opened.run_test(size=(80, 40)) as pilot:
        await at(pilot, opened, key)
        assert isinstance(opened.focused, ChoiceField)
        await pilot.press("right")
        await settle(pilot, lambda _: opened.session.raw(key) == "fail")
        assert opened.session.given.engine.options[0].gates["Licence policy"] == "fail"


async def test_each_criterion_of_an_option_is_one_number(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 40)) as pilot:
        await settle(pilot, lambda _: opened.checked is not None)
        name = next(c.name for c in opened.session.given.engine.criteria if c.name)
        key = f"engine.options[0].scores.{name}"
        await at(pilot, opened, key)
        rows = {row.place.key: row.place.question for row in opened.screen.query(QuestionRow)}
        assert (rows[key].kind, rows[key].unit) == ("integer", "0 to 5")
        opened.answer(key, "9")
        await settle(pilot, lambda a: "must be 5 or less" in words(a))


def test_a_gate_with_a_point_in_its_name_is_one_place() -> None:
    from wizard.asking.tree import named
    from wizard.sessions.session import Session

    session = Session()
    key = named("engine.options[0].gates", "TTFT < 2.0 s")
    assert session.set(key, "pass") is None
    assert session.given.engine.options[0].gates == {"TTFT < 2.0 s": "pass"}


async def test_calls_in_flight_are_worked_out_in_a_window(new: WizardApp) -> None:
    key = "runtime.workload.concurrency"
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        await pilot.press("f2", "w")
        await settle(pilot, lambda a: isinstance(a.screen, WorkOutScreen))
        for text in ("420", "6", "4", "7.1 s"):
            await paste(pilot, text)
            await pilot.press("enter")
        await settle(pilot, lambda a: "= 20 calls in flight" in words(a))
        await pilot.press("f4")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        assert (new.session.raw(key), new.session.in_force.runtime.workload.concurrency) == ("", 20)


async def test_a_result_replaces_what_was_typed_and_escape_does_not(opened: WizardApp) -> None:
    key = "runtime.ceilings.e2e_ms"
    async with opened.run_test(size=(80, 24)) as pilot:
        await at(pilot, opened, key)
        opened.answer(key, "9000")
        for leave, expected in (("escape", "9000"), ("f4", "")):
            await pilot.press("f2", "w")
            await settle(pilot, lambda a: isinstance(a.screen, WorkOutScreen))
            await pilot.press(leave)
            await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
            assert opened.session.raw(key) == expected
        assert opened.session.in_force.runtime.ceilings.e2e_ms == 1500 + 40 * 255


async def test_a_range_is_given_in_a_window(new: WizardApp) -> None:
    key = "runtime.workload.concurrency"
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        await pilot.press("f2", "g")
        await settle(pilot, lambda a: isinstance(a.screen, RangeScreen))
        for text in ("20", "12", "a guess"):
            await paste(pilot, text)
            await pilot.press("enter")
        await settle(pilot, lambda a: "must be 20 or more" in words(a))
        await pilot.press("up", "ctrl+u", "2", "8", "f4")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        assert new.session.place(key).source == "the middle of 20 to 28, a guess"
