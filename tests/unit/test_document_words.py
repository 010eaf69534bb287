"""Sentences of the document and the review that say what is known, promise nothing that a finding denies, and read."""

from typing import Any

import pytest

from tests.unit.document_selections import machine, select, smoke
from wizard.document.reader import read
from wizard.document.render import render, render_brief
from wizard.rules import check
from wizard.views.common import smoke_words

ITEM: dict[str, Any] = {"quantity": 2, "unit": "Days", "unit_price": "900", "observed_on": "2026-11-20"}


def written(**tables: Any) -> str:
    """The document of a title and the given tables."""
    return render(select({"project": {"title": "Trial"}, **tables}))


def cells(text: str, first: str) -> list[tuple[str, ...]]:
    """Every row of the document whose first cell is `first`."""
    return [row for at in read(text) for table in at.tables for row in table.rows if row[0] == first]


def test_the_gpus_that_serve_are_said_where_the_spare_ones_are_not_given() -> None:
    text = written(runtime={"hardware": {"gpu": "L40S", "gpus_per_replica": 2}, "layout": {"replicas": 3}})
    hardware, operations = cells(text, "GPUs in all")
    assert hardware[2] == "6 for serving; spare ones not given"
    assert operations[1:] == ("3 × 2 = 6 for serving; spare ones not given", "derived F-6, missing")


def test_an_incomplete_subtotal_says_of_which_period_it_counts_the_items() -> None:
    items = [
        {**ITEM, "id": "E2", "frequency": "yearly", "basis": "quote"},
        {**ITEM, "id": "E3", "frequency": "one-time", "basis": "quote"},
        {"id": "E4", "frequency": "one-time", "quantity": 1, "unit": "Days"},
    ]
    (funding, *_) = cells(written(budget={"engine": {"currency": "EUR", "items": items}}), "E")
    assert funding[2] == "incomplete: 1 of 2 one-time items unpriced"


def test_the_brief_does_not_call_a_price_complete_that_a_finding_blocks() -> None:
    items = [{**ITEM, "id": "R8", "frequency": "yearly"}]
    tree = {"project": {"title": "Trial"}, "budget": {"runtime": {"currency": "EUR", "items": items}}}
    (line,) = (line for line in render_brief(select(tree)).splitlines() if line.startswith("* Line R"))
    assert "every item has a price, and B7 calls the price of R8 incomplete" in line


def test_the_head_does_not_promise_what_a_finding_denies() -> None:
    text = written(
        engine={
            "chosen": "vLLM",
            "models": [{"name": "Qwen/Qwen3-32B"}],
            "strategies": {"weight_quantization": {"decision": "adopt"}, "cuda_graphs": {"decision": "adopt"}},
        },
        runtime={"product": "vLLM", "version": "0.33.0"},
    )
    assert "vLLM: quantised weights (not yet realised, C7), CUDA graphs." in text


def test_a_load_that_is_partly_given_reads_as_words() -> None:
    text = written(runtime={"workload": {"input_tokens": 900, "output_tokens": 80}})
    assert cells(text, "Another load")[0][1] == "tokens of the prompt: 900; of the output: 80; shared: not given"


@pytest.mark.parametrize(("points", "words"), [(1, "Measured: 1 point,"), (2, "Measured: 2 points,")])
def test_measured_points_are_counted_in_words(points: int, words: str) -> None:
    run = smoke()
    some = run.model_copy(update={"points": run.points[:points]})
    assert smoke_words(select({"project": {"title": "Trial"}}, on=machine(), run=some)).startswith(words)


def test_a_strategy_is_named_so_that_a_plural_reads() -> None:
    tree = {
        "engine": {"models": [{"name": "Qwen/Qwen3-32B"}], "strategies": {"weight_quantization": {"decision": "adopt"}}}
    }
    said = [found.message for found in check(select({"project": {"title": "Trial"}, **tree})) if found.rule == "C7"]
    assert said == [
        'The strategy "Quantised weights" is adopted, but the checkpoint carries no such format and no flag sets one.'
    ]
