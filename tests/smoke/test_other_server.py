"""A real server that is no vLLM: `transformers serve` refuses what vLLM's load client sends, and that is told."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.smoke.children import free_port
from probes.smoke.endpoint import look_at, version_of
from probes.smoke.http import Client, HttpError
from probes.smoke.plan import VllmTool
from probes.smoke.run import run_smoke
from probes.smoke.tiny_model import write_tiny_model
from tests.smoke.conftest import Watching, request_for

pytestmark = pytest.mark.vllm

START_S = 120
_COMMIT = "0" * 39 + "1"


@pytest.fixture(scope="module")
def serving(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. It lists what lies in the Hub's cache, so the tiny model lies in a cache of its own, offline."""
    command = vllm.interpreter.parent / "transformers"
    if not command.exists():
        pytest.skip(f"there is no {command}")
    home = tmp_path_factory.mktemp("hub")
    model = home / "hub" / "models--selwiz--tiny"
    write_tiny_model(model / "snapshots" / _COMMIT, vllm.interpreter)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(_COMMIT, encoding="ascii")
    address = f"http://127.0.0.1:{(port := free_port())}"
    child = subprocess.Popen(
        [str(command), "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        env=os.environ | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + START_S
        while not _answers(address):
            assert child.poll() is None, "it ended"
            assert time.monotonic() < end, "it did not start in time"
            time.sleep(0.2)
        yield address
    finally:
        child.terminate()
        child.wait(timeout=30)
        shutil.rmtree(home)


def _answers(address: str) -> bool:
    try:
        return bool(Client(address).request("/health"))
    except HttpError:
        return False


def test_its_payload_is_refused_in_one_sentence_with_both_fields(serving: str, vllm: VllmTool, tmp_path: Path) -> None:
    result = run_smoke(request_for("endpoint", vllm, tmp_path, endpoint_url=serving), Watching())
    assert result.failure is not None
    said = result.failure.message
    assert (result.failure.kind, "repetition_penalty" in said, "ignore_eos" in said, "\n" in said) == (
        "endpoint_refused",
        True,
        True,
        False,
    )
    assert (result.points, result.runtime.version, result.runtime.command) == ((), None, None)


def test_what_it_does_not_show_is_not_assumed(serving: str) -> None:
    client = Client(serving)
    served = look_at(client, None)
    assert (served.name, served.max_model_len, served.version, version_of(client)) == ("selwiz/tiny", None, None, None)
    with pytest.raises(HttpError, match="404"):
        client.request("/metrics")
