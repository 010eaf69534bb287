import html
import re
import subprocess
import sys
import tomllib
from collections import Counter
from typing import Any, NamedTuple

import cmarkgfm
import pypandoc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup

from probes.smoke.result import SmokeResult
from tests.unit.document_selections import EVIDENCE, almost_empty, full, machine, select, smoke
from wizard.answers_writer import render_answers
from wizard.document.invariants import violations
from wizard.document.markdown import NOT_GIVEN, Table, cell, code, environment, fenced, plain, prose, sentence
from wizard.document.render import render

READER = MarkdownIt("commonmark").enable("table")

NASTY = [
    "a|b",
    "a\\|b\\",
    "x\\\\|y",
    "`a|b`",
    "line one\nline two\r\n\nline three",
    "# heading",
    "## Section 3: more",
    "- item\n- item",
    "1. item",
    "---",
    "===",
    "| a | b |\n|---|---|\n| c | d |",
    "```\nfence",
    "<img src=x onerror=alert(1)>",
    "<!-- comment",
    "[x](javascript:alert(1))",
    "[^1]: note",
    "![x](http://example.com/x.png)",
    "$x^2$ and $$y$$",
    "*bold* _it_ __b__ ~~s~~",
    "@somebody #12 owner/repo#3",
    "http://example.com www.example.com a@example.com",
    "{{ 7*7 }} {% raw %}",
    "&amp; &#124; &nbsp;",
    "a\u202eb\u200bc\u2028d\u0000e\u001b[31m",
    "\ud800",
    ":smile: :100:",
    "> quote",
    ": definition",
    "    code",
    "\t",
    "",
    "~~~",
    "é" * 3000,
    "+ plus",
    "12) twelve",
]


class Shape(NamedTuple):
    """What of a document must not depend on what people typed."""

    headings: tuple[tuple[str, str], ...]
    tables: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[str, int], ...]


def shape(text: str) -> Shape:
    """Headings (the title's text aside), cells of every row of every table, and counts of lists and code blocks."""
    tokens = READER.parse(text)
    headings: list[tuple[str, str]] = []
    tables: list[list[int]] = []
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            headings.append((token.tag, "" if token.tag == "h1" else tokens[position + 1].content))
        elif token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append(0)
        elif token.type in ("th_open", "td_open"):
            tables[-1][-1] += 1
    kinds = Counter(token.type for token in tokens)
    kinds.update(child.type for token in tokens for child in token.children or ())
    # A reader drops surplus cells without a word, so pipes are counted too.
    tables = [[*rows, *pipes] for rows, pipes in zip(tables, _pipes(text), strict=True)]
    counted = (
        *_INLINE,
        "fence",
        "code_block",
        "bullet_list_open",
        "ordered_list_open",
        "hr",
        "html_block",
        "blockquote_open",
    )
    return Shape(tuple(headings), tuple(tuple(rows) for rows in tables), tuple((kind, kinds[kind]) for kind in counted))


_INLINE = ("link_open", "image", "code_inline", "html_inline", "em_open", "strong_open", "hardbreak")


def _pipes(text: str) -> list[list[int]]:
    """The pipes of every line of every table; a code block may hold any."""
    tables: list[list[int]] = [[]]
    outside = re.sub(r"(?ms)^(`{3,})text$.*?^\1$", "", text)
    for line in outside.split("\n"):
        if line.startswith("|"):
            tables[-1].append(line.count("|"))
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]


def _fill(value: Any, text: str, path: str = "") -> Any:
    """The same answers with `text` in every place where a person may type freely."""
    if isinstance(value, dict):
        return {key: _fill(item, text, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, text, path) for item in value]
    name = path.rpartition(".")[2]
    free = isinstance(value, str) and name not in _FIXED and ".scores" not in path and ".gates." not in path
    return text if free else value


#: Answers that are words from a list, dates, amounts, or names that other answers refer to.
_FIXED = frozenset(
    [
        "kind",
        "decision",
        "state",
        "frequency",
        "basis",
        "tax",
        "pricing",
        "view",
        "profile",
        "ownership",
        "licence_kind",
        "id",
        "carried_by",
        "included_in",
        "currency",
        "key",
        "gpu",
        "chosen",
        "product",
        "version",
        "name",
        "quantity",
        "contingency_of",
        "value",
        "rate",
        "unit_price",
    ]
)


def _answers() -> dict[str, Any]:
    """The example as a tree, through the answers file, so that every text is the one a person would type."""
    from tests.unit.document_selections import DAY
    from tests.unit.rule_mutations.budget import owned_inputs
    from wizard.example import example_tree

    tree = example_tree(DAY)
    rate = {"currency": "USD", "rate": "0.86", "source_ref": "x", "observed_on": DAY}
    tree["budget"]["engine"]["rates"] = [rate]
    tree["budget"]["runtime"] |= {"rates": [rate], "owned": owned_inputs()}
    return tomllib.loads(render_answers(tree, blanks=False), parse_float=str)


def _with(text: str) -> str:
    """The document with `text` in every answer and every finding; which findings there are does not depend on it."""
    selection = select(_fill(_answers(), text), on=machine(), run=smoke(), evidence=EVIDENCE)
    findings = tuple(found.model_copy(update={"message": text, "remedy": text}) for found in full().findings)
    return render(selection.model_copy(update={"findings": findings}))


@pytest.fixture(scope="module")
def expected() -> Shape:
    return shape(_with("plain words"))


@pytest.mark.parametrize("text", [text for text in NASTY if text.strip() and "\ud800" not in text])
def test_hostile_text_in_every_answer_keeps_the_shape_of_the_document(text: str, expected: Shape) -> None:
    assert shape(_with(text)) == expected


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=60).filter(lambda t: t.strip()))
def test_any_text_in_every_answer_keeps_the_shape_of_the_document(expected: Shape, text: str) -> None:
    assert shape(_with(text)) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_a_cell_reads_back_as_the_text(text: str) -> None:
    line = plain(text)
    assert html.unescape(cell(text)) == (line or NOT_GIVEN)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_a_sentence_reads_back_as_the_text(text: str) -> None:
    line = plain(text, 20_000)
    assert html.unescape(prose(text)) == (line or NOT_GIVEN)


@settings(max_examples=200, deadline=None)
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
    tree = _answers()
    tree["engine"]["purpose"] = "use hf_abcdefghijklmnopqrstuv from /home/somebody"
    made = select(tree, on=machine())
    assert violations(render(made), made) == []


@pytest.mark.parametrize("text", NASTY[:24])
def test_hostile_text_breaks_no_invariant(text: str) -> None:
    made = select(_fill(_answers(), text), on=machine(), run=smoke(), evidence=EVIDENCE)
    assert violations(render(made), made) == []


def test_hostile_text_from_a_run_keeps_the_shape() -> None:
    run = smoke()
    hostile = run.model_copy(update={"notes": ("a\n\n# b | c",), "model": "x|y\n# z"})
    tame = run.model_copy(update={"notes": ("a",), "model": "x"})
    assert shape(_run(hostile)) == shape(_run(tame))


def _run(run: SmokeResult) -> str:
    return render(select(_answers(), on=machine(), run=run))


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
