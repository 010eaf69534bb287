import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from wizard.answers import NumberText
from wizard.asking.answers_file import InvalidAnswersError, merge, parse_layer, read_layer, validate
from wizard.errors import UsageError


def problems_of(*texts: str) -> list[tuple[str, str, str]]:
    layers = [parse_layer(text, f"file{number}.toml") for number, text in enumerate(texts, 1)]
    with pytest.raises(InvalidAnswersError) as caught:
        validate(merge(layers))
    return [(problem.key, problem.file, problem.message) for problem in caught.value.problems]


def test_a_price_keeps_the_literal_text_that_was_typed() -> None:
    merged = merge([parse_layer('[[budget.engine.items]]\nid = "E2"\nunit_price = 3.9900', "a.toml")])
    assert merged.origins["budget.engine.items[0].unit_price"].raw == "3.9900"


def test_a_price_becomes_an_exact_decimal() -> None:
    merged = merge([parse_layer('[[budget.engine.items]]\nid = "E2"\nunit_price = 2.675', "a.toml")])
    assert validate(merged).budget.engine.items[0].unit_price == Decimal("2.675")


@pytest.mark.parametrize(
    "price", ["nan", "inf", "1e3", "-1", '"1_000"', '"\uff11\uff12"', '"1,000.00"', '"EUR 5"', "true"]
)
def test_a_price_that_is_no_plain_number_is_refused(price: str) -> None:
    (problem,) = problems_of(f'[[budget.engine.items]]\nid = "E2"\nunit_price = {price}')
    assert problem[0] == "budget.engine.items[0].unit_price"
    assert "must be a plain number" in problem[2]


def test_every_invalid_value_is_listed_at_once() -> None:
    found = problems_of(
        """
        [runtime.layout]
        tensor_parallel = 0
        [runtime.ceilings]
        ttft_ms = "soon"
        [project]
        review_by = "next year"
        """
    )
    assert {key for key, _, _ in found} == {
        "runtime.layout.tensor_parallel",
        "runtime.ceilings.ttft_ms",
        "project.review_by",
    }


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    (problem,) = problems_of("[runtime.layout]\ntensor_paralel = 2")
    assert "the nearest one is runtime.layout.tensor_parallel" in problem[2]


def test_an_unknown_strategy_names_the_nearest_known_one() -> None:
    (problem,) = problems_of('[engine.strategies.prefix_cashing]\ndecision = "adopt"')
    assert "the nearest one is prefix_caching" in problem[2]


def test_a_wrong_choice_lists_the_choices() -> None:
    (problem,) = problems_of('[engine.strategies.prefix_caching]\ndecision = "maybe"')
    assert "'adopt', 'defer', 'reject'" in problem[2]


def test_a_text_where_a_table_belongs_is_said() -> None:
    (problem,) = problems_of('project = "x"')
    assert problem[2] == "must be a table"


def test_an_empty_text_is_an_answer_not_given() -> None:
    answers = validate(merge([parse_layer('[project]\ntitle = "x"\nsponsor = ""\nreview_by = ""', "a.toml")]))
    assert (answers.project.sponsor, answers.project.review_by) == (None, None)


def test_a_row_of_empty_texts_is_no_row() -> None:
    answers = validate(merge([parse_layer('[[engine.models]]\nname = ""\ncontext_tokens = ""', "a.toml")]))
    assert answers.engine.models == ()


def test_two_files_fill_each_other() -> None:
    layers = [
        parse_layer('[project]\ntitle = "x"', "mine.toml"),
        parse_layer('answered_by = "Finance"\n[budget.runtime]\ncurrency = "EUR"', "theirs.toml"),
    ]
    answers = validate(merge(layers))
    assert (answers.project.title, answers.budget.runtime.currency) == ("x", "EUR")


def test_a_value_from_a_colleague_carries_the_name() -> None:
    merged = merge([parse_layer('answered_by = "Finance"\n[budget.runtime]\ncurrency = "EUR"', "theirs.toml")])
    origin = merged.origins["budget.runtime.currency"]
    assert (origin.detail, origin.author) == ("theirs.toml", "Finance")


def test_rows_with_the_same_id_are_one_row() -> None:
    layers = [
        parse_layer('[[budget.runtime.items]]\nid = "R1"\nitem = "GPUs"', "mine.toml"),
        parse_layer('[[budget.runtime.items]]\nid = "R1"\nunit_price = "3.05"', "theirs.toml"),
    ]
    (item,) = validate(merge(layers)).budget.runtime.items
    assert (item.item, item.unit_price) == ("GPUs", Decimal("3.05"))


def test_the_same_key_with_two_values_names_both_files() -> None:
    (problem,) = problems_of('[project]\ntitle = "x"', '[project]\ntitle = "y"')
    assert problem == ("project.title", "file2.toml", "says y, but file1.toml says x")


def test_the_same_value_in_two_files_is_no_conflict() -> None:
    layers = [parse_layer('[project]\ntitle = "x"', name) for name in ("a.toml", "b.toml")]
    assert validate(merge(layers)).project.title == "x"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[project", "is not valid TOML"),
        ("schema_version = 2", "schema_version 2"),
        ("a = " + "[" * 100_000, "is not valid TOML"),
    ],
)
def test_a_file_that_is_not_an_answers_file_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_layer(text, "bad.toml")


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_layer(tmp_path / "none.toml")
    assert "selwiz answers --example" in caught.value.remedy


def test_a_file_that_is_not_utf8_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "latin.toml"
    file.write_bytes('[project]\ntitle = "Größe"'.encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        read_layer(file)


def test_long_and_odd_texts_are_kept_as_typed() -> None:
    odd = "a | b <script> \u202e ]] `x` " + "y" * 10_000
    merged = merge([parse_layer(f"[project]\ntitle = {odd!r}".replace("\\u202e", "\u202e"), "a.toml")])
    assert validate(merged).project.title == odd


def test_dates_may_be_toml_dates_or_text() -> None:
    for typed in ("2027-01-31", '"2027-01-31"'):
        answers = validate(merge([parse_layer(f"[project]\nreview_by = {typed}", "a.toml")]))
        assert answers.project.review_by == datetime.date(2027, 1, 31)


def test_a_number_where_text_belongs_is_refused() -> None:
    (problem,) = problems_of("[project]\ntitle = 5")
    assert "put it in quotes" in problem[2]


def test_number_text_is_still_text() -> None:
    assert NumberText("3.9900") == "3.9900"


@pytest.mark.parametrize("flags", ['["--api-key abc"]', '["--hf-token=abc"]', '["--api-key", "abc"]'])
def test_a_secret_among_the_flags_is_refused_without_repeating_it(flags: str) -> None:
    (problem,) = problems_of(f"[runtime.settings]\nextra_flags = {flags}")
    assert "a secret" in problem[2]
    assert "abc" not in problem[2]


def test_an_item_id_that_stands_twice_in_one_file_is_named() -> None:
    row = '[[budget.engine.items]]\nid = "E2"\nunit_price = "5"\n'
    assert ("budget.engine.items.id", "file1.toml", "E2 stands twice; give each row its own id") in problems_of(row * 2)


@pytest.mark.parametrize("text", ["a = " + "1" * 5000, ".".join("a" * 1200) + " = 1"])
def test_toml_that_overwhelms_the_parser_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError):
        merge([parse_layer(text, "bad.toml")])


def test_a_device_is_not_read_without_end() -> None:
    with pytest.raises(UsageError, match="larger than"):
        read_layer(Path("/dev/zero"))
