"""Where keys go: a run against an endpoint of our own, with a small stand-in for vLLM's load tool."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.smoke.evidence import CannotWriteEvidence
from probes.smoke.observer import Silent
from probes.smoke.plan import Ceiling, ModelFacts, SmokeRequest, VllmTool, WantedStrategy, Workload
from probes.smoke.planning import make_plan
from probes.smoke.result import Point, SmokeResult
from probes.smoke.run import run_smoke
from tests.unit.test_smoke_endpoint import MODELS, Endpoint, serving

#: Sends one request with the key of its environment, as `vllm bench serve` does, and writes a result in its form.
TOOL = """
import json, os, sys, urllib.request
given = dict(zip(sys.argv[1:], sys.argv[2:]))
key, count = os.environ.get("OPENAI_API_KEY"), int(given["--num-prompts"])
headers = {"Authorization": "Bearer " + key} if key else {}
urllib.request.urlopen(urllib.request.Request(given["--base-url"] + "/v1/completions", b"{}", headers)).read()
lists = {"start_times": 0.0, "ttfts": 0.1, "latencies": 0.5, "input_lens": 32, "output_lens": TOKENS, "itls": [0.1]}
result = {name: [value] * count for name, value in lists.items()}
errors = [""] * (count - 1) + ["x" * 195 + key if key else ""]
result |= {"duration": 1.0, "errors": errors, "total_input_tokens": 32 * count}
with open(given["--result-dir"] + "/" + given["--result-filename"], "w") as file:
    json.dump(result, file)
"""
KEY = "total_input"  # a key may be part of a field's name


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        made.answers["/v1/models"] = (200, MODELS.replace("vllm", "made by $KEY"))
        made.answers["/version"] = (200, '{"version": "0.10.1.1 $KEY"}')
        made.answers["/metrics"] = (200, 'vllm:cache_config_info{cache_dtype="$KEY",block_size="nan"} 1\n')
        yield made


def smoke(
    endpoint: Endpoint, folder: Path, *, tokens: int = 8, key: str | None = None, observer: Silent | None = None
) -> SmokeResult:
    """Run against the endpoint with a load tool that counts so many tokens per answer."""
    tool = folder / "tool.py"
    tool.write_text(TOOL.replace("TOKENS", str(tokens)))
    request = SmokeRequest(
        mode="endpoint",
        endpoint_url=endpoint.client.base,
        api_key_env=key,
        workload=Workload(concurrency=1, input_tokens=32, output_tokens=8),
        ceilings=(Ceiling(metric="ttft_ms", limit_ms=200),),
        strategies=(WantedStrategy(id="kv_quantization", decision="adopt"),),
        out_dir=folder / "out",
        state_dir=folder / "state",
    )
    executable = (sys.executable, str(tool))
    vllm = VllmTool(executable=executable, interpreter=Path(sys.executable), version="0.32.0", build="cuda")
    model = ModelFacts(folder=Path("/m"), has_tokenizer=True, weights_bytes=None, is_local=True)
    return run_smoke(request, observer or Silent(), plan=make_plan(request, vllm, model, None))


def test_a_key_of_the_shell_goes_to_nobody(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef0123")
    smoke(endpoint, tmp_path)
    assert (endpoint.keys, len(endpoint.sent)) == ({None}, 3)  # the trial, the warm-up and the load


def test_the_key_that_is_named_reaches_trial_and_load(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef0123")
    monkeypatch.setenv("MY_KEY", KEY)
    smoke(endpoint, tmp_path, key="MY_KEY")
    assert endpoint.keys == {f"Bearer {KEY}"}


def test_a_key_that_the_endpoint_sends_back_is_in_no_file(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    result = smoke(endpoint, tmp_path, key="MY_KEY")
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    bench = json.loads(files.pop("bench-unshared.json"))
    assert bench.pop("total_input_tokens") == 32 * 72  # a name of a field stays, though it holds the key
    assert KEY not in json.dumps(bench)
    assert [name for name, text in files.items() if name[:6] != "bench-" and KEY in text] == []
    assert (result.runtime.product, result.runtime.version) == ("made by Bearer <key>", "0.10.1.1 Bearer <key>")
    assert result.points[0].errors == ("x" * 195 + "<key>",)  # cleaned first, cut then


class Hearing(Silent):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_note(self, text: str) -> None:
        """Keep it."""
        self.told.append(text)


def test_the_target_of_a_redirect_is_told_and_in_no_file(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answers["/v1/models"], hearing = (302, ""), Hearing()
    endpoint.locations["/v1/models"] = "http://192.0.2.2:8000/v1/models"
    smoke(endpoint, tmp_path, observer=hearing)
    assert ["give --endpoint http://192.0.2.2:8000" in told for told in hearing.told] == [True]
    assert "192.0.2.2" not in (tmp_path / "out" / "smoke.json").read_text()


def test_values_of_metrics_that_cannot_be_are_one_sentence_of_the_result(endpoint: Endpoint, tmp_path: Path) -> None:
    result = smoke(endpoint, tmp_path)
    assert [note for note in result.notes if "cannot be" in note] == [
        "/metrics shows values that cannot be, which are left out: block_size."
    ]


def test_an_endpoint_that_miscounts_is_not_judged(endpoint: Endpoint, tmp_path: Path) -> None:
    result = smoke(endpoint, tmp_path, tokens=72)
    assert {one.verdict for point in result.points for one in point.ceilings} == {"not_claimed"}
    assert [note for note in result.notes if "counted as 72" in note] != []


def test_an_endpoint_whose_counts_cannot_be_answers_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    failure = smoke(endpoint, tmp_path, tokens=-3).failure
    assert (failure and failure.kind, "counts -3 tokens" in str(failure)) == ("all_requests_failed", True)


class Overtaken(Silent):
    """Another run puts its result into the folder meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_point(self, _point: Point) -> None:
        """Write it."""
        (self.folder / "smoke.json").write_text("theirs")


def test_no_result_replaces_one_that_appeared_meanwhile_and_the_points_are_kept(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(CannotWriteEvidence, match="already holds") as caught:
        smoke(endpoint, tmp_path, observer=Overtaken(out))
    assert "--resume takes them over" in caught.value.remedy
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("smoke.json", "theirs")]
