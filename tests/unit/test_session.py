import datetime
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wizard.asking.answers_file import parse_layer, read_layer
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.asking.questions import questions
from wizard.asking.tree import get, shifted
from wizard.decision.gather import gather_layers
from wizard.errors import UsageError
from wizard.sessions.drafting import draft
from wizard.sessions.session import Session
from wizard.sessions.session_store import listed

DAY = datetime.date(2026, 11, 30)
LOAD = "runtime.workload.concurrency"
TITLE = "project.title"


def opened() -> Session:
    session = Session()
    session.open_layer(parse_layer(render_answers(example_tree(DAY), blanks=False), "example.toml"))
    return session


def test_the_wizard_and_propose_write_the_same_document(tmp_path: Path) -> None:
    session = opened()
    session.set(TITLE, "Typed in the wizard")
    session.set("budget.engine.items[1].unit_price", "1650.50")
    session.set(LOAD, "1,024")
    file = tmp_path / "answers.toml"
    file.write_text(session.to_toml(comments=True), encoding="utf-8")
    ours, theirs = (
        draft(gather_layers([layer], probe=False), prepared_on=DAY, smoke=None, folder=None)
        for layer in (session.to_layer(), read_layer(file))
    )
    assert (ours.text, ours.evidence) == (theirs.text, theirs.evidence)


def test_text_that_cannot_be_used_is_kept_and_the_last_good_value_stays() -> None:
    session = opened()
    message = session.set(LOAD, "many")
    assert (message, session.raw(LOAD), session.given.runtime.workload.concurrency) == (
        "must be a whole number in calls (given: many)",
        "many",
        16,
    )


def test_a_corrected_text_is_in_force() -> None:
    session = opened()
    session.set(LOAD, "many")
    session.set(LOAD, "32")
    assert (session.place(LOAD).state, session.given.runtime.workload.concurrency) == ("answered", 32)


