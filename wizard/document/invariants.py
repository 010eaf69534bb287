"""What must hold in every document, whatever anybody answered; a violation is a fault of this program.

The checks read the rendered text, not the values it was made from, so that they also find mistakes of the templates.
"""

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from probes.smoke.statistics import requests_needed
from wizard.budget import catalogue_item
from wizard.budget.money import ARITHMETIC
from wizard.currencies import minor_digits
from wizard.decision.selection import Selection
from wizard.document.context.alternatives import PRICES
from wizard.document.context.measurement import runs
from wizard.document.context.money import AMOUNTS, BASIS
from wizard.document.reader import Part, ReadTable, read
from wizard.document.redact import private_parts
from wizard.document.render import FUNDING


class Violation(NamedTuple):
    """One broken invariant: the id of the rule it stands for, and what is wrong where."""

    rule: str
    message: str


class Private(NamedTuple):
    """What names this machine and its user. The caller looks it up; the document must not hold it."""

    host_name: str | None = None
    home: str | None = None
    user: str | None = None


SECTIONS = ("Section 1: Inference engine", "Section 2: Runtime deployment")
BUDGET = "Split budget"
_WORDS = frozenset({"probe", "answer", "catalogue", "default", "missing", "tool"})
_DERIVED = re.compile(r"derived (F-[0-9]+)")
_MEASURED = re.compile(r"measured (RUN-[0-9]+(?:(?:, | and )RUN-[0-9]+)*)")
#: Tables of words, or with one source a column that the sentence before them names; by their first columns.
_WITHOUT_SOURCE: frozenset[tuple[str, ...]] = frozenset(
    {
        FUNDING[:2],
        BASIS[:2],
        ("Rule", "Severity"),
        ("Criterion", "Weight"),
        ("Item", "Found"),
        ("Item", "Planned"),
        ("Runtime option", "Rejected because"),
        ("Metric", "n"),
        ("Term", "Predicted"),
        ("Change", "Engine line"),
        ("Id", "Type"),
        ("Id", "Risk"),
        ("Role", "Name"),
        ("Evidence id", "What"),
    }
)
#: Names of users and hosts that are words of any document on this subject, and name nobody.
_COMMON_NAMES = frozenset(
    {"root", "user", "admin", "ubuntu", "debian", "linux", "vllm", "cpu", "gpu", "cuda", "inference", "server", "model"}
)
_TOTAL = re.compile(r"\b(grand|combined|overall|project)\s+total\b|\bTCO\b", re.IGNORECASE)
_CLAIMS = re.compile(r"\bMLPerf\b|\bcertified\b|\bguaranteed\b|\bproduction-ready\b", re.IGNORECASE)
_MONEY = re.compile(r"([A-Z]{3}) ([0-9,]+(?:\.[0-9]+)?)")
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")


def violations(text: str, selection: Selection, private: Private | None = None) -> list[Violation]:
    """Return every invariant that a rendered document breaks; none is what the caller may rely on."""
    parts = read(text)
    found = [
        *_sections(parts),
        *_tables(parts, selection),
        *_lines(parts),
        *_funding(parts),
        *_measurement(parts),
        *_status(parts, selection),
        *_private(text, selection, private or Private()),
    ]
    return sorted(set(found))


def brief_violations(text: str, selection: Selection, private: Private | None = None) -> list[Violation]:
    """Return every invariant that a rendered brief breaks: those of the document that hold on its page too."""
    parts = read(text)
    found = [*_tables(parts, selection), *_private(text, selection, private or Private())]
    headings = [part.heading for part in parts]
    found += [Violation("B1", f"a heading names a total: {words}") for words in headings if _TOTAL.search(words)]
    requests = [table.column("Line") for part in parts for table in part.tables if table.columns == FUNDING]
    if requests != [("E", "R")]:
        found.append(Violation("B1", "the funding requests are not one row for each line"))
    return sorted(set(found))


def _sections(parts: list[Part]) -> Iterator[Violation]:
    """X1: two sections, engine before runtime, the budget after both; every heading once, no level left out."""
    top = [part.heading for part in parts if part.level == 2]
    if tuple(heading for heading in top if heading.startswith("Section")) != SECTIONS:
        yield Violation("X1", "the document does not have its two sections in order")
    elif BUDGET not in top or top.index(BUDGET) < top.index(SECTIONS[1]):
        yield Violation("X1", "the budget does not follow both sections")
    if [part.level for part in parts].count(1) != 1:
        yield Violation("X1", "the document does not have one title")
    headings = [part.heading for part in parts if part.level > 1]
    for heading in {heading for heading in headings if headings.count(heading) > 1}:
        yield Violation("X1", f"two headings read {heading}")
    for heading in headings:
        if _TOTAL.search(heading):
            yield Violation("B1", f"a heading names a total of both lines: {heading}")


