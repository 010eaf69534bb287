"""Result files of vLLM's load tool: whole, without single requests, damaged, and of another tool."""

import json
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
        (SUMMARY | {"completed": 0}, "no completed request"),
        (SUMMARY | {"duration": "long"}, "duration is no usable number"),
        (SUMMARY | {"duration": 0}, "no usable number"),
        (DETAILED | {"ttfts": [0.05]}, "do not fit together"),
        (DETAILED | {"ttfts": ["x"] * COUNT}, "do not fit together"),
        (DETAILED | {"errors": ["no"] * COUNT}, "do not fit together"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(NotAResult, match=said):
        imported(tmp_path, content)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotAResult, match="cannot be read"):
        import_result(tmp_path / "none.json", request(tmp_path), NOW)


def test_evidence_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    imported(tmp_path, SUMMARY)
    with pytest.raises(CannotWriteEvidence):
        imported(tmp_path, SUMMARY)
