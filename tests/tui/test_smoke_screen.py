"""The smoke's screen: all of it within reach on a small terminal, and what its keys do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.smoke.result import Failure, Remedy
from tests.tui.conftest import paste, settle, words
from tests.unit.document_selections import smoke
from tests.unit.test_smoke_view import finished, running
from wizard.app import WizardApp
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.screens.modals import WhyScreen
from wizard.screens.smoke import SmokeScreen
from wizard.sessions.writing import today
from wizard.smoke.state import SmokeRun


@pytest.fixture
def app() -> WizardApp:
    """A wizard with the example's answers."""
    Path("example.toml").write_text(render_answers(example_tree(today()), blanks=False), encoding="utf-8")
    return WizardApp(answers=[Path("example.toml")])


async def test_on_a_small_terminal_the_rest_is_scrolled_to(app: WizardApp) -> None:
    app.smoke = finished()
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and a.screen.ready)
        seen = words(app)
        for _ in range(8):
            await pilot.press("pagedown")
            seen += words(app)
    for line in (
        "asked shared: 16 at a time",
        "TPOT against calls at a time",
        "Nothing was left behind.",
        "F4 goes on",
    ):
        assert line in seen


async def test_a_running_smoke_is_drawn_again_by_itself(app: WizardApp, tmp_path: Path) -> None:
    app.smoke = running(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and "36 of 72" in words(app))
        app.smoke.take("progress", ("unshared", 37, 72))
        await settle(pilot, lambda _: "37 of 72" in words(app))
        app.smoke.status = "stopped"  # nothing of this run is there that leaving could end


async def on_screen(app: WizardApp, *keys: str, text: str = "", until: Callable[[WizardApp], bool]) -> None:
    """Press keys on the smoke's screen, type a text into the window that opened, and wait."""
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.replace(SmokeScreen())
        await settle(pilot, lambda _: app.smoke.status not in ("none", "planning"))
        await pilot.press(*keys)
        if text:
            await settle(pilot)
            await paste(pilot, text)
            await pilot.press("enter")
        await settle(pilot, lambda _: app.smoke.status != "planning" and until(app))


async def test_one_key_applies_what_a_failure_suggests(app: WizardApp) -> None:
    remedy = Remedy(key="runtime.settings.max_model_len", value="4096")
    failure = Failure(phase="start", kind="no_kv_room", message="no room", advice="shorten", remedy=remedy)
    app.smoke = SmokeRun(status="failed", result=smoke().model_copy(update={"failure": failure}))
    await on_screen(app, "a", until=lambda a: a.session.in_force.runtime.settings.max_model_len == 4096)


async def test_search_and_resume_are_on_their_keys(app: WizardApp) -> None:
    app.smoke = SmokeRun(status="stopped", points=list(smoke().points[:1]))
    await on_screen(app, "r", "c", until=lambda a: (a.smoke_choices.search, a.smoke_choices.resume) == (True, True))


async def test_own_prompts_are_named_in_a_field(app: WizardApp) -> None:
    await on_screen(app, "p", text="mine.jsonl", until=lambda a: a.smoke_choices.prompts == "mine.jsonl")


async def test_the_log_of_the_server_is_one_key_away(app: WizardApp) -> None:
    app.smoke = SmokeRun(status="failed", problem="it ended")
    app.smoke.take("log", ("ValueError: no room",))
    await on_screen(app, "l", until=lambda a: isinstance(a.screen, WhyScreen) and "ValueError: no room" in words(a))


async def test_a_result_of_somebody_else_is_taken_over(app: WizardApp) -> None:
    count = 80
    raw: dict[str, object] = {
        "completed": count, "num_prompts": count, "duration": 10.0, "total_input_tokens": 100 * count,
        "total_output_tokens": 10 * count, "max_concurrency": 8, "request_throughput": 8.0, "backend": "vllm",
        "start_times": [float(n // 8) for n in range(count)], "ttfts": [0.1] * count, "latencies": [0.9] * count,
        "input_lens": [100] * count, "output_lens": [10] * count, "itls": [[0.1] * 9] * count, "errors": [""] * count,
        "model_id": "m", "date": "20261120-101500",
    }  # fmt: skip
    Path("result.json").write_text(json.dumps(raw), encoding="utf-8")
    await on_screen(app, "i", text="result.json", until=lambda a: a.smoke.status == "done")
    assert [point.completed for point in app.smoke.points] == [count]


async def test_what_is_no_result_is_told(app: WizardApp) -> None:
    Path("result.json").write_text("{", encoding="utf-8")
    await on_screen(app, "i", text="result.json", until=lambda a: "result.json is cut off" in a.smoke.problem)