def _tables(parts: list[Part], selection: Selection) -> Iterator[Violation]:
    formulas = {match for part in parts for line in part.prose for match in re.findall(r"^\* (F-[0-9]+)", line)}
    measured = {run.id for run in runs(selection.smoke)} if selection.smoke else set()
    for part in parts:
        for table in part.tables:
            yield from _cells(part, table)
            if "Source" in table.columns:
                for words in table.column("Source"):
                    yield from _source(part, words, formulas, measured)
            elif table.columns[:2] not in _WITHOUT_SOURCE:
                yield Violation("X2", f"a table below {part.heading} has no Source column")


def _cells(part: Part, table: ReadTable) -> Iterator[Violation]:
    """X3: every cell holds something, except those that people fill in."""
    by_hand = {"Decision", "Date"} if part.heading == "Approvals" else set()
    for row in (table.columns, *table.rows):
        if len(row) != len(table.columns):
            yield Violation("X3", f"a row below {part.heading} has {len(row)} cells of {len(table.columns)}")
            continue
        for column, text in zip(table.columns, row, strict=True):
            if not text and column not in by_hand:
                yield Violation("X3", f"an empty cell below {part.heading}, column {column}")


def _source(part: Part, words: str, formulas: set[str], measured: set[str]) -> Iterator[Violation]:
    """X2: only the known source words; derived names its formula, measured its run, and both exist."""
    rest = words
    for match in _DERIVED.finditer(words):
        if match[1] not in formulas:
            yield Violation("X2", f"below {part.heading}: {match[0]} is not in Annex C")
    rest = _DERIVED.sub("tool", rest)
    for match in _MEASURED.finditer(words):
        if not set(re.findall(r"RUN-[0-9]+", match[0])) <= measured:
            yield Violation("X2", f"below {part.heading}: {match[0]} is no run of this selection")
        rest = rest.replace(match[0], "tool")
    if not set(rest.split(", ")) <= _WORDS:
        yield Violation("X2", f"below {part.heading}: {words} is not a source")


def _lines(parts: list[Part]) -> Iterator[Violation]:
    """B1, B8, B12 and B16 on the amounts of each line."""
    for part in parts:
        for table in part.tables:
            if table.columns == AMOUNTS:
                yield from _amounts(part.heading, table)
            if table.columns == PRICES:
                for row in table.rows:
                    if not _is_product(row[2], row[3], *_split_period(row[4])):
                        yield Violation("B16", f"{row[0]}, {row[1]}: the amount is not quantity times price")


def _amounts(heading: str, table: ReadTable) -> Iterator[Violation]:
    own = heading.rpartition(" ")[2]
    # An item may be called "Subtotal" by whoever typed it; its id tells it from a sum.
    items = [row for row in table.rows if catalogue_item(row[0]) is not None or not _is_sum(row)]
    for row in items:
        known = catalogue_item(row[0])
        if known is not None and known.memo:
            yield Violation("B12", f"{row[0]} is a memo row and stands among the amounts of line {own}")
        if not _is_product(row[3], row[4], row[5], row[2]):
            yield Violation("B16", f"{row[0]}: the amount is not quantity times price")
    for row in table.rows:
        if row in items:
            continue
        if row[0] != own:
            yield Violation("B1", f"a sum in line {own} is labelled {row[0]}")
        if row[1] == "Subtotal":
            yield from _subtotal(own, row, [item for item in items if _period(item) in (row[2], None)])


def _is_sum(row: tuple[str, ...]) -> bool:
    return row[1] == "Subtotal" or row[1].startswith("Contingency, ")


def _period(row: tuple[str, ...]) -> str | None:
    if row[2] == "not given":
        return None
    return "one-time" if row[2] == "one-time" else "recurring, yearly"


def _subtotal(own: str, row: tuple[str, ...], items: list[tuple[str, ...]]) -> Iterator[Violation]:
    unpriced = [item[0] for item in items if item[5].startswith("not given")]
    stated = _money(row[5])
    for name in row[3].split(", "):
        known = catalogue_item(name)
        if known is not None and known.memo:
            yield Violation("B12", f"{name} is a memo row and stands in a subtotal of line {own}")
    if unpriced and stated is not None:
        yield Violation("B8", f"line {own} states a subtotal although {', '.join(unpriced)} has no price")
    if stated is not None and not unpriced:
        added = sum((amount for item in items if (amount := _money(item[5])) is not None), Decimal(0))
        if added != stated:
            yield Violation("B16", f"the rows of line {own}, {row[2]}, do not add to the subtotal")


def _money(text: str) -> Decimal | None:
    match = _MONEY.fullmatch(text)
    return None if match is None else Decimal(match[2].replace(",", ""))


def _split_period(text: str) -> tuple[str, str]:
    """The amount of an option's price, and how often it is paid as the amounts of the line say it."""
    amount = re.match(r"[A-Z]{3} [0-9,.]+", text)
    return (amount[0] if amount else text), ("recurring, 12 ×" if text.endswith("12 × monthly") else "")


