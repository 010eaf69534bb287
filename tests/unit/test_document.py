"""The rendered document: golden files, what reviewers find in it, and what it never says."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from probes.smoke.result import StrategySeen
from tests.unit.document_selections import (
    DAY,
    EVIDENCE,
    GPU,
    almost_empty,
    full,
    machine,
    point,
    select,
    smoke,
    two_nodes,
)
from wizard.asking.example import example_tree
from wizard.decision.selection import Selection
from wizard.document.reader import Part, read
from wizard.document.render import render, render_brief

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("full", lambda: render(full())),
        ("almost_empty", lambda: render(almost_empty())),
        ("two_nodes", lambda: render(two_nodes())),
        ("full.brief", lambda: render_brief(full())),
        ("almost_empty.brief", lambda: render_brief(almost_empty())),
    ],
)
def test_the_document_is_the_golden_one(name: str, write: Callable[[], str], request: pytest.FixtureRequest) -> None:
    """`pytest --update-golden` writes the files anew; read them before committing."""
    golden = GOLDEN / f"{name}.md"
    text = write()
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert text == golden.read_text(encoding="utf-8")


def example(**change: Any) -> dict[str, Any]:
    """The example's answers with some replaced, each by its dotted key with `__` between the names."""
    tree = example_tree(DAY)
    for key, value in change.items():
        *path, last = key.split("__")
        table = tree
        for name in path:
            table = table[name]
        table[last] = value
    return tree


def part(text: str, heading: str) -> Part:
    """The part of a document below a heading."""
    return next(found for found in read(text) if found.heading == heading)


def lookup(text: str, heading: str, row: str, column: str) -> str:
    """One cell, found as a reader finds it: heading, row by its first cell, column by its name."""
    for table in part(text, heading).tables:
        for cells in table.rows:
            if column in table.columns and cells[0] == row:
                return cells[table.columns.index(column)]
    raise AssertionError(f"no cell {row} / {column} below {heading}")


@pytest.fixture(scope="module")
def document() -> str:
    return render(full())


FIXED = [
    "No combined total is stated. The two lines have different owners, approval routes and change triggers.",
    "This is a smoke measurement: closed loop, 16 concurrent requests, 160 measured after 32 warm-up, 62 s, "
    "on the node of 2.2. It can refute this selection; it cannot prove production capacity.",
    "p99 is not claimed: 160 requests; a 95 % one-sided statement needs 299.",
    "1 of 160 requests exceeded 40 ms. At 95 % confidence this supports p95 ≤ 40 ms (needs n ≥ 93 for t = 1).",
]


@pytest.mark.parametrize("sentence", FIXED)
def test_the_fixed_sentences_are_there(document: str, sentence: str) -> None:
    prose = " ".join(line for found in read(document) for line in found.prose)
    assert sentence in prose


def priced(engine: str, runtime: str) -> Selection:
    """A selection whose two subtotals are these amounts and nothing else."""
    row = {"quantity": 1, "unit": "Items", "frequency": "one-time", "basis": "quote", "observed_on": DAY}
    return select(
        {
            "project": {"title": "Two lines"},
            "budget": {
                "engine": {"currency": "EUR", "items": [{"id": "E3", "unit_price": engine, **row}]},
                "runtime": {"currency": "EUR", "items": [{"id": "R8", "unit_price": runtime, **row}]},
            },
        }
    )


@pytest.mark.parametrize("shown", ["3012.08", "3,012.08", "3012,08", "3 012.08", "3.012,08", "301208"])
def test_no_number_adds_the_two_lines(shown: str) -> None:
    assert shown not in render(priced("1009.01", "2003.07"))


@pytest.mark.parametrize("amount", ["1,009.01", "2,003.07"])
def test_each_line_shows_its_own_amount(amount: str) -> None:
    assert amount in render(priced("1009.01", "2003.07"))


@pytest.mark.parametrize(("heading", "other"), [("Engine budget, line E", "R"), ("Runtime budget, line R", "E")])
def test_a_line_shows_no_row_of_the_other(document: str, heading: str, other: str) -> None:
    ids = [cells[0] for table in part(document, heading).tables for cells in table.rows if table.columns[0] == "Id"]
    assert not [name for name in ids if name.startswith(other)]


def test_an_unpriced_item_voids_its_subtotal() -> None:
    tree = example()
    del tree["budget"]["engine"]["items"][1]["unit_price"]
    text = render(select(tree))
    amounts = part(text, "Engine budget, line E").tables[0]
    assert [row[5] for row in amounts.rows if row[1] == "Subtotal"] == [
        "EUR 24,130.00",
        "incomplete: 1 of 5 recurring items unpriced",
    ]


