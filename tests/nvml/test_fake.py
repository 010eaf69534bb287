"""The stand-in library, seen through the real pynvml."""

import os
import subprocess
import sys

import pytest

from tests.nvml.fake import LIBRARY, FakeNvml, all_scenarios, flatten, pynvml_symbols, scenario


def ask(env: dict[str, str], code: str) -> str:
    command = [sys.executable, "-c", f"from pynvml import *; nvmlInit(); {code}"]
    return subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=True).stdout.strip()


HANDLE = "h = nvmlDeviceGetHandleByIndex(0); "


def test_every_symbol_that_pynvml_looks_up_is_exported(fake_nvml: FakeNvml) -> None:
    library = fake_nvml.library() / LIBRARY
    table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in table.splitlines()}
    assert pynvml_symbols() <= exported


def test_a_call_without_an_implementation_is_not_supported(fake_nvml: FakeNvml) -> None:
    code = HANDLE + "\ntry: nvmlDeviceGetFanSpeed(h)\nexcept NVMLError as e: print(e.value)"
    assert ask(fake_nvml.env("t4"), code) == "3"


def test_a_hidden_symbol_is_absent_as_on_an_old_driver(fake_nvml: FakeNvml) -> None:
    code = HANDLE + "\ntry: nvmlDeviceGetMemoryInfo(h, nvmlMemory_v2)\nexcept NVMLError as e: print(e.value)"
    env = fake_nvml.env("t4", faults={"hide": ["nvmlDeviceGetMemoryInfo_v2"]})
    assert ask(env, code) == "13"


def test_a_fault_can_begin_with_a_later_call(fake_nvml: FakeNvml) -> None:
    faults = {"return": {"nvmlDeviceGetUUID": 15}, "from_call": {"nvmlDeviceGetUUID": 2}}
    code = HANDLE + "print(nvmlDeviceGetUUID(h)[:3])\ntry: nvmlDeviceGetUUID(h)\nexcept NVMLError as e: print(e.value)"
    assert ask(fake_nvml.env("t4", faults=faults), code) == "GPU\n15"


def test_memory_of_the_old_call_counts_the_reserve_as_used(fake_nvml: FakeNvml) -> None:
    used = scenario("t4")["gpus"][0]["memory_reserved_bytes"]
    assert ask(fake_nvml.env("t4"), HANDLE + "print(nvmlDeviceGetMemoryInfo(h).used)") == str(used)


@pytest.mark.parametrize("name", all_scenarios())
def test_every_scenario_says_what_it_is(name: str) -> None:
    assert scenario(name)["about"]


def test_a_null_takes_a_default_away() -> None:
    lines = flatten({"gpu_defaults": {"nvlinks": 18}, "gpus": [{}, {"nvlinks": None}]}).splitlines()
    assert [line for line in lines if "nvlinks" in line] == ["gpu.0.nvlinks=18"]
