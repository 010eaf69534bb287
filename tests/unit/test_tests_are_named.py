"""The tests that `tests/README.md` names are there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", (TESTS / "README.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_is_there(file: str, name: str) -> None:
    found = [path.read_text(encoding="utf-8") for path in TESTS.rglob(file)]
    assert found
    assert f"def {name}(" in found[0] or not name
