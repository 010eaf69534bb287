"""Every derived cell of the examples, calculated again from the cells that a reader sees beside it.

A cell shows rounded figures, so what is made of them may differ in the last place that is shown; amounts may not.
"""

import math
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal

import pytest

from tests.unit.document_selections import full, two_nodes
from wizard.document.reader import Part, ReadTable, read
from wizard.document.render import render

E, R, LOAD, MEMORY = "Engine budget, line E", "Runtime budget, line R", "2.3 Load and objectives", "2.4 Configuration"
#: A row that was calculated again: its heading, its first cell (with the second where that repeats), and whether the
#: figure is the one that the document prints.
Checked = tuple[str, str, bool]
#: Derived from more than the row shows: the model's configuration (F-2, F-5), other cells (F-9), events (F-11),
#: flags (F-15).
ELSEWHERE = {
    "F-2": {"Weights", "Activations", "CUDA graphs", "Libraries and communication", "KV cache"},
    "F-5": None,
    "F-9": {"A ceiling is tightened"},  # it repeats the ceilings of 2.3
    "F-11": {"Expires when"},
    "F-15": None,
}


class Document:
    """The parts of a document by their heading."""

    def __init__(self, text: str) -> None:
        self.parts: dict[str, Part] = {part.heading: part for part in read(text)}

    def table(self, heading: str, first: str, second: str = "") -> ReadTable:
        """The table whose first columns have these names."""
        named = (first, second)
        return next(t for t in self.parts[heading].tables if all(a in (b, "") for a, b in zip(named, t.columns)))  # noqa: B905

    def cell(self, heading: str, row: str, column: str) -> str:
        """One cell by the name of its row and column."""
        tables = [t for t in self.parts[heading].tables if column in t.columns]
        return next(r[t.columns.index(column)] for t in tables for r in t.rows if r[0] == row)

    def said(self, heading: str) -> str:
        """The prose below a heading."""
        return "\n".join(self.parts[heading].prose)


def _figures(text: str) -> list[Decimal]:
    return [Decimal(found.replace(",", "")) for found in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text)]


def _figure(text: str) -> Decimal:
    return _figures(text)[0]


def _cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def _near(found: Decimal, shown: Decimal, share: float) -> bool:
    return math.isclose(found, shown, rel_tol=share)


def _amounts(document: Document, heading: str) -> dict[str, tuple[bool, Decimal]]:
    """The amount of each item of a line, and whether it recurs; one that is in another item's price counts nothing."""
    rows = document.table(heading, "Id", "Item").rows
    return {
        row[0]: (row[2] != "one-time", _figure(row[5]) if row[5].startswith("EUR") else Decimal(0))
        for row in rows
        if len(row[0]) > 1
    }


def amounts_of_lines(document: Document) -> Iterator[Checked]:
    for heading in (E, R):
        amounts = _amounts(document, heading)
        subtotals: dict[str, Decimal] = {}
        for row in document.table(heading, "Id", "Item").rows:
            if row[1] == "Subtotal":
                subtotals[row[2].partition(",")[0]] = sum((amounts[name][1] for name in row[3].split(", ")), Decimal(0))
                yield heading, f"{row[0]} {row[1]}", subtotals[row[2].partition(",")[0]] == _figure(row[5])
            elif row[1].startswith("Contingency"):
                rate, of = _figure(row[3]), subtotals[row[2].partition(",")[0]]
                yield heading, f"{row[0]} {row[1]}", _cents(rate * of / 100) == _figure(row[5])
            elif row[5].startswith("EUR"):
                periods = 12 if "12 ×" in row[2] else 1
                amount = _cents(_figure(row[3]) * _figure(row[4])) * periods
                yield heading, f"{row[0]} {row[1]}", amount == _figure(row[5])


