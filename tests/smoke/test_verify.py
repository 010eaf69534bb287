"""`verify` against the real vLLM, started by the script that the document's evidence holds.

One server serves two approved selections: the one that it was started from, and one that it is not.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from probes.smoke.children import Children, free_port, quiet_environment
from probes.smoke.http import Client, HttpError
from probes.smoke.plan import VllmTool
from probes.smoke.stopping import Stopper
from probes.smoke.tiny_model import write_tiny_model
from wizard.catalogue.vllm import release_of
from wizard.cli import run

pytestmark = pytest.mark.vllm

ANSWERS = """
[project]
title = "Delivered on this machine"
[[engine.models]]
name = "{model}"
context_tokens = 512
carried_by = "this"
[engine.strategies.prefix_caching]
decision = "{prefix_caching}"
reason = "shared prompts"
[engine.strategies.chunked_prefill]
decision = "adopt"
reason = "long prompts"
[engine.strategies.cuda_graphs]
decision = "reject"
reason = "no GPU"
[runtime]
product = "vLLM"
version = "{version}"
[runtime.layout]
data_parallel = 1
[runtime.workload]
concurrency = 2
input_tokens = 200
output_tokens = 8
[runtime.ceilings]
percentile = 90
ttft_ms = 60000
tpot_ms = 0.001
e2e_ms = 60000
[runtime.settings]
max_model_len = {max_model_len}
extra_flags = ["--load-format dummy", "--enforce-eager", "--port {port}"]
"""
READY_WITHIN_S = 180
DIFFERENT = [
    "engine.strategies.prefix_caching",
    "runtime.version",
    "runtime.settings.max_model_len",
]


class Running:
    """The server, its log, and the two selections."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.url, self.log = folder, f"http://127.0.0.1:{port}", folder / "server.log"

    def verify(self, name: str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
        """Run the command; return its exit code and its JSON."""
        selection = str(self.folder / f"{name}.selection.json")
        code = run(["verify", selection, "--endpoint", self.url, "--log", str(self.log), "--json", *options])
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return code, data


@pytest.fixture(scope="module")
def running(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder, port = tmp_path_factory.mktemp("verify"), free_port()
    (folder / "model").mkdir()
    write_tiny_model(folder / "model", vllm.interpreter)
    made = Running(folder, port)
    same = {"model": folder / "model", "port": port, "version": release_of(vllm.version), "prefix_caching": "adopt"}
    other = same | {"version": "0.1.0", "prefix_caching": "reject"}
    for name, values, length in (("same", same, 1024), ("other", other, 768)):
        (folder / f"{name}.toml").write_text(ANSWERS.format(max_model_len=length, **values))
        run(["propose", "--answers", str(folder / f"{name}.toml"), "-o", str(folder / f"{name}.md")])
    with Children(folder / "state") as children, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        environment = quiet_environment(children.folder, children.run_id)
        environment |= {
            "PATH": f"{Path(vllm.executable[0]).parent}:{os.environ['PATH']}",
            "VLLM_CPU_KVCACHE_SPACE": "1",
        }
        child = children.spawn(("sh", str(folder / "same.evidence" / "launch.sh")), environment, made.log)
        client, deadline = Client(made.url), time.monotonic() + READY_WITHIN_S
        while True:
            try:
                client.request("/health", timeout_s=1)
                break
            except HttpError:
                assert child.poll() is None, made.log.read_text(errors="replace")[-2000:]
                assert time.monotonic() < deadline
            Stopper().wait(0.2)
        yield made


def test_a_server_of_the_document_s_own_script_is_what_was_approved(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = running.verify("same", capsys)
    assert (code, [check for check in data["checks"] if check["verdict"] == "different"]) == (0, [])


def test_version_model_cache_and_strategies_are_seen(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = running.verify("same", capsys)
    seen = {check["what"] for check in data["checks"] if check["verdict"] == "same"}
    assert seen >= {
        "document.content_hash",
        "document.evidence",
        "engine.models[0].name",
        "engine.models[0].context_tokens",
        "engine.strategies.prefix_caching",
        "engine.strategies.chunked_prefill",
        "engine.strategies.cuda_graphs",
        "runtime.product",
        "runtime.version",
        "runtime.layout.data_parallel",
        "runtime.settings.max_model_len",
        "runtime.settings.extra_flags: --load-format",
    }


def test_another_configuration_differs_in_what_was_changed(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = running.verify("other", capsys)
    found = [check["what"] for check in data["checks"] if check["verdict"] == "different"]
    assert (code, found) == (6, DIFFERENT)


def test_a_new_run_tests_the_ceilings_again(
    running: Running, vllm: VllmTool, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = running.verify("same", capsys, "--smoke", "--yes", "--vllm", vllm.executable[0])
    verdicts = {check["what"]: check["verdict"] for check in data["checks"] if "ceilings" in check["what"]}
    assert (code, verdicts) == (
        6,
        {
            "runtime.ceilings.ttft_ms": "same",
            "runtime.ceilings.tpot_ms": "different",
            "runtime.ceilings.e2e_ms": "same",
        },
    )


def test_the_alert_rules_name_metrics_that_the_server_has(running: Running) -> None:
    text = Client(running.url).request("/metrics")
    rules = yaml.safe_load((running.folder / "same.evidence" / "alerts.yaml").read_text())["groups"][0]["rules"]
    named = {word for rule in rules for word in rule["expr"].replace("(", " ").replace("[", " ").split() if ":" in word}
    assert {name for name in named if f"\n{name.rstrip(')')}{{" not in text} == set()
