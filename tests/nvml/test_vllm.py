"""The real vLLM on the stand-in's machines, through the copy of pynvml that it brings along."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from probes.machine import RuntimeFound
from probes.runtimes import find_runtimes, known_flags, supported_architectures
from tests.nvml.fake import FakeNvml
from tests.nvml.plugin import Probe

pytestmark = pytest.mark.vllm

SEEN = """
import json
from vllm.third_party import pynvml as n
n.nvmlInit()
gpus = []
for index in range(n.nvmlDeviceGetCount()):
    h = n.nvmlDeviceGetHandleByIndex(index)
    gpus.append([n.nvmlDeviceGetName(h), n.nvmlDeviceGetUUID(h), n.nvmlDeviceGetMemoryInfo(h).total,
                 list(n.nvmlDeviceGetCudaComputeCapability(h))])
pairs = [n.nvmlDeviceGetP2PStatus(n.nvmlDeviceGetHandleByIndex(0), n.nvmlDeviceGetHandleByIndex(1), 2)]
print(json.dumps([gpus, pairs]))
"""


@pytest.fixture(scope="module")
def vllm() -> RuntimeFound:
    """The vLLM of this environment, or of the one that SELWIZ_VLLM names."""
    named = os.environ.get("SELWIZ_VLLM")
    found = find_runtimes(Path(named) if named else None)
    if not found:
        pytest.skip("no vLLM is installed here; SELWIZ_VLLM=PATH names one")
    return found[0]


def told(vllm: RuntimeFound, env: dict[str, str]) -> list[Any]:
    command = [vllm.interpreter, "-c", SEEN]
    output = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=True).stdout
    seen: list[Any] = json.loads(output.splitlines()[-1])
    return seen


def test_vllm_sees_the_same_gpus(vllm: RuntimeFound, fake_nvml: FakeNvml, probe: Probe) -> None:
    ours = [
        [
            g.name.value,
            g.uuid.value,
            g.memory_total_bytes.value,
            [int(n) for n in str(g.compute_capability.value).split(".")],
        ]
        for g in probe("h100x8").gpus
    ]
    assert told(vllm, fake_nvml.env("h100x8"))[0] == ours


@pytest.mark.parametrize(("scenario", "status"), [("h100x8", 0), ("rtx4090x2-noP2P", 2)])
def test_vllm_sees_the_same_links(vllm: RuntimeFound, fake_nvml: FakeNvml, scenario: str, status: int) -> None:
    assert told(vllm, fake_nvml.env(scenario))[1] == [status]


def test_the_flags_are_those_of_its_own_help(vllm: RuntimeFound) -> None:
    """All but argparse's own: --help, and the negative form of a switch."""
    command = vllm.executable or shutil.which("vllm")
    if command is None:
        pytest.skip("this vLLM has no command beside its interpreter")
    text = subprocess.run([command, "serve", "--help=all"], capture_output=True, text=True, check=True).stdout
    heads = "\n".join(line for line in text.splitlines() if re.match(r" {2}-", line))
    shown = {flag for flag in re.findall(r"(?<![\w-])--[a-z0-9][a-z0-9-]*", heads) if not flag.startswith("--no-")}
    assert {flag for flag in known_flags(vllm) if flag.startswith("--")} == shown - {"--help"}


def test_the_architectures_are_read_without_importing_it(vllm: RuntimeFound) -> None:
    assert {"LlamaForCausalLM", "Qwen3ForCausalLM"} <= supported_architectures(vllm)
