"""Result files of vLLM's load tool: whole, without single requests, damaged, and of another tool."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from probes.smoke.evidence import CannotWriteEvidence
from probes.smoke.imported import NotAResult, import_result
from probes.smoke.plan import Ceiling, SmokeRequest, Workload
from probes.smoke.result import SmokeResult

NOW = "2026-12-01T00:00:00Z"
COUNT = 80
SUMMARY: dict[str, Any] = {
    "date": "20261130-223013",
    "model_id": "Qwen/Qwen3-8B",
    "num_prompts": COUNT,
    "max_concurrency": 8,
    "duration": 20.0,
    "completed": COUNT,
    "failed": 0,
    "total_input_tokens": 8000,
    "total_output_tokens": 800,
    "median_ttft_ms": 50.0,
    "median_tpot_ms": 5.0,
}
DETAILED = SUMMARY | {
    "start_times": [float(number) for number in range(COUNT)],
    "ttfts": [0.05] * COUNT,
    "latencies": [0.1] * COUNT,
    "input_lens": [100] * COUNT,
    "output_lens": [10] * COUNT,
    "itls": [[0.005] * 9] * COUNT,
    "errors": [""] * COUNT,
    "generated_texts": ["a secret"] * COUNT,
}


def request(folder: Path) -> SmokeRequest:
    """What the answers ask for."""
    return SmokeRequest(
        mode="tiny",
        workload=Workload(concurrency=8, input_tokens=100, output_tokens=10),
        ceilings=(Ceiling(metric="ttft_ms", limit_ms=60),),
        out_dir=folder / "out",
        state_dir=folder / "state",
    )


def imported(folder: Path, content: object) -> SmokeResult:
    """Write a file and import it."""
    path = folder / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return import_result(path, request(folder), NOW)


def test_single_requests_are_tested_against_the_ceilings(tmp_path: Path) -> None:
    point = imported(tmp_path, DETAILED).points[0]
    assert (point.ceilings[0].verdict, point.ceilings[0].n, point.ttft_ms.p50) == ("supported", COUNT, 50.0)


def test_a_summary_tests_no_ceiling_and_claims_no_percentile(tmp_path: Path) -> None:
    point = imported(tmp_path, SUMMARY).points[0]
    assert (point.ceilings, point.ttft_ms.p50, point.ttft_ms.p95, point.e2e_ms.p50) == ((), 50.0, None, None)


def test_what_the_file_does_not_tell_is_not_given(tmp_path: Path) -> None:
    result = imported(tmp_path, SUMMARY)
    point = result.points[0]
    assert (point.warmups, point.steady, point.prefix_hit_rate, result.runtime.version) == (None, None, None, None)


def test_the_source_is_named(tmp_path: Path) -> None:
    assert any("Imported from result.json, SHA-256 " in note for note in imported(tmp_path, DETAILED).notes)


def test_it_is_an_endpoint_s_result_at_the_file_s_time(tmp_path: Path) -> None:
    result = imported(tmp_path, DETAILED)
    assert (result.mode, result.started_at, result.model) == ("endpoint", "2026-11-30T22:30:13Z", "Qwen/Qwen3-8B")


def test_generated_texts_are_not_kept(tmp_path: Path) -> None:
    imported(tmp_path, DETAILED)
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_the_evidence_can_be_read_back(tmp_path: Path) -> None:
    result = imported(tmp_path, DETAILED)
    assert SmokeResult.model_validate_json((tmp_path / "out" / "smoke.json").read_text()) == result


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(DETAILED)[:400], "cut off"),
        (json.dumps(SUMMARY) + "\n" + json.dumps(SUMMARY), "holds several results"),
        ("", "no JSON"),
        ([1, 2], "no result of vllm bench serve"),
        ({"results": []}, "no result of vllm bench serve: it has no completed"),
        (SUMMARY | {"max_concurrency": None}, "shows no concurrency"),
        (SUMMARY | {"completed": 0}, "completed is 0 of 80 requests"),
        (SUMMARY | {"duration": "long"}, "duration is 'long', not a length of time"),
        (SUMMARY | {"duration": 0}, "duration is 0, not a length of time"),
        (DETAILED | {"ttfts": [0.05]}, "ttfts has 1 rows and errors has 80"),
        (DETAILED | {"ttfts": ["x"] * COUNT}, "row 1 of ttfts is 'x'"),
        (DETAILED | {"errors": ["no"] * COUNT}, "0 of 80 rows have an answer"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(NotAResult, match=said):
        imported(tmp_path, content)


def with_row(name: str, value: object) -> dict[str, Any]:
    """A good file of which one row is replaced."""
    rows = list(DETAILED[name])
    rows[6] = value
    return DETAILED | {name: rows}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (with_row("ttfts", math.nan), "row 7 of ttfts is nan"),
        (with_row("ttfts", -1), "row 7 of ttfts is -1"),
        (with_row("ttfts", True), "row 7 of ttfts is True"),
        (with_row("latencies", 0.01), "row 7 of latencies is 0.01, less than its ttfts, 0.05"),
        (with_row("latencies", math.inf), "row 7 of latencies is inf"),
        (with_row("latencies", 30.0), "row 7 of latencies is 30.0, more than the duration"),
        (with_row("start_times", math.nan), "row 7 of start_times is nan"),
        (with_row("output_lens", -8), "row 7 of output_lens is -8"),
        (with_row("output_lens", 10**30), "row 7 of output_lens is beyond any run"),
        (with_row("input_lens", -64), "row 7 of input_lens is -64"),
        (with_row("input_lens", 2.5), "row 7 of input_lens is 2.5"),
        (with_row("itls", [-0.1]), "row 7 of itls"),
        (with_row("errors", 5), "row 7 of errors is 5"),
        (SUMMARY | {"max_concurrency": 10**9}, "max_concurrency is 1000000000, which 80 requests cannot reach"),
        (SUMMARY | {"max_concurrency": 2.7}, "max_concurrency is 2.7, not a whole number"),
        (SUMMARY | {"completed": 71.5}, "completed is 71.5, not a whole number"),
        (DETAILED | {"completed": 5}, "completed is 5, and 80 of 80 rows have an answer"),
        (SUMMARY | {"failed": 3}, "completed and failed are 83 of 80"),
        (SUMMARY | {"duration": math.inf}, "duration is inf"),
        (SUMMARY | {"duration": 1e-320}, "duration is 1e-320"),
        (SUMMARY | {"date": "20269999-999999"}, "date is '20269999-999999', not a time"),
        (SUMMARY | {"median_ttft_ms": math.nan}, "median_ttft_ms is nan"),
        (SUMMARY | {"model_id": "x" * 501}, "model_id is 'xxx"),
    ],
)
def test_a_figure_that_no_run_can_have_is_refused_by_field_and_row(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(NotAResult, match=re.escape(said)):
        imported(tmp_path, content)


def test_a_file_without_a_time_takes_that_of_the_import(tmp_path: Path) -> None:
    result = imported(tmp_path, {name: value for name, value in SUMMARY.items() if name != "date"})
    assert (result.started_at, "that of the import is shown" in result.notes[1]) == (NOW, True)


def test_what_selwiz_does_not_know_is_not_kept(tmp_path: Path) -> None:
    given = {"prompts": ["my secret"], "extra_body": {"prompt": "my secret"}, "api_key": "my secret", "label": "secret"}
    imported(tmp_path, DETAILED | given)
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_of_an_error_only_its_last_line_is_kept(tmp_path: Path) -> None:
    content = with_row("errors", "Traceback\n  the secret prompt\nTimeoutError: \ud800 late")
    imported(tmp_path, content | {"completed": COUNT - 1})
    kept = json.loads((tmp_path / "out" / "bench-imported.json").read_text())
    assert kept["errors"][6] == "TimeoutError: ? late"


def test_the_requests_of_a_list_are_its_rows_and_not_what_was_asked_for(tmp_path: Path) -> None:
    point = imported(tmp_path, DETAILED | {"num_prompts": 1_000_000}).points[0]
    assert (point.requests, point.failed) == (COUNT, 0)


@pytest.mark.parametrize("special", ["pipe", "device", "folder"])
def test_only_a_regular_file_is_read(tmp_path: Path, special: str) -> None:
    path = tmp_path / "result.json"
    if special == "pipe":
        os.mkfifo(path)
    elif special == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(NotAResult, match=r"cannot be read: (it is no regular file|Is a directory)"):
        import_result(path, request(tmp_path), NOW)


def test_a_file_that_is_larger_than_any_result_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.smoke.imported.MOST_BYTES", 1024 * 1024)
    with (tmp_path / "result.json").open("wb") as stream:
        stream.truncate(1024 * 1024 + 1)
    with pytest.raises(NotAResult, match="it is larger than 1 MiB"):
        import_result(tmp_path / "result.json", request(tmp_path), NOW)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotAResult, match="cannot be read"):
        import_result(tmp_path / "none.json", request(tmp_path), NOW)


def test_evidence_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    imported(tmp_path, SUMMARY)
    with pytest.raises(CannotWriteEvidence):
        imported(tmp_path, SUMMARY)
