"""The GPUs are looked at once a second by a child, on machines of the stand-in library."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import probes.gpu_watch
from probes.gpu_watch import GpuWatch
from probes.smoke.owners import owners_of
from probes.smoke.stopping import Stopper
from probes.smoke.watching import Watching
from tests.nvml.fake import FakeNvml

LIMIT_S = 10
Started = Callable[..., GpuWatch]


@pytest.fixture
def started(fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Started]:
    """Starts a watch on a machine; it is ended after the test."""
    made: list[GpuWatch] = []

    def start(machine: str = "h100x2", gpus: tuple[str, ...] = (), **change: Any) -> GpuWatch:
        for name, value in fake_nvml.env(machine, **change).items():
            monkeypatch.setenv(name, value)
        made.append(GpuWatch(tmp_path, gpus, every_s=0.05))
        made[-1].start()
        return made[-1]

    yield start
    for watch in made:
        watch.close()


def until(watch: GpuWatch, enough: Callable[[list[dict[str, Any]]], object]) -> list[dict[str, Any]]:
    """Read until it is enough, or the time is over."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + LIMIT_S
    while not enough(found) and time.monotonic() < end:
        found += watch.read()
        time.sleep(0.01)
    return found


def test_a_sample_holds_what_the_gpu_tells(started: Started) -> None:
    sample = until(started(gpus=("1",)), lambda found: found)[0]
    del sample["at"]
    assert sample == {
        "gpu": 1,
        "power_w": 70.0,
        "energy_j": 123456.789,
        "sm_clock_mhz": 345,
        "memory_clock_mhz": 2619,
        "temperature_c": 29,
        "throttle_reasons": "idle",
        "sm_percent": 0,
        "pids": [],
        "memory_used_bytes": 0,
        "memory_total_bytes": 85520809984,
    }


def test_what_it_does_not_tell_is_left_out(started: Started) -> None:
    failing = {"return": {"nvmlDeviceGetTotalEnergyConsumption": 3, "nvmlDeviceGetTemperatureV": 3}}
    sample = until(started(faults=failing), lambda found: found)[0]
    assert ("energy_j" in sample, "temperature_c" in sample, sample["power_w"]) == (False, False, 70.0)


def test_a_gpu_is_named_by_its_uuid(started: Started) -> None:
    watch = started(gpus=("GPU-b242b785",))
    found = until(watch, lambda found: len(found) > 2)
    assert {sample["gpu"] for sample in found} == {1}


def test_where_the_driver_dies_at_one_gpu_the_other_is_watched_on(started: Started) -> None:
    watch = started(faults={"crash": {"nvmlDeviceGetFieldValues@0": 1}})
    found = until(watch, lambda found: len(found) > 2)
    assert {sample["gpu"] for sample in found} == {1}
    assert watch.problems == ["the driver ended the watch of the GPUs at GPU 0"]


def test_a_driver_that_hangs_stops_nobody(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = started(faults={"delay_ms": {"nvmlDeviceGetTotalEnergyConsumption": 60_000}})
    until(watch, lambda _found: watch.uuids)  # until then it is starting, which takes longer on a busy machine
    monkeypatch.setattr(probes.gpu_watch, "SILENT_S", 1.0)
    until(watch, lambda _found: watch.problems)
    assert watch.problems[0] == "the driver did not answer the watch of the GPUs at GPU 0"


def test_without_a_driver_there_is_one_sentence(started: Started) -> None:
    watch = started("no-library")
    until(watch, lambda _found: watch.problems)
    assert len(watch.problems) == 1
    assert "could not be watched" in watch.problems[0]


@pytest.fixture
def listening() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.parametrize(("pid", "gpus"), [(os.getpid(), {1}), (1, set())])
def test_the_gpus_of_an_endpoint_are_those_of_the_process_that_listens(
    fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listening: int, pid: int, gpus: set[int]
) -> None:
    machine = [{"uuid": "GPU-a"}, {"uuid": "GPU-b", "processes": f"{pid} 1000"}]
    for name, value in fake_nvml.env("h100x2", gpus=machine).items():
        monkeypatch.setenv(name, value)
    watching = Watching(Stopper())
    watching.start(tmp_path, ())
    found = watching.keep_only(owners_of(listening).serves)
    kept = {sample.gpu for sample in watching.watched.gpu}
    watching.close()
    assert (set(found), kept) == (gpus, gpus)
