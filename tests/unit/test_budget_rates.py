"""Prices in another currency than their line's: converted by a dated rate of that line, or not given."""

import itertools
import string
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iso4217 import Currency, __published__

from tests.unit.document_selections import DAY, select
from tests.unit.test_document import lookup, part
from wizard.answers import EngineBudget, RuntimeBudget
from wizard.asking.answers_file import problems_of
from wizard.budget import EngineLine, RuntimeLine, engine_line, runtime_line
from wizard.currencies import is_currency, list_date, minor_digits
from wizard.document.invariants import violations
from wizard.document.render import render

RATE: dict[str, Any] = {"currency": "USD", "rate": "0.8612", "source_ref": "reference rate", "observed_on": DAY}
ITEM: dict[str, Any] = {
    "id": "E3",
    "quantity": "10",
    "unit": "Person-Days",
    "unit_price": "99.99",
    "currency": "USD",
    "frequency": "one-time",
}


def _line(*rates: dict[str, Any], **item: Any) -> EngineLine:
    return engine_line(EngineBudget.model_validate({"currency": "EUR", "rates": rates, "items": [ITEM | item]}))


def test_a_price_is_converted_once_and_rounded_once() -> None:
    (row,) = _line(RATE).rows
    assert (str(row.unit_price), row.rate, str(row.amount)) == ("USD 99.99", Decimal("0.8612"), "EUR 861.11")


def test_a_rate_of_the_other_line_is_of_no_use() -> None:
    runtime = RuntimeBudget.model_validate({"currency": "EUR", "items": [ITEM | {"id": "R8"}]})
    assert runtime_line(runtime).one_time.unpriced == ("R8",)


@pytest.mark.parametrize("lacks", ["rate", "source_ref", "observed_on"])
def test_an_incomplete_rate_converts_nothing(lacks: str) -> None:
    (row,) = _line({name: value for name, value in RATE.items() if name != lacks}).rows
    assert (row.state, row.missing, row.amount) == ("not_given", ("rate",), None)


def test_two_rates_for_one_currency_convert_nothing() -> None:
    assert _line(RATE, RATE | {"rate": "0.9"}).one_time.unpriced == ("E3",)


def test_a_price_in_the_currency_of_the_line_needs_no_rate() -> None:
    assert str(_line(currency="EUR").one_time.money) == "EUR 999.90"


def test_a_line_without_a_currency_converts_nothing() -> None:
    line = engine_line(EngineBudget.model_validate({"items": [ITEM], "rates": [RATE]}))
    assert line.rows[0].missing == ("currency",)


def test_a_line_with_rates_comes_back_from_its_file() -> None:
    made = _line(RATE)
    assert EngineLine.model_validate_json(made.model_dump_json()) == made


_PRICES = st.decimals(0, 10**6, places=4).map(lambda value: format(value, "f"))
_RATES = st.decimals(Decimal("0.000000000001"), 10**5, places=12).map(lambda value: format(value, "f"))


@given(_PRICES, _PRICES, _RATES, st.sampled_from(["JPY", "EUR", "KWD"]))
def test_the_amount_is_the_product_rounded_once(quantity: str, price: str, rate: str, currency: str) -> None:
    answers = {
        "currency": currency,
        "rates": [RATE | {"rate": rate}],
        "items": [ITEM | {"id": "R8", "quantity": quantity, "unit_price": price}],
    }
    line: RuntimeLine = runtime_line(RuntimeBudget.model_validate(answers))
    with localcontext(prec=80):
        exact = Decimal(quantity) * Decimal(price) * Decimal(rate)
        shown = exact.quantize(Decimal(1).scaleb(-minor_digits(currency)), rounding=ROUND_HALF_UP)
    assert line.one_time.money is not None
    assert line.one_time.money.amount == shown


# ---------------------------------------------------------------- the list of currencies


@pytest.mark.parametrize("code", ["DEM", "XAU", "XXX", "XTS", "AAA"])
def test_a_code_that_nobody_is_paid_in_is_refused(code: str) -> None:
    (problem,) = problems_of({"budget": {"engine": {"currency": code}}})
    assert problem.message.startswith("is no currency of ISO 4217, list of 20")


@pytest.mark.parametrize(("code", "digits"), [("JPY", 0), ("EUR", 2), ("KWD", 3), ("CLF", 4), ("ISK", 0)])
def test_the_list_knows_the_minor_unit(code: str, digits: int) -> None:
    assert (is_currency(code), minor_digits(code)) == (True, digits)


def test_the_list_is_the_published_one() -> None:
    published = {currency.code: currency.exponent for currency in Currency if currency.exponent is not None}
    every = ("".join(letters) for letters in itertools.product(string.ascii_uppercase, repeat=3))
    ours = {code: minor_digits(code) for code in every if is_currency(code)}
    assert (ours, list_date()) == (published, __published__.isoformat())


@pytest.mark.parametrize("rate", ["0", "1e3", "-1", "0.1234567890123", "NaN"])
def test_a_rate_is_a_plain_number_above_zero(rate: str) -> None:
    assert len(problems_of({"budget": {"engine": {"rates": [{"currency": "USD", "rate": rate}]}}})) == 1


# ---------------------------------------------------------------- the document


def _document(*rates: dict[str, Any]) -> str:
    item = ITEM | {"id": "R8", "basis": "quote", "observed_on": DAY}
    budget = {"runtime": {"currency": "EUR", "items": [item], "rates": list(rates)}}
    selection = select({"project": {"title": "Rates"}, "budget": budget})
    text = render(selection)
    assert violations(text, selection) == []
    return text


@pytest.mark.parametrize(
    ("row", "column", "shown"),
    [
        ("R8", "Unit price", "USD 99.99 × 0.8612"),
        ("R8", "Amount", "EUR 861.11"),
        ("1 USD in EUR", "Value", "0.8612"),
        ("1 USD in EUR", "Reference", "reference rate"),
        ("1 USD in EUR", "Observed on", DAY.isoformat()),
        ("1 USD in EUR", "Used by", "R8"),
        ("1 USD in EUR", "Source", "answer"),
    ],
)
def test_the_document_shows_the_price_as_quoted_and_its_rate(row: str, column: str, shown: str) -> None:
    assert lookup(_document(RATE), "Runtime budget, line R", row, column) == shown


def test_without_a_rate_the_amount_is_not_given_in_the_currency_of_the_line() -> None:
    text = _document()
    assert lookup(text, "Runtime budget, line R", "R8", "Amount") == "not given in EUR"
    assert any("R8 lacks dated exchange rate" in line for line in part(text, "Runtime budget, line R").prose)
