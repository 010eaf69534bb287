"""What exists against what the runtime needs: a row says yes or no only where the two can be compared."""

from typing import Any

import pytest

from probes.cuda import branch_in
from tests.unit.selections import GPU, good_selection, machine, on_host
from wizard.serving.fit import cuda_major, fit_rows

_X = "runtime.existing"
_SGLANG: dict[str, Any] = {"runtime.product": "SGLang", "runtime.version": "0.5.23", "engine.strategies": {}}

ROWS: list[tuple[str, dict[str, Any], str, str]] = [
    ("a platform cannot be compared", {}, "Platform", "not checked"),
    ("Windows is not Linux", {f"{_X}.platform": "Windows Server"}, "Platform", "no"),
    ("WSL is Linux", {f"{_X}.platform": "Windows 11 with WSL 2"}, "Platform", "not checked"),
    ("the memory of a container elsewhere is not known", {"machine": on_host(machine(GPU, GPU), shm_total_bytes=2**34)},
     "Shared memory", "not checked"),
    ("shared memory on the host itself", {"machine": on_host(machine(GPU, GPU), shm_total_bytes=2**34),
                                          f"{_X}.platform": "bare metal"}, "Shared memory", "yes"),
    ("a container's shared memory", {"machine": on_host(machine(GPU, GPU), shm_total_bytes=2**26)},
     "Shared memory", "no"),
    ("the path is open", {}, "Gateway", "yes"),
    ("all of /v1 is open", {"runtime.security.open_paths": "/v1/*"}, "Gateway", "yes"),
    ("the path is not on the list", {"runtime.security.open_paths": "/v1/models"}, "Gateway", "no"),
    ("an interface that the product lacks",
     {"engine.interfaces": "Anthropic Messages API", "runtime.product": "TensorRT-LLM", "engine.strategies": {}},
     "Gateway", "no"),
    ("no list of paths", {"runtime.security.open_paths": ...}, "Gateway", "not checked"),
    ("Prometheus reads it", {}, "Monitoring", "yes"),
    ("a tool that is not known", {f"{_X}.monitoring": "own scripts"}, "Monitoring", "not checked"),
    ("metrics that are off", _SGLANG, "Monitoring", "no"),
    ("metrics switched on", {**_SGLANG, "runtime.settings.extra_flags": ["--enable-metrics"]}, "Monitoring", "yes"),
    ("nobody asks who calls", {f"{_X}.identity": "none"}, "Identity", "no"),
    ("nothing is pinned yet", {}, "Registry", "not checked"),
    ("all is pinned", {"runtime.image": "vllm/vllm-openai@sha256:0f1e"}, "Registry", "yes"),
    ("the branch is new enough", {}, "Driver policy", "yes"),
    ("the branch is too old", {f"{_X}.driver_policy": "550"}, "Driver policy", "no"),
    ("a build for CUDA 12", {f"{_X}.driver_policy": "550", "runtime.image": "vllm cu129"}, "Driver policy", "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "item", "fits"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_row_of_the_fit(changes: dict[str, Any], item: str, fits: str) -> None:
    (row,) = [row for row in fit_rows(good_selection(smoke=None, **changes)) if row.item == item]
    assert row.fits == fits


@pytest.mark.parametrize("changes", [row[1] for row in ROWS], ids=[row[0] for row in ROWS])
def test_only_what_does_not_fit_has_a_reason(changes: dict[str, Any]) -> None:
    for row in fit_rows(good_selection(smoke=None, **changes)):
        assert bool(row.because) == (row.fits == "no")


def test_one_gpu_needs_no_shared_memory() -> None:
    alone: dict[str, Any] = {"runtime.layout.tensor_parallel": 1, "runtime.hardware.gpus_per_replica": 1}
    assert "Shared memory" not in [row.item for row in fit_rows(good_selection(**alone))]


@pytest.mark.parametrize(("version", "major"), [("0.33.0", 13), ("0.33.0+cpu", None), ("0.12.0", None)])
def test_the_cuda_version_of_a_wheel(version: str, major: int | None) -> None:
    changes: dict[str, Any] = {"runtime.version": version}
    assert cuda_major(good_selection(**changes)) == major


@pytest.mark.parametrize(
    ("text", "branch"), [("580.105.08", 580), ("branch 580 or later", 580), ("every 6 months", None), (None, None)]
)
def test_the_branch_in_a_text(text: str | None, branch: int | None) -> None:
    assert branch_in(text) == branch
