"""What people type changes no structure: of the document, of the brief, of no kind of place, in three readers."""

from collections.abc import Callable, Sequence
from itertools import count, cycle, islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.hostile import HOSTILE, SAMPLE, filled
from tests.unit.markdown_shapes import Shape, cmark_shape, pandoc_shape, shape
from wizard.document.markdown import Table, environment
from wizard.document.render import render, render_brief

Reader = Callable[[str], object]
READERS = pytest.mark.parametrize("reader", [shape, cmark_shape, pandoc_shape], ids=["markdown-it", "cmark", "pandoc"])

#: Every kind of place that the templates put a text in, once for each text.
_PLACES = """{% from "macros.md.j2" import table %}
{% for text in texts %}
### Heading {{ text | prose }}

> Quote {{ text | prose }}

{{ text | prose }}

* {{ text | prose }}: {{ text | sentence }}

{{ text | fenced }}

{% endfor %}
{{ table(cells) }}
"""


def _in_every_kind_of_place(texts: Sequence[str]) -> str:
    cells = Table(("a", "b", "c"), tuple((text, "between", text) for text in texts))
    return environment().from_string(_PLACES).render(texts=texts, cells=cells)


def _without_headings(found: object) -> object:
    """The heading's own text is the user's; its level and place are not."""
    if not isinstance(found, Shape):
        return found
    return found._replace(headings=tuple((tag, "") for tag, _ in found.headings))


def _same_everywhere(reader: Reader, texts: Sequence[str]) -> bool:
    tame = [f"word {number}" for number in range(len(texts))]
    seen, expected = (_without_headings(reader(_in_every_kind_of_place(used))) for used in (texts, tame))
    return seen == expected


@READERS
def test_no_hostile_text_leaves_its_place(reader: Reader) -> None:
    assert _same_everywhere(reader, SAMPLE)


@pytest.mark.soak
@READERS
def test_none_of_1500_hostile_texts_leaves_its_place(reader: Reader) -> None:
    assert len(HOSTILE) == 1500
    assert _same_everywhere(reader, HOSTILE)


def _both(text: Callable[[], str]) -> str:
    """The document and the page for the board, one after the other."""
    selection = filled(text)
    return f"{render(selection)}\n{render_brief(selection)}"


@pytest.fixture(scope="module")
def alike() -> dict[str, object]:
    """What the readers see of both with the same plain words in every answer."""
    text = _both(lambda: "plain words")
    return {"markdown-it": shape(text), "cmark": cmark_shape(text)}


@pytest.mark.parametrize("text", SAMPLE[:24])
def test_the_same_hostile_text_in_every_answer_keeps_both_pages(text: str, alike: dict[str, object]) -> None:
    pages = _both(lambda: text)
    assert {"markdown-it": shape(pages), "cmark": cmark_shape(pages)} == alike


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=60).filter(lambda t: t.strip()))
def test_any_text_in_every_answer_keeps_both_pages(alike: dict[str, object], text: str) -> None:
    assert shape(_both(lambda: text)) == alike["markdown-it"]


def _turned(texts: Sequence[str], by: int) -> str:
    """Both pages with another text in each answer, beginning at the text `by`."""
    source = islice(cycle(texts), by, None)
    return _both(lambda: next(source))


def _plainly() -> str:
    numbers = count()
    return _both(lambda: f"word {next(numbers)}")


@READERS
def test_another_hostile_text_in_each_answer_keeps_both_pages(reader: Reader) -> None:
    assert reader(_turned(HOSTILE, 0)) == reader(_plainly())


@pytest.mark.soak
@pytest.mark.parametrize(("reader", "turns"), [(shape, 24), (cmark_shape, 60), (pandoc_shape, 3)])
def test_hostile_texts_by_turns_in_each_answer_keep_both_pages(reader: Reader, turns: int) -> None:
    """A turn moves every text by 37 answers, which has no factor in common with 1,500: none comes back too soon."""
    expected = reader(_plainly())
    assert [turn for turn in range(turns) if reader(_turned(HOSTILE, turn * 37)) != expected] == []
