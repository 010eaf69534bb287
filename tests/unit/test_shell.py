"""What CUDA_VISIBLE_DEVICES lets a program see; the rules are CUDA's."""

from typing import Any

import pytest

from probes.machine import Gpu, Shell
from probes.reading import Reading
from probes.shell import read_shell

SLICE = {
    "index": 0,
    "uuid": {"value": "MIG-aa11", "source": "x"},
    "gpu_instance_id": {"value": 1, "source": "x"},
    "compute_instance_id": {"value": 0, "source": "x"},
} | {
    name: {"why": "unknown", "source": "x"}
    for name in ("name", "memory_total_bytes", "memory_free_bytes", "multiprocessor_count")
}


def gpu(index: int, bus: int, *, name: str = "NVIDIA H100 PCIe", **rest: Any) -> Gpu:
    known = {"uuid": f"GPU-{'abcd'[index]}{index}00", "pci_bus_id": f"00000000:{bus:02X}:00.0", "name": name}
    readings = {key: Reading[str](value=value, source="x") for key, value in known.items()}
    return Gpu.sparse(index, why="unknown", source="x", **(readings | rest))


ALIKE = [gpu(index, index) for index in range(4)]
MIXED = [gpu(0, 1), gpu(1, 2, name="NVIDIA L4")]


def seen(value: str | None, gpus: list[Gpu] | None = None, **more: str) -> Shell:
    environ = more if value is None else more | {"CUDA_VISIBLE_DEVICES": value}
    return read_shell(ALIKE if gpus is None else gpus, environ)


@pytest.mark.parametrize(
    ("value", "indices"),
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        ("-1", ()),
        ("2", (2,)),
        ("3, 1", (3, 1)),
        ("0,9,1", (0,)),
        ("0,-1,1", (0,)),
        ("0,nonsense,1", (0,)),
        ("0,1,0", ()),
        ("1x", (1,)),
        ("GPU-b100", (1,)),
        ("GPU-c,GPU-a", (2, 0)),
        ("GPU-", ()),
        ("GPU-zz,0", ()),
        ("GPU-b,GPU-zz,GPU-a", (1,)),
    ],
)
def test_the_gpus_that_are_seen(value: str | None, indices: tuple[int, ...]) -> None:
    assert seen(value).visible_gpus.value == indices


def test_cuda_counts_along_the_bus_and_not_by_nvmls_index() -> None:
    assert seen("0", [gpu(0, 9), gpu(1, 3)]).visible_gpus.value == (1,)


def test_cuda_does_not_count_a_gpu_that_is_lost() -> None:
    gpus = [gpu(0, 1, usable=False), gpu(1, 2)]
    assert seen("0", gpus).visible_gpus.value == (1,)


def test_numbers_of_mixed_models_without_an_order_mean_nothing() -> None:
    assert seen("0", MIXED).visible_gpus.why == "unknown"


def test_numbers_of_mixed_models_in_the_order_of_the_bus_mean_something() -> None:
    assert seen("1", MIXED, CUDA_DEVICE_ORDER="PCI_BUS_ID").visible_gpus.value == (1,)


def test_uuids_of_mixed_models_mean_something_in_any_order() -> None:
    assert seen("GPU-b100", MIXED).visible_gpus.value == (1,)


@pytest.mark.parametrize("value", ["MIG-aa11", "MIG-aa", "MIG-aa11,MIG-bb", "MIG-GPU-a000/1/0"])
def test_one_slice_is_seen(value: str) -> None:
    mig = {"enabled": {"value": True, "source": "x"}, "pending": {"value": True, "source": "x"}, "instances": [SLICE]}
    assert seen(value, [gpu(0, 0, mig=mig)]).visible_slices.value == ("MIG-aa11",)


def test_a_slice_that_is_not_there_is_not_seen() -> None:
    assert seen("MIG-zz").visible_slices.value == ()


def test_an_unset_variable_is_no_empty_one() -> None:
    assert seen(None).cuda_visible_devices.why == "not_supported"


def test_a_value_that_is_no_text_can_still_be_written_as_json() -> None:
    assert seen("0\udcff").model_dump_json()
