"""The answers of a new session, which are there before the validator is built."""

from wizard.answers import Answers


def test_nothing_is_what_an_empty_file_gives() -> None:
    assert Answers.nothing() == Answers.model_validate({})