def other_options(document: Document) -> Iterator[Checked]:
    for heading in (E, R):
        amounts = _amounts(document, heading)
        prices: dict[tuple[str, bool], Decimal] = {}
        for row in document.table(heading, "Option", "What is priced").rows:
            yearly = row[4].endswith("a year")
            prices[row[0], yearly] = prices.get((row[0], yearly), Decimal(0)) + _figure(row[4])
            yield heading, f"{row[0]} {row[1]}", _cents(_figure(row[2]) * _figure(row[3])) == _figure(row[4])
        for row in document.table(heading, "Option", "In place of").rows:
            sums = []
            for yearly in (False, True):
                kept = [amount for name, (recurs, amount) in amounts.items() if recurs is yearly and name not in row[1]]
                if row[1] != "nothing":
                    replaced = row[1].split(", ")
                    kept = [a for name, (recurs, a) in amounts.items() if recurs is yearly and name not in replaced]
                sums.append(sum(kept, Decimal(0)) + prices.get((row[0], yearly), Decimal(0)))
            right = sums == [_figure(row[2]), _figure(row[3])]
            if "(F-18)" in row[5]:
                more, less = _figures(row[4])
                right &= _near(more / (less / 12), _figure(row[5]), 0.005)
            yield heading, f"{row[0]} {row[1]}", right


def volume_and_engine_cost(document: Document) -> Iterator[Checked]:
    calls, tokens = (
        _figure(document.cell(LOAD, row, "Ceiling or target")) for row in ("Calls per year", "Output tokens per call")
    )
    volume = _figure(document.cell(LOAD, "Annual volume", "Ceiling or target"))
    yield LOAD, "Annual volume", calls * tokens == volume
    yearly = sum(amount for recurs, amount in _amounts(document, E).values() if recurs)
    said = re.search(r"Engine cost per 1M output tokens: EUR (\S+)", document.said(E))
    assert said is not None
    yield E, "Engine cost", _cents(yearly * 1_000_000 / volume) == Decimal(said[1])


def runtime_cost(document: Document) -> Iterator[Checked]:
    said = re.search(r"hourly R1 / \((\d+) output tokens/s", document.said(R))
    if said is None:
        return
    hourly, rate = _amounts(document, R)["R1"][1] / 8760, Decimal(said[1])
    used = _figure(document.cell(LOAD, "Annual volume", "Ceiling or target")) / (rate * 31_536_000)
    for row in document.table(R, "U").rows:
        share = used if "from the volume" in row[0] else Decimal(row[0])
        cost = hourly * 1_000_000 / (3600 * rate * share)
        right = all(_near(cost * of, _figure(cell), 0.003) for of, cell in zip(_PRICES, row[1:4], strict=True))
        yield R, row[0], right and _near(share, _figure(row[0]), 0.01)
    idle = re.search(r"R3 idle part of R1 at U = \S+, EUR ([\d,.]+\d)", document.said(R))
    assert idle is not None
    yield R, "R3", _near((1 - used) * _amounts(document, R)["R1"][1], _figure(idle[1]), 0.001)


_PRICES = (Decimal("0.8"), Decimal(1), Decimal("1.2"))


