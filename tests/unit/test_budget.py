"""The two lines: amounts, subtotals, states, unit costs, and that they never add."""

from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from wizard.answers import EngineBudget, RuntimeBudget
from wizard.budget import (
    CATALOGUE,
    EngineLine,
    EngineMoney,
    EngineSubtotal,
    RuntimeLine,
    RuntimeMoney,
    base_id,
    engine_line,
    engine_unit_cost,
    hourly_r1,
    idle_memo,
    item_order,
    runtime_line,
    runtime_unit_costs,
    tokens_per_year,
)


def _item(identifier: str, quantity: str, price: str, frequency: str = "yearly", **more: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "quantity": quantity,
        "unit": "Person-Days",
        "unit_price": price,
        "frequency": frequency,
    } | more


def _line_e(*items: dict[str, Any], **line: Any) -> EngineLine:
    return engine_line(EngineBudget.model_validate({"currency": "EUR", "items": items} | line))


def _line_r(*items: dict[str, Any], **line: Any) -> RuntimeLine:
    return runtime_line(RuntimeBudget.model_validate({"currency": "EUR", "items": items} | line))


E1 = EngineMoney(amount=Decimal("1009.01"), currency="EUR")
R1 = RuntimeMoney(amount=Decimal("2003.07"), currency="EUR")


# ---------------------------------------------------------------- money


def test_money_of_both_lines_cannot_be_added() -> None:
    with pytest.raises(TypeError, match="EngineMoney cannot be added to RuntimeMoney"):
        E1 + R1  # type: ignore[operator]


def test_money_of_both_lines_cannot_be_added_the_other_way_round() -> None:
    with pytest.raises(TypeError):
        R1 + E1  # type: ignore[operator]


@pytest.mark.parametrize("both", [[E1, R1], [R1, E1]])
def test_money_of_both_lines_cannot_be_summed(both: list[Any]) -> None:
    with pytest.raises(TypeError):
        sum(both)


@pytest.mark.parametrize("number", [Decimal(1), 1, 1.0])
def test_money_cannot_be_added_to_a_plain_number(number: Any) -> None:
    with pytest.raises(TypeError):
        E1 + number


def test_a_plain_number_cannot_be_added_to_money() -> None:
    with pytest.raises(TypeError):
        5 + E1


def test_money_of_one_line_sums() -> None:
    assert sum([E1, E1]) == EngineMoney(amount=Decimal("2018.02"), currency="EUR")


def test_two_currencies_cannot_be_added() -> None:
    with pytest.raises(ValueError, match="EUR cannot be added to USD"):
        E1 + EngineMoney(amount=Decimal(1), currency="USD")


def test_money_of_both_lines_is_never_equal() -> None:
    other: object = RuntimeMoney(amount=Decimal(1), currency="EUR")
    assert other != EngineMoney(amount=Decimal(1), currency="EUR")


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
def test_money_is_finite(amount: str) -> None:
    with pytest.raises(ValidationError):
        EngineMoney(amount=Decimal(amount), currency="EUR")


@pytest.mark.parametrize(
    ("currency", "text"),
    [("JPY", "JPY 12,346"), ("USD", "USD 12,345.68"), ("EUR", "EUR 12,345.68"), ("KWD", "KWD 12,345.679")],
)
def test_money_is_written_at_the_minor_unit(currency: str, text: str) -> None:
    assert EngineMoney(amount=Decimal("12345.6785"), currency=currency).text() == text


@pytest.mark.parametrize(
    ("amount", "plain"), [("2.675", "2.68"), ("0.005", "0.01"), ("2.665", "2.67"), ("1E+3", "1000.00")]
)
def test_halves_are_rounded_up(amount: str, plain: str) -> None:
    assert EngineMoney(amount=Decimal(amount), currency="USD").plain() == plain


def test_json_carries_a_plain_decimal() -> None:
    money = EngineMoney(amount=Decimal("1E+3"), currency="EUR")
    assert money.model_dump(mode="json") == {"amount": "1000", "currency": "EUR"}


@pytest.mark.parametrize(("price", "text"), [("3.1700", "EUR 3.1700"), ("1875", "EUR 1,875.00"), ("0.5", "EUR 0.50")])
def test_a_unit_price_keeps_its_digits(price: str, text: str) -> None:
    assert RuntimeMoney(amount=Decimal(price), currency="EUR").exact_text() == text


# ---------------------------------------------------------------- rows and subtotals


def test_the_example_line_e_adds_up() -> None:
    line = _line_e(
        _item("E3", "18", "720.00", "one-time"),
        _item("E4", "9", "720.00", "one-time"),
        _item("E6a", "6", "720.00", "one-time"),
        _item("E8", "4", "950.00", "one-time"),
        _item("E1", "4", "0.00"),
        _item("E2", "4", "1875.00"),
        _item("E6b", "8", "720.00"),
        _item("E7", "12", "720.00"),
        _item("E9", "1", "0.00"),
    )
    assert [str(subtotal.money) for subtotal in (line.one_time, line.recurring)] == ["EUR 27,560.00", "EUR 21,900.00"]


