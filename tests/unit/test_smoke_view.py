"""What the smoke's screen says of a run: while a load runs, of each point, and after the end."""

from pathlib import Path

import pytest

from probes.smoke.plan import Ceiling
from probes.smoke.result import Capacity, CeilingResult, StrategySeen
from probes.smoke.telemetry import Live, ServerSample
from tests.unit.document_selections import smoke
from tests.unit.test_smoke_points import plan
from wizard.smoke.state import SmokeChoices, SmokeRun
from wizard.views.smoke import smoke_lines, verdict_words
from wizard.views.smoke_figures import course, figure_lines, latency_plot

CEILINGS = (Ceiling(metric="ttft_ms", percentile=95, limit_ms=100), Ceiling(metric="e2e_ms", percentile=99, limit_ms=9))


def second(number: int, power_w: float | None = None, gpus: int = 0) -> Live:
    """One second of a load of 24 calls."""
    sample = ServerSample(
        at=number, run="shared", running=24, waiting=3, kv_usage=0.16, output_tok_s=700.0 + number, prefix_hit_rate=0.85
    )
    return Live(sample, power_w, gpus)


def running(folder: Path, *, mode: str = "local", search: bool = False) -> SmokeRun:
    """A run in the middle of its second load."""
    run = SmokeRun(status="running", plan=plan(folder, ceilings=CEILINGS, mode=mode, search=search))
    run.take("phase", ("preflight", "vLLM 0.33.0, mode local", 0.0))
    run.take("phase", ("start", "starting the server", 4.0))
    run.take("phase", ("start", "weights", 9.0))
    run.take("phase", ("start", "ready after 148 s", 152.0))
    run.take("phase", ("warm-up", "4 requests, 2 at a time", 152.0))
    run.take("phase", ("measure", "unshared, 72 requests, 2 at a time", 168.0))
    run.take("progress", ("unshared", 36, 72))
    run.take("log", ("INFO Avg generation throughput: 703.8 tokens/s, Running: 24 reqs",))
    for number in range(30):
        run.take("live", (second(number, 1082.0, 2),))
    return run


def finished(**changes: object) -> SmokeRun:
    """A run that came to its end."""
    result = smoke().model_copy(update=changes)
    return SmokeRun(status="done", result=result, points=list(result.points), strategies=result.strategies)


def said(run: SmokeRun, width: int = 77) -> str:
    """All lines."""
    return "\n".join(smoke_lines(run, 219, width))


def test_the_time_stands_beside_its_limit(tmp_path: Path) -> None:
    assert "Smoke: running   3:39 of at most 30:00" in said(running(tmp_path))


def test_the_parts_of_the_start_stand_in_one_row(tmp_path: Path) -> None:
    assert "done  start       148 s  starting the server 5   weights 143   ready after 148 s" in said(
        running(tmp_path), 90
    )


def test_the_present_phase_has_its_seconds_and_a_bar(tmp_path: Path) -> None:
    text = said(running(tmp_path))
    assert "now   measure      51 s  unshared, 72 requests, 2 at a time" in text
    assert f"{'█' * 14}{'░' * 14}  36 of 72" in text


def test_a_search_to_come_is_said(tmp_path: Path) -> None:
    assert "next  search" in said(running(tmp_path, search=True))


def test_what_was_begun_is_not_to_come(tmp_path: Path) -> None:
    assert "next" not in said(running(tmp_path))


def test_what_the_server_does_stands_in_its_own_words(tmp_path: Path) -> None:
    assert "server  INFO Avg generation throughput: 703.8" in said(running(tmp_path))


