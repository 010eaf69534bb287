"""Reads the document back as headings, tables and prose: our own rendering only, not Markdown at large.

Its tables have one row a line and no pipe inside a cell, so a line is split without a grammar.
"""

import html
import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"(#{1,6}) (.*)")
_DELIMITER = re.compile(r"\|(?:-{3,}\|)+")


@dataclass(frozen=True)
class ReadTable:
    """A table as a reader sees it: references resolved, spaces at the ends of cells dropped."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of one column; raises ValueError if there is none of that name."""
        index = self.columns.index(name)
        return tuple(row[index] for row in self.rows if index < len(row))


@dataclass
class Part:
    """What stands below one heading, up to the next one."""

    level: int
    heading: str
    tables: list[ReadTable] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


def read(text: str) -> list[Part]:
    """Return the parts of a document in order; text before the first heading belongs to a part of level 0."""
    parts = [Part(0, "")]
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        heading = _HEADING.fullmatch(line)
        if heading:
            parts.append(Part(len(heading[1]), html.unescape(heading[2])))
        elif line.startswith("```"):
            index = _code(lines, index, parts[-1])
        elif line.startswith("|"):
            index = _table(lines, index, parts[-1])
        elif line.strip():
            parts[-1].prose.append(html.unescape(line))
        index += 1
    return parts


def _code(lines: list[str], index: int, part: Part) -> int:
    """Take a code block; return the index of its last line."""
    fence = lines[index][: len(lines[index]) - len(lines[index].lstrip("`"))]
    end = index + 1
    while end < len(lines) and lines[end] != fence:
        end += 1
    part.code.append("\n".join(lines[index + 1 : end]))
    return end


def _table(lines: list[str], index: int, part: Part) -> int:
    """Take the lines of a table; return the index of its last line."""
    end = index
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    rows = [_cells(line) for line in lines[index:end] if not _DELIMITER.fullmatch(line)]
    part.tables.append(ReadTable(rows[0], tuple(rows[1:])))
    return end - 1


def _cells(line: str) -> tuple[str, ...]:
    inner = line.removeprefix("|").removesuffix("|")
    return tuple(html.unescape(text).strip() for text in inner.split("|"))
