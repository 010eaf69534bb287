"""The fixtures `fake_nvml` and `probe`, for every test that needs a machine with GPUs."""

from pathlib import Path
from typing import Any, Protocol

import pytest

from probes.machine import Machine
from probes.shell import ORDER, VISIBLE
from probes.snapshot import take_machine
from tests.nvml.fake import FakeNvml, Scenario, scenario


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory: pytest.TempPathFactory) -> FakeNvml:
    """Give the builder of stand-in libraries; skips where there is no C compiler."""
    if FakeNvml.compiler() is None:
        pytest.skip("gcc is not installed, so the stand-in for libnvidia-ml.so.1 cannot be built")
    folder: Path = tmp_path_factory.mktemp("nvml")
    return FakeNvml(folder)


class Probe(Protocol):
    """Reads the machine of a scenario; keywords are laid over it."""

    def __call__(self, machine: str | Scenario, *, timeout_s: float = 20.0, **change: Any) -> Machine: ...


@pytest.fixture
def probe(fake_nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Probe:
    """Give the real probe, with the real pynvml in its child, on a machine of the stand-in library.

    The files of this computer's own driver are out of sight.
    """

    for name in (VISIBLE, ORDER):
        monkeypatch.delenv(name, raising=False)

    def read(machine: str | Scenario, *, timeout_s: float = 20.0, **change: Any) -> Machine:
        for name, value in fake_nvml.env(machine, **change).items():
            monkeypatch.setenv(name, value)
        whole = scenario(machine) if isinstance(machine, str) else machine
        for name, text in {**whole.get("files", {}), **change.get("files", {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return take_machine(tool_version="0", timeout_s=timeout_s, root=tmp_path)

    return read
