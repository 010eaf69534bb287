"""Owned hardware: each part from its inputs, nothing without one, and the rows of line R that pay it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rule_mutations.budget import OWNED, owned, owned_inputs
from tests.unit.selections import good_answers, good_selection
from wizard.answers.budget import OwnedPart
from wizard.budget import hourly_r1, runtime_line
from wizard.budget.owned import OwnedYear, owned_year
from wizard.rules import check


def _year(**inputs: Any) -> OwnedYear:
    found = owned_year(good_answers(**owned(**inputs)).budget.runtime)
    assert found is not None
    return found


PARTS = [
    ("depreciation", "EUR 50,000.00"),  # (240,000 - 40,000) / 4
    ("energy", "EUR 8,370.18"),  # 3.5 x 1.3 x 8,760 x 0.21
    ("space", "EUR 8,400.00"),  # 140 x 5 x 12
    ("maintenance", "EUR 9,600.00"),  # 4 % of 240,000
    ("insurance", "EUR 2,000.00"),
    ("staff", "EUR 0.00"),
]


@pytest.mark.parametrize(("part", "amount"), PARTS)
def test_a_part_is_worked_out_from_its_inputs(part: OwnedPart, amount: str) -> None:
    assert str(_year().parts[part]) == amount


def test_all_parts_are_added_as_shown() -> None:
    assert str(_year().all_parts) == "EUR 78,370.18"


def test_an_hour_that_serves_costs_more_the_less_is_used() -> None:
    hours = [_year().per_delivered_hour(Decimal(share)) for share in ("1", "0.5")]
    assert [hour and hour.text(4) for hour in hours] == ["EUR 2.2366", "EUR 4.4732"]


@pytest.mark.parametrize("name", sorted(row["name"] for row in owned_inputs() if row["name"] != "gpus"))
def test_a_missing_input_leaves_its_parts_and_the_whole_not_given(name: str) -> None:
    year = _year(**{name: None})
    lost = {part for part, money in year.parts.items() if money is None}
    assert (name in year.unusable, bool(lost), year.all_parts) == (True, True, None)


def test_without_the_number_of_gpus_no_row_has_a_price() -> None:
    line = runtime_line(good_answers(**owned(gpus=None)).budget.runtime)
    assert line.recurring.unpriced == ("R1", "R2", "R10a", "R10b", "R10c", "R10d")


def test_an_input_without_a_source_is_no_input() -> None:
    inputs = [row | ({"source_ref": None} if row["name"] == "purchase_price" else {}) for row in owned_inputs()]
    answers = good_answers(**owned() | {OWNED: inputs}).budget.runtime
    year = owned_year(answers)
    assert year is not None
    assert (year.parts["depreciation"], year.parts["maintenance"]) == (None, None)


def test_an_input_that_stands_twice_is_no_input() -> None:
    answers = good_answers(**owned() | {OWNED: [*owned_inputs(), owned_inputs()[0]]}).budget.runtime
    year = owned_year(answers)
    assert year is not None
    assert year.unusable == {"purchase_price": "is given 2 times"}


def test_a_price_in_another_currency_is_converted_by_the_rate_of_the_line() -> None:
    rate = {"currency": "USD", "rate": "0.5", "source_ref": "x", "observed_on": "2026-11-20"}
    changes = owned() | {"budget.runtime.rates": [rate], f"{OWNED}[10].currency": "USD"}
    year = owned_year(good_answers(**changes).budget.runtime)
    assert year is not None
    assert str(year.parts["insurance"]) == "EUR 1,000.00"


def test_the_rows_pay_the_parts() -> None:
    line = runtime_line(good_answers(**owned()).budget.runtime)
    assert [(row.id, str(row.amount)) for row in line.rows if row.amount is not None] == [
        ("R1", "EUR 25,000.00"),
        ("R2", "EUR 25,000.00"),
        ("R10a", "EUR 8,370.18"),
        ("R10b", "EUR 8,400.00"),
        ("R10c", "EUR 9,600.00"),
        ("R10d", "EUR 2,000.00"),
    ]


def test_the_hourly_price_of_owned_capacity_is_its_depreciation() -> None:
    hourly = hourly_r1(runtime_line(good_answers(**owned()).budget.runtime))
    assert hourly is not None
    assert hourly.text(4) == "EUR 2.8539"


def test_owned_hardware_that_is_paid_once_has_no_finding() -> None:
    assert [found.rule for found in check(good_selection(**owned()))] == ["M6"]


_VALUES = st.decimals(0, 10**6, places=3)


@given(_VALUES, _VALUES, st.decimals(Decimal("0.5"), 20, places=1), st.integers(1, 64))
def test_what_the_rows_pay_differs_from_the_part_by_rounding_only(
    price: Decimal, residual: Decimal, life: Decimal, gpus: int
) -> None:
    low, high = sorted((price, residual))
    changes = owned(purchase_price=str(high), residual_value=str(low), life_years=str(life), gpus=str(gpus))
    changes["budget.runtime.items"][0]["quantity"] = gpus
    answers = good_answers(**changes).budget.runtime
    year, line = owned_year(answers), runtime_line(answers)
    assert year is not None
    part, paid = year.parts["depreciation"], line.rows[0].amount
    assert part is not None
    assert paid is not None
    # Half a millionth for each GPU, and half a cent.
    assert abs(part.amount - paid.amount) <= Decimal("0.0000005") * gpus + Decimal("0.005")
