"""Numbers as people write them, in the unit of the question; what could be two numbers is refused."""

from decimal import Decimal

import pytest

from wizard.asking.answers_file import parse_layer
from wizard.asking.questions import by_key
from wizard.asking.typed import UnusableError, parse
from wizard.asking.units import AmbiguousError, understand
from wizard.sessions.session import Session


@pytest.mark.parametrize(
    ("text", "unit", "whole", "digits"),
    [
        ("3,5 s", "ms", False, "3500"),
        ("2.5s", "ms", False, "2500"),
        ("1 min", "s", False, "60"),
        ("10k", "tokens", True, "10000"),
        ("32K", "tokens", True, "32768"),
        ("32k tokens", "tokens", True, "32000"),
        ("1.5 M", "calls", True, "1500000"),
        ("2,000 a day", "calls", True, "730000"),
        ("2 years", "months", True, "24"),
        ("92 %", "share of total", False, "0.92"),
        ("p95", "percentile", True, "95"),
        ("12 960,50", None, False, "12960.50"),
        ("12.960,50", None, False, "12960.50"),
        ("1,234,567.8", None, False, "1234567.8"),
        ("1'250'000", "calls", True, "1250000"),
        ("3.9900", None, False, "3.9900"),
    ],
)
def test_a_number_is_understood_in_its_unit(text: str, unit: str | None, whole: bool, digits: str) -> None:
    found = understand(text, unit, whole=whole)
    assert found is not None
    assert found.digits == digits


@pytest.mark.parametrize(
    "text", ["", "x", "48 GB", "1,2,3", "1..2", "5 s", "9" * 5000, "٣", "½", "1e3", "+5", "k", "🚀 5"]
)
def test_what_is_no_number_of_tokens_is_none(text: str) -> None:
    assert understand(text, "tokens", whole=True) is None


@pytest.mark.parametrize(("text", "unit"), [("1.500", "tokens"), ("5 m", "ms"), ("5m", "tokens")])
def test_what_could_be_two_numbers_is_refused_with_both(text: str, unit: str) -> None:
    with pytest.raises(AmbiguousError, match="could be"):
        understand(text, unit, whole=True)


def test_the_other_reading_of_a_scale_is_said() -> None:
    found = understand("32k", "tokens", whole=True)
    assert found is not None
    assert found.words == "32,000 tokens (32K is 32,768)"


def test_a_pasted_page_of_digits_is_explained() -> None:
    with pytest.raises(UnusableError, match="must be a whole number in calls"):
        parse(by_key()["runtime.workload.concurrency"], "7" * 100_000)


def test_a_typed_unit_is_noted_beside_the_answer_and_survives_a_restart() -> None:
    session = Session()
    session.set("project.title", "Desk")
    session.set("runtime.ceilings.ttft_ms", "3,5 s")
    session.save()
    place = Session.resume(session.path).place("runtime.ceilings.ttft_ms")
    assert (place.raw, place.note) == ("3500", "3,5 s: 3,500 ms")


@pytest.mark.parametrize(
    ("text", "spellings"),
    [("21.400", "21400 or 21.40"), ("21,400", "21400 or 21.40"), ("1.085", "1085 or 1.0850")],
)
def test_one_mark_before_three_digits_of_a_price_is_kept_and_explained_with_both_numbers(
    text: str, spellings: str
) -> None:
    session = Session()
    row = session.add_row("budget.engine.items")
    price = f"budget.engine.items[{row}].unit_price"
    assert spellings in (session.set(price, text) or "")
    assert (session.place(price).raw, session.given.budget.engine.items[row].unit_price) == (text, None)
    for spelling in spellings.split(" or "):
        assert session.set(price, spelling) is None


def test_a_price_of_an_answers_file_is_a_plain_decimal() -> None:
    layer = parse_layer("schema_version = 1\n[[budget.engine.items]]\nunit_price = 21.400\n", "prices.toml")
    session = Session()
    session.open_layer(layer)
    assert session.given.budget.engine.items[0].unit_price == Decimal("21.400")
    assert session.set("budget.engine.items[0].unit_price", "21.400") is None


def test_a_time_with_one_point_before_three_digits_says_how_it_was_read() -> None:
    session = Session()
    session.set("runtime.ceilings.ttft_ms", "1.500")
    assert session.place("runtime.ceilings.ttft_ms").note == "1.500: 1.5 ms"
