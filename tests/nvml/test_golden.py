"""What `selwiz probe` prints for every machine that is shipped; read the files beside before believing them."""

from pathlib import Path
from typing import Any

import pytest

from probes.host import read_host
from probes.machine import Host, Machine
from probes.reading import Reading
from probes.report import machine_table
from tests.nvml.fake import all_scenarios
from tests.nvml.plugin import Probe
from wizard.machine import enriched

GOLDEN = Path(__file__).parent / "golden"
GIB = 1024**3

#: A host of its own instead of the computer on which the tests run.
STEADY: dict[str, Any] = {
    "os_name": "Debian GNU/Linux 12 (bookworm)",
    "kernel": "6.1.0",
    "glibc": "2.36",
    "cpu_model": "AMD EPYC 9654",
    "cpu_physical_cores": 96,
    "cpu_logical_cores": 192,
    "cpu_usable_cores": 192.0,
    "memory_total_bytes": 128 * GIB,
    "memory_available_bytes": 120 * GIB,
    "memory_usable_bytes": 128 * GIB,
    "shm_total_bytes": 64 * GIB,
    "shm_free_bytes": 64 * GIB,
    "gcc": True,
}


def steady(root: Path) -> Host:
    values = {name: Reading.of(value, "simulated") for name, value in STEADY.items()}
    return read_host(root, {}).model_copy(update={**values, "disks": ()})


@pytest.fixture
def shown(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads the machine of a scenario on the steady host, and held against the catalogue."""
    monkeypatch.setattr("probes.snapshot.read_host", steady)
    monkeypatch.setattr("probes.snapshot.find_runtimes", lambda _: ())

    def read(name: str) -> Machine:
        return enriched(probe(name, timeout_s=3.0 if name == "hang" else 20.0))

    return read


@pytest.mark.parametrize("name", all_scenarios())
def test_the_table_of(name: str, shown: Any, request: pytest.FixtureRequest) -> None:
    """`pytest --update-golden` writes the files anew; read what changed before committing it."""
    text = machine_table(shown(name))
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_there_is_no_golden_text_without_its_scenario() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(all_scenarios())
