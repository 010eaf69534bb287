"""A line under the other options that were priced: its own rows, never those of the other line."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.budget import RuntimeMoney, engine_line, runtime_line
from wizard.budget.alternatives import OptionLine, engine_options, runtime_options


def _item(identifier: str, price: str | None, frequency: str = "yearly", **more: Any) -> dict[str, Any]:
    row = {"id": identifier, "quantity": "1", "unit": "Items", "unit_price": price, "frequency": frequency}
    return {name: value for name, value in (row | more).items() if value is not None}


def _price(name: str, price: str | None, frequency: str = "yearly", *replaces: str, **more: Any) -> dict[str, Any]:
    row = _item("", price, frequency, **more)
    del row["id"]
    return row | {"name": name, "option": "other", "replaces": list(replaces)}


ITEMS = [
    _item("R1", "1000"),
    _item("R4", None, basis="bundled", included_in="R1"),
    _item("R6a", "10"),
    _item("R6b", "20"),
    _item("R8", "300", "one-time"),
    _item("R12", "77", "one-time"),
]


def _options(*prices: dict[str, Any], items: list[dict[str, Any]] = ITEMS) -> tuple[OptionLine[RuntimeMoney], ...]:
    answers = RuntimeBudget.model_validate({"currency": "EUR", "items": items, "alternatives": prices})
    return runtime_options(runtime_line(answers), answers)


def _option(*prices: dict[str, Any], items: list[dict[str, Any]] = ITEMS) -> OptionLine[RuntimeMoney]:
    (option,) = _options(*prices, items=items)
    return option


def test_the_price_stands_in_place_of_what_it_replaces() -> None:
    assert str(_option(_price("H200", "700", "yearly", "R1", "R4")).recurring.money) == "EUR 730.00"


def test_several_prices_are_one_option() -> None:
    option = _option(_price("servers", "5000", "one-time", "R1", "R4"), _price("power", "60"))
    assert (str(option.one_time.money), str(option.recurring.money)) == ("EUR 5,300.00", "EUR 90.00")


def test_an_id_without_a_letter_stands_for_all_of_its_kind() -> None:
    option = _option(_price("x", "1", "yearly", "R6"))
    assert (option.replaced, str(option.recurring.money)) == (("R6a", "R6b"), "EUR 1,001.00")


def test_a_bundle_whose_price_goes_is_not_known() -> None:
    option = _option(_price("H200", "700", "yearly", "R1"))
    assert (option.orphans, option.recurring.money) == (("R4",), None)


def test_an_option_without_a_price_is_not_there() -> None:
    assert _options(_price("asked for", None, "yearly", "R1", "R4")) == ()


def test_an_option_with_one_open_price_has_no_subtotal() -> None:
    option = _option(_price("servers", "5000", "one-time", "R1", "R4"), _price("power", None))
    assert (str(option.one_time.money), option.recurring.money, option.less_a_year) == ("EUR 5,300.00", None, None)


def test_an_item_without_a_price_leaves_the_option_without_one_unless_it_is_replaced() -> None:
    items = [*ITEMS, _item("R7", None)]
    kept = _option(_price("x", "1", "yearly", "R1", "R4"), items=items)
    gone = _option(_price("x", "1", "yearly", "R1", "R4", "R7"), items=items)
    assert (kept.recurring.money, str(gone.recurring.money)) == (None, "EUR 31.00")


def test_what_is_more_at_once_and_less_a_year_pays_back() -> None:
    option = _option(_price("servers", "1200", "one-time", "R1", "R4"), _price("power", "400"))
    assert (option.more_once, option.less_a_year, option.payback_months) == (Decimal(1200), Decimal(600), Decimal(24))


@pytest.mark.parametrize(("once", "yearly"), [("1", "1500"), (None, "400")])
def test_what_saves_nothing_or_costs_nothing_at_once_has_no_time_of_return(once: str | None, yearly: str) -> None:
    prices = [_price("servers", once, "one-time")] if once else []
    assert _option(*prices, _price("power", yearly, "yearly", "R1", "R4")).payback_months is None


def test_a_line_without_one_time_rows_is_compared_with_nothing_at_once() -> None:
    option = _option(_price("servers", "50", "one-time", "R1"), items=[_item("R1", "1000")])
    assert (option.more_once, option.less_a_year) == (Decimal(50), Decimal(1000))


def test_an_option_of_line_e_knows_no_item_of_line_r() -> None:
    answers = EngineBudget.model_validate(
        {"currency": "EUR", "items": [_item("E2", "9")], "alternatives": [_price("x", "5", "yearly", "R1")]}
    )
    (option,) = engine_options(engine_line(answers), answers)
    assert (option.replaced, str(option.recurring.money)) == ((), "EUR 14.00")


_AMOUNT = st.integers(0, 10**9).map(str)
_OFTEN = st.sampled_from(["one-time", "monthly", "yearly"])


@given(st.lists(st.tuples(_AMOUNT, _OFTEN), min_size=1, max_size=5), st.tuples(_AMOUNT, _OFTEN), st.data())
def test_an_option_is_the_line_less_what_it_replaces_and_its_own_price(
    rows: list[tuple[str, str]], price: tuple[str, str], data: st.DataObject
) -> None:
    items = [_item(f"R{number}", *row) for number, row in zip((1, 2, 5, 6, 7), rows, strict=False)]
    ids = [item["id"] for item in items]
    replaced = data.draw(st.lists(st.sampled_from(ids), unique=True))
    option = _option(_price("x", *price, *replaced), items=items)
    counted = [row for name, row in zip(ids, rows, strict=True) if name not in replaced] + [price]
    for subtotal, once in ((option.one_time, True), (option.recurring, False)):
        expected = sum(
            int(amount) * (12 if often == "monthly" else 1)
            for amount, often in counted
            if (often == "one-time") is once
        )
        assert (0 if subtotal.money is None else subtotal.money.amount) == expected
