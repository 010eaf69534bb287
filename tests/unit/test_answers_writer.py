import datetime
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.answers import NumberText
from wizard.asking.answers_file import merge, parse_layer, validate
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.asking.questions import questions
from wizard.budget.items import CATALOGUE
from wizard.catalogue import migrations, strategies

DAY = datetime.date(2026, 11, 30)


def test_the_example_reads_back_as_it_was_written() -> None:
    tree = example_tree(DAY)
    text = render_answers(tree, blanks=False)
    assert {"schema_version": 1, **tree} == tomllib.loads(text, parse_float=NumberText)


def test_the_example_is_valid() -> None:
    validate(merge([parse_layer(render_answers(example_tree(DAY), blanks=False), "example.toml")]))


def test_a_blank_file_answers_nothing() -> None:
    assert merge([parse_layer(render_answers({}), "blank.toml")]).tree == {}


def test_a_blank_file_asks_every_question_that_is_not_about_one_strategy() -> None:
    text = render_answers({})
    asked = {question.key.rsplit(".", 1)[-1] for question in questions() if "<id>" not in question.key}
    assert {name for name in asked if f"{name} = " not in text} == set()


def test_a_blank_file_names_every_strategy_every_item_and_every_piece_of_work() -> None:
    words = set(re.findall(r"[\w]+", render_answers({})))
    known = {*strategies(), *migrations(), *(item.id for item in CATALOGUE)}
    assert known - words == set()


def test_a_blank_file_marks_what_is_needed() -> None:
    text = render_answers({})
    assert ("# (needed) Project title." in text, "# (needed) Document version" in text) == (True, False)


@pytest.mark.parametrize("form", ["[engine.strategies.prefix_caching]", 'gates = { "Licence policy"', "scores = { "])
def test_a_blank_file_shows_the_form_of_what_has_no_field(form: str) -> None:
    assert f"# {form}" in render_answers({}).replace("# Form: ", "# ")


def test_a_finished_file_explains_no_forms() -> None:
    assert "Known in the group" not in render_answers(example_tree(DAY), blanks=False)


def test_every_value_stands_below_its_reason() -> None:
    lines = render_answers({"project": {"title": "x"}}, blanks=False).splitlines()
    place = lines.index('title = "x"')
    assert lines[place - 1].startswith("# Project title.")


def test_only_wanted_keys_are_written_with_the_id_of_their_row() -> None:
    tree = {"budget": {"runtime": {"items": [{"id": "R1", "item": "GPUs"}]}}}
    text = render_answers(tree, comments=False, wanted=lambda key: key == "budget.runtime.items[0].unit_price")
    assert text.splitlines()[2:] == ["[[budget.runtime.items]]", 'id = "R1"', 'unit_price = ""']


@given(st.text(max_size=200))
def test_any_text_survives_writing_and_reading(text: str) -> None:
    written = render_answers({"project": {"title": text}}, comments=False, blanks=False)
    assert tomllib.loads(written)["project"]["title"] == text
