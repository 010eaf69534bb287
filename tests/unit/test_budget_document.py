"""The budget as the document shows it: no figure of both lines whatever was answered, and every figure recomputed."""

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.document_selections import DAY, select
from tests.unit.rule_mutations.budget import owned_inputs
from tests.unit.test_document import lookup, part
from wizard.budget.items import CATALOGUE
from wizard.decision.selection import Selection
from wizard.document.invariants import violations
from wizard.document.reader import read
from wizard.document.render import render, render_brief

HEADINGS = {"E": "Engine budget, line E", "R": "Runtime budget, line R"}
_SEEN = {"source_ref": "quote (invented)", "observed_on": DAY}


def _selection(engine: dict[str, Any], runtime: dict[str, Any]) -> Selection:
    return select({"project": {"title": "Two lines"}, "budget": {"engine": engine, "runtime": runtime}})


# ---------------------------------------------------------------- prime amounts: no number is a sum of both lines


def _row(identifier: str, price: str, frequency: str = "yearly", **more: Any) -> dict[str, Any]:
    shared = {"quantity": "1", "unit": "Items", "unit_price": price, "frequency": frequency, "basis": "quote"}
    return {"id": identifier} | shared | _SEEN | more


def _other(option: str, price: str, frequency: str, *replaces: str) -> dict[str, Any]:
    row = _row("", price, frequency)
    del row["id"]
    return row | {"name": f"price under {option}", "option": option, "replaces": list(replaces)}


def _primes() -> Selection:
    """Both lines with every kind of table, from amounts that are prime in cents and share nothing."""
    usd = {"currency": "USD", "rate": "0.7919"} | _SEEN
    engine = {
        "currency": "EUR",
        "contingency_percent": "7",
        "contingency_of": "both",
        "items": [_row("E3", "1009.01", "one-time"), _row("E2", "3001.03"), _row("E7", "211.27", currency="USD")],
        "rates": [usd],
        "alternatives": [
            _other("another engine", "1511.11", "one-time", "E3"),
            _other("another GPU", "4001.29", "yearly"),
        ],
    }
    runtime = {
        "currency": "EUR",
        "contingency_percent": "11",
        "view": "amortised",
        "items": [
            _row("R8", "2003.07", "one-time"),
            {"id": "R1", "owned_part": "depreciation", "quantity": "4"},
            {"id": "R10", "owned_part": "energy", "quantity": "4"},
            _row("R9", "557.57", currency="USD"),
        ],
        "rates": [usd | {"rate": "0.8117"}],
        "owned": owned_inputs(purchase_price="240007.31", average_kw="3.571", insurance_year="2011.43"),
        "alternatives": [
            _other("managed", "9011.33", "usage-yearly", "R1", "R10"),
            _other("managed", "613.13", "one-time"),
        ],
    }
    return _selection(engine, runtime)


@pytest.fixture(scope="module")
def primes() -> str:
    selection = _primes()
    text = render(selection)
    assert violations(text, selection) == []
    return text + render_brief(selection)


def _amounts(text: str, line: str) -> set[Decimal]:
    """Every amount of money in the tables of one line."""
    cells = [cell for table in part(text, HEADINGS[line]).tables for row in table.rows for cell in row]
    found = [amount for cell in cells for amount in re.findall(r"[A-Z]{3} ([0-9][0-9,]*(?:\.[0-9]+)?)", cell)]
    return {Decimal(amount.replace(",", "")) for amount in found} - {Decimal(0)}


def test_no_number_of_the_document_adds_an_amount_of_each_line(primes: str) -> None:
    numbers = {
        Decimal(found.replace(",", ""))
        for found in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", primes)
        if found[-1] != ","
    }
    engine, runtime = _amounts(primes, "E"), _amounts(primes, "R")
    assert (len(engine) > 9, len(runtime) > 20) == (True, True)
    assert {(a, b) for a in engine for b in runtime if a + b in numbers} == set()


@pytest.mark.parametrize(
    ("line", "row", "column", "shown"),
    [
        ("E", "E7", "Unit price", "USD 211.27 × 0.7919"),
        ("E", "E7", "Amount", "EUR 167.30"),
        ("E", "another engine", "One-time", "EUR 1,511.11"),
        ("E", "another engine", "Against this line", "EUR 502.10 more one-time; the same a year"),
        ("R", "R1", "Unit price", "EUR 12,500.456875"),
        ("R", "R1", "Source", "derived F-1, derived F-16, answer"),
        ("R", "R1, R10", "Price basis", "worked out"),
        ("R", "Purchase price of all GPUs and their hosts", "Value", "EUR 240,007.31"),
        ("R", "Depreciation", "Paid by", "R1"),
        ("R", "Space", "Paid by", "no row"),
        ("R", "managed", "In place of", "R1, R10"),
        ("R", "managed", "Pays back after", "0.1 months (F-18)"),
        ("R", "0.5", "Source", "derived F-17"),
    ],
)
def test_the_new_tables_say_what_was_given(primes: str, line: str, row: str, column: str, shown: str) -> None:
    assert lookup(primes, HEADINGS[line], row, column) == shown


