"""Any size between 60 x 20 and 200 x 60, at any moment: nothing crashes and nothing is out of reach."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.conftest import DAY, at, settle, words
from tests.unit.test_smoke_view import finished
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.elsewhere import ElsewhereScreen
from wizard.screens.machine import MachineScreen
from wizard.screens.modals import FieldsScreen, PathScreen, UnknownScreen, WhyScreen
from wizard.screens.page import Page
from wizard.screens.preview import PreviewScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.smoke import SmokeScreen
from wizard.screens.start import StartScreen
from wizard.screens.step import StepScreen
from wizard.screens.what_if import WhatIfScreen
from wizard.screens.workout import RangeScreen, WorkOutScreen

LEAST, MOST, START = (60, 20), (200, 60), (100, 30)
STEPS = range(11)
#: One of each kind is resized in every test run, all of them in soak.
QUICK = (6, "review", "", "g")


def each(names: Iterable[object]) -> list[object]:
    """The names as parameters, most of them for soak only."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.soak) for name in names]


def sizes(seed: object) -> list[tuple[int, int]]:
    """The two ends and three sizes between them, in any order."""
    dice = random.Random(str(seed))
    between = [(dice.randint(LEAST[0], MOST[0]), dice.randint(LEAST[1], MOST[1])) for _ in range(3)]
    return dice.sample([LEAST, MOST, *between], 5)


def in_view(widget: Widget) -> bool:
    """Whether the first line of a widget stands on the screen, or any line of one that is taller than its window."""
    geometry = widget.screen.find_widget(widget)
    shown = geometry.clip.intersection(geometry.region)
    return bool(shown) and (shown.y == geometry.region.y or geometry.region.height > geometry.clip.height)


async def resize_everywhere(pilot: Pilot[int], seed: object) -> None:
    """Resize; the focus and the keys stay in view, and on the least screen Tab brings all the rest into view."""
    screen = pilot.app.screen
    for size in sizes(seed):
        await pilot.resize_terminal(*size)
        await settle(pilot)
        for _ in range(len(screen.focus_chain) if size == LEAST else 1):
            assert pilot.app._exception is None
            assert screen.focused is None or in_view(screen.focused), (size, screen.focused)
            await pilot.press("tab")
            await pilot.pause()
        if isinstance(screen, Page):
            assert "F10 Quit" in words(pilot.app).splitlines()[-1], size


@pytest.fixture
def opened() -> WizardApp:
    """A wizard at the first step of the example, with a measurement that is done."""
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    app = WizardApp(answers=[file])
    app.smoke = finished()
    return app


@pytest.mark.parametrize("step", each(STEPS))
async def test_a_step_at_any_size(opened: WizardApp, step: int) -> None:
    async with opened.run_test(size=START) as pilot:
        await settle(pilot, lambda _: opened.checked is not None)
        opened.step_number = step
        opened.show_step()
        await settle(pilot)
        await pilot.press("f5")
        await settle(pilot)
        await resize_everywhere(pilot, step)


#: How to come to each further screen from the first step, and what it is.
PLACES: dict[str, tuple[tuple[str, ...], type]] = {
    "review": (("f6",), ReviewScreen),
    "preview": (("f6", "p"), PreviewScreen),
    "grounds": (("f6", "g"), WhyScreen),
    "why": (("f1",), WhyScreen),
    "unknown": (("f2",), UnknownScreen),
    "what if": (("f7",), WhatIfScreen),
}


@pytest.mark.parametrize("place", each(PLACES))
async def test_another_screen_at_any_size(opened: WizardApp, place: str) -> None:
    keys, kind = PLACES[place]
    async with opened.run_test(size=START) as pilot:
        await settle(pilot, lambda _: opened.checked is not None)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        await settle(pilot, lambda a: isinstance(a.screen, kind))
        await resize_everywhere(pilot, place)


#: The digit of each way in, and the screen that it leads to.
WAYS: dict[str, type] = {
    "": StartScreen,
    "4": ElsewhereScreen,
    "5": FieldsScreen,
    "6": PathScreen,
    "7": MachineScreen,
}


@pytest.mark.parametrize("digit", each(WAYS))
async def test_a_way_in_at_any_size(wizard: WizardApp, digit: str) -> None:
    async with wizard.run_test(size=START) as pilot:
        await settle(pilot, lambda _: wizard.machine is not None)
        await pilot.press(*digit)
        await settle(pilot, lambda a: isinstance(a.screen, WAYS[digit]))
        await resize_everywhere(pilot, digit)


#: The windows over a question, by the letter that opens each from the ways out of it.
WINDOWS = {"w": WorkOutScreen, "g": RangeScreen}


@pytest.mark.parametrize("letter", each(WINDOWS))
async def test_a_window_at_any_size(opened: WizardApp, letter: str) -> None:
    async with opened.run_test(size=START) as pilot:
        await at(pilot, opened, "runtime.workload.concurrency")
        await pilot.press("f2", letter)
        await settle(pilot, lambda a: isinstance(a.screen, WINDOWS[letter]))
        await resize_everywhere(pilot, letter)


async def test_the_smoke_at_any_size(opened: WizardApp) -> None:
    async with opened.run_test(size=START) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        opened.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and a.screen.ready)
        await resize_everywhere(pilot, "smoke")
