"""Machines that are not this one: recorded, or to be bought; and what the catalogue adds to any of them."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.errors import ProbeError
from probes.host import read_host
from probes.machine import Driver, Gpu, Machine, RuntimeFound
from probes.reading import Reading
from probes.recorded import MOST_BYTES, read_machine_file, recorded_text
from wizard.catalogue import gpus
from wizard.decision.proof import is_planned
from wizard.errors import UsageError
from wizard.machine import confidence_of, counted_name, enriched, machine_at, planned

H100 = "NVIDIA H100 80GB HBM3"
MIB = 1024**2


def reading(value: Any, source: str = "nvml:x") -> Reading[Any]:
    return Reading[Any](value=value, source=source)


def machine(**known: Any) -> Machine:
    """A machine with one GPU."""
    absent: Reading[str] = Reading.absent("unknown", "nvml")
    readings = {name: reading(value) if name != "memory_kind" else value for name, value in known.items()}
    return Machine(
        tool_version="0",
        taken_at=datetime(2026, 11, 30, tzinfo=UTC),
        driver=Driver(version=absent, cuda=absent, nvml=absent),
        gpus=(Gpu.sparse(0, why="not_supported", source="nvml:x", **readings),),
        links=(),
        host=read_host(),
        runtimes=(),
        problems=(),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A recorded machine."""
    path = tmp_path / "machine.json"
    path.write_text(recorded_text(machine(name=H100)))
    return path


def refused(file: Path) -> str:
    with pytest.raises(ProbeError) as caught:
        read_machine_file(file)
    return caught.value.message


def changed(file: Path, *path: str | int, value: object) -> Path:
    whole = json.loads(file.read_text())
    part = whole
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file.write_text(json.dumps(whole))
    return file


def test_a_recorded_machine_reads_back_as_it_was(file: Path) -> None:
    assert read_machine_file(file).gpus == machine(name=H100).gpus


def test_a_recorded_machine_says_so(file: Path) -> None:
    assert read_machine_file(file).recorded is True