def test_an_unusable_input_is_shown_with_its_reason() -> None:
    runtime = {"currency": "EUR", "owned": owned_inputs(life_years="0")}
    text = render(_selection({}, runtime))
    value = lookup(text, HEADINGS["R"], "Useful life", "Value")
    assert value == "0 years, not usable: it is 0, and nothing is written off in no time"


def test_without_a_price_of_another_option_nothing_is_shown() -> None:
    asked = {"name": "asked for", "option": "Managed API", "replaces": ["R1"]}
    text = render(_selection({}, {"currency": "EUR", "items": [_row("R1", "7")], "alternatives": [asked]}))
    assert "Managed API" not in str(part(text, HEADINGS["R"]).tables)


def test_a_price_that_may_change_without_notice_is_named() -> None:
    text = render(_selection({}, {"currency": "EUR", "items": [_row("R1", "7", pricing="Dynamic"), _row("R9", "1")]}))
    assert "May change without notice (pricing Dynamic): R1." in part(text, HEADINGS["R"]).prose


def test_an_engine_in_the_price_of_the_runtime_counts_once() -> None:
    bundled = {"id": "E2", "basis": "bundled", "included_in": "R1", "frequency": "yearly"}
    text = render(_selection({"currency": "EUR", "items": [bundled, _row("E7", "5")]}, {}))
    assert lookup(text, HEADINGS["E"], "E2", "Amount") == "included in R1"
    assert lookup(text, "Decision in brief", "E", "Recurring per year") == "5.00"


# ---------------------------------------------------------------- any budget


_CODES = st.sampled_from(["EUR", "JPY", "KWD", "USD"])
_MAYBE_CODE = st.one_of(st.none(), _CODES)
_PRICE = st.one_of(st.none(), st.decimals(0, 10**7, places=4).map(lambda value: format(value, "f")))
_OFTEN = st.sampled_from(["one-time", "monthly", "yearly", "usage-yearly"])


def _given(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _price() -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        "quantity": _PRICE,
        "unit_price": _PRICE,
        "currency": _MAYBE_CODE,
        "frequency": st.one_of(st.none(), _OFTEN),
    }
    return st.fixed_dictionaries(fields).map(_given)


def _line(letter: str) -> st.SearchStrategy[dict[str, Any]]:
    ids = [item.id for item in CATALOGUE if item.line == letter]
    parts = st.sampled_from(["depreciation", "energy", "space", "maintenance", "insurance", "staff"])
    extra: st.SearchStrategy[dict[str, str]] = st.one_of(
        st.just({}),
        st.sampled_from([ids[0], "R1"]).map(lambda holder: {"basis": "bundled", "included_in": holder}),
        st.sampled_from(["not_needed", "not_given"]).map(lambda state: {"state": state}),
        parts.map(lambda name: {"owned_part": name}) if letter == "R" else st.just({}),
    )
    item = st.tuples(st.sampled_from(ids), _price(), extra).map(lambda row: {"id": row[0]} | row[1] | row[2])
    rate = st.tuples(_CODES, _PRICE).map(
        lambda row: {"currency": row[0], "rate": row[1] if row[1] and Decimal(row[1]) else None} | _SEEN
    )
    other = st.tuples(st.sampled_from("AB"), st.lists(st.sampled_from(ids), max_size=3), _price()).map(
        lambda row: {"name": "price", "option": f"option {row[0]}", "replaces": row[1]} | row[2]
    )
    fields = {
        "currency": _MAYBE_CODE,
        "contingency_percent": st.one_of(st.none(), st.integers(0, 120)),
        "contingency_of": st.sampled_from([None, "one-time", "recurring", "both"]),
        "items": st.lists(item, max_size=6, unique_by=lambda row: row["id"]),
        "rates": st.lists(rate.map(_given), max_size=2),
        "alternatives": st.lists(other, max_size=3),
    }
    if letter == "R":
        fields["owned"] = st.lists(st.sampled_from(owned_inputs()), max_size=12, unique_by=lambda row: str(row["name"]))
    return st.fixed_dictionaries(fields).map(_given)


_LABEL = re.compile(r"\b(grand|combined|overall|project)\s+total\b|\bTCO\b|\bE and R\b|\bE \+ R\b", re.IGNORECASE)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(_line("E"), _line("R"))
def test_no_budget_breaks_an_invariant_or_shows_a_row_of_both_lines(
    engine: dict[str, Any], runtime: dict[str, Any]
) -> None:
    selection = _selection(engine, runtime)
    text = render(selection)
    assert violations(text, selection) == []
    for found in read(text):
        rows = [row for table in found.tables for row in table.rows]
        assert not [label for label in (found.heading, *(row[0] for row in rows)) if _LABEL.search(label)]
    for own, other in (("E", "R"), ("R", "E")):
        tables = part(text, HEADINGS[own]).tables
        named = [cell for table in tables for row in table.rows for cell in row[:2]]
        assert not [cell for cell in named if re.search(rf"\b{other}[0-9]+[a-z]?\b", cell)]