def test_unpriced_items_are_named_in_their_own_line() -> None:
    tree = example()
    del tree["budget"]["engine"]["items"][1]["unit_price"]
    text = render(select(tree))
    assert (
        "Unpriced: E2. The subtotal of a line with unpriced items is not stated. E2 lacks unit price. "
        "Priced so far, not a subtotal, without E2: EUR 14,800.00 per year."
        in part(text, "Engine budget, line E").prose
    )


def test_an_unpriced_line_has_no_funding_request() -> None:
    tree = example()
    del tree["budget"]["runtime"]["items"][0]["unit_price"]
    assert lookup(render(select(tree)), "Decision in brief", "R", "Recurring per year").startswith("incomplete")


def test_a_line_without_items_asks_for_nothing_known() -> None:
    assert lookup(render(almost_empty()), "Decision in brief", "E", "One-time") == "not given"


@pytest.mark.parametrize(
    ("currency", "amount"), [("JPY", "JPY 1,009"), ("USD", "USD 1,009.01"), ("KWD", "KWD 1,009.010")]
)
def test_amounts_have_the_minor_unit_of_their_currency(currency: str, amount: str) -> None:
    row = {"id": "E3", "quantity": 1, "unit": "Items", "unit_price": "1009.01", "frequency": "one-time"}
    text = render(select({"project": {"title": "x"}, "budget": {"engine": {"currency": currency, "items": [row]}}}))
    assert lookup(text, "Engine budget, line E", "E3", "Amount") == amount


def test_derived_amounts_can_be_recomputed_from_their_cells(document: str) -> None:
    table = part(document, "Runtime budget, line R").tables[0]
    wrong = []
    for row in table.rows:
        if row[6].startswith("derived F-1,"):
            quantity = Decimal(row[3].split()[0].replace(",", ""))
            price, amount = (Decimal(text.removeprefix("EUR ").replace(",", "")) for text in (row[4], row[5]))
            periods = 12 if "12 ×" in row[2] else 1
            wrong += [row[0]] if quantity * price * periods != amount else []
    assert not wrong


def _grades(text: str) -> set[str]:
    table = next(t for t in part(text, "2.5 Measurement").tables if t.columns[0] == "Metric")
    return set(table.column("Grade"))


def test_a_run_of_a_stand_in_claims_no_ceiling() -> None:
    run = smoke().model_copy(update={"mode": "tiny"})
    text = render(select(example(), on=machine(), run=run))
    assert _grades(text) == {"not claimed, pipeline only"}


def test_a_run_of_a_stand_in_says_nothing_of_the_ceilings() -> None:
    run = smoke().model_copy(update={"mode": "tiny"})
    text = render(select(example(), on=machine(), run=run))
    assert not [line for line in part(text, "2.5 Measurement").prose if "exceeded" in line]


def test_nothing_holds_a_run_of_a_stand_in_against_a_ceiling() -> None:
    run = smoke().model_copy(update={"mode": "tiny"})
    selection = select(example(), on=machine(), run=run)
    cells = {cell for part in read(render(selection)) for table in part.tables for row in table.rows for cell in row}
    prose = " ".join(line for line in part(render(selection), "2.5 Measurement").prose)
    assert "M1" not in {found.rule for found in selection.findings}
    assert not [cell for cell in cells if " of 240" in cell]
    assert "did not hold" not in prose


def test_a_run_on_another_gpu_is_graded_other_hardware() -> None:
    text = render(select(example(), on=machine(gpu="NVIDIA L40S"), run=smoke()))
    assert _grades(text) == {"supported, other hardware", "contradicted, other hardware"}


def test_a_run_on_another_gpu_gives_no_unit_cost() -> None:
    text = render(select(example(), on=machine(gpu="NVIDIA L40S"), run=smoke()))
    assert (
        "Runtime cost per 1M output tokens: not given, because the run was not on the proposed hardware (F-10)."
        in part(text, "Runtime budget, line R").prose
    )


def test_an_endpoint_is_an_answer_that_the_run_did_not_verify() -> None:
    run = smoke().model_copy(update={"mode": "endpoint"})
    text = render(select(example(), on=machine(), run=run))
    assert "answer, not verified by this run" in " ".join(part(text, "2.5 Measurement").prose)


