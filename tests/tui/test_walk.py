"""A person who presses anything: the wizard never crashes, and no answer that was in force is lost on the way."""

import random

import pytest

from tests.tui.conftest import DAY, paste, settle
from wizard.answers_file import parse_layer
from wizard.answers_writer import render_answers
from wizard.app import WizardApp
from wizard.example import example_tree
from wizard.screens.modals import ChoiceScreen
from wizard.screens.step import StepScreen
from wizard.session import Session
from wizard.session_store import listed

KEYS = (
    *("tab", "tab", "shift+tab", "enter", "down", "up", "left", "right", "escape", "space"),
    *("f1", "f2", "f3", "f4", "f4", "f5", "f6", "f10", "ctrl+c", "home", "end", "pagedown"),
    *("k", "d", "n", "p", "c", "r", "1", "7", "[", "x", "backspace"),
)
HOSTILE = ("[/", "\x1b[2J", "مرحبا", "a\nb", "16", "x" * 3000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_any_300_keys(seed: int) -> None:
    await walk(seed, 300)


async def test_any_40_keys() -> None:
    await walk(99, 40)


async def walk(seed: int, length: int) -> None:
    """Press keys. `s` is not among them: it would start a measurement."""
    dice = random.Random(seed)
    session = Session()
    session.open_layer(parse_layer(render_answers(example_tree(DAY), blanks=False), "example.toml"))
    session.save()
    app = WizardApp(way="resume")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        expected = app.session
        for _ in range(length):
            key = dice.choice(KEYS)
            leaving = isinstance(app.screen, ChoiceScreen) and key in ("enter", "f10")
            if leaving or (key in ("x", "d") and not isinstance(app.screen, StepScreen)):
                key = "escape"
            if dice.random() < 0.05 and app.focused is not None:
                await paste(pilot, dice.choice(HOSTILE))
            else:
                await pilot.press(key)
            await pilot.pause()
            if dice.random() < 0.03:
                await pilot.resize_terminal(dice.choice((40, 80, 100, 140)), dice.choice((10, 24, 40)))
            assert app._exception is None
            assert app.session is expected or app.session.answered >= 0
        app.leave(130)
    assert app.return_code == 130
    for saved in listed():
        assert saved.problem is None
        assert Session.resume(saved.path).notices == []
    final = app.session
    assert Session.resume(final.path).tree == final.tree
