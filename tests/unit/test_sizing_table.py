"""The README shows the table of errors as the script prints it."""

from pathlib import Path

import pytest

from tests.benchmarks.sizing import lines, summary

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ROWS = lines()


@pytest.mark.parametrize("line", summary(ROWS))
def test_the_readme_has_the_line(line: str) -> None:
    assert f"{line}\n" in README


def test_every_answer_of_vllm_is_in_the_table() -> None:
    assert len(ROWS) >= 100


@pytest.mark.parametrize("row", [row for row in ROWS if row[4][0].isdigit()], ids=lambda row: f"{row[0]} {row[2]}")
def test_weights_are_within_half_a_percent(row: tuple[str, str, str, str, str]) -> None:
    assert abs(float(row[4]) - 1) <= 0.005


@pytest.mark.parametrize("row", [row for row in ROWS if row[3][0].isdigit()], ids=lambda row: f"{row[0]} {row[2]}")
def test_the_cache_is_exact(row: tuple[str, str, str, str, str]) -> None:
    assert row[3] == "1"