def test_an_endpoint_of_unknown_hardware_leaves_no_hardware_measured_or_probed() -> None:
    run = smoke()
    silent = run.telemetry.model_copy(update={"gpu": (), "energy_j": None, "joule_per_output_token": None})
    behind = run.model_copy(update={"mode": "endpoint", "telemetry": silent})
    text = render(select(example(), run=behind))
    conditions = next(t for t in part(text, "2.5 Measurement").tables if t.columns[0] == "Condition")
    proposed = lookup(text, "2.2 Hardware found and hardware proposed", "GPU", "Proposed")
    found = lookup(text, "2.2 Hardware found and hardware proposed", "GPU", "Found")
    hardware = [row for row in conditions.rows if row[0].startswith("GPU")]
    assert (proposed, found.startswith("not given")) == (GPU, True)
    assert hardware == [("GPUs of the endpoint", "not visible", "missing")]


def test_too_few_requests_claim_no_p95() -> None:
    run = smoke().model_copy(update={"points": (point("asked_shared", n=40, over=(0, 0)),)})
    text = render(select(example(), on=machine(), run=run))
    assert lookup(text, "2.5 Measurement", "RUN-1: TTFT, ms", "p95") == "not claimed"


def test_too_few_requests_are_graded_not_claimed() -> None:
    run = smoke().model_copy(update={"points": (point("asked_shared", n=40, over=(0, 0)),)})
    assert _grades(render(select(example(), on=machine(), run=run))) == {"not claimed"}


def test_a_client_that_was_too_slow_is_said_in_the_grade() -> None:
    run = smoke()
    slow = run.model_copy(update={"load": run.load.model_copy(update={"client_limited": True})})
    assert "supported, client-limited" in _grades(render(select(example(), on=machine(), run=slow)))


def test_without_a_run_nothing_is_claimed() -> None:
    text = render(select(example(), on=machine()))
    assert part(text, "2.5 Measurement").prose[0].startswith("No measurement was made.")


def test_a_failed_run_says_where_and_what_to_do() -> None:
    from probes.smoke.result import Failure

    failure = Failure(phase="load weights", kind="out_of_memory", message="There is no room.", advice="Use more GPUs.")
    run = smoke().model_copy(update={"failure": failure, "points": ()})
    text = render(select(example(), on=machine(), run=run))
    assert (
        part(text, "2.5 Measurement")
        .prose[0]
        .endswith("failed in the phase load weights: There is no room. Use more GPUs.")
    )


def test_a_recorded_machine_is_said_where_its_readings_stand(document: str) -> None:
    said = part(document, "2.2 Hardware found and hardware proposed").prose[0]
    assert said == "Found = recorded machine of 2026-11-26 08:41 UTC. Proposed = answer."


def test_no_machine_is_said_where_readings_would_stand() -> None:
    said = part(render(select(example())), "2.2 Hardware found and hardware proposed").prose[0]
    assert said.startswith("Found = not given, because no machine was probed.")


def test_a_reading_that_is_absent_says_why(document: str) -> None:
    found = lookup(document, "2.2 Hardware found and hardware proposed", "MIG", "Found")
    assert found == "not given: not in the recorded machine"


def test_a_gpu_identifier_stays_in_the_evidence(document: str) -> None:
    assert "0f1e2d3c" not in document


def test_the_command_of_the_run_holds_no_secret(document: str) -> None:
    assert "s3cret" not in document


def test_a_default_is_listed_as_a_question(document: str) -> None:
    table = part(document, "Risks, assumptions, open questions").tables[1]
    assert "GPU memory reserved (runtime.settings.gpu_memory_utilization)" in table.column("Answer")


def test_what_is_open_of_one_row_is_one_question() -> None:
    tree = example()
    for name in ("unit_price", "valid_until", "observed_on"):
        tree["budget"]["runtime"]["items"][0].pop(name)
    register = part(render(select(tree)), "Risks, assumptions, open questions").tables[0]
    assert "Unit price, Observed on, Valid until, R1" in register.column("Text")


def test_more_options_than_fit_a_table_are_shown_in_two() -> None:
    tree = example()
    tree["engine"]["options"] += [{"name": f"Option {n}", "gates": {"Licence policy": "pass"}} for n in range(3)]
    gates = [
        table for table in part(render(select(tree)), "1.4 Options considered").tables if table.columns[0] == "Gate"
    ]
    assert [len(table.columns) for table in gates] == [6, 5]


def test_the_same_name_for_design_and_product_is_explained(document: str) -> None:
    assert part(document, "Section 1: Inference engine").prose[0].startswith("Here vLLM means the engine design")


