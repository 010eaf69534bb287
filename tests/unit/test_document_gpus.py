"""What the document says of the GPUs during a run, and what it leaves out."""

import pytest

from probes.smoke.result import GpuUse, SmokeResult
from tests.unit.document_selections import GPU_USE, smoke
from wizard.document.context.measured_gpus import gpu_rows

MIB = 1024**2


def rows(*uses: GpuUse, energy_j: float | None = None) -> dict[str, str]:
    made: SmokeResult = smoke()
    telemetry = made.telemetry.model_copy(update={"gpu": uses, "energy_j": energy_j, "joule_per_output_token": None})
    found = gpu_rows(made.model_copy(update={"telemetry": telemetry}), "measured RUN-1")
    return {name: text for name, text, _source in found}


@pytest.mark.parametrize(
    ("after", "said"), [(0, "all given back"), (30 * MIB, "all given back"), (2048 * MIB, "2.00 GiB not given back")]
)
def test_whether_the_memory_came_back(after: int, said: str) -> None:
    use = GPU_USE.model_copy(update={"memory_before_bytes": 0, "memory_after_bytes": after})
    assert rows(use)["GPU memory in use by all processes"].endswith(said)


def test_the_memory_of_a_foreign_server_is_only_that_at_most() -> None:
    use = GPU_USE.model_copy(update={"memory_before_bytes": None, "memory_after_bytes": None})
    assert rows(use)["GPU memory in use by all processes"] == "at most 73.20 GiB; before and after not known"


def test_what_one_gpu_does_not_tell_is_said_of_none() -> None:
    silent = GPU_USE.model_copy(update={"gpu": 1, "power_mean_w": None})
    assert "GPU power during the loads" not in rows(GPU_USE, silent)


def test_gpus_that_differ_stand_one_by_one() -> None:
    hotter = GPU_USE.model_copy(update={"gpu": 1, "temperature_peak_c": 70})
    found = rows(GPU_USE, hotter)
    assert found["GPU temperature during the loads"] == "GPU 0 at most 61 °C; GPU 1 at most 70 °C"
    assert found["GPU power during the loads"] == "each mean 412 W, at most 538 W"


def test_without_gpus_there_is_no_row() -> None:
    assert rows() == {}
