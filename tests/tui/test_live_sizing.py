"""The sizing beside the questions follows the keys, before an answer is taken."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.conftest import DAY, paste, settle, words
from wizard.app import WizardApp
from wizard.asking import tree
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.step import StepScreen
from wizard.screens.what_if import WhatIfScreen

CALLS = "runtime.workload.concurrency"


@pytest.fixture
def opened() -> WizardApp:
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    return WizardApp(answers=[file])


async def test_a_digit_moves_the_figures_at_once(opened: WizardApp) -> None:
    app = opened
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        app.step_number = 6
        app.show_step(first=CALLS)
        await settle(pilot, lambda a: getattr(a.focused, "has_focus", False) and getattr(a.focused, "key", "") == CALLS)
        await pilot.press("end", "0")
        await settle(pilot, lambda a: "160 asked: NOT ALL AT A TIME" in words(a))
        assert app.session.in_force.runtime.workload.concurrency == 16
        assert isinstance(app.screen, StepScreen)
        app.screen.show()  # as a check or a probe does that ends while one types
        await pilot.pause()
        await settle(pilot)
        assert "160 asked: NOT ALL AT A TIME" in words(app)


async def opened_at(app: WizardApp, step: int, pilot: Pilot[int]) -> None:
    await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.checked is not None)
    app.step_number = step
    app.show_step()
    await settle(pilot, lambda _: not app.checking)


async def test_other_hardware_stands_beside_the_load_where_there_is_room(opened: WizardApp) -> None:
    async with opened.run_test(size=(120, 42)) as pilot:
        await opened_at(opened, 6, pilot)
        await settle(pilot, lambda a: "OTHER HARDWARE" in words(a))
        assert "B200 SXM 180GB" in words(opened)


async def test_a_narrow_screen_has_all_of_it_on_f1(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 40)) as pilot:
        await opened_at(opened, 6, pilot)
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot, lambda a: "MEMORY PER GPU" in words(a))


async def test_what_if_keeps_the_second_column_on_f4_only(opened: WizardApp) -> None:
    async with opened.run_test(size=(100, 30)) as pilot:
        await opened_at(opened, 5, pilot)
        for last, gpus in (("f3", 2), ("f4", 4)):
            await pilot.press("f7")
            await settle(pilot, lambda a: isinstance(a.screen, WhatIfScreen) and a.screen.ready)
            await pilot.press("down", "end", "backspace", "4")
            await settle(pilot, lambda a: "≠ GPUs of one replica" in words(a))
            await pilot.press(last)
            await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
            assert opened.session.in_force.runtime.hardware.gpus_per_replica == gpus


@pytest.fixture
def without_hardware() -> WizardApp:
    """The example on the machine of the tests, which alone says that it has two GPUs."""
    answers = example_tree(DAY)
    for key in ("runtime.hardware.gpu", "runtime.hardware.gpus_per_replica", "runtime.layout.tensor_parallel"):
        tree.drop(answers, key)
    file = Path("example.toml")
    file.write_text(render_answers(answers, blanks=False), encoding="utf-8")
    return WizardApp(answers=[file])


def field(app: WizardApp, name: str) -> Input:
    return next(found for found in app.screen.query(Input) if (found.name or "").endswith(name))


async def test_what_if_computes_what_its_fields_show(without_hardware: WizardApp) -> None:
    app = without_hardware
    async with app.run_test(size=(80, 30)) as pilot:
        await opened_at(app, 5, pilot)
        await pilot.press("f7")
        await settle(pilot, lambda a: isinstance(a.screen, WhatIfScreen) and a.screen.ready)
        await pilot.press("end", "ctrl+u")
        await paste(pilot, "L40S")
        await settle(pilot, lambda a: "F4 keeps: GPU proposed L40S, GPUs per replica 2" in words(a))
        assert "≠ GPUs of one replica" not in words(app)
        await pilot.press("down", "end", "backspace", "4")
        await settle(pilot, lambda a: "≠ GPUs of one replica" in words(a))
        assert field(app, "tensor_parallel").value == "4"
        await pilot.press("down", "end", "backspace", "1", "up", "end", "backspace", "8")
        await settle(pilot, lambda a: "GPUs per replica 8, Tensor parallel size 1" in " ".join(words(a).split()))


async def test_what_if_keeps_a_name_that_nobody_knows_only_on_a_second_f4(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await opened_at(opened, 5, pilot)
        await pilot.press("f7")
        await settle(pilot, lambda a: isinstance(a.screen, WhatIfScreen) and a.screen.ready)
        field(opened, "quantization").focus()
        await pilot.press("ctrl+u")
        await paste(pilot, "B200")
        await settle(pilot, lambda a: "! vLLM 0.33.0 knows no quantisation B200" in words(a))
        await pilot.press("f4")
        await settle(pilot, lambda a: "F4 again keeps it, known or not: Quantisation B200" in words(a))
        assert opened.session.in_force.runtime.settings.quantization != "B200"
        await pilot.press("f4")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        assert opened.session.in_force.runtime.settings.quantization == "B200"


async def test_what_if_lists_the_types_that_a_name_may_mean(opened: WizardApp) -> None:
    async with opened.run_test(size=(80, 24)) as pilot:
        await opened_at(opened, 5, pilot)
        await pilot.press("f7")
        await settle(pilot, lambda a: isinstance(a.screen, WhatIfScreen) and a.screen.ready)
        await pilot.press("end", "ctrl+u")
        await paste(pilot, "h200")
        await settle(pilot, lambda a: "! Which one? " in words(a))
        assert "H200 SXM 141GB" in words(opened)
