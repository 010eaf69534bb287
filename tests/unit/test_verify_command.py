"""`selwiz verify` from the command line; a small server of our own plays the delivered one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from probes.recorded import recorded_text
from probes.smoke.children import free_port
from tests.unit.deliveries import LABELS, approved, log_text
from tests.unit.document_selections import full
from tests.unit.selections import GPU, MODEL, good_selection, machine
from tests.unit.test_smoke_endpoint import Endpoint, serving
from wizard.cli import run
from wizard.decision.selection import Selection, to_json
from wizard.document.render import render

MODELS = {"data": [{"id": MODEL, "root": MODEL, "owned_by": "vllm", "max_model_len": 16384}]}


def _metrics(**labels: str) -> str:
    shown = ",".join(f'{key}="{value}"' for key, value in (LABELS | {"engine": "0"} | labels).items())
    return f"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{shown}}} 1.0\n"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        made.answers["/v1/models"] = (200, json.dumps(MODELS))
        made.answers["/version"] = (200, '{"version": "0.33.0"}')
        made.answers["/metrics"] = (200, _metrics())
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    selection = good_selection()
    (tmp_path / "p.selection.json").write_text(to_json(selection))
    (tmp_path / "p.md").write_text(render(selection))
    (tmp_path / "machine.json").write_text(recorded_text(machine(GPU, GPU, GPU, GPU)))
    (tmp_path / "server.log").write_text(log_text())
    return tmp_path


def _verify(folder: Path, *options: str) -> int:
    given = ["--machine", str(folder / "machine.json"), "--log", str(folder / "server.log")]
    return run(["verify", str(folder / "p.selection.json"), *given, *options])


def _json(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    _verify(folder, "--json", *options)
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def test_the_right_delivery_is_0(folder: Path, endpoint: Endpoint) -> None:
    assert _verify(folder, "--endpoint", endpoint.client.base) == 0


def test_the_right_delivery_says_so(folder: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    data = _json(folder, capsys, "--endpoint", endpoint.client.base + "/v1")
    assert (data["matches"], data["document_hash"]) == (True, "same")


def test_a_wrong_delivery_is_6(folder: Path, endpoint: Endpoint) -> None:
    endpoint.answers["/version"] = (200, '{"version": "0.32.0"}')
    assert _verify(folder, "--endpoint", endpoint.client.base) == 6


def test_strict_is_6_where_something_is_hidden(folder: Path, endpoint: Endpoint) -> None:
    assert _verify(folder, "--endpoint", endpoint.client.base, "--strict") == 6


def test_strict_makes_a_hidden_check_no_match(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _json(folder, capsys, "--strict")["matches"] is False


def test_nobody_there_is_4(folder: Path) -> None:
    assert _verify(folder, "--endpoint", f"http://127.0.0.1:{free_port()}") == 4


def test_a_refused_key_is_4(folder: Path, endpoint: Endpoint) -> None:
    endpoint.answers["/v1/models"] = (401, "{}")
    assert _verify(folder, "--endpoint", endpoint.client.base) == 4


def test_metrics_that_were_named_must_answer(folder: Path, endpoint: Endpoint) -> None:
    assert _verify(folder, "--metrics-url", endpoint.client.base + "/elsewhere") == 4


def test_metrics_may_lie_elsewhere(folder: Path, endpoint: Endpoint) -> None:
    endpoint.answers["/desk/metrics"] = (200, _metrics(cache_dtype="fp8"))
    assert _verify(folder, "--metrics-url", endpoint.client.base + "/desk/metrics") == 6


def test_an_endpoint_without_metrics_hides_what_they_show(
    folder: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    del endpoint.answers["/metrics"]
    (folder / "server.log").write_text(log_text({"gpu_memory_utilization": 0.5}, {"kv_cache_dtype": ...}))
    checks = {
        row["what"]: row["verdict"] for row in _json(folder, capsys, "--endpoint", endpoint.client.base)["checks"]
    }
    assert checks["runtime.settings.kv_cache_dtype"] != "different"


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1, 2]", '{"schema_version": 1}', '{"schema_version": 9, "engine_line": {}}'],
)
def test_a_file_that_is_no_selection_is_2(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.selection.json").write_text(text)
    assert (_verify(folder), capsys.readouterr().err.count("selwiz:")) == (2, 1)


@pytest.mark.parametrize(
    "options",
    [
        ["--smoke"],
        ["--endpoint", "ftp://127.0.0.1"],
        ["--endpoint", "http://me:secret@127.0.0.1:1"],
        ["--endpoint", "http://127.0.0.1:1", "--api-key-env", "NO_SUCH_VARIABLE"],
        ["--endpoint", "https://127.0.0.1:1", "--ca", "no-such-file"],
        ["--log", "no-such-file"],
        ["--machine", "no-such-file"],
    ],
)
def test_what_cannot_be_used_is_2(folder: Path, options: list[str]) -> None:
    assert _verify(folder, *options) == 2


def test_the_key_goes_to_the_endpoint_only(folder: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "s3cret-key")
    with serving() as other:
        other.answers["/metrics"] = (200, _metrics())
        options = ["--endpoint", endpoint.client.base, "--metrics-url", other.client.base, "--api-key-env", "KEY"]
        _verify(folder, *options)
        assert ("Bearer s3cret-key" in endpoint.keys, other.keys) == (True, {None})


def test_a_document_of_another_selection_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.md").write_text(render(full()))
    assert _json(folder, capsys)["document_hash"] == "different"


def test_without_a_document_its_hash_is_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.md").unlink()
    assert _json(folder, capsys)["document_hash"] is None


def _report(folder: Path, selection: Selection) -> str:
    (folder / "p.selection.json").write_text(to_json(selection))
    _verify(folder, "-o", str(folder / "report.md"))
    return (folder / "report.md").read_text(encoding="utf-8")


def _shape(text: str) -> list[str]:
    return [token.type for token in MarkdownIt("commonmark").enable("table").parse(text)]


def test_the_report_says_what_could_not_be_seen(folder: Path) -> None:
    text = _report(folder, good_selection())
    hidden = text.partition("## What could not be seen")[2].partition("## What is the same")[0]
    assert "runtime.ceilings.ttft&#95;ms" in hidden or "`runtime.ceilings.ttft_ms`" in hidden


def test_the_report_ends_with_empty_cells_for_people(folder: Path) -> None:
    assert "| Owner of the runtime |   |   |" in _report(folder, good_selection())


@pytest.mark.parametrize("text", ["a|b", "x\n## Approved by all", "<script>", "`` ` ``", "[x](http://y)", "| --- |"])
def test_a_person_s_text_cannot_change_the_report(folder: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "other").mkdir()
    plain = _report(folder, approved({"engine.models[0].name": "plain", "runtime.version": "plain"}))
    (folder / "report.md").unlink()
    hostile = _report(folder, approved({"engine.models[0].name": text, "runtime.version": text}))
    assert [t for t in _shape(hostile) if "inline" not in t] == [t for t in _shape(plain) if "inline" not in t]


def test_an_existing_report_is_not_replaced(folder: Path) -> None:
    (folder / "report.md").write_text("mine")
    assert _verify(folder, "-o", str(folder / "report.md")) == 7