def test_control_characters_of_a_log_are_made_visible(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.take("log", ("\x1b[2Jgone",))
    assert "server  �[2Jgone" in said(run)


def test_every_live_figure_stands_in_words_beside_its_course() -> None:
    lines = figure_lines([second(number, 1082.0, 2) for number in range(30)], 57)
    assert [(line[:16].strip(), line.split()[-1]) for line in lines] == [
        ("output tokens/s", "729"),
        ("running", "24"),
        ("cache in use", "16%"),
        ("waiting", "3"),
        ("power, 2 GPUs", "W"),
        ("cache hits", "85%"),
    ]


def test_two_figures_share_a_line_where_there_is_room() -> None:
    lines = figure_lines([second(1)], 76)
    assert (len(lines), max(map(len, lines)) <= 76) == (3, True)


def test_what_nobody_tells_is_not_visible() -> None:
    assert "power           not visible" in "\n".join(figure_lines([second(1)], 57))


def test_before_the_first_second_there_is_no_figure() -> None:
    assert figure_lines([], 57) == []


@pytest.mark.parametrize(
    ("values", "cells", "top", "blocks"),
    [
        ((0.0, 4.0, 8.0), 8, None, "▁▅█"),
        ((0.16, 0.85), 8, 1.0, "▂▇"),
        ((1.0, None, 1.0), 8, None, "█ █"),
        ((0.0, 0.0, 8.0, 8.0), 2, None, "▁█"),
        ((), 8, None, ""),
    ],
)
def test_a_course_is_drawn_from_zero(
    values: tuple[float | None, ...], cells: int, top: float | None, blocks: str
) -> None:
    assert course(values, cells, top) == blocks


def test_what_the_planned_requests_can_claim_is_said(tmp_path: Path) -> None:
    run = running(tmp_path)
    assert run.plan is not None
    few = tuple(one.model_copy(update={"requests": 240}) for one in run.plan.runs)
    run.plan = run.plan.model_copy(update={"runs": few})
    assert "p95 can be claimed: a load has 240 requests, 59 needed with none over." in said(run)
    assert "p99 will not be claimed: a load has 240 requests, 299 needed with none over." in said(run)


def test_the_stand_in_judges_nothing(tmp_path: Path) -> None:
    run = running(tmp_path, mode="tiny")
    run.points = list(smoke().points)
    text = said(run)
    assert "stand-in: its speed says nothing" in text
    assert ("supported" in text, "contradicted" in text, "not judged" in text) == (False, False, True)


@pytest.mark.parametrize(
    ("verdict", "n", "needed", "words"),
    [
        ("supported", 160, 59, "supported"),
        ("not_claimed", 20, 59, "not claimed, needs 59"),
        ("not_supported", 160, 208, "not supported, needs 208"),
        ("contradicted", 160, 700, "contradicted"),
    ],
)
def test_a_verdict_names_the_requests_that_it_needs(verdict: str, n: int, needed: int, words: str) -> None:
    values = {"metric": "ttft_ms", "percentile": 95, "limit": 9, "over": 5, "n": n, "verdict": verdict}
    assert verdict_words(CeilingResult.model_validate(values | {"n_needed": needed}), pipeline_only=False) == words


def test_each_point_stands_with_its_latencies_and_verdicts() -> None:
    text = said(finished())
    assert "asked shared: 16 at a time, 160 of 160 done, 657 tokens/s, 74% from cache" in text
    assert "TTFT    241.3    433.9  p95 1,500    0 of 160  supported" in text
    assert "TPOT contradicted (90 of 320 over)" in text


def test_after_a_search_latency_stands_against_concurrency() -> None:
    lines = latency_plot(smoke().points, 57)
    assert lines[5:10] == [
        "TPOT against calls at a time; | is the ceiling of 40 ms",
        "    16  ████████████████     |        31.1 ms p95",
        "    24  ████████████████████ |        39.1 ms p95",
        "    28  █████████████████████|█       41.9 ms p95",
        "    32  █████████████████████|█       44.7 ms p95",
    ]


def test_without_a_search_there_is_no_plot() -> None:
    assert latency_plot([point for point in smoke().points if point.kind != "search"], 57) == []


def test_capacity_strategies_memory_and_the_end_are_said() -> None:
    capacity = Capacity(concurrency=24, kind="edge", stop_reason="the bracket was 4 wide", confidence=0.95)
    text = said(finished(capacity=capacity))
    assert "Greatest concurrency: 24 (edge, a higher load failed: the bracket was 4 wide)" in text
    assert "Strategies seen in force: Prefix caching" in text
    assert "Memory, weights: predicted 15.99 GiB, measured 16.15 (-1.0%)" in text
    assert "Nothing was left behind." in text


def test_strategies_are_said_while_the_run_goes_on(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.take("strategies", ((StrategySeen(id="lora", decision="adopt", seen="not_visible", because=""),),))
    assert "Strategies not visible so far: lora" in said(run)


def test_points_of_a_stopped_run_are_offered() -> None:
    run = SmokeRun(status="stopped", points=list(smoke().points[:1]), phases=[("stop", "", 1.0)])
    assert "Smoke: stopped; 1 finished point is kept, r takes it over" in said(run)


def test_only_what_is_kept_can_be_taken_over() -> None:
    assert "r take over unshared from the stopped run: yes" in SmokeChoices(resume=True).words(("unshared",))
    assert "r " not in SmokeChoices().words()