def _is_product(quantity_and_unit: str, unit_price: str, shown: str, often: str) -> bool:
    """Whether amount = quantity x unit price x rate x periods to the minor unit; true where no amount is shown.

    A rate stands exactly where the price is in another currency than the amount.
    """
    quoted, _, rate = unit_price.partition(" × ")
    amount, price, quantity = _money(shown), _money(quoted), _NUMBER.match(quantity_and_unit)
    if amount is None:
        return True
    if price is None or quantity is None or bool(rate) != (quoted[:3] != shown[:3]):
        return False
    unit = Decimal(1).scaleb(-minor_digits(shown[:3]))
    factors = (quantity[0], rate or "1")
    for factor in factors:
        price = ARITHMETIC.multiply(price, Decimal(factor.replace(",", "")))
    once = price.quantize(unit, context=ARITHMETIC)
    return once * (12 if often.startswith("recurring, 12 ×") else 1) == amount


def _funding(parts: list[Part]) -> Iterator[Violation]:
    """B1: one request a line and nothing that adds them; B8: none where the line has no subtotal."""
    subtotals = {
        (part.heading.rpartition(" ")[2], row[2]): _money(row[5])
        for part in parts
        for table in part.tables
        if table.columns == AMOUNTS
        for row in table.rows
        if row[1] == "Subtotal"
    }
    for part in parts:
        for table in part.tables:
            if table.columns != FUNDING:
                continue
            if table.column("Line") != ("E", "R"):
                yield Violation("B1", "the funding requests are not one row for each line")
            for row in table.rows:
                for text, period in ((row[2], "one-time"), (row[3], "recurring, yearly")):
                    number = _NUMBER.fullmatch(text)
                    shown = None if number is None else Decimal(text.replace(",", ""))
                    if shown != subtotals.get((row[0], period)):
                        yield Violation("B8", f"the request of line {row[0]}, {period}, is not its subtotal")


def _measurement(parts: list[Part]) -> Iterator[Violation]:
    """M2: no percentile below its least number of requests; M10: no word that a smoke cannot carry."""
    for part in parts:
        if not part.heading.startswith("2.5 "):
            continue
        for table in part.tables:
            if table.columns[:2] == ("Metric", "n"):
                yield from _percentiles(table)
        said = [*part.prose, *(text for table in part.tables for text in table.columns)]
        for word in {match[0] for line in said for match in _CLAIMS.finditer(line)}:
            yield Violation("M10", f"2.5 says {word} about our own run")
        for line in part.prose:
            claimed = re.search(r"p99 of ([0-9,]+) requests", line)
            if claimed and int(claimed[1].replace(",", "")) < requests_needed(99):
                yield Violation("M2", "p99 is stated from too few requests")


def _percentiles(table: ReadTable) -> Iterator[Violation]:
    for row in table.rows:
        if int(row[1].replace(",", "")) < requests_needed(95) and row[3] != "not claimed":
            yield Violation("M2", f"{row[0]}: p95 is stated from {row[1]} requests")


def _status(parts: list[Part], selection: Selection) -> Iterator[Violation]:
    """G5: the tool writes draft or proposed only, and no decision of a person."""
    blocked = any(finding.severity == "block" for finding in selection.findings)
    expected = "draft" if blocked else "proposed"
    stated = [line for part in parts for line in part.prose if line.startswith("> **Status: ")]
    if len(stated) != 1 or not stated[0].startswith(f"> **Status: {expected}.**"):
        yield Violation("G5", f"the status line does not read {expected}")
    for part in parts:
        for table in part.tables:
            if part.heading == "Approvals" and any(
                text for name in ("Decision", "Date") for text in table.column(name)
            ):
                yield Violation("G5", "an approval cell is filled in")
            if table.columns[0] == "Field" and [row[1] for row in table.rows if row[0] == "Status"] not in (
                [],
                [expected],
            ):
                yield Violation("G5", f"the document control does not read {expected}")


def _private(text: str, selection: Selection, private: Private) -> Iterator[Violation]:
    """S3: no secret, GPU identifier or home folder; and neither the name of this machine nor of its user.

    A name that a person typed as an answer stands, and so does one that is a word of every document.
    """
    shown = html.unescape(text)
    for kind in private_parts(shown):
        yield Violation("S3", f"the document holds {kind}")
    typed = selection.answers.model_dump_json()
    names = (("host name", private.host_name), ("home folder", private.home), ("user name", private.user))
    for kind, name in names:
        if not name or len(name) < 3 or name in typed or name in _own_words() or name in _COMMON_NAMES:
            continue
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", shown):
            yield Violation("S3", f"the document holds the {kind} of this machine")


def _own_words() -> str:
    """Return the text that every document has: a machine called "engine" cannot be told from the word."""
    from wizard.document.markdown import environment

    loaded = environment()
    loader = loaded.loader
    return (
        ""
        if loader is None
        else "\n".join(loader.get_source(loaded, name)[0] for name in loaded.list_templates(["j2"]))
    )