@pytest.mark.parametrize(
    ("key", "raw", "message"),
    [
        (LOAD, "0", "must be 1 or more (given: 0)"),
        ("project.review_by", "20271301", "must be a date such as 2027-01-31"),
        ("project.review_by", "1700000000", "must be a date such as 2027-01-31"),
        ("governance.small_team", "perhaps", "must be yes or no"),
        ("budget.engine.currency", "euro", "must be a three-letter ISO 4217 code such as EUR or USD (given: euro)"),
        (
            "runtime.workload.profile",
            "chatty",
            "must be one of 'agent', 'chat', 'rag', 'batch', 'custom' (given: chatty)",
        ),
        (TITLE, "x" * 20_001, "is longer than 20,000 characters"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(key: str, raw: str, message: str) -> None:
    assert Session().set(key, raw) == message


def test_a_secret_among_the_flags_is_refused_and_never_saved() -> None:
    session = Session()
    session.set(TITLE, "x")
    assert "a secret" in (session.set("runtime.settings.extra_flags", "--api-key hunter2") or "")
    session.save()
    assert "hunter2" not in session.path.read_text(encoding="utf-8")


def test_the_session_file_is_for_its_owner_only() -> None:
    session = opened()
    session.save()
    assert session.path.stat().st_mode & 0o777 == 0o600


def test_a_saved_session_comes_back_whole() -> None:
    session = opened()
    session.set(LOAD, "many")
    session.leave_open("project.author")
    session.step = "engine need"
    session.save()
    again = Session.resume(session.path)
    assert (again.tree, again.rejected, again.left_open, again.step, again.origins) == (
        session.tree,
        session.rejected,
        session.left_open,
        session.step,
        session.origins,
    )


def test_a_choice_that_no_longer_exists_is_kept_as_text_and_explained() -> None:
    session = opened()
    session.save()
    data = json.loads(session.path.read_text(encoding="utf-8"))
    data["tree"]["runtime"]["workload"]["profile"] = "telepathy"
    session.path.write_text(json.dumps(data), encoding="utf-8")
    again = Session.resume(session.path)
    place = again.place("runtime.workload.profile")
    assert (place.raw, place.state, len(again.notices)) == ("telepathy", "cannot be used", 1)


def test_a_question_that_no_longer_exists_is_kept_as_text() -> None:
    session = opened()
    session.save()
    data = json.loads(session.path.read_text(encoding="utf-8"))
    data["tree"]["project"]["mascot"] = "heron"
    session.path.write_text(json.dumps(data), encoding="utf-8")
    assert Session.resume(session.path).rejected["project.mascot"].raw == "heron"


@pytest.mark.parametrize("text", ["", "[]", "nonsense", '{"schema_version": 2}', '{"schema_version": "x"}', "\x00"])
def test_what_is_no_session_is_explained_and_listed_as_such(text: str) -> None:
    session = opened()
    session.save()
    session.path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        Session.resume(session.path)
    assert listed()[0].problem


@pytest.mark.parametrize("part", ["tree", "origins", "rejected", "left_open", "step", "about"])
@pytest.mark.parametrize("value", [None, 3, "text", [1], {"a": 1}, {"engine": 3}, {"engine": {"models": "x"}}])
def test_a_damaged_part_of_a_session_never_raises(part: str, value: object) -> None:
    session = opened()
    session.save()
    data = json.loads(session.path.read_text(encoding="utf-8"))
    data[part] = value
    session.path.write_text(json.dumps(data), encoding="utf-8")
    Session.resume(session.path).save()


def test_an_answers_file_wins_over_the_session_and_keeps_its_rows() -> None:
    session = opened()
    session.set(LOAD, "many")
    reply = '[runtime.workload]\nconcurrency = 40\n[[budget.engine.items]]\nid = "E2"\nunit_price = 9.5\n'
    session.open_layer(parse_layer(reply, "reply.toml"))
    index = next(number for number, row in enumerate(session.rows("budget.engine.items")) if row["id"] == "E2")
    assert (session.place(LOAD).source, session.raw(LOAD), session.raw(f"budget.engine.items[{index}].unit_price")) == (
        "reply.toml",
        "40",
        "9.5",
    )


def test_a_default_has_its_word_and_its_source() -> None:
    place = Session().place("runtime.ceilings.percentile")
    assert (place.fallback, place.state, place.source) == (
        "95",
        "default",
        "the highest percentile that 59 requests can show",
    )


def test_leaving_open_says_so_and_shows_no_default() -> None:
    session = Session()
    session.leave_open("runtime.product")
    assert (session.place("runtime.product").state, session.place("runtime.product").fallback) == ("left open", "")


def test_taking_the_default_forgets_what_was_typed() -> None:
    session = Session()
    session.set("runtime.product", "SGLang")
    session.take_default("runtime.product")
    assert session.place("runtime.product").fallback == "vLLM"


def test_asking_someone_makes_an_open_question_with_a_day() -> None:
    session = Session()
    session.ask_someone("runtime.owner", "Ops lead", "2027-01-31")
    (question,) = session.given.governance.open_questions
    assert (question.key, question.owner, question.due) == ("runtime.owner", "Ops lead", datetime.date(2027, 1, 31))


def test_asking_twice_keeps_one_question() -> None:
    session = Session()
    session.ask_someone("runtime.owner", "Ops lead")
    session.ask_someone("runtime.owner", "Finance")
    assert [row["owner"] for row in session.rows("governance.open_questions")] == ["Finance"]


def test_removing_a_row_moves_what_is_known_of_the_later_ones() -> None:
    session = opened()
    session.set("budget.engine.items[2].quantity", "lots")
    session.ask_someone("budget.engine.items[3].unit_price", "Finance")
    session.remove_row("budget.engine.items", 0)
    assert (
        "budget.engine.items[1].quantity" in session.rejected,
        session.asked("budget.engine.items[2].unit_price"),
    ) == (
        True,
        "Finance",
    )


def test_a_row_into_which_nothing_was_typed_goes() -> None:
    session = Session()
    session.add_row("engine.models")
    session.drop_empty_rows()
    assert session.tree == {}


def test_a_key_moves_up_only_behind_the_removed_row() -> None:
    assert [shifted(f"a.b[{row}].c", "a.b", 1) for row in range(3)] == ["a.b[0].c", None, "a.b[1].c"]


PLAIN = [question.key for question in questions() if not question.repeated]


@settings(max_examples=150)
@given(
    st.sampled_from(PLAIN), st.text(max_size=60) | st.sampled_from(["1", "0.5", "yes", "EUR", "2027-01-31", "agent"])
)
def test_any_text_for_any_question_is_in_force_or_kept_with_a_reason(key: str, raw: str) -> None:
    session = Session()
    message = session.set(key, raw)
    if message is not None:
        assert session.raw(key) == raw
    else:
        assert (get(session.to_layer().tree, key) is None) == (
            not raw.replace("⏎", "\n").strip() or not session.raw(key)
        )
