"""Text that may stand in Markdown: escaping, fenced code, tables, and the template environment.

Whatever a person typed is data. It may change what a cell says, never how many headings, tables, rows or columns the
document has, in any of the readers that the document meets (CommonMark with tables, GitHub, pandoc). GitHub-flavoured
tables are split at pipes before anything inside a cell is read, and backslash escapes differ between readers, so
characters with a meaning are written as numeric character references, which all of them read alike.
"""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from wizard.document.redact import redacted
from wizard.paths import cache_dir
from wizard.printable import fitted

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

NOT_GIVEN = "not given"

#: The longest text of one cell; what is longer is cut, with an ellipsis. The whole text stays in the selection file.
CELL_LIMIT = 1000
#: Sentences are made of several texts, each of which may be as long as a cell.
PROSE_LIMIT = 20_000

#: Characters that always begin something: code, emphasis, links, mathematics, mentions, references.
_ALWAYS = re.escape("&<>|\\`*~[]$@^")
#: An underscore inside a word and a colon before a space or between the digits of a time mean nothing to any reader;
#: elsewhere they may begin emphasis, an emoji or the address of a link. A bare host name becomes a link at "www.".
_SPECIAL = re.compile(
    rf"[{_ALWAYS}]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|:(?=\S)(?!(?<=\d\d:)\d\d(?![\d:]))|(?<=[Ww][Ww][Ww])\."
)
#: Control, format (bidirectional marks among them) and surrogate characters, and the two separators that end lines.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HEADING_SPECIAL = re.compile(rf"{_SPECIAL.pattern}|#")
#: What would make a list, a rule, an underlined heading or a definition of a line that begins with it.
_LINE_MARK = re.compile(r"[-+=:]|[0-9]{1,9}([.)])(?=\s|$)")
_CODE = re.compile(r"[A-Za-z0-9_./:=-]{1,120}")
_WIDEST = 48


def plain(text: str, limit: int = CELL_LIMIT) -> str:
    """`text` as one visible line: composed, without control characters, single spaces, at most `limit` characters."""
    composed = unicodedata.normalize("NFC", redacted(text))
    if not (composed.isascii() and composed.isprintable()):
        composed = "".join(" " if unicodedata.category(c) in _INVISIBLE else c for c in composed)
    line = " ".join(composed.split())
    return fitted(line, limit)


def cell(text: str, limit: int = CELL_LIMIT) -> Markup:
    """Return `text` for a table cell; an empty one is "not given"."""
    return Markup(_SPECIAL.sub(_reference, plain(text, limit)) or NOT_GIVEN)  # noqa: S704


def prose(text: str, limit: int = PROSE_LIMIT) -> Markup:
    """Return `text` for a heading or a sentence: as in a cell, and harmless where it begins a line."""
    line = plain(text, limit)
    mark = _LINE_MARK.match(line)
    start = ""
    if mark is not None:
        start = f"{line[: mark.end() - 1]}&#{ord(line[mark.end() - 1])};"
        line = line[mark.end() :]
    return Markup(start + _HEADING_SPECIAL.sub(_reference, line) or NOT_GIVEN)  # noqa: S704


def sentence(text: str) -> Markup:
    """Return `text` as the end of a sentence: with one full stop, whether the person typed one or not."""
    line = plain(text).rstrip(".")
    return Markup("{}.").format(prose(line or NOT_GIVEN))


def _reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def code(text: str) -> Markup:
    """A name of the program's own, such as a flag, as code; anything that might be a person's text as a plain cell.

    Character references are not read inside code, so nothing with a special character may stand there.
    """
    return Markup(f"`{text}`") if _CODE.fullmatch(text) else cell(text)  # noqa: S704


def fenced(text: str, language: str = "text") -> Markup:
    """`text` as a code block, whose fence is longer than any run of backticks in it.

    Characters that would not be seen are written as escapes: a command with a hidden one is not the command shown.
    """
    lines = ["".join(_visible(c) for c in redacted(line)) for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup("\n".join([fence + language, *lines, fence]))  # noqa: S704


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


@dataclass(frozen=True)
class Table:
    """A table of the document: every row has one text per column, and no text is empty unless `blank` allows it.

    Texts are escaped when they are printed; a `Markup` is printed as it is. `blank` names the columns that people fill
    in by hand.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    blank: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a table that a reader would mend silently by dropping or inventing cells."""
        if not 1 < len(self.columns) <= 7:
            raise ValueError(f"a table has 2 to 7 columns, not {len(self.columns)}")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)}: {row[0]}")

    @property
    def dashes(self) -> tuple[str, ...]:
        """The delimiter row; pandoc takes the column widths from it."""
        widths = (max(len(plain(text)) for text in column) for column in zip(self.columns, *self.rows, strict=True))
        return tuple("-" * (min(width, _WIDEST) + 2) for width in widths)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows with the blank columns left blank."""
        hand = {index for index, name in enumerate(self.columns) if name in self.blank}
        if not hand:
            return self.rows
        return tuple(
            tuple(Markup(" ") if index in hand else text for index, text in enumerate(row)) for row in self.rows
        )


def _finalize(value: object) -> object:
    """What every printed expression of a template passes through; an undefined name goes on to raise."""
    from jinja2 import Undefined

    if isinstance(value, Markup | Undefined):
        return value
    return cell(NOT_GIVEN if value is None else str(value))


def _compiled() -> "BytecodeCache | None":
    """The templates as compiled before; compiling them anew costs more than rendering the document."""
    from jinja2 import FileSystemBytecodeCache

    class Compiled(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: "Bucket") -> None:
            # A cache that cannot be written, on a full disk for example, must not stop a document.
            with suppress(OSError):
                super().dump_bytecode(bucket)

    folder = cache_dir() / "templates"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return Compiled(str(folder))


@cache
def environment() -> "Environment":
    """The environment of the document's templates. A misspelt name raises; a person's text is never a template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        bytecode_cache=_compiled(),
        finalize=_finalize,
        keep_trailing_newline=True,
        loader=PackageLoader("templates", ""),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["prose"] = lambda value: prose(NOT_GIVEN if value is None else str(value))
    made.filters["sentence"] = lambda value: sentence(NOT_GIVEN if value is None else str(value))
    made.filters["fenced"] = fenced
    return made


def rendered(template: str, context: Mapping[str, object]) -> Markup:
    """One template with its own context, as text that may stand in another template."""
    return Markup(environment().get_template(template).render(context))  # noqa: S704
