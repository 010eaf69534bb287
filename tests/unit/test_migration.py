"""What a change costs each line, from a person's own days and rate; nothing across lines."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.selections import good_answers
from wizard.asking.answers_file import InvalidAnswersError, merge, parse_layer, validate
from wizard.budget.migration import engine_changes, runtime_changes
from wizard.budget.money import EngineMoney
from wizard.catalogue import migrations


def _days(line: str, change: str, days: str = "2") -> dict[str, str]:
    return {row.id: days for row in migrations().values() if (row.line, row.change) == (line, change)}


def _answers(rate: str | None = "700.00", **days: str) -> Any:
    migration: dict[str, Any] = {"days": days, **({"day_rate": rate} if rate else {})}
    return good_answers(**{"budget.engine.migration": migration}).budget.engine


def test_days_times_the_rate() -> None:
    costs = engine_changes(_answers(**_days("E", "engine")))
    count = len(costs[0].works)
    assert costs[0].sum == EngineMoney(amount=Decimal("1400.00") * count, currency="EUR")


def test_the_other_direction_is_its_own_sum() -> None:
    assert engine_changes(_answers(**_days("E", "engine")))[1].sum is None


def test_work_without_days_leaves_no_sum_and_is_named() -> None:
    days = _days("E", "engine")
    days.pop("flags")
    cost = engine_changes(_answers(**days))[0]
    assert (cost.sum, cost.without_days) == (None, ("flags",))


def test_without_a_rate_there_is_no_amount() -> None:
    assert {work.amount for work in engine_changes(_answers(None, **_days("E", "engine")))[0].works} == {None}


def test_zero_days_are_an_estimate_and_not_missing() -> None:
    assert engine_changes(_answers(**_days("E", "engine", "0")))[0].sum == EngineMoney(
        amount=Decimal("0.00"), currency="EUR"
    )


def test_every_piece_of_work_stands_in_one_line() -> None:
    budget = good_answers().budget
    ids = [work.row.id for cost in engine_changes(budget.engine) for work in cost.works]
    ids += [work.row.id for cost in runtime_changes(budget.runtime) for work in cost.works]
    assert (len(ids), set(ids)) == (len(migrations()), set(migrations()))


@given(st.decimals(0, 10_000, places=2), st.decimals(0, 400, places=1))
def test_the_sum_is_the_sum_of_its_rows(rate: Decimal, days: Decimal) -> None:
    cost = engine_changes(_answers(str(rate), **_days("E", "hardware", str(days))))[1]
    assert cost.sum is not None
    assert cost.sum.amount == sum(work.amount.amount for work in cost.works if work.amount is not None)


@pytest.mark.parametrize(
    ("line", "work", "words"),
    [
        ("engine", "flagz", "is not work of line E; the nearest one is flags"),
        ("engine", "commitments", "is not work of line E"),
        ("runtime", "flags", "is not work of line R"),
    ],
)
def test_work_that_does_not_exist_is_one_sentence(line: str, work: str, words: str) -> None:
    text = f"schema_version = 1\n[budget.{line}.migration]\ndays = {{ {work} = 3 }}\n"
    with pytest.raises(InvalidAnswersError) as problem:
        validate(merge([parse_layer(text, "a.toml")]))
    assert [words in found.message for found in problem.value.problems] == [True]
