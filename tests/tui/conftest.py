"""What every test of the screens gets: a machine and a day that do not change, and a folder of its own."""

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from tests.unit.document_selections import machine
from wizard.app import WizardApp
from wizard.machine import machine_at
from wizard.probing import Probing
from wizard.screens import saving
from wizard.screens.step import StepScreen
from wizard.sessions import writing
from wizard.widgets.rows import RowsList

DAY = datetime.date(2026, 11, 30)


@pytest.fixture(autouse=True)
def _this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No child process: the machine of a test is always the same one without a GPU, and files land in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = machine().model_dump_json()  # two GPUs, as recorded

    async def read(probing: Probing) -> tuple[str, str]:
        return (machine_at(probing.where).model_dump_json() if probing.where else text), ""

    monkeypatch.setattr(Probing, "read", read)
    # Prices and quotes of the example age; a golden screen must not.
    monkeypatch.setattr(writing, "today", lambda: DAY)
    monkeypatch.setattr(saving, "today", lambda: DAY)


async def settle(pilot: Pilot[int], until: Callable[[App[int]], bool] | None = None) -> None:
    """Wait until the workers are done and everything is drawn, and until a condition holds, at most 20 s."""
    for _ in range(400):
        # A check that a newer one replaced is cancelled, which is no failure.
        with contextlib.suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete([w for w in pilot.app.workers if w.group in ("probe", "check")])
        await pilot.pause()
        if until is None or until(pilot.app):
            return
        await pilot.pause(0.05)
    raise AssertionError("the screen did not come to the state that was waited for")


async def at(pilot: Pilot[int], app: WizardApp, key: str) -> None:
    """Go to a question and wait until its field has the focus."""
    await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.checked is not None)
    app.go_to(key)
    await settle(pilot, lambda a: getattr(a.focused, "key", "") == key)


async def on_list(pilot: Pilot[int], app: WizardApp, key: str, step: int) -> RowsList:
    """Show a step and put the focus on one of its lists."""
    await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.checked is not None)
    app.step_number = step
    app.show_step()
    await settle(pilot)
    rows = next(rows for rows in app.screen.query(RowsList) if rows.rows_key == key)
    rows.focus()
    await settle(pilot)
    return rows


async def paste(pilot: Pilot[int], text: str) -> None:
    """Paste a text into the field that has the focus."""
    focused = pilot.app.focused
    assert focused is not None
    focused.post_message(events.Paste(text))
    await pilot.pause()


def words(app: App[int]) -> str:
    """What stands on the screen, line by line."""
    height = app.size.height
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips[:height]) + "\n"


@pytest.fixture
def new() -> WizardApp:
    """A wizard at its first question."""
    return WizardApp(way="new")


@pytest.fixture
def wizard() -> WizardApp:
    """A wizard at its first screen."""
    return WizardApp()
