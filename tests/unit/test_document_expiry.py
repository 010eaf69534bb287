"""What of a measurement has lapsed when the answers have moved on, and where the document and `propose` say it."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from probes.smoke.result import SmokeResult
from tests.unit.document_selections import DAY, full, machine, select, smoke
from tests.unit.test_document import example, lookup
from wizard.asking.answers_writer import render_answers
from wizard.cli import run
from wizard.document.render import render

ENGINE, RUNTIME, TODAY = "1.8 Confirmation and expiry", "2.10 Confirmation and expiry", "On the day of this document"
VERSION, PRICE = "Minor version of the engine", "A price of line R passes its date"
WEIGHTS = "/hub/models--Qwen--Qwen3-32B-FP8/snapshots/0be21c7f"


def _stands(where: tuple[str, str], *, ran: SmokeResult | None = None, **changed: Any) -> str:
    text = render(select(example(**changed), on=machine(), run=ran or smoke()))
    return lookup(text, where[0], where[1], TODAY)


MOVED_ON: list[tuple[tuple[str, str], dict[str, Any], str]] = [
    ((ENGINE, VERSION), {"runtime__version": "0.34.0"}, "version 0.33.0 was measured, 0.34.0 is proposed"),
    (
        (ENGINE, "Another format of weights or cache"),
        {"runtime__settings__kv_cache_dtype": "fp8"},
        "key-value cache type (auto measured, fp8 proposed)",
    ),
    (
        (RUNTIME, "Another GPU model, count or layout"),
        {"runtime__layout__tensor_parallel": 1},
        "tensor parallel size (2 measured, 1 proposed)",
    ),
    (
        (RUNTIME, "Another driver branch"),
        {"runtime__hardware__driver": "branch 595"},
        "driver branch 580 was measured, branch 595 is proposed",
    ),
    (
        (RUNTIME, "Another flag or variable"),
        {"runtime__settings__max_num_seqs": 64},
        "--max-num-seqs 64 is proposed, the run had --max-num-seqs 32",
    ),
    ((RUNTIME, "Another load"), {"runtime__workload__input_tokens": 9000}, "6,144 prompt tokens, not 9,000"),
    (
        (RUNTIME, "A ceiling is tightened"),
        {"runtime__ceilings__ttft_ms": 900},
        "a TTFT ceiling of 1,500 ms, not 900",
    ),
]


@pytest.mark.parametrize(("where", "changed", "words"), MOVED_ON, ids=[row[0][1] for row in MOVED_ON])
def test_what_moved_on_since_the_run_has_lapsed(where: tuple[str, str], changed: dict[str, Any], words: str) -> None:
    assert _stands(where, **changed) == f"lapsed: {words}"


@pytest.mark.parametrize("where", [row[0] for row in MOVED_ON], ids=[row[0][1] for row in MOVED_ON])
def test_what_is_as_it_was_measured_says_so(where: tuple[str, str]) -> None:
    assert _stands(where) == "the same as in the run"


def test_other_weights_than_those_measured_have_lapsed_the_run() -> None:
    tree = example()
    tree["engine"]["models"][0]["revision"] = "4f1c9e0"
    text = render(select(tree, on=machine(), run=smoke().model_copy(update={"model": WEIGHTS})))
    said = "lapsed: revision 0be21c7f of the weights was measured, 4f1c9e0 is proposed"
    assert lookup(text, ENGINE, "Another revision of the weights", TODAY) == said


def test_a_short_commit_is_the_long_one() -> None:
    tree = example()
    tree["engine"]["models"][0]["revision"] = "0be21c7"
    text = render(select(tree, on=machine(), run=smoke().model_copy(update={"model": WEIGHTS})))
    assert lookup(text, ENGINE, "Another revision of the weights", TODAY) == "the same as in the run"


def test_a_run_grows_old() -> None:
    old = smoke().model_copy(update={"ended_at": "2026-08-01T09:47:00Z"})
    assert _stands((RUNTIME, "Age of the run"), ran=old) == "lapsed"


def test_behind_an_endpoint_the_driver_is_not_visible() -> None:
    behind = smoke().model_copy(update={"mode": "endpoint"})
    assert _stands((RUNTIME, "Another driver branch"), ran=behind) == "not visible behind the endpoint"


def test_a_run_of_a_stand_in_shows_nothing_of_the_selection() -> None:
    tiny = smoke().model_copy(update={"mode": "tiny"})
    assert _stands((ENGINE, VERSION), ran=tiny) == "not shown by the run: pipeline only"


def test_a_price_that_has_ended_is_named() -> None:
    tree = example()
    tree["budget"]["runtime"]["items"][0]["valid_until"] = DAY - datetime.timedelta(days=1)
    assert lookup(render(select(tree)), RUNTIME, PRICE, TODAY) == "lapsed: R1"


def test_propose_on_old_evidence_lists_what_has_lapsed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = full()
    assert made.machine is not None
    (tmp_path / "machine.json").write_text(made.machine.model_dump_json())
    (tmp_path / "smoke.json").write_text(smoke().to_json())
    answers = tmp_path / "answers.toml"
    answers.write_text(render_answers(example(runtime__hardware__driver="branch 595"), blanks=False))
    run(["propose", "--answers", str(answers), "--evidence", str(tmp_path), "--date", "2027-03-01", "--dry-run"])
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Lapsed")]
    assert said == [
        "Lapsed since the run: the run is 95 days old.",
        "Lapsed since the run: driver branch 580 was measured, branch 595 is proposed.",
    ]
