"""A person who presses anything: the wizard never crashes, and no answer that was in force is lost on the way."""

import random
from dataclasses import dataclass, field

import pytest

from tests.tui.conftest import DAY, paste, settle
from wizard.app import WizardApp
from wizard.asking.answers_file import parse_layer
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.asking.questions import question_of
from wizard.asking.typed import UnusableError, parse, shown
from wizard.screens.modals import ChoiceScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session
from wizard.sessions.session_store import listed

KEYS = (
    *("tab", "tab", "shift+tab", "enter", "down", "up", "left", "right", "escape", "space"),
    *("f1", "f2", "f3", "f4", "f4", "f5", "f6", "f10", "ctrl+c", "home", "end", "pagedown"),
    *("k", "d", "n", "p", "c", "r", "i", "l", "g", "w", "1", "7", "[", "x", "backspace"),
    *("2", "4", "5", "6", "f7", "ctrl+p", "question_mark"),
)
HOSTILE = ("[/", "\x1b[2J", "مرحبا", "a\nb", "16", "x" * 3000)


@dataclass
class Typed:
    """What was typed last into each question, and the session that it was typed into."""

    last: dict[str, str] = field(default_factory=dict)
    session: Session | None = None


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_any_300_keys(seed: int, typed: Typed) -> None:
    await walk(seed, 300, typed)


async def test_any_40_keys(typed: Typed) -> None:
    await walk(99, 40, typed)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """What was typed last into each question, beside the session's own memory; what a person clears is forgotten."""
    memory = Typed()
    last = memory.last
    take, clear, remove = Session.set, Session._clear, Session.remove_row

    def remember(session: Session, key: str, raw: str) -> str | None:
        if memory.session is not session:  # the keys led to the first screen and into another selection
            last.clear()
            memory.session = session
        last[key] = raw
        return take(session, key, raw)

    def forget(session: Session, key: str) -> None:
        last.pop(key, None)
        clear(session, key)

    def move(session: Session, rows_key: str, index: int) -> None:
        last.clear()
        remove(session, rows_key, index)

    monkeypatch.setattr(Session, "set", remember)
    monkeypatch.setattr(Session, "_clear", forget)
    monkeypatch.setattr(Session, "remove_row", move)
    return memory


def _kept(key: str, raw: str) -> str:
    """How a field shows what was typed: a value in its own spelling, anything else as it was."""
    question = question_of(key)
    assert question is not None
    try:
        return shown(parse(question, raw))
    except UnusableError:
        return raw


async def walk(seed: int, length: int, typed: Typed) -> None:
    """Press keys. `s` is not among them: it would start a measurement."""
    dice = random.Random(seed)
    session = Session()
    session.open_layer(parse_layer(render_answers(example_tree(DAY), blanks=False), "example.toml"))
    session.save()
    app = WizardApp(way="resume")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
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
        app.leave(130)
    # 0 where the keys led past the last screen to a written document and out.
    assert app.return_code in (0, 130)
    for saved in listed():
        assert saved.problem is None
        assert Session.resume(saved.path).notices == []
    final = app.session
    if final.saved_at:
        again = Session.resume(final.path)
        assert (again.tree, again.rejected) == (final.tree, final.rejected)
    else:  # the keys led into a new selection and answered nothing there: no file is made of that
        assert (final.tree, final.rejected) == ({}, {})
    into = typed.session or final
    assert {key: into.raw(key) for key in typed.last} == {
        key: raw if key in into.rejected else _kept(key, raw) for key, raw in typed.last.items()
    }
