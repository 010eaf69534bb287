"""The sizing beside the questions follows the keys, before an answer is taken."""

from pathlib import Path

from tests.tui.conftest import DAY, settle, words
from wizard.answers_writer import render_answers
from wizard.app import WizardApp
from wizard.example import example_tree
from wizard.screens.step import StepScreen

CALLS = "runtime.workload.concurrency"


async def test_a_digit_moves_the_figures_at_once() -> None:
    file = Path("example.toml")
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    app = WizardApp(answers=[file])
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
