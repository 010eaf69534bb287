"""Charts of the document: the figures of the table beside them, and none where there is nothing to draw."""

import re
from typing import Any

import pytest

from tests.unit.document_selections import DAY, almost_empty, full, machine, point, select, smoke
from wizard.asking.example import example_tree
from wizard.decision.selection import Selection
from wizard.document.charts import Series, latency_chart, memory_chart, xy_chart
from wizard.document.markdown import NOT_GIVEN, Table
from wizard.document.reader import Part, read
from wizard.document.render import render


def charts(text: str) -> list[str]:
    return [code for found in read(text) for code in found.code if code.startswith("xychart-beta")]


def part(text: str, heading: str) -> Part:
    return next(found for found in read(text) if found.heading == heading)


def drawn(chart: str, kind: str) -> list[list[str]]:
    return [row.split(", ") for row in re.findall(rf"^    {kind} \[(.*)\]$", chart, re.MULTILINE)]


def labels(chart: str) -> list[str]:
    found = re.search(r'x-axis "[^"]*" \[(.*)\]', chart)
    return re.findall(r'"([^"]*)"', found[1]) if found else []


@pytest.fixture(scope="module")
def document() -> str:
    return render(full())


def test_the_chart_of_latency_holds_the_figures_of_its_table(document: str) -> None:
    found = part(document, "2.5 Measurement")
    table = next(table for table in found.tables if table.columns[0] == "Calls in flight")
    chart = next(code for code in found.code if code.startswith("xychart-beta"))
    assert dict(zip(labels(chart), drawn(chart, "line")[0], strict=True)) == dict(
        zip(table.column("Calls in flight"), table.column("TPOT p95, ms"), strict=True)
    )


def test_the_ceiling_of_the_chart_is_the_one_of_the_results(document: str) -> None:
    found = part(document, "2.5 Measurement")
    results = next(table for table in found.tables if table.columns[0] == "Metric")
    ceiling = dict(zip(results.column("Metric"), results.column("Ceiling"), strict=True))["RUN-1: TPOT, ms"]
    assert {f"p95 {cell}" for cell in drawn(found.code[0], "line")[1]} == {ceiling}


def test_the_chart_of_memory_holds_the_figures_of_its_table(document: str) -> None:
    found = part(document, "2.4 Configuration")
    table = next(table for table in found.tables if "Memory per GPU, GiB" in table.columns)
    chart = next(code for code in found.code if code.startswith("xychart-beta"))
    cells = dict(zip(table.column("Item"), table.column("Memory per GPU, GiB"), strict=True))
    assert drawn(chart, "bar")[0] == [cells[label] for label in labels(chart)]


def _memory(free: str, required: str = "30.88") -> Table:
    rows = (("Weights", "16.00"), ("Required", required), ("Free when it was probed", free))
    return Table(("Item", "Memory per GPU, GiB"), rows)


def test_memory_that_was_free_is_drawn() -> None:
    assert labels(str(memory_chart(_memory("79.10")))) == ["Required", "Free when it was probed"]


def test_one_bar_is_no_chart() -> None:
    assert memory_chart(_memory(NOT_GIVEN)) is None


def test_a_point_without_a_p95_is_not_drawn() -> None:
    rows = (("4", "not claimed"), ("8", "1,020"), ("16", "1,200"))
    chart = latency_chart(Table(("Calls in flight", "TTFT p95, ms"), rows), "TTFT", None)
    assert (labels(str(chart)), drawn(str(chart), "line")) == (["8", "16"], [["1020", "1200"]])


def test_the_axis_reaches_above_every_figure() -> None:
    chart = xy_chart("t", "d", "x", ["a"], "ms", [Series("bar", ("1,000",)), Series("line", ("40",))])
    assert 'y-axis "ms" 0 --> 1100' in chart


def _one_load() -> Selection:
    run = smoke().model_copy(update={"points": (point("asked_shared"), point("asked_unshared", slow=3))})
    return select(example_tree(DAY), on=machine(), run=run)


def _stand_in() -> Selection:
    return select(example_tree(DAY), on=machine(), run=smoke().model_copy(update={"mode": "tiny"}))


@pytest.mark.parametrize("build", [_one_load, _stand_in])
def test_one_number_of_calls_or_a_stand_in_gives_no_curve(build: Any) -> None:
    assert not [code for code in part(render(build()), "2.5 Measurement").code if "xychart" in code]


def test_an_empty_document_has_no_chart() -> None:
    assert charts(render(almost_empty())) == []


def test_what_a_person_types_is_in_no_chart() -> None:
    tree = example_tree(DAY)
    tree["project"]["title"] = tree["engine"]["purpose"] = tree["runtime"]["owner"] = 'typed"] bar [1]\n```\n# typed'
    run = smoke().model_copy(update={"notes": ('typed"] line [1]',), "model": "typed"})
    found = charts(render(select(tree, on=machine(gpu='typed"] bar [1]'), run=run)))
    assert (len(found), any("typed" in chart for chart in found)) == (2, False)
