import html
import re
import subprocess
import sys
from typing import Any

import cmarkgfm
import pypandoc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from probes.smoke.result import SmokeResult
from tests.unit.document_selections import almost_empty, full, machine, select, smoke
from tests.unit.hostile import NASTY, filled, whole_answers
from tests.unit.markdown_shapes import READER, shape
from wizard.document.invariants import violations
from wizard.document.markdown import NOT_GIVEN, Table, cell, code, environment, fenced, plain, prose, sentence
from wizard.document.render import render


@settings(max_examples=300)
@given(st.text(max_size=80))
def test_a_cell_reads_back_as_the_text(text: str) -> None:
    line = plain(text)
    assert html.unescape(cell(text)) == (line or NOT_GIVEN)


@settings(max_examples=300)
@given(st.text(max_size=80))
def test_a_sentence_reads_back_as_the_text(text: str) -> None:
    line = plain(text, 20_000)
    assert html.unescape(prose(text)) == (line or NOT_GIVEN)


@settings(max_examples=200)
@given(st.lists(st.text(max_size=40), min_size=2, max_size=7))
def test_a_row_of_any_texts_has_as_many_cells_as_the_table(texts: list[str]) -> None:
    table = Table(tuple(f"c{n}" for n in range(len(texts))), (tuple(texts),))
    count = len(texts)
    assert shape(_table(table)).tables == ((count, count, count + 1, count + 1, count + 1),)


def _table(table: Table) -> str:
    module: Any = environment().get_template("macros.md.j2").module
    return str(module.table(table))


@pytest.mark.parametrize("text", NASTY)
def test_cmark_gfm_reads_the_cell_as_the_text(text: str) -> None:
    page = cmarkgfm.github_flavored_markdown_to_html(_table(Table(("a", "b"), ((text, "end"),))))
    cells = [html.unescape(re.sub(r"<[^>]*>", "", found)) for found in re.findall(r"<td>(.*?)</td>", page)]
    assert cells == [plain(text) or NOT_GIVEN, "end"]


@pytest.mark.parametrize("build", [full, almost_empty])
def test_pandoc_finds_the_same_tables_and_headings(build: Any) -> None:
    text = render(build())
    page = pypandoc.convert_text(text, "html", format="gfm")
    found = shape(text)
    assert (page.count("<table"), len(re.findall(r"<h[1-6]", page))) == (len(found.tables), len(found.headings))


@pytest.mark.parametrize("text", ["a|b", "`a|b`", "[x](javascript:alert(1))", "<b>x</b>", "$x$", "a\\|b\\"])
def test_pandoc_reads_the_cell_as_the_text(text: str) -> None:
    page = pypandoc.convert_text(_table(Table(("a", "b"), ((text, "end"),))), "html", format="gfm")
    cells = [html.unescape(re.sub(r"<[^>]*>", "", found)) for found in re.findall(r"<td>(.*?)</td>", page, re.DOTALL)]
    assert cells == [text, "end"]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("vLLM 0.33.0: on", "vLLM 0.33.0: on"),
        ("08:41 UTC", "08:41 UTC"),
        ("gpu_memory_utilization", "gpu_memory_utilization"),
        ("a|b", "a&#124;b"),
        ("http://x", "http&#58;//x"),
        ("www.x.org", "www&#46;x.org"),
        (":smile:", "&#58;smile:"),
        ("_it_", "&#95;it&#95;"),
    ],
)
def test_only_what_a_reader_would_act_on_is_escaped(text: str, source: str) -> None:
    assert cell(text) == source


@pytest.mark.parametrize("text", ["# x", "- x", "+ x", "1. x", "12) x", "===", ": x"])
def test_a_sentence_that_begins_a_line_stays_a_paragraph(text: str) -> None:
    assert [token.type for token in READER.parse(f"before\n{prose(text)}")][::2] == [
        "paragraph_open",
        "paragraph_close",
    ]