def test_section_1_names_no_gpu(document: str) -> None:
    parts = read(document)
    first = next(n for n, found in enumerate(parts) if found.heading.startswith("Section 1"))
    last = next(n for n, found in enumerate(parts) if found.heading.startswith("Section 2"))
    cells = [text for found in parts[first:last] for table in found.tables for row in table.rows for text in row]
    assert not [text for text in cells if GPU in text]


def test_evidence_rows_name_their_command(document: str) -> None:
    commands = part(document, "Annex B: Reproduce").code[0]
    assert all(row.command in commands for row in EVIDENCE)


@pytest.mark.parametrize("build", [full, almost_empty])
def test_the_brief_asks_for_what_the_document_asks_for(build: Callable[[], Selection]) -> None:
    selection = build()
    requests = [
        table
        for text in (render(selection), render_brief(selection))
        for found in read(text)
        for table in found.tables
        if table.columns[0] == "Line"
    ]
    assert requests[0] == requests[1]


def test_the_brief_of_the_example_fits_one_page() -> None:
    assert len(render_brief(full()).splitlines()) <= 70


def test_an_architecture_that_is_not_covered_has_no_table_of_gpu_types() -> None:
    tree = example_tree(DAY)
    tree["engine"]["models"][0]["name"] = "zai-org/GLM-5"
    assert "The least number of GPUs of other types" in render(select(tree))


def _with_unpriced_operations() -> Selection:
    tree = example()
    items = tree["budget"]["runtime"]["items"]
    items[:] = [item for item in items if item["id"] != "R8"]
    items.append({"id": "R8", "state": "not_given", "reason": "the team is not chosen"})
    return select(tree, on=machine(), run=smoke())


def test_the_reason_of_an_item_without_a_price_is_printed() -> None:
    text = render(_with_unpriced_operations())
    assert any("(the team is not chosen)" in line for line in part(text, "Runtime budget, line R").prose)


def test_the_open_question_of_an_item_without_a_price_says_its_reason() -> None:
    table = part(render(_with_unpriced_operations()), "Risks, assumptions, open questions").tables[0]
    assert any(words.endswith("R8 (the team is not chosen)") for words in table.column("Text"))


def test_a_strategy_that_the_stand_in_leaves_out_is_not_tested() -> None:
    seen = StrategySeen(id="tensor_parallel", decision="adopt", seen="not_in_force", because="1, expected 2")
    run = smoke().model_copy(update={"mode": "tiny", "strategies": (seen,)})
    table = next(
        t
        for t in part(render(select(example(), on=machine(), run=run)), "2.5 Measurement").tables
        if "Seen in the run" in t.columns
    )
    assert table.column("Seen in the run") == ("not tested",)


def test_an_item_that_recurs_by_nature_says_that_its_frequency_is_a_default() -> None:
    text = render(_with_unpriced_operations())
    assert lookup(text, "Runtime budget, line R", "R8", "Source") == "missing, default"


def test_document_and_brief_say_the_same_of_what_is_priced_so_far() -> None:
    selection = _with_unpriced_operations()
    said = "Priced so far, not a subtotal, without R8: EUR "
    texts = [text.partition(said)[2].split(".\n")[0] for text in (render(selection), render_brief(selection))]
    assert texts[0]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"mode": "tiny"}, "It shows that the chain works; it can neither refute this selection nor prove anything"),
        ({"model": "other/model"}, "It was not of the proposed model, so it can neither refute this selection"),
    ],
)
def test_a_run_that_is_not_of_the_selection_refutes_nothing(change: dict[str, str], limit: str) -> None:
    text = render(select(example(), on=machine(), run=smoke().model_copy(update=change)))
    said = " ".join(part(text, "2.5 Measurement").prose)
    assert (limit in said, "can refute" in said) == (True, False)


def test_an_option_without_a_name_or_a_reason_is_said_to_be_so() -> None:
    tree = {"project": {"title": "x"}, "engine": {"chosen": "vLLM", "options": [{"kind": "engine"}]}}
    said = part(render(select(tree)), "1.4 Options considered").prose
    assert "* option without a name, rejected without a reason that is given." in said


def test_the_proposed_gpu_is_described_by_the_catalogue() -> None:
    text = render(select(example(), on=machine(gpu="NVIDIA L40S"), run=smoke()))
    assert lookup(text, "2.2 Hardware found and hardware proposed", "Compute capability", "Proposed") == "9.0"


def test_the_start_of_a_stand_in_is_not_stated() -> None:
    run = smoke().model_copy(update={"mode": "tiny"})
    assert "until ready" not in render(select(example(), on=machine(), run=run))
