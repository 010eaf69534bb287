"""Writing answers files: every question with its title and its reason, filled, blank, or only what is missing."""

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args, get_origin

from wizard.answers import Answers, NumberText, Table
from wizard.asking.questions import Question, by_key, row_type, table_type
from wizard.printable import printable

Tree = dict[str, Any]
Wanted = Callable[[str], bool]

_WIDTH = 100
#: A text that needs no escape in TOML.
_PLAIN = re.compile(r"[ !#-\[\]-~]*")


def everything(_: str) -> bool:
    """Write every question."""
    return True


def render_answers(tree: Tree, *, comments: bool = True, blanks: bool = True, wanted: Wanted = everything) -> str:
    """An answers file from a tree of values.

    With `comments` each question carries its title and its reason. With `blanks` a question without a value is written
    with an empty text, which reads back as not given. `wanted` chooses keys, such as
    `budget.engine.items[0].unit_price`; the text or id that names a row is always written, so that the file can be
    merged.
    """
    lines = [*(_head() if comments and not tree and wanted is everything else ()), "schema_version = 1"]
    if isinstance(tree.get("answered_by"), str):
        lines[:0] = _letter(tree) if comments and wanted is not everything else ()
        lines.append(f"answered_by = {_toml(tree['answered_by'])}")
    lines += list(_table(Answers, tree, "", "", _Style(comments, blanks, wanted)))
    return "\n".join(lines).strip() + "\n"


def _letter(tree: Tree) -> Iterator[str]:
    """What a colleague is told at the head of a file of questions: for whom, about what, and until when."""
    owner, title = (
        str(tree["answered_by"]),
        str(tree.get("project", {}).get("title") or "a project without a title yet"),
    )
    asked = tree.get("governance", {}).get("open_questions", [])
    due = min((str(row["due"]) for row in asked if row.get("owner") == owner and row.get("due")), default="")
    yield f"# Questions for {printable(owner)} about: {printable(title)}"
    if due:
        yield f"# Wanted by {printable(due)}."
    yield "# Fill in what you know, leave the rest empty, and send this file back."
    yield ""


@dataclass(frozen=True)
class _Style:
    comments: bool
    blanks: bool
    wanted: Wanted

    @property
    def explains(self) -> bool:
        """Whether the form of what may be written is explained: only to somebody who fills a file in."""
        return self.comments and self.blanks

    def without_comments(self) -> "_Style":
        """For the second row of a list: the first one has explained the fields."""
        return replace(self, comments=False)


def _table(table: type[Table], tree: Tree, header: str, at: str, style: _Style, generic: str = "") -> Iterator[str]:
    """The values of one table, then its inner tables, as TOML wants it. `header` is the TOML name, `at` the key."""
    values: list[str] = []
    inner: list[str] = []
    for name, field in table.model_fields.items():
        if not at and name in ("schema_version", "answered_by"):
            continue
        place, pattern = (f"{prefix}.{name}" if prefix else name for prefix in (at, generic))
        toml_name = f"{header}.{name}" if header else name
        annotation = field.annotation
        value = tree.get(name)
        if (sub := table_type(annotation)) is not None:
            block = list(_table(sub, value or {}, toml_name, place, style, pattern))
            inner += _block(f"[{toml_name}]", block)
        elif (row := row_type(annotation)) is not None:
            given = value or ([{}] if style.blanks else [])
            for index, item in enumerate(given):
                explained = style if index == 0 else style.without_comments()
                block = list(_table(row, item, toml_name, f"{place}[{index}]", explained, f"{pattern}[]"))
                inner += _block(f"[[{toml_name}]]", _named(row, item, block))
        elif get_origin(annotation) is dict and (sub := table_type(get_args(annotation)[1])) is not None:
            if style.explains and style.wanted(place):
                inner += ["", *_explained(pattern)]
            for key, item in (value or {}).items():
                block = list(_table(sub, item, f"{toml_name}.{_key(key)}", f"{place}.{key}", style, f"{pattern}.<id>"))
                inner += _block(f"[{toml_name}.{_key(key)}]", block)
        elif style.wanted(place) and (value not in (None, (), {}) or style.blanks):
            values += _entry(by_key()[pattern], name, value, style)
    yield from values
    yield from inner


def _block(header: str, lines: list[str]) -> list[str]:
    """A table with its header; a table that only holds inner tables needs none."""
    if not lines:
        return []
    return ["", *lines[1:]] if lines[0] == "" and not header.startswith("[[") else ["", header, *lines]


def _named(row: type[Table], item: Tree, block: list[str]) -> list[str]:
    """A row of which something is written also says which row it is."""
    name = next(iter(row.model_fields))
    if not any(line and not line.startswith("#") for line in block) or name not in item:
        return block
    entry = f"{name} = {_toml(item[name])}"
    return block if any(line == entry for line in block) else [entry, *block]


def _entry(question: Question, name: str, value: Any, style: _Style) -> Iterator[str]:
    if style.comments:
        unit = f" [{question.unit}]" if question.unit else ""
        choices = f" One of: {', '.join(question.choices)}." if question.choices else ""
        needed = "" if question.advanced or not style.blanks else "(needed) "
        yield from _comment(f"{needed}{question.title}{unit}.{choices} {question.why}")
        if style.blanks:
            yield from _explained(question.key)
    empty = {"texts": "[]", "choices_by_name": "{}"}.get(question.kind, '""')
    yield f"{name} = {empty if value in (None, (), {}) else _toml(value)}"


def _head() -> Iterator[str]:
    from wizard.asking.answers_notes import HEAD  # only a file that is filled in needs the catalogue

    yield from _comment(HEAD)


def _explained(pattern: str) -> Iterator[str]:
    from wizard.asking.answers_notes import notes_of

    for note in notes_of(pattern):
        yield from _comment(note)


def _comment(text: str) -> Iterator[str]:
    line = "#"
    for word in text.split():
        if len(line) + len(word) >= _WIDTH:
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return f'"{value}"'
    import tomlkit

    return str(tomlkit.item(value).as_string())
