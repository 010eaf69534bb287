"""Outputs are complete or not there, and nothing is replaced unasked."""

import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes.machine import Machine
from tests.unit.document_selections import almost_empty, full
from wizard.artefacts import artefacts
from wizard.document import write
from wizard.document.evidence import collect
from wizard.document.write import outputs, write_document, write_files, write_text
from wizard.errors import CannotWriteError
from wizard.exit_codes import ExitCode


def put(folder: Path, *, force: bool = False, evidence: dict[str, bytes] | None = None) -> Path:
    target = folder / "proposal.md"
    write_document(target, "text\n", "brief\n", "{}\n", {"a.json": b"1"} if evidence is None else evidence, force=force)
    return target


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, so that a leftover of any name is seen."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_lies_beside_each_other(tmp_path: Path) -> None:
    put(tmp_path)
    assert tree(tmp_path) == {
        "proposal.md": b"text\n",
        "proposal.brief.md": b"brief\n",
        "proposal.selection.json": b"{}\n",
        "proposal.evidence/a.json": b"1",
    }


@pytest.mark.parametrize(("name", "selection"), [("p.md", "p.selection.json"), ("p.q", "p.q.selection.json")])
def test_the_selection_file_is_named_after_the_document(name: str, selection: str) -> None:
    assert outputs(Path(name)).selection == Path(selection)


@pytest.mark.parametrize(
    "name", ["proposal.md", "proposal.brief.md", "proposal.selection.json", "proposal.evidence/a.json"]
)
def test_an_existing_file_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / "proposal.evidence").mkdir()
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(CannotWriteError):
        put(tmp_path)
    assert tree(tmp_path) == {name: b"mine"}


def test_the_error_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    put(tmp_path)
    with pytest.raises(CannotWriteError) as raised:
        put(tmp_path)
    assert (str(tmp_path / "proposal.selection.json") in raised.value.message, "--force" in raised.value.remedy) == (
        True,
        True,
    )


def test_the_error_leads_to_its_exit_code() -> None:
    assert CannotWriteError.code == ExitCode.CANNOT_WRITE


def test_force_replaces(tmp_path: Path) -> None:
    target = put(tmp_path)
    target.write_text("old", encoding="utf-8")
    put(tmp_path, force=True)
    assert target.read_text(encoding="utf-8") == "text\n"


def test_files_are_added_to_an_evidence_folder_that_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "proposal.evidence"
    folder.mkdir()
    (folder / "smoke.json").write_bytes(b"{}")
    put(tmp_path, evidence={"smoke.json": b"{}", "answers.toml": b"x"})
    assert sorted(path.name for path in folder.iterdir()) == ["answers.toml", "smoke.json"]


def test_an_evidence_file_with_the_same_content_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "proposal.evidence"
    folder.mkdir()
    kept = folder / "smoke.json"
    kept.write_bytes(b"{}")
    before = kept.stat().st_ino
    put(tmp_path, evidence={"smoke.json": b"{}"})
    assert kept.stat().st_ino == before


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotWriteError, match=r"cannot be written: No such file or directory"):
        put(tmp_path / "absent")


def test_a_folder_in_place_of_the_document_is_said(tmp_path: Path) -> None:
    (tmp_path / "proposal.md").mkdir()
    with pytest.raises(CannotWriteError, match="is a folder"):
        put(tmp_path, force=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CannotWriteError, match="Permission denied"):
            put(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def _full_after(writes: int, real: Callable[..., None]) -> Callable[..., None]:
    """A disk that is full after some files, met in the middle of a file as it is met in life."""
    done = []

    def fails(path: Path, data: bytes) -> None:
        done.append(path)
        if len(done) > writes:
            path.write_bytes(data[:1])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, data)

    return fails


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    monkeypatch.setattr(write, "_write", _full_after(writes, write._write))
    with pytest.raises(CannotWriteError, match="No space left"):
        put(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_full_disk_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    put(tmp_path)
    before = tree(tmp_path)
    monkeypatch.setattr(write, "_write", _full_after(writes, write._write))
    with pytest.raises(CannotWriteError):
        put(tmp_path, force=True, evidence={"a.json": b"2"})
    assert tree(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_real_full_device_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def to_full(path: Path, data: bytes) -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(data or path.name.encode())

    monkeypatch.setattr(write, "_write", to_full)
    with pytest.raises(CannotWriteError, match="No space left"):
        write_text(tmp_path / "x.md", "x", force=False)


def test_a_move_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.replace
    moved: list[Path] = []

    def replace(self: Path, target: Path) -> Path:
        moved.append(self)
        if len(moved) > 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(CannotWriteError):
        write_files({tmp_path / "a": b"1", tmp_path / "b": b"2"}, force=False)
    assert list(tmp_path.iterdir()) == []


def test_files_get_the_mode_that_the_user_asked_for(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "x", "x", force=False)
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_every_evidence_row_has_the_hash_of_its_file() -> None:
    evidence = collect(full(), {"answers.toml": "[project]\n"})
    assert [row.sha256 for row in evidence.rows] == [
        hashlib.sha256(evidence.files[row.file]).hexdigest() for row in evidence.rows
    ]


def test_evidence_without_machine_and_run_is_answers_catalogue_and_artefacts() -> None:
    assert [row.file for row in collect(almost_empty(), {"answers.toml": ""}).rows] == [
        "answers.toml",
        "catalogue.json",
        "launch.sh",
        "compose.yaml",
        "kubernetes.yaml",
        "alerts.yaml",
    ]


def test_the_machine_of_the_evidence_can_be_read_again() -> None:
    made = full()
    assert Machine.model_validate_json(collect(made, {}).files["machine.json"]) == made.machine


def _smoke_folder(folder: Path) -> Path:
    for name in ("smoke.json", "server.log", "trace-shared.jsonl", "bench-1.json", "private notes.txt"):
        (folder / name).write_text(name, encoding="utf-8")
    return folder


def test_the_files_of_a_run_are_taken_and_no_others(tmp_path: Path) -> None:
    files = collect(full(), {"answers.toml": ""}, _smoke_folder(tmp_path)).files
    assert sorted(set(files) - set(artefacts(full()))) == [
        "answers.toml",
        "bench-1.json",
        "catalogue.json",
        "machine.json",
        "server.log",
        "smoke.json",
        "trace-shared.jsonl",
    ]


def test_a_machine_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    made = full()
    assert made.machine is not None
    there = made.machine.model_dump_json().encode()
    (tmp_path / "machine.json").write_bytes(there)
    assert collect(made, {}, tmp_path).files["machine.json"] == there


def test_the_file_of_another_machine_is_not_taken_for_this_one(tmp_path: Path) -> None:
    made = full()
    assert made.machine is not None
    (tmp_path / "machine.json").write_text(made.machine.model_copy(update={"gpus": ()}).model_dump_json())
    assert Machine.model_validate_json(collect(made, {}, tmp_path).files["machine.json"]) == made.machine


def test_the_catalogue_extract_names_a_source_for_every_strategy() -> None:
    extract: dict[str, Any] = json.loads(collect(full(), {}).files["catalogue.json"])
    assert all(strategy["sources"] for strategy in extract["strategies"])


def test_evidence_ids_count_up() -> None:
    assert [row.id for row in collect(full(), {"answers.toml": ""}).rows] == [f"EV-{n}" for n in range(1, 8)]