def test_the_example_line_r_adds_up() -> None:
    line = _line_r(
        _item("R1", "17520", "3.1700"),
        _item("R1e", "120", "3.8900", "usage-yearly"),
        _item("R2", "17520", "3.1700"),
        {"id": "R4", "basis": "bundled", "included_in": "R1 and R2", "frequency": "yearly"},
        _item("R5", "7200", "0.0900"),
        _item("R6", "12", "41.50"),
        _item("R7", "24", "23.00"),
        _item("R8a", "5", "640.00", "one-time"),
        _item("R8b", "0.25", "92000.00"),
        _item("R9", "12", "310.00"),
    )
    assert [str(subtotal.money) for subtotal in (line.one_time, line.recurring)] == ["EUR 3,200.00", "EUR 139,961.60"]


def test_rows_stand_in_the_order_of_the_catalogue() -> None:
    items = [_item(i, "1", "1") for i in ("E10", "E9", "E6b", "E2", "E6a", "E1")]
    assert [row.id for row in _line_e(*items).rows] == ["E1", "E2", "E6a", "E6b", "E9", "E10"]


def test_a_row_remembers_the_answer_it_was_made_from() -> None:
    line = _line_e(_item("E2", "1", "1"), _item("E1", "1", "1"))
    assert [row.key for row in line.rows] == ["budget.engine.items[1]", "budget.engine.items[0]"]


def test_a_monthly_row_counts_twelve_times_its_rounded_amount() -> None:
    line = _line_r(_item("R9", "1", "10.005", "monthly"))
    assert line.rows[0].yearly == RuntimeMoney(amount=Decimal("120.12"), currency="EUR")


def test_an_amount_in_yen_has_no_fraction() -> None:
    line = _line_e(_item("E4", "3", "10.5", "one-time"), currency="JPY")
    assert str(line.one_time.money) == "JPY 32"


def test_a_missing_price_voids_the_subtotal_and_names_the_item() -> None:
    line = _line_e(_item("E4", "9", "720"), {"id": "E2", "quantity": 4, "frequency": "yearly"})
    assert (line.recurring.money, line.recurring.unpriced) == (None, ("E2",))


def test_a_missing_price_leaves_the_other_period_alone() -> None:
    line = _line_e(_item("E4", "9", "720", "one-time"), {"id": "E2", "quantity": 4, "frequency": "yearly"})
    assert str(line.one_time.money) == "EUR 6,480.00"


def test_an_unpriced_row_without_a_frequency_voids_both_subtotals() -> None:
    line = _line_e(_item("E4", "9", "720", "one-time"), _item("E7", "1", "1"), {"id": "E2"})
    assert (line.one_time.money, line.recurring.money) == (None, None)


def test_a_missing_price_has_no_amount() -> None:
    (row,) = _line_e({"id": "E2", "quantity": 4, "frequency": "yearly"}).rows
    assert (row.state, row.amount, row.missing) == ("not_given", None, ("unit_price",))


def test_a_price_without_a_currency_is_no_price() -> None:
    (row,) = _line_e(_item("E2", "4", "10"), currency=None).rows
    assert (row.state, row.amount, row.missing) == ("not_given", None, ("currency",))


def test_a_price_of_zero_is_a_price() -> None:
    line = _line_e(_item("E1", "4", "0.00"))
    assert str(line.recurring.money) == "EUR 0.00"


def test_a_period_without_rows_has_no_subtotal() -> None:
    line = _line_e(_item("E1", "4", "0.00"))
    assert (line.one_time.money, line.one_time.rows, line.one_time.unpriced) == (None, (), ())


def test_what_is_not_needed_voids_nothing() -> None:
    line = _line_e(_item("E4", "1", "5"), {"id": "E5", "state": "not_needed", "reason": "published checkpoint"})
    assert (str(line.recurring.money), [row.id for row in line.not_needed_rows]) == ("EUR 5.00", ["E5"])


def test_a_stated_not_given_wins_over_a_price() -> None:
    line = _line_e(_item("E4", "1", "5", state="not_given"))
    assert line.recurring.money is None


def test_a_bundled_row_is_priced_and_adds_nothing() -> None:
    line = _line_r(_item("R1", "1", "5"), {"id": "R4", "basis": "bundled", "included_in": "R1", "frequency": "yearly"})
    bundled = line.rows[1]
    assert (bundled.state, bundled.amount, str(line.recurring.money)) == ("priced", None, "EUR 5.00")


