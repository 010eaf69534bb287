"""A start that driver or GPU cannot carry is refused before it is tried."""

from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.machine import Machine, RuntimeFound
from probes.reading import Reading
from probes.smoke.gpu_fit import check_capability, check_driver
from probes.smoke.plan import GpuNeed, VllmTool
from tests.unit.selections import machine as named

TOOL = VllmTool(executable=("vllm",), interpreter=Path("/env/bin/python"), version="0.33.0", build="cuda")
FP8 = GpuNeed(what="The weight format fp_quant in vLLM 0.33.0", compute_capability="10.0")


def machine(driver: str | None, gpu: str = "NVIDIA H100 80GB HBM3", *, cuda: int | None = 13) -> Machine:
    """Two GPUs of a kind, a driver, and the vLLM of `TOOL`."""
    made = named(gpu, gpu)
    version = Reading[str].absent("unknown", "test") if driver is None else Reading.of(driver, "test")
    found = RuntimeFound(
        version="0.33.0",
        build="cuda",
        cuda_major=cuda,
        distribution="vllm",
        interpreter="/env/bin/python",
        found_by="option",
    )
    changed = {"driver": made.driver.model_copy(update={"version": version}), "runtimes": (found,)}
    return made.model_copy(update=changed)


@pytest.mark.parametrize(
    ("driver", "cuda"), [("580.105.08", 13), ("595.1", 13), ("535.1", 12), (None, 13), ("470.1", None)]
)
def test_a_driver_that_suffices_or_is_not_known_passes(driver: str | None, cuda: int | None) -> None:
    assert check_driver(machine(driver, cuda=cuda), TOOL) == ()


@pytest.mark.parametrize(
    ("driver", "gpu"),
    [("550.54", "NVIDIA H100 80GB HBM3"), ("570.1", "NVIDIA GeForce RTX 4090"), ("470.1", "NVIDIA L4")],
)
def test_a_driver_that_is_too_old_is_refused(driver: str, gpu: str) -> None:
    with pytest.raises(ProbeError, match=f"needs driver branch 580 or later; here is branch {driver[:3]}"):
        check_driver(machine(driver, gpu), TOOL)


def test_where_the_compatibility_package_may_help_it_is_only_noted() -> None:
    assert "compatibility package" in check_driver(machine("570.148"), TOOL)[0]


def with_capability(*capabilities: str) -> Machine:
    made = machine("580.1")
    gpus = zip(made.gpus, capabilities, strict=True)
    changed = tuple(gpu.model_copy(update={"compute_capability": Reading.of(one, "test")}) for gpu, one in gpus)
    return made.model_copy(update={"gpus": changed})


def test_a_format_beyond_the_gpu_is_refused() -> None:
    with pytest.raises(ProbeError, match=r"needs compute capability 10\.0; GPU 0 .* has 9\.0"):
        check_capability(with_capability("9.0", "9.0"), ("0",), (FP8,))


def test_a_gpu_older_than_the_build_is_refused() -> None:
    with pytest.raises(ProbeError, match=r"CUDA build needs compute capability 7\.5"):
        check_capability(with_capability("7.0", "9.0"), ("0",), ())


@pytest.mark.parametrize("devices", [("1",), ()])
def test_only_the_gpus_of_the_run_count(devices: tuple[str, ...]) -> None:
    check_capability(with_capability("7.0", "10.0"), devices, (FP8,))


def test_a_capability_is_a_number_and_no_text() -> None:
    check_capability(with_capability("12.0", "12.0"), ("0", "1"), (FP8,))
