"""An earlier selection opened again: what people answered comes back, and nothing else."""

from pathlib import Path

import pytest

from tests.unit.document_selections import full
from wizard.compare import compare
from wizard.opening import changes_since, session_with_files
from wizard.selection import Selection, to_json
from wizard.snapshot import Snapshot
from wizard.writing import selection_of


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    path = tmp_path / "v1.selection.json"
    path.write_text(to_json(full()), encoding="utf-8")
    return path


def opened(path: Path) -> Selection:
    session = session_with_files([path], resumed=False, short=False)
    return selection_of(Snapshot.of(session), full().machine)


def test_the_answers_are_the_same_again(earlier: Path) -> None:
    assert opened(earlier).answers == full().answers


def test_what_nobody_chose_is_still_a_default(earlier: Path) -> None:
    assert opened(earlier).origin("runtime.settings.gpu_memory_utilization").word == "default"


def test_only_the_run_is_missing(earlier: Path) -> None:
    assert [change.path for change in compare(full(), opened(earlier)).changes] == ["smoke.run_id"]


def test_a_selection_that_has_gone_says_nothing(tmp_path: Path) -> None:
    assert changes_since(str(tmp_path / "gone.selection.json"), full()) is None