def test_a_bundled_row_that_names_no_item_is_not_given() -> None:
    line = _line_r(_item("R1", "1", "5"), {"id": "R4", "basis": "bundled", "frequency": "yearly"})
    assert line.recurring.unpriced == ("R4",)


@pytest.mark.parametrize("memo", ["E10"])
def test_the_exit_from_the_engine_is_never_added(memo: str) -> None:
    line = _line_e(_item("E4", "1", "5", "one-time"), _item(memo, "20", "720", "one-time"))
    assert (str(line.one_time.money), [row.id for row in line.memo_rows]) == ("EUR 5.00", [memo])


@pytest.mark.parametrize("memo", ["R3", "R12"])
def test_idle_and_exit_of_the_runtime_are_never_added(memo: str) -> None:
    line = _line_r(_item("R1", "1", "5"), _item(memo, "20", "720"))
    assert (str(line.recurring.money), [row.id for row in line.memo_rows]) == ("EUR 5.00", [memo])


def test_an_unpriced_memo_voids_nothing() -> None:
    line = _line_r(_item("R1", "1", "5"), {"id": "R12"})
    assert (str(line.recurring.money), line.unpriced) == ("EUR 5.00", ())


def test_contingency_stands_beside_the_subtotal() -> None:
    line = _line_e(_item("E4", "1", "27560", "one-time"), contingency_percent="10")
    assert ([str(c.money) for c in line.contingency], str(line.one_time.money)) == (["EUR 2,756.00"], "EUR 27,560.00")


def test_contingency_never_covers_an_unpriced_row() -> None:
    line = _line_e(_item("E4", "1", "5", "one-time"), {"id": "E3", "frequency": "one-time"}, contingency_percent="10")
    assert [c.money for c in line.contingency] == [None]


def test_a_line_without_items_has_nothing() -> None:
    line = _line_e(contingency_percent="10")
    assert (line.rows, line.one_time.money, line.recurring.money, line.contingency) == ((), None, None, ())


def test_a_line_comes_back_from_its_file() -> None:
    line = _line_r(_item("R1", "17520", "3.1700"), {"id": "R4"}, contingency_percent="5")
    assert RuntimeLine.model_validate_json(line.model_dump_json()) == line


def test_line_e_is_not_read_as_line_r() -> None:
    with pytest.raises(ValidationError):
        RuntimeLine.model_validate_json(_line_e(_item("E4", "1", "5")).model_dump_json())


def test_a_subtotal_of_line_e_takes_no_money_of_line_r() -> None:
    with pytest.raises(ValidationError):
        EngineSubtotal(period="one-time", money=R1, rows=(), unpriced=())


# ---------------------------------------------------------------- unit costs


@pytest.mark.parametrize(
    ("utilisation_tokens", "text"), [(1500 * 31_536_000, "USD 1.4778"), (525 * 31_536_000, "USD 4.2222")]
)
def test_two_h100_at_3_99_and_1500_tokens_a_second(utilisation_tokens: int, text: str) -> None:
    line = _line_r(_item("R1", "17520", "3.99"), currency="USD")
    costs = runtime_unit_costs(hourly_r1(line), 1500.0, utilisation_tokens)
    assert costs is not None
    assert costs.rows[0].quoted.text(4) == text


def test_the_example_unit_cost_of_line_e() -> None:
    line = _line_e(_item("E2", "1", "21900"))
    cost = engine_unit_cost(line, tokens_per_year(13_500_000, 224))
    assert cost is not None
    assert cost.text() == "EUR 7.24"


def test_the_table_of_line_r_has_the_volume_and_four_fixed_utilisations() -> None:
    costs = runtime_unit_costs(RuntimeMoney(amount=Decimal("6.34"), currency="EUR"), 700.0, 3_024_000_000)
    assert costs is not None
    assert [(row.from_volume, format(row.utilisation, ".3f")) for row in costs.rows] == [
        (True, "0.137"),
        (False, "0.250"),
        (False, "0.500"),
        (False, "0.750"),
        (False, "1.000"),
    ]


def test_the_table_shows_the_price_twenty_percent_up_and_down() -> None:
    costs = runtime_unit_costs(RuntimeMoney(amount=Decimal("6.34"), currency="EUR"), 700.0, 3_024_000_000)
    assert costs is not None
    assert [money.text() for money in costs.rows[-1][2:]] == ["EUR 2.01", "EUR 2.52", "EUR 3.02"]


def test_a_volume_that_the_rate_does_not_carry_has_no_row() -> None:
    costs = runtime_unit_costs(RuntimeMoney(amount=Decimal(1), currency="EUR"), 1.0, 10**9)
    assert costs is not None
    assert not any(row.from_volume for row in costs.rows)


