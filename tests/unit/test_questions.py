import pytest

from wizard.asking.questions import SECTIONS, Question, question_of, questions


def test_every_question_has_a_section_of_the_wizard() -> None:
    assert {question.section for question in questions()} == set(SECTIONS)


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.key)
def test_a_question_says_why_it_is_asked(question: Question) -> None:
    assert question.why.endswith(".")


def test_engine_and_runtime_questions_never_share_a_section() -> None:
    engine = {q.section for q in questions() if q.key.startswith("engine.")}
    runtime = {q.section for q in questions() if q.key.startswith("runtime.")}
    assert not engine & runtime


def test_the_two_lines_never_share_a_section() -> None:
    engine = {q.section for q in questions() if q.key.startswith("budget.engine.")}
    runtime = {q.section for q in questions() if q.key.startswith("budget.runtime.")}
    assert not engine & runtime


@pytest.mark.parametrize(
    ("key", "pattern"),
    [
        ("runtime.layout.tensor_parallel", "runtime.layout.tensor_parallel"),
        ("engine.models[3].name", "engine.models[].name"),
        ("engine.strategies.prefix_caching.reason", "engine.strategies.<id>.reason"),
    ],
)
def test_the_question_behind_an_answer_is_found(key: str, pattern: str) -> None:
    question = question_of(key)
    assert question is not None
    assert question.key == pattern


def test_a_key_that_nobody_asks_has_no_question() -> None:
    assert question_of("runtime.nothing") is None
