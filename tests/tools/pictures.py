"""The README's pictures: screens of the wizard, drawn by the wizard itself. A test draws them again and compares.

Run: `.venv/bin/python -m tests.tools.pictures`. Every picture is of the built-in, invented example on the recorded
machine of the tests, on a day that does not change.
"""

import asyncio
import contextlib
import datetime
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from textual.pilot import Pilot

from wizard.app import WizardApp
from wizard.screens.review import ReviewScreen

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
DAY = datetime.date(2026, 11, 30)
SIZE = (100, 30)
_WAITS = 400
#: The picture of a step by its number; the review comes last.
_STEPS = {"strategies": 2, "hardware": 5, "workload": 6}


def words_of(svg: str) -> list[str]:
    """The texts of a picture, in order; how they are drawn is the library's affair."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", svg)


async def pictures(machine: str) -> dict[str, str]:
    """Draw every picture; `machine` is the JSON of the machine that is shown."""
    from wizard.asking.answers_writer import render_answers
    from wizard.asking.example import example_tree
    from wizard.probing import Probing
    from wizard.screens import saving
    from wizard.sessions import writing

    async def read(_: Probing) -> tuple[str, str]:
        return machine, ""

    drawn = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(Probing, "read", read))
        stack.enter_context(patch.dict(os.environ, {"XDG_STATE_HOME": folder}))
        for module in (writing, saving):
            stack.enter_context(patch.object(module, "today", lambda: DAY))
        stack.enter_context(contextlib.chdir(folder))
        answers = Path("example.toml")
        answers.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
        app = WizardApp()
        async with app.run_test(size=SIZE) as pilot:
            await _until(pilot, lambda: app.machine is not None)
            drawn["start"] = _picture(app)
            app.open_files([answers], resumed=False)
            await _until(pilot, lambda: app.checked is not None)
            for name, number in _STEPS.items():
                app.step_number = number
                app.show_step()
                await _until(pilot, lambda: app.screen.is_current)
                if name == "strategies":
                    await pilot.press("tab")
                await _until(pilot, lambda: not app.checking)
                drawn[name] = _picture(app)
            app.review()
            await _until(pilot, lambda: isinstance(app.screen, ReviewScreen) and not app.checking)
            drawn["review"] = _picture(app)
    return drawn


async def _until(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    for _ in range(_WAITS):
        await pilot.pause()
        if condition():
            await pilot.pause()
            await pilot.pause()
            return
        await asyncio.sleep(0.02)
    raise TimeoutError("the screen did not come to the state that is to be drawn")


def _picture(app: WizardApp) -> str:
    """The screen as SVG, without what the clock says and without a name that changes with each drawing."""
    svg = app.export_screenshot(title="selwiz")
    svg = re.sub(r"terminal-\d+-", "t-", svg)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # a picture fetches nothing
    svg = "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
    svg = re.sub(r"saved(\W|&#160;)\d\d:\d\d", r"saved\g<1>12:00", svg)
    return re.sub(r"read(.{1,6})in(.{1,6})\d+\.\d", r"read\g<1>in\g<2>0.1", svg)


def main() -> None:
    """Write the pictures."""
    from tests.unit.document_selections import machine

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, svg in asyncio.run(pictures(machine().model_dump_json())).items():
        file = FOLDER / f"{name}.svg"
        file.write_text(svg, encoding="utf-8")
        print(f"{file.name:<16}{len(svg) / 1024:>6.0f} KiB", file=sys.stderr)


if __name__ == "__main__":
    main()
