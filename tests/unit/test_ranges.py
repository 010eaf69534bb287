"""Ranges, and replies of colleagues: what is calculated with, what the document says, and what cannot be used."""

import datetime
from decimal import Decimal

import pytest

from wizard.asking.answers_file import parse_layer
from wizard.asking.defaults import answer_at
from wizard.asking.ranges import give_range
from wizard.sessions.session import Session
from wizard.sessions.snapshot import Snapshot
from wizard.sessions.writing import draft_of, questions_for_colleagues, selection_of

LOAD = "runtime.workload.concurrency"
PRICE = "budget.runtime.items[0].unit_price"
DAY = datetime.date(2026, 11, 30)


def titled() -> Session:
    session = Session()
    session.set("project.title", "Desk")
    return session


@pytest.mark.parametrize(
    ("key", "low", "high", "used"),
    [
        (LOAD, "12", "21", 17),
        (LOAD, "1k", "2k", 1500),
        ("runtime.ceilings.ttft_ms", "1 s", "2,5 s", 1750.0),
        (PRICE, "2.50", "3.99", Decimal("3.245")),
        ("budget.runtime.contingency_percent", "5 %", "10 %", Decimal("7.5")),
    ],
)
def test_the_middle_of_a_range_holds_until_the_answer_is_given(key: str, low: str, high: str, used: object) -> None:
    session = titled()
    session.add_row("budget.runtime.items", id="R1")
    assert give_range(session, key, low, high) is None
    assert answer_at(session.in_force, key) == used
    assert session.place(key).state == "derived"


def test_an_answer_given_later_wins_over_the_range() -> None:
    session = titled()
    give_range(session, LOAD, "12", "20")
    session.set(LOAD, "14")
    assert session.in_force.runtime.workload.concurrency == 14


@pytest.mark.parametrize(
    ("key", "low", "high", "words"),
    [
        (LOAD, "many", "20", "the low end must be a whole number in calls"),
        (LOAD, "12", "", "the high end is needed"),
        (LOAD, "30", "20", "must be 30 or more"),
        (LOAD, "0", "20", "must be 1 or more"),
        ("runtime.ceilings.percentile", "90", "99.9", "must be a whole number"),
        ("runtime.settings.gpu_memory_utilization", "0.5", "3", "must be 1"),
        ("project.title", "1", "2", "a range is for numbers only"),
    ],
)
def test_a_range_that_cannot_be_used_is_explained_and_changes_nothing(
    key: str, low: str, high: str, words: str
) -> None:
    session = titled()
    session.set(LOAD, "16")
    problem = give_range(session, key, low, high)
    assert words in (problem or "")
    assert (session.raw(LOAD), session.rows("governance.ranges")) == ("16", [])


def test_the_document_states_the_range_with_its_source() -> None:
    session = titled()
    give_range(session, LOAD, "12", "20", "last year's desk")
    text = draft_of(session, None, DAY).text
    assert f"| Calls in flight at peak ({LOAD}) | 12 to 20 | 16 | derived F-19 | last year's desk |" in text


def test_a_range_of_a_file_is_checked_like_a_typed_one() -> None:
    session = Session()
    session.open_layer(parse_layer('[[governance.ranges]]\nkey = "runtime.owner"\nlow = 1\nhigh = 2\n', "a.toml"))
    assert any("is not the key of a number" in notice for notice in session.notices)


def test_the_range_of_a_removed_row_goes_with_it() -> None:
    session = titled()
    for identifier in ("R1", "R2"):
        session.add_row("budget.runtime.items", id=identifier)
    give_range(session, PRICE, "1", "3")
    give_range(session, "budget.runtime.items[1].unit_price", "10", "30")
    session.remove_row("budget.runtime.items", 0)
    session.drop_empty_rows()
    assert [(row["key"], row["low"]) for row in session.rows("governance.ranges")] == [(PRICE, "10")]


def test_concurrency_says_the_figures_it_was_worked_out_from() -> None:
    session = titled()
    figures = {"users_peak_hour": "420", "tasks_per_user_hour": "6", "calls_per_task": "4", "call_seconds": "7.1 s"}
    for name, raw in figures.items():
        session.set(f"runtime.workload.{name}", raw)
    words = "Little's law: 420 users x 6 tasks an hour x 4 calls / 3,600 x 7.1 s"
    place = session.place(LOAD)
    assert (place.fallback, place.source) == ("20", words)
    assert words in draft_of(session, None, DAY).text


def test_the_e2e_ceiling_of_ttft_and_tpot_is_used_only_where_somebody_chose_it() -> None:
    session = titled()
    for key, raw in (("ceilings.ttft_ms", "2 s"), ("ceilings.tpot_ms", "45"), ("workload.output_tokens", "256")):
        session.set(f"runtime.{key}", raw)
    before = session.in_force.runtime.ceilings.e2e_ms
    session.set("runtime.ceilings.e2e_from", "tokens")
    assert (before, session.in_force.runtime.ceilings.e2e_ms) == (None, 2000 + 45 * 255)
    selection = selection_of(Snapshot.of(session), None)
    assert selection.origin("runtime.ceilings.e2e_ms").detail == "2,000 ms TTFT + 45 ms TPOT x (256 tokens - 1)"


# ---------------------------------------------------------------- replies


def reply(session: Session, old: str, new: str) -> None:
    """A colleague changes one text of the file that was written for them, and the file is opened again."""
    (text,) = questions_for_colleagues(session).values()
    assert old in text
    session.open_layer(parse_layer(text.replace(old, new), "reply.toml"))


def test_a_colleague_is_told_what_the_questions_are_about_and_until_when() -> None:
    session = titled()
    session.set("project.title", "Desk\n[engine]")
    session.ask_someone(LOAD, "Ops lead", "2027-01-31")
    (text,) = questions_for_colleagues(session).values()
    assert text.splitlines()[:2] == ["# Questions for Ops lead about: Desk⏎[engine]", "# Wanted by 2027-01-31."]


def test_a_reply_corrects_an_answer_that_is_there_and_is_no_open_question_any_more() -> None:
    session = titled()
    session.set(LOAD, "16")
    session.ask_someone(LOAD, "Ops lead")
    reply(session, "concurrency = 16", "concurrency = 24")
    place = session.place(LOAD)
    assert (place.raw, place.source, session.rows("governance.open_questions")) == ("24", "reply.toml, Ops lead", [])


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ("rejected_because", 'rejected_because = ""', 'rejected_because = "no support"'),
        ("name", 'name = "SGLang"', 'name = "SGLang 0.9"'),
    ],
)
def test_a_reply_about_an_option_hits_that_option(field: str, old: str, new: str) -> None:
    session = titled()
    for name in ("vLLM", "SGLang", "TensorRT-LLM"):
        session.add_row("engine.options", name=name)
    session.ask_someone(f"engine.options[1].{field}", "AI lead")
    reply(session, old, new)
    options = session.rows("engine.options")
    assert (len(options), f'{field} = "{options[1][field]}"') == (3, new)


def test_a_reply_about_a_row_without_a_name_hits_that_row() -> None:
    session = titled()
    session.set("engine.models[0].context_tokens", "16384")
    session.ask_someone("engine.models[0].name", "AI lead")
    reply(session, 'name = ""', 'name = "Qwen/Qwen3-32B"')
    assert session.rows("engine.models") == [{"context_tokens": 16384, "name": "Qwen/Qwen3-32B"}]
