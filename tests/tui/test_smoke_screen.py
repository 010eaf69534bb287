"""The smoke's screen: what it shows while a load runs and afterwards, and its keys; on small screens and without colour."""

import json
from pathlib import Path

import pytest

from probes.smoke.result import Capacity, Failure, Remedy, SmokeResult
from probes.smoke.telemetry import Live, ServerSample
from tests.tui.conftest import paste, settle, words
from tests.unit.document_selections import smoke
from tests.unit.test_smoke_points import plan
from wizard.answers_writer import render_answers
from wizard.app import WizardApp
from wizard.example import example_tree
from wizard.screens.smoke import SmokeScreen
from wizard.smoke_run import SmokeRun
from wizard.writing import today

SIZES = [(60, 20), (80, 24), (120, 40)]


def second(number: int, power_w: float | None = None, gpus: int = 0) -> Live:
    sample = ServerSample(
        at=number, run="shared", running=24, waiting=3, kv_usage=0.16, output_tok_s=700.0 + number, prefix_hit_rate=0.85
    )
    return Live(sample, power_w, gpus)


@pytest.fixture
def running(tmp_path: Path) -> SmokeRun:
    """A run in the middle of a load."""
    run = SmokeRun(status="running", plan=plan(tmp_path))
    run.phases = [("preflight", "vLLM 0.32.0", 0.0), ("measure", "shared, 240 requests", 40.0)]
    run.progress = ("shared", 156, 240)
    run.live.extend(second(number, 1082.0, 2) for number in range(30))
    return run


async def shown(app: WizardApp, run: SmokeRun, size: tuple[int, int]) -> str:
    """What stands on the screen in a state of the run, with all of it scrolled through."""
    Path("example.toml").write_text(render_answers(example_tree(today()), blanks=False), encoding="utf-8")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.smoke = run
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and a.screen.ready)
        app.smoke = run  # entering the screen made a plan of its own
        app.refresh_page()
        await settle(pilot)
        text = words(app)
        for _ in range(8):
            app.screen.query_one("VerticalScroll").scroll_page_down(animate=False)
            await pilot.pause()
            text += words(app)
    return text


@pytest.fixture
def app() -> WizardApp:
    return WizardApp(answers=[Path("example.toml")])


@pytest.mark.parametrize("size", SIZES)
async def test_every_live_figure_stands_in_words_beside_its_line(
    app: WizardApp, running: SmokeRun, size: tuple[int, int]
) -> None:
    text = await shown(app, running, size)
    figures = ["output tokens/s", "729", "running", "waiting", "cache in use", "16%", "85%", "power, 2 GPUs", "1,082 W"]
    assert [figure for figure in figures if figure not in text] == []


async def test_without_colour_the_lines_are_still_there(
    app: WizardApp, running: SmokeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = await shown(app, running, (80, 24))
    assert "▁" in text or "█" in text


async def test_a_figure_that_nobody_tells_is_not_visible(app: WizardApp, running: SmokeRun) -> None:
    running.live.clear()
    running.live.append(second(1))
    assert "power           not visible" in await shown(app, running, (80, 24))


def finished(**changes: object) -> SmokeRun:
    result: SmokeResult = smoke().model_copy(update=changes)
    return SmokeRun(status="done", result=result, points=list(result.points))


@pytest.mark.parametrize("size", SIZES)
async def test_afterwards_latency_stands_against_concurrency(app: WizardApp, size: tuple[int, int]) -> None:
    capacity = Capacity(concurrency=24, kind="edge", stop_reason="the bracket was 4 wide", confidence=0.95)
    text = await shown(app, finished(capacity=capacity), size)
    assert "TTFT against calls at a time; | is the ceiling of" in text
    assert "Greatest concurrency: 24" in text


async def test_without_a_search_there_is_no_plot(app: WizardApp) -> None:
    asked = tuple(point for point in smoke().points if point.kind != "search")
    assert "against calls at a time" not in await shown(app, finished(points=asked, capacity=None), (80, 24))


async def test_strategies_and_memory_stand_with_what_was_seen(app: WizardApp) -> None:
    text = await shown(app, finished(), (120, 40))
    assert "Strategies seen in force: prefix caching" in text
    assert "Memory, weights: predicted 15.99 GiB, measured 16.15 (-1.0%)" in text


async def test_one_key_applies_what_a_failure_suggests(app: WizardApp) -> None:
    Path("example.toml").write_text(render_answers(example_tree(today()), blanks=False), encoding="utf-8")
    remedy = Remedy(key="runtime.settings.max_model_len", value="4096")
    failure = Failure(phase="start", kind="no_kv_room", message="no room", advice="shorten", remedy=remedy)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.smoke = SmokeRun(status="failed", result=smoke().model_copy(update={"failure": failure}))
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: isinstance(a.screen, SmokeScreen) and a.screen.ready)
        await pilot.press("a")
        await settle(pilot)
        assert app.session.in_force.runtime.settings.max_model_len == 4096


async def on_screen(app: WizardApp, *keys: str, text: str = "") -> WizardApp:
    Path("example.toml").write_text(render_answers(example_tree(today()), blanks=False), encoding="utf-8")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda a: getattr(a.screen, "ready", False))
        app.replace(SmokeScreen())
        await settle(pilot, lambda _: app.smoke.status in ("planned", "cannot"))
        await pilot.press(*keys)
        if text:
            await settle(pilot)
            await paste(pilot, text)
            await pilot.press("enter")
        await settle(pilot, lambda _: app.smoke.status in ("planned", "cannot", "done", "failed"))
    return app


async def test_search_and_resume_are_on_their_keys(app: WizardApp) -> None:
    app.smoke = SmokeRun(status="stopped", points=list(smoke().points[:1]))
    choices = (await on_screen(app, "r", "c")).smoke_choices
    assert (choices.search, choices.resume) == (True, True)


async def test_own_prompts_are_named_in_a_field(app: WizardApp) -> None:
    assert (await on_screen(app, "p", text="mine.jsonl")).smoke_choices.prompts == "mine.jsonl"


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
    run = (await on_screen(app, "i", text="result.json")).smoke
    assert (run.status, [point.completed for point in run.points]) == ("done", [count])


async def test_what_is_no_result_is_told(app: WizardApp) -> None:
    Path("result.json").write_text("{", encoding="utf-8")
    run = (await on_screen(app, "i", text="result.json")).smoke
    assert (run.status, "result.json is cut off" in run.problem) == ("cannot", True)
