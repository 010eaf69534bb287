"""What stands on the main screens, word for word. `pytest --update-golden` writes the files anew; read them."""

import datetime
import re
from pathlib import Path

import pytest

from tests.tui.conftest import settle, words
from wizard.answers_writer import render_answers
from wizard.app import WizardApp
from wizard.example import example_tree
from wizard.screens.step import StepScreen

GOLDEN = Path(__file__).parents[1] / "golden" / "screens"
DAY = datetime.date(2026, 11, 30)
SIZES = {"80x24": (80, 24), "100x30": (100, 30)}
#: A screen by its name, and the keys that lead to it from the first step of the example.
SCREENS = {
    "project": (),
    "strategies": ("f4", "f4", "tab"),
    "workload": ("f4",) * 6,
    "line-e": ("f4",) * 8,
    "governance": ("f4",) * 10,
    "review": ("f6",),
    "unknown": ("f2",),
    "why": ("f1",),
}


def _timeless(text: str) -> str:
    """Without what the clock says: the moment of saving and how long the probe took."""
    text = re.sub(r"saved \d\d:\d\d", "saved 12:00", text)
    return re.sub(r"read in \d+\.\d s", "read in 0.1 s", text)


def _compare(name: str, text: str, request: pytest.FixtureRequest) -> None:
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_says_this(name: str, size: str, request: pytest.FixtureRequest) -> None:
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    app = WizardApp(answers=[file])
    async with app.run_test(size=SIZES[size]) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        for key in SCREENS[name]:
            await pilot.press(key)
            await settle(pilot)
        app.checked = None
        app.check_now()
        await settle(pilot, lambda _: app.checked is not None)
        text = words(app)
    _compare(f"{name}-{size}", _timeless(text), request)


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_screen_says_this(size: str, request: pytest.FixtureRequest) -> None:
    app = WizardApp()
    async with app.run_test(size=SIZES[size]) as pilot:
        await settle(pilot, lambda _: app.machine is not None)
        text = words(app)
    _compare(f"start-{size}", _timeless(text), request)
