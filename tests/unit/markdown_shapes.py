"""The structure of a document as three readers see it: markdown-it-py, cmark-gfm (GitHub's own) and pandoc."""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import NamedTuple

import cmarkgfm
import pypandoc
from markdown_it import MarkdownIt

READER = MarkdownIt("commonmark").enable("table")


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


_MAIL = re.compile(r"\S*(?:mailto|xmpp):")


class _Tags(HTMLParser):
    """The start tags of a page in order: what kind of block or emphasis stands where, whatever its text is."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href") or ""
        # cmark-gfm makes a link of a mail address even where its @ is written as a reference; that is accepted.
        # The widths that pandoc gives to columns follow the longest text.
        if tag not in ("col", "colgroup") and not _MAIL.match(address):
            self.tags.append(tag)

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"comment {data}")


def _tags(page: str) -> tuple[str, ...]:
    found = _Tags()
    found.feed(page)
    found.close()
    return tuple(found.tags)


def cmark_shape(text: str) -> tuple[str, ...]:
    """The tags that cmark-gfm makes; HTML of the user's would stand there as a comment."""
    return _tags(cmarkgfm.github_flavored_markdown_to_html(text))


def pandoc_shape(text: str) -> tuple[str, ...]:
    """The tags that pandoc makes of GitHub's Markdown."""
    return _tags(pypandoc.convert_text(text, "html", format="gfm"))