@pytest.mark.parametrize(
    ("hourly", "rate", "tokens"),
    [(None, 700.0, 10), (R1, None, 10), (R1, 0.0, 10), (R1, 700.0, None), (R1, 700.0, 0)],
)
def test_without_price_rate_or_volume_there_is_no_unit_cost(
    hourly: RuntimeMoney | None, rate: float | None, tokens: int | None
) -> None:
    assert runtime_unit_costs(hourly, rate, tokens) is None


def test_an_incomplete_line_e_has_no_unit_cost() -> None:
    assert engine_unit_cost(_line_e({"id": "E2", "frequency": "yearly"}), 10**9) is None


def test_the_hourly_price_leaves_out_spare_and_caused_rows() -> None:
    line = _line_r(
        _item("R1", "17520", "3.1700"),
        _item("R1e", "120", "3.89", "usage-yearly", cause="E6a"),
        _item("R2", "17520", "3.1700"),
    )
    hourly = hourly_r1(line)
    assert hourly is not None
    assert hourly.text() == "EUR 6.34"


def test_a_monthly_rental_has_the_same_hourly_price() -> None:
    hourly = hourly_r1(_line_r(_item("R1", "1460", "3.1700", "monthly")))
    assert hourly is not None
    assert hourly.text(4) == "EUR 6.3400"


def test_an_unpriced_part_of_r1_leaves_no_hourly_price() -> None:
    assert hourly_r1(_line_r(_item("R1a", "1", "1"), {"id": "R1b", "frequency": "yearly"})) is None


def test_idle_is_the_unused_share_of_r1() -> None:
    line = _line_r(_item("R1", "8760", "1.00"))
    memo = idle_memo(line, 1.0, 7_884_000)
    assert memo is not None
    assert (memo[0], memo[1].text()) == (Decimal("0.25"), "EUR 6,570.00")


# ---------------------------------------------------------------- catalogue and properties


def test_the_catalogue_has_ten_items_of_line_e_and_thirteen_of_line_r() -> None:
    assert [item.id for item in CATALOGUE] == [f"E{n}" for n in range(1, 11)] + [f"R{n}" for n in range(1, 14)]


@pytest.mark.parametrize(
    ("item", "base"), [("E6a", "E6"), ("R13", "R13"), ("E", None), ("X1", None), ("E6A", None), (None, None)]
)
def test_a_letter_belongs_to_its_item(item: str | None, base: str | None) -> None:
    assert base_id(item) == base


def test_an_id_that_is_none_comes_last() -> None:
    assert sorted(["x", "R1", "E2a", "E2"], key=item_order) == ["E2", "E2a", "R1", "x"]


_AMOUNTS = st.decimals(min_value=0, max_value=10**12 - 1, places=6, allow_nan=False).map(lambda d: format(d, "f"))
_FREQUENCIES = st.sampled_from(["one-time", "monthly", "yearly", "usage-yearly"])
_CURRENCIES = st.sampled_from(["JPY", "EUR", "KWD"])


@given(st.lists(st.tuples(_AMOUNTS, _AMOUNTS, _FREQUENCIES), min_size=1, max_size=6), _CURRENCIES)
def test_a_subtotal_is_the_sum_of_the_amounts_shown(rows: list[tuple[str, str, str]], currency: str) -> None:
    line = _line_e(*(_item("E4", *row) for row in rows), currency=currency)
    for subtotal in (line.one_time, line.recurring):
        shown = [row.added_to(subtotal.period) for row in line.rows]
        with localcontext(prec=60):  # more digits than the default context keeps
            total = sum((Decimal(money.plain()) for money in shown if money is not None), Decimal(0))
        assert subtotal.money is None or Decimal(subtotal.money.plain()) == total


@given(_AMOUNTS, _AMOUNTS, _CURRENCIES)
def test_an_amount_is_within_half_a_minor_unit(quantity: str, price: str, currency: str) -> None:
    (row,) = _line_r(_item("R1", quantity, price), currency=currency).rows
    assert row.amount is not None
    half = Decimal(5).scaleb(-{"JPY": 0, "EUR": 2, "KWD": 3}[currency] - 1)
    # 36 digits at most, more than the default context keeps
    numerator = int(Decimal(quantity).scaleb(6)) * int(Decimal(price).scaleb(6))
    assert abs(int(row.amount.amount.scaleb(12)) - numerator) <= int(half.scaleb(12))


@given(st.permutations(["E1", "E2", "E6a", "E6b", "E10"]))
def test_the_order_of_the_answers_does_not_matter(order: list[str]) -> None:
    line = _line_e(*(_item(item, "1", "1") for item in order))
    assert [row.id for row in line.rows] == ["E1", "E2", "E6a", "E6b", "E10"]


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_a_subtotal_is_stated_exactly_when_every_row_is_priced(priced: list[bool]) -> None:
    items = [_item("E4", "1", "1") if has else {"id": "E4", "frequency": "yearly"} for has in priced]
    assert (_line_e(*items).recurring.money is not None) == all(priced)