def test_an_empty_text_is_not_given() -> None:
    assert cell(" \u200b ") == NOT_GIVEN


def test_a_long_text_is_cut_visibly() -> None:
    assert plain("x" * 2000).endswith("…")


@pytest.mark.parametrize(("text", "said"), [("Done", "Done."), ("Done.", "Done."), ("", "not given.")])
def test_a_sentence_ends_with_one_full_stop(text: str, said: str) -> None:
    assert sentence(text) == said


def test_a_fence_is_longer_than_any_run_of_backticks() -> None:
    assert fenced("a ```` b").startswith("`````text\n")


def test_a_code_block_shows_what_would_not_be_seen() -> None:
    assert "\\u202e" in fenced("vllm serve \u202e x")


def test_code_is_only_for_names_without_special_characters() -> None:
    assert code("a`b") == cell("a`b")


@pytest.mark.parametrize(
    "text",
    [
        "hf_abcdefghijklmnopqrstuv",
        "Bearer abcdef0123456789",
        "--api-key hunter2hunter2",
        "HF_TOKEN=abcdefgh",
        "GPU-0f1e2d3c-0000-4000-8000-000000000000",
        "/home/somebody/models",
        "/root/models",
    ],
)
def test_private_text_is_taken_out(text: str) -> None:
    secret = text.replace("/models", "").removeprefix("Bearer ").removeprefix("--api-key ").removeprefix("HF_TOKEN=")
    assert secret not in html.unescape(cell(f"see {text} there"))


@pytest.mark.parametrize(
    "text", ["OIDC, no bearer token", "--api-key $VLLM_API_KEY", "skill-based", "the token budget"]
)
def test_ordinary_text_is_not_taken_for_a_secret(text: str) -> None:
    assert html.unescape(cell(text)) == text


def test_a_table_refuses_a_row_of_another_length() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells"):
        Table(("a", "b"), (("x",),))


def test_a_table_refuses_more_than_seven_columns() -> None:
    with pytest.raises(ValueError, match="2 to 7 columns"):
        Table(tuple("abcdefgh"), ())


def test_a_cell_that_is_markup_is_printed_as_it_is() -> None:
    assert "| `--flag` |" in _table(Table(("a", "b"), ((Markup("`--flag`"), "x"),)))


def test_a_secret_in_an_answer_breaks_no_invariant() -> None:
    tree = whole_answers()
    tree["engine"]["purpose"] = "use hf_abcdefghijklmnopqrstuv from /home/somebody"
    made = select(tree, on=machine())
    assert violations(render(made), made) == []


@pytest.mark.parametrize("text", NASTY[:24])
def test_hostile_text_breaks_no_invariant(text: str) -> None:
    made = filled(lambda: text)
    assert violations(render(made), made) == []


def test_hostile_text_from_a_run_keeps_the_shape() -> None:
    run = smoke()
    hostile = run.model_copy(update={"notes": ("a\n\n# b | c",), "model": "x|y\n# z"})
    tame = run.model_copy(update={"notes": ("a",), "model": "x"})
    assert shape(_run(hostile)) == shape(_run(tame))


def _run(run: SmokeResult) -> str:
    return render(select(whole_answers(), on=machine(), run=run))


_CHILD = """
from tests.unit.document_selections import full
from wizard.document.render import render
import sys
sys.stdout.buffer.write(render(full()).encode())
"""


@pytest.mark.parametrize(
    "environment_of_child",
    [
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8", "PYTHONHASHSEED": "1"},
        {"TZ": "America/Caracas", "LC_ALL": "C", "PYTHONHASHSEED": "4242", "LANG": "tr_TR.UTF-8"},
    ],
)
def test_the_same_selection_gives_the_same_bytes_elsewhere(environment_of_child: dict[str, str]) -> None:
    import os

    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment_of_child},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert child.stdout == render(full()).encode()