def counts(document: Document) -> Iterator[Checked]:
    heading = "2.7 Capacity, availability, operations"
    for row in document.table(heading, "Item", "Value").rows:
        if "F-6" not in row[2]:
            continue
        asked = [int(figure) for figure in _figures(row[1])]
        if row[1].startswith("ceil"):
            yield heading, row[0], -(-asked[0] // asked[1]) == asked[2]
        else:
            serving, spare, each, total, *held = asked
            yield heading, row[0], (serving + spare) * each == total and held in ([], [spare * each])


def time_of_a_call(document: Document) -> Iterator[Checked]:
    task, calls, limit = _figures(document.cell(LOAD, "E2E, worked out", "Ceiling or target"))
    right = task * 1000 / calls == limit == _figure(document.cell(LOAD, "E2E", "Ceiling or target"))
    yield from ((LOAD, row, right) for row in ("E2E", "E2E, worked out"))


def floors(document: Document) -> Iterator[Checked]:
    said = re.search(
        r"at least (\S+) GB a GPU at (\S+) GB/s; .* need (\S+) tera-operations at (\S+)", document.said(LOAD)
    )
    assert said is not None
    read_gb, gb_s, operations, rate = (_figure(text) for text in said.groups())
    each = _figure(document.cell("2.2 Hardware found and hardware proposed", "GPUs per replica", "Proposed"))
    tokens = _figure(document.cell(LOAD, "Output tokens per call", "Ceiling or target"))
    first, further = operations / (rate * each) * 1000, read_gb / gb_s * 1000
    for row, floor in (("TTFT", first), ("TPOT", further), ("E2E", first + (tokens - 1) * further)):
        shown = _figure(document.cell(LOAD, row, "Floor"))
        yield LOAD, row, abs(floor - shown) <= max(Decimal("0.06"), shown / 50)


def weighted_scores(document: Document) -> Iterator[Checked]:
    table = document.table("1.4 Options considered", "Criterion")
    *rows, total = table.rows
    right = [
        sum(_figure(row[1]) * _figure(row[place]) for row in rows) / 100 == _figure(total[place])
        for place in range(2, len(table.columns) - 1)
    ]
    yield "1.4 Options considered", total[0], all(right)


def longest_request(document: Document) -> Iterator[Checked]:
    needed = [
        _figures(text) for text in document.table("1.2 Supported model architectures", "Model").column("Context needed")
    ]
    shown = _figure(document.cell(MEMORY, "`--max-model-len`", "Value"))
    yield MEMORY, "`--max-model-len`", shown == max(figures[0] for figures in needed if figures)


def memory(document: Document) -> Iterator[Checked]:
    rows = {row[0]: row for row in document.table(MEMORY, "Item", "Memory per GPU, GiB").rows}
    value = {name: _figure(row[1]) for name, row in rows.items() if row[1] != "not given"}
    terms = [value[name] for name in ("Weights", "Activations", "CUDA graphs", "Libraries and communication")]
    last = Decimal("0.03")  # five terms of two places
    yield MEMORY, "Required", abs(sum(terms) + value["KV cache"] - value["Required"]) <= last
    room = value["Reserved by the runtime"] - sum(terms)
    yield MEMORY, "Room for the KV cache", abs(room - value["Room for the KV cache"]) <= last
    total = _figure(document.cell("2.2 Hardware found and hardware proposed", "Memory per GPU, NVML", "Found"))
    reserved = _figure(rows["Reserved by the runtime"][2]) * total
    yield MEMORY, "Reserved by the runtime", abs(reserved - value["Reserved by the runtime"]) <= last


RECOMPUTED: dict[str, Callable[[Document], Iterator[Checked]]] = {
    "F-1 and F-7": amounts_of_lines,
    "F-1 and F-18": other_options,
    "F-2": memory,
    "F-3 and F-4": floors,
    "F-6": counts,
    "F-8": volume_and_engine_cost,
    "F-9": time_of_a_call,
    "F-10": runtime_cost,
    "F-12": weighted_scores,
    "F-14": longest_request,
}


@pytest.fixture(scope="module", params=[full, two_nodes], ids=["one node", "two nodes"])
def document(request: pytest.FixtureRequest) -> Document:
    return Document(render(request.param()))


@pytest.mark.parametrize("formula", RECOMPUTED)
def test_a_derived_cell_is_what_its_formula_gives(document: Document, formula: str) -> None:
    assert [(heading, row) for heading, row, right in RECOMPUTED[formula](document) if not right] == []


def test_no_derived_cell_is_left_out(document: Document) -> None:
    checked = {(heading, row) for check in RECOMPUTED.values() for heading, row, _ in check(document)}
    left = []
    for heading, part in document.parts.items():
        for table in part.tables:
            for row in table.rows:
                formulas = set(re.findall(r"derived (F-\d+)", " ".join(row)))
                known = [ELSEWHERE[f] is None or row[0] in (ELSEWHERE[f] or ()) for f in formulas if f in ELSEWHERE]
                names = {(heading, row[0]), (heading, f"{row[0]} {row[1]}")}
                left += [(heading, row[0])] if formulas and not any(known) and not names & checked else []
    assert left == []