def test_the_output_of_probe_json_is_a_recorded_machine_too(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(machine(name=H100).model_dump_json())
    assert read_machine_file(tmp_path / "m.json").recorded is True


def test_a_file_of_an_older_version_lacks_the_newer_readings(file: Path) -> None:
    whole = json.loads(file.read_text())
    del whole["gpus"][0]["energy_j"], whole["shell"], whole["driver"]["branch"]
    file.write_text(json.dumps(whole))
    assert read_machine_file(file).gpus[0].energy_j.why == "not_in_capture"


@pytest.mark.parametrize("home", ["/home/somebody", "/Users/somebody"])
def test_no_users_name_is_recorded(home: str) -> None:
    paths = {name: f"{home}/venv/{name}" for name in ("interpreter", "executable", "package_dir")}
    found = RuntimeFound(version="0.33.0", build="cpu", distribution="vllm", found_by="path", **paths)
    text = recorded_text(machine().model_copy(update={"runtimes": (found,)}))
    assert ("somebody" in text, "~/venv/interpreter" in text) == (False, True)


def test_a_file_that_was_cut_off(file: Path) -> None:
    file.write_text(file.read_text()[:-400])
    assert "cut off" in refused(file)


def test_a_file_of_a_later_schema(file: Path) -> None:
    assert "schema version 2" in refused(changed(file, "schema_version", value=2))


def test_a_file_without_a_schema(file: Path) -> None:
    file.write_text("[]")
    assert "no schema_version" in refused(file)


def test_a_wrong_type_is_named_by_its_place(file: Path) -> None:
    broken = changed(file, "gpus", 0, "memory_total_bytes", "value", value="much")
    assert "gpus[0].memory_total_bytes" in refused(broken)


def test_a_reading_with_value_and_reason_is_refused(file: Path) -> None:
    assert "gpus[0].name" in refused(changed(file, "gpus", 0, "name", "why", value="unknown"))


def test_a_file_of_50_megabytes(tmp_path: Path) -> None:
    with (tmp_path / "m.json").open("wb") as stream:
        stream.truncate(50_000_000)
    assert f"{MOST_BYTES // MIB} MiB" in refused(tmp_path / "m.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "There is no file" in refused(tmp_path / "m.json")


def test_a_folder_is_no_machine(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize("text", ["", "\ufeff{}", "[" * 100_000, '{"schema_version": true}', "null", "NaN"])
def test_nonsense_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    assert "\n" not in refused(tmp_path / "m.json")


@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(data)
    assert refused(path)


def test_a_planned_machine_has_as_many_gpus_as_asked() -> None:
    assert len(planned("H100 SXM5 80GBx8").gpus) == 8


def test_one_gpu_where_no_number_is_given() -> None:
    assert len(planned("L40S").gpus) == 1


def test_a_planned_gpu_bears_the_name_that_nvml_will_report() -> None:
    assert planned("H100 SXM5 80GBx8").gpus[0].name == reading(H100, "plan")


def test_a_planned_gpu_may_be_named_as_nvml_names_it() -> None:
    assert planned(f"{H100}x2").gpus[0].memory_total_bytes.value == 81559 * MIB


def test_a_part_of_a_name_will_do_if_it_fits_one() -> None:
    assert planned("h200 sxmx8").gpus[0].name.value == "NVIDIA H200"


def test_what_no_catalogue_knows_is_known_on_delivery() -> None:
    machine = planned("L40S")
    assert {machine.gpus[0].uuid.why, machine.driver.version.why, machine.host.kernel.why} == {"known_on_delivery"}


def test_a_planned_machine_is_known_as_one() -> None:
    assert is_planned(planned("L40Sx4"))


def test_a_planned_machine_that_was_recorded_is_still_planned(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(recorded_text(planned("L40Sx4")))
    assert is_planned(machine_at(str(tmp_path / "m.json")))


@pytest.mark.parametrize("row", gpus(), ids=lambda row: row.name)
def test_every_gpu_of_the_catalogue_can_be_planned(row: Any) -> None:
    gpu = planned(f"{row.name}x2").gpus[1]
    assert (gpu.memory_bandwidth_gb_s.value, confidence_of(gpu, gpu.memory_bandwidth_gb_s)) == (
        row.memory_bandwidth_gb_s,
        row.confidence,
    )


@pytest.mark.parametrize(
    "text", ["", "x8", "no such GPU", "H100x8", "L40Sx0", "L40Sx2000", "L40Sx999999999999", "L40S\nx2"]
)
def test_a_plan_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        planned(text)


def test_an_ambiguous_plan_names_the_choices() -> None:
    with pytest.raises(UsageError) as caught:
        planned("H100")
    assert "H100 SXM5 80GB, H100 NVL 94GB" in caught.value.remedy


def test_a_bandwidth_that_is_not_known_is_filled_with_its_confidence() -> None:
    found = enriched(machine(name="NVIDIA GB10", memory_kind="unified")).gpus[0].memory_bandwidth_gb_s
    assert found == reading(273.0, "catalogue:derived")


def test_a_bandwidth_that_was_computed_is_kept() -> None:
    gpu = enriched(machine(name=H100, memory_bandwidth_gb_s=1000.0)).gpus[0]
    assert gpu.memory_bandwidth_gb_s.value == 1000.0


@pytest.mark.parametrize(("computed", "told"), [(3352.32, False), (3510.0, False), (3520.0, True), (3000.0, True)])
def test_a_bandwidth_that_differs_by_more_than_5_percent_is_told(computed: float, told: bool) -> None:
    problems = enriched(machine(name=H100, memory_bandwidth_gb_s=computed)).problems
    assert [problem.code for problem in problems] == ["bandwidth_differs"] * told


def test_what_was_told_once_is_not_told_again() -> None:
    once = enriched(machine(name=H100, memory_bandwidth_gb_s=1000.0))
    assert enriched(once).problems == once.problems


def test_a_gpu_that_no_catalogue_knows_stays_as_it_is() -> None:
    unknown = machine(name="NVIDIA Example 9000")
    assert enriched(unknown) == unknown


def test_a_slice_is_not_given_the_bandwidth_of_the_whole() -> None:
    gpu = enriched(machine(name="NVIDIA A100-SXM4-40GB", memory_kind="partition")).gpus[0]
    assert gpu.memory_bandwidth_gb_s.value is None


def test_a_reading_of_the_driver_has_no_confidence() -> None:
    gpu = machine(name=H100, memory_bandwidth_gb_s=3352.0).gpus[0]
    assert confidence_of(gpu, gpu.memory_bandwidth_gb_s) is None


def test_a_path_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    assert refused(tmp_path / os.fsdecode(b"a\xff"))


@pytest.mark.parametrize(
    ("typed", "name", "count"),
    [
        ("2 x H100", "H100", "2"),
        ("2x h100", "h100", "2"),
        (" 16 × L40S ", "L40S", "16"),
        ("8 B200 SXM 180GB", "B200 SXM 180GB", "8"),
        ("RTX 6000 Ada", "RTX 6000 Ada", ""),
        ("0 x H100", "0 x H100", ""),
        ("2x", "2x", ""),
        ("", "", ""),
    ],
)
def test_a_number_before_a_name_is_taken_off(typed: str, name: str, count: str) -> None:
    assert counted_name(typed) == (name, count)


def test_no_gpu_of_the_catalogue_has_a_name_with_a_number_before_it() -> None:
    assert [row.name for row in gpus() if counted_name(row.name)[1]] == []
