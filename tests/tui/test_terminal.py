"""What a GPU box has: no terminal at all, a slow line, no colour, no mouse, no GPU, a driver that does not answer."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.terminal import SELWIZ, Terminal
from tests.tui.conftest import settle, words
from tests.unit.document_selections import machine
from wizard.app import WizardApp
from wizard.cli import run
from wizard.probing import Probing
from wizard.screens.step import StepScreen

#: The private mode by which a terminal reports its mouse, as pyte keeps it.
MOUSE = 1000 << 5


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Terminal]]:
    """The terminals of a test; each is ended after it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.close()


def first_screen(terminals: list[Terminal], *words_: str) -> Terminal:
    """The program in a real terminal, at its first screen."""
    terminal = Terminal([*SELWIZ, *words_])
    terminals.append(terminal)
    terminal.until(lambda text: "New selection, short" in text and "being read" not in text)
    return terminal


def colours(terminal: Terminal) -> set[str]:
    """The colours on the screen, without the terminal's own."""
    cells = [cell for line in terminal.screen.buffer.values() for cell in line.values()]
    return {colour for cell in cells for colour in (cell.fg, cell.bg) if colour != "default"}


def is_grey(colour: str) -> bool:
    """Whether red, green and blue of a colour are one and the same."""
    return len(colour) == 6 and colour[:2] == colour[2:4] == colour[4:]


def test_colours_are_used_where_there_are_some(start: list[Terminal]) -> None:
    assert not all(map(is_grey, colours(first_screen(start))))


def test_no_color_leaves_no_colour(start: list[Terminal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert all(map(is_grey, colours(first_screen(start))))


def test_the_mouse_is_used(start: list[Terminal]) -> None:
    assert MOUSE in first_screen(start).screen.mode


def test_the_mouse_is_left_to_the_terminal(start: list[Terminal]) -> None:
    assert MOUSE not in first_screen(start, "--no-mouse").screen.mode


def test_without_a_terminal_the_command_to_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "selwiz propose --answers" in capsys.readouterr().err


@pytest.mark.parametrize(("own", "expected"), [(None, "20"), ("5", "5")])
def test_a_slow_line_gets_fewer_frames(monkeypatch: pytest.MonkeyPatch, own: str | None, expected: str) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    monkeypatch.setenv("TEXTUAL_FPS", own or "")
    if own is None:
        monkeypatch.delenv("TEXTUAL_FPS")
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "full")
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(WizardApp, "run", lambda *_, **__: None)
    run([])
    assert os.environ["TEXTUAL_FPS"] == expected


async def test_questions_are_there_while_the_driver_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: Probing) -> tuple[str, str]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Probing, "read", never)
    app = WizardApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "being read" in words(app)
        await pilot.press("1")
        for _ in range(100):
            await pilot.pause(0.02)
            if isinstance(app.screen, StepScreen):
                break
        assert "[1/" in words(app)


async def test_every_step_says_where_one_is_on_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = machine().model_copy(update={"gpus": ()}).model_dump_json()

    async def read(_: Probing) -> tuple[str, str]:
        return bare, ""

    monkeypatch.setattr(Probing, "read", read)
    app = WizardApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot, lambda _: app.machine is not None)
        assert "none found; every question still works" in words(app)
        await pilot.press("2")
        seen = []
        for _ in range(11):
            await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
            seen.append(next(word for word in words(app).splitlines()[0].split() if word.startswith("[")))
            await pilot.press("f4")
            await settle(pilot)
    assert seen == [f"[{number}/11]" for number in range(1, 12)]
