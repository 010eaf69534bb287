"""The real vLLM, found in the environment that runs the tests or named by SELWIZ_TEST_VLLM."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.smoke.observer import Silent
from probes.smoke.plan import Ceiling, SmokeRequest, VllmTool, WantedStrategy, Workload
from probes.smoke.prepare import look_up_tool
from probes.smoke.tiny_model import CONFIG, write_tiny_model

LIGHT = Workload(concurrency=2, input_tokens=200, output_tokens=8)
CEILINGS = (
    Ceiling(metric="ttft_ms", percentile=95, limit_ms=60_000),
    Ceiling(metric="tpot_ms", percentile=95, limit_ms=0.001),
    Ceiling(metric="e2e_ms", percentile=90, limit_ms=60_000),
)
WANTED = (
    WantedStrategy(id="prefix_caching", decision="adopt"),
    WantedStrategy(id="chunked_prefill", decision="adopt"),
    WantedStrategy(id="tensor_parallel", decision="reject"),
    WantedStrategy(id="disaggregated_pd", decision="defer"),
    WantedStrategy(id="structured_output", decision="adopt"),
    WantedStrategy(id="tool_reasoning_parsers", decision="adopt"),
)


class Watching(Silent):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.lines: list[str] = []

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        del detail, elapsed_s
        self.phases.append(phase)

    def on_log(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="session")
def vllm() -> VllmTool:
    """The installed vLLM; without one the test is skipped, with the cause."""
    given = os.environ.get("SELWIZ_TEST_VLLM")
    try:
        return look_up_tool(Path(given) if given else None)
    except ProbeError as problem:
        pytest.skip(f"{problem.message} ({problem.remedy}; or set SELWIZ_TEST_VLLM)")


@pytest.fixture(scope="session")
def config_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that holds config.json and nothing else."""
    folder = tmp_path_factory.mktemp("config-only")
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def real_weights(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with weights on disk, made by the library that vLLM loads models with."""
    folder = tmp_path_factory.mktemp("weights")
    write_tiny_model(folder, vllm.interpreter)
    script = (
        "import sys, torch\n"
        "from transformers import AutoConfig, AutoModelForCausalLM\n"
        "config = AutoConfig.from_pretrained(sys.argv[1])\n"
        "AutoModelForCausalLM.from_config(config).to(torch.bfloat16).save_pretrained(sys.argv[1])\n"
    )
    command = [str(vllm.interpreter), "-P", "-c", script, str(folder)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    return folder


def request_for(mode: str, vllm: VllmTool, folder: Path, **more: object) -> SmokeRequest:
    """A small request whose files all lie below `folder`."""
    values: dict[str, object] = {
        "mode": mode,
        "vllm": Path(vllm.executable[0]),
        "workload": LIGHT,
        "ceilings": CEILINGS,
        "strategies": WANTED,
        "time_limit_s": 300,
        "out_dir": folder / "out",
        "state_dir": folder / "state",
        **more,
    }
    return SmokeRequest.model_validate(values)
