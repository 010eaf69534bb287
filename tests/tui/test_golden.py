"""What stands on the main screens, word for word. `pytest --update-golden` writes the files anew; read them."""

import re
from pathlib import Path

import pytest

from tests.tui.conftest import DAY, settle, words
from tests.unit.test_smoke_view import finished, running
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.smoke import SmokeScreen
from wizard.screens.step import StepScreen

GOLDEN = Path(__file__).parents[1] / "golden" / "screens"
SIZES = {"60x20": (60, 20), "80x24": (80, 24), "100x30": (100, 30), "120x40": (120, 40)}
#: A screen by its name: the step of the example that it belongs to, and the keys that lead to it from there.
SCREENS = {
    "project": (0, ()),
    "strategies": (2, ("tab",)),
    "hardware": (5, ()),
    "workload": (6, ()),
    "line-e": (8, ()),
    "governance": (10, ()),
    "review": (0, ("f6",)),
    "unknown": (0, ("f2",)),
    "why": (0, ("f1",)),
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
        app.step_number, keys = SCREENS[name]
        app.show_step()
        await settle(pilot)
        for key in keys:
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


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", ["running", "done"])
async def test_the_smoke_screen_says_this(
    state: str, size: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    app = WizardApp(answers=[file])
    app.smoke = running(tmp_path) if state == "running" else finished()
    async with app.run_test(size=SIZES[size]) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and a.screen.ready)
        text = words(app)
        app.smoke.status = "done"  # there is no run that leaving could end
    _compare(f"smoke-{state}-{size}", _timeless(text), request)
