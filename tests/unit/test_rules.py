"""Each rule against a good selection broken in exactly one way: that finding comes, and no other."""

import datetime
import re
from typing import Any

import pytest

from tests.unit.selections import (
    FACTS,
    GPU,
    ceiling,
    good_selection,
    machine,
    point,
    smoke,
)
from wizard.finding import Finding
from wizard.questions import questions
from wizard.rules import RULES, check, explain, sizing

_A = "engine.strategies"
_E = "budget.engine.items"
_R = "budget.runtime.items"
_MISSED = [ceiling(over=40, verdict="contradicted")]
_OTHER_GPU = machine("NVIDIA L40S", "NVIDIA L40S")


def _priced(item: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": item,
        "item": "Item",
        "quantity": 4,
        "unit": "Person-Days",
        "unit_price": "1.00",
        "frequency": "yearly",
        "basis": "quote",
        "observed_on": datetime.date(2026, 11, 20),
    } | changes


#: what is broken: expected (rule, severity, where)
TABLE: list[tuple[str, dict[str, Any], tuple[str, str, str]]] = [
    (
        "3 ranks for 64 heads",
        {"runtime.layout.tensor_parallel": 3, "runtime.hardware.gpus_per_replica": 3, f"{_E}[0].quantity": 6,
         "machine": machine(GPU, GPU, GPU), "smoke": None},
        ("C3", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "16 ranks for 8 key-value heads",
        {"runtime.layout.tensor_parallel": 16, "runtime.hardware.gpus_per_replica": 16,
         f"{_E}[0].quantity": 32, "machine": None, "smoke": None},
        ("C3", "warn", "runtime.layout.tensor_parallel"),
    ),
    (
        "layout above the replica",
        {"runtime.layout.pipeline_parallel": 2, "smoke": None},
        ("C4", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "one GPU found for a replica of two",
        {"machine": machine(GPU)},
        ("C4", "warn", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "one GPU planned for a replica of two",
        {"machine": machine(GPU, source="plan"), "smoke": None},
        ("C4", "note", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "request too short for a call",
        {"runtime.settings.max_model_len": 7000},
        ("C6", "block", "runtime.settings.max_model_len"),
    ),
    (
        "request longer than the model takes",
        {"runtime.settings.max_model_len": 65536},
        ("C6", "block", "runtime.settings.max_model_len"),
    ),
    (
        "adopted without its number",
        {"runtime.settings.max_num_queued_reqs": ...},
        ("C7", "block", "runtime.settings.max_num_queued_reqs"),
    ),
    (
        "adopted, switched off by a further flag",
        {"runtime.settings.extra_flags": ["--enforce-eager"]},
        ("C7", "block", "runtime.settings.extra_flags"),
    ),
    (
        "quantised weights adopted, the checkpoint is not",
        {"facts": FACTS.model_copy(update={"quantization": None})},
        ("C7", "block", "engine.models[0].name"),
    ),
    (
        "adopted, only a typed flag can switch it on",
        {f"{_A}.spec_eagle3.decision": "adopt"},
        ("C7", "block", "runtime.settings.extra_flags"),
    ),
    (
        "deferred, but switched on by an answer",
        {"runtime.settings.kv_cache_dtype": "fp8", "smoke": None},
        ("C8", "block", "runtime.settings.kv_cache_dtype"),
    ),
    (
        "rejected, but switched on by a further flag",
        {"runtime.settings.extra_flags": ["--speculative-config '{\"method\": \"eagle3\"}'"]},
        ("C8", "block", "runtime.settings.extra_flags"),
    ),
    (
        "deferred, but on by default",
        {f"{_A}.prefix_caching.decision": "defer"},
        ("C8", "block", f"{_A}.prefix_caching.decision"),
    ),
    (
        "rejected, but cannot be switched off",
        {f"{_A}.paged_kv": {"decision": "reject", "reason": "x"}},
        ("C8", "block", f"{_A}.paged_kv.decision"),
    ),
    (
        "rejected, but the checkpoint carries it",
        {f"{_A}.weight_quantization.decision": "reject"},
        ("C8", "block", f"{_A}.weight_quantization.decision"),
    ),
    ("another GPU was probed", {"machine": _OTHER_GPU}, ("C11", "warn", "runtime.hardware.gpu")),
    (
        "ceiling missed in the workload's own state",
        {"smoke": smoke(point(ceilings=_MISSED))},
        ("M1", "block", "runtime.ceilings.ttft_ms"),
    ),
    (
        "ceiling missed without prefix reuse",
        {"smoke": smoke(point(), point("asked_unshared", ceilings=_MISSED))},
        ("M1", "warn", "runtime.ceilings.ttft_ms"),
    ),
    (
        "ceiling missed on the CPU build",
        {"smoke": smoke(point(ceilings=_MISSED), runtime={"product": "vllm", "version": "0.32.0",
                                                           "command": None, "build": "cpu"})},
        ("M1", "note", "runtime.ceilings.ttft_ms"),
    ),
    (
        "another model was run",
        {"smoke": smoke(model="Example/Dense-8B")},
        ("M3", "block", "engine.models[0].name"),
    ),
    (
        "another layout was run",
        {"smoke": smoke(runtime={"product": "vllm", "version": "0.33.0", "build": "cuda",
                                 "command": ["vllm", "serve", "x", "--tensor-parallel-size=1"]})},
        ("M3", "block", "runtime.layout.tensor_parallel"),
    ),
    (
        "the tiny model was run",
        {"smoke": smoke(mode="tiny", model=None)},
        ("M3", "note", "engine.models[0].name"),
    ),
    (
        "fewer calls than asked",
        {"smoke": smoke(point(concurrency=8))},
        ("M7", "warn", "runtime.workload.concurrency"),
    ),
    (
        "fewer calls than asked, in a smaller load",
        {"smoke": smoke(point(concurrency=8), scaled_down=True)},
        ("M7", "note", "runtime.workload.concurrency"),
    ),
    ("an item of line R in line E", {f"{_E}[1].id": "R8"}, ("B2", "block", f"{_E}[1].id")),
    ("GPU-hours in line E", {f"{_E}[1].unit": "GPU-Hours"}, ("B2", "block", f"{_E}[1].unit")),
    ("an item of line E in line R", {f"{_R}[1].id": "E2"}, ("B3", "block", f"{_R}[1].id")),
    ("a bundle in nothing", {f"{_R}[1].included_in": "R77"}, ("B6", "block", f"{_R}[1].included_in")),
    ("a bundle in itself", {f"{_R}[1].included_in": "R4"}, ("B6", "block", f"{_R}[1].included_in")),
    ("a fee for free software", {f"{_E}[0].unit_price": "10.00"}, ("B4", "warn", f"{_E}[0].unit_price")),
    (
        "no fee for commercial software",
        {"engine.licence_kind": "commercial"},
        ("B4", "warn", f"{_E}[0].unit_price"),
    ),
    ("accelerators of one replica only", {f"{_E}[0].quantity": 2}, ("B5", "block", f"{_E}[0].quantity")),
    ("a price without a date", {f"{_E}[1].observed_on": ...}, ("B7", "block", f"{_E}[1].observed_on")),
    ("a price without a unit", {f"{_R}[0].unit": ...}, ("B7", "block", f"{_R}[0].unit")),
    ("a price without a basis", {f"{_R}[0].basis": ...}, ("B7", "block", f"{_R}[0].basis")),
    ("prices without a currency", {"budget.engine.currency": ...}, ("B7", "block", "budget.engine.currency")),
    (
        "a price out of date",
        {f"{_R}[0].valid_until": datetime.date(2026, 11, 29)},
        ("B7", "warn", f"{_R}[0].valid_until"),
    ),
    (
        "a price of 91 days ago",
        {f"{_R}[0].observed_on": datetime.date(2026, 8, 31)},
        ("B7", "warn", f"{_R}[0].observed_on"),
    ),
    ("no owner of section 1", {"engine.owner": ...}, ("G1", "block", "engine.owner")),
    ("no owner of section 2", {"runtime.owner": ...}, ("G1", "block", "runtime.owner")),
    ("no owner of line E", {"budget.engine.owner": ...}, ("G1", "block", "budget.engine.owner")),
    ("no owner of line R", {"budget.runtime.owner": ...}, ("G1", "block", "budget.runtime.owner")),
    (
        "one owner of both lines",
        {"budget.runtime.owner": "Engine  Lead"},
        ("G2", "warn", "budget.runtime.owner"),
    ),
    (
        "one owner of both lines in a small team",
        {"budget.runtime.owner": "engine lead", "governance.small_team": True},
        ("G2", "note", "budget.runtime.owner"),
    ),
    (
        "an owner approves alone",
        {"governance.approvals[0].name": "engine lead"},
        ("G2", "warn", "governance.approvals"),
    ),
    (
        "one option",
        {"engine.options": [{"name": "vLLM"},
                            {"name": "Nothing", "kind": "do_nothing", "rejected_because": "x"}]},
        ("G3", "block", "engine.options"),
    ),
    ("no reason", {"engine.options[1].rejected_because": ...},
     ("G3", "block", "engine.options[1].rejected_because")),
    ("no reason in section 2", {"runtime.options[0].rejected_because": ...},
     ("G3", "block", "runtime.options[0].rejected_because")),
    (
        "doing nothing is not an option",
        {"engine.options[2].kind": "managed_api"},
        ("G3", "warn", "engine.options"),
    ),
]  # fmt: skip


def test_the_good_selection_has_no_findings() -> None:
    assert check(good_selection()) == ()


@pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_one_break_gives_exactly_its_finding(changes: dict[str, Any], expected: tuple[str, str, str]) -> None:
    findings = check(good_selection(**changes))
    assert [(f.rule, f.severity, f.where) for f in findings] == [expected]


@pytest.mark.parametrize("changes", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_finding_goes_to_a_question_that_exists(changes: dict[str, Any]) -> None:
    keys = {re.sub(r"\[\]", "", question.key) for question in questions()}
    for found in check(good_selection(**changes)):
        where = re.sub(r"\[\d+\]", "", re.sub(r"(engine\.strategies)\.\w+", r"\1.<id>", found.where))
        assert any(key == where or key.startswith(f"{where}.") for key in keys), found.where


@pytest.mark.parametrize("changes", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_finding_is_a_plain_sentence_with_a_remedy(changes: dict[str, Any]) -> None:
    for found in check(good_selection(**changes)):
        for sentence in (found.message, found.remedy):
            assert re.fullmatch(r"[A-Z0-9].*[.]", sentence), sentence


def test_every_rule_and_severity_is_in_the_table() -> None:
    shown = {(rule, severity) for _, _, (rule, severity, _) in TABLE}
    assert shown == {(rule.id, severity) for rule in RULES if rule not in sizing.RULES for severity in rule.severity}


def _message(**changes: Any) -> Finding:
    (found,) = check(good_selection(**changes))
    return found


def test_c3_lists_the_sizes_that_work() -> None:
    heads_32 = FACTS.model_copy(update={"attention_heads": 32})
    found = _message(
        **{"runtime.layout.tensor_parallel": 3, "runtime.hardware.gpus_per_replica": 3},
        **{"budget.engine.items[0].quantity": 6},
        facts=heads_32,
        machine=None,
        smoke=None,
    )
    assert found.rule == "C3"
    assert found.remedy == "Use one of the sizes that divide: 1, 2, 4, 8, 16, 32."


def test_c3_blocks_key_value_heads_that_neither_divide_nor_replicate() -> None:
    facts = FACTS.model_copy(update={"kv_heads": 6})
    found = _message(
        **{"runtime.layout.tensor_parallel": 4, "runtime.hardware.gpus_per_replica": 4},
        **{"budget.engine.items[0].quantity": 8},
        facts=facts,
        machine=None,
        smoke=None,
    )
    assert (found.rule, found.severity) == ("C3", "block")


def test_c7_names_the_version_of_the_default() -> None:
    found = _message(**{"runtime.settings.max_num_queued_reqs": ...})
    assert found.message == (
        "Admission control is adopted, but nothing switches it on; it is off by default in vLLM 0.33.0."
    )


def test_m1_tells_how_many_requests_were_over() -> None:
    found = _message(smoke=smoke(point(ceilings=_MISSED)))
    assert found.message == (
        "At 24 calls with the shared prefix cached the run contradicts a ceiling: "
        "TTFT p95 of 2,000 ms (40 of 240 over)."
    )


def test_m1_says_that_other_hardware_was_measured() -> None:
    found = check(good_selection(smoke=smoke(point(ceilings=_MISSED)), machine=_OTHER_GPU))
    assert [(f.rule, f.severity) for f in found] == [("C11", "warn"), ("M1", "note")]


def test_a_run_of_another_model_does_not_block_by_its_speed() -> None:
    found = check(good_selection(smoke=smoke(point(ceilings=_MISSED), model="Example/Dense-8B")))
    assert [(f.rule, f.severity) for f in found] == [("M3", "block"), ("M1", "note")]


def test_an_endpoint_counts_as_the_proposed_hardware() -> None:
    runtime = {"product": "vllm", "version": "0.33.0", "command": None}
    run = smoke(point(ceilings=_MISSED), mode="endpoint", runtime=runtime)
    found = check(good_selection(smoke=run, machine=None))
    assert [(f.rule, f.severity) for f in found] == [("M1", "block")]


def test_a_folder_of_the_proposed_model_is_the_proposed_model() -> None:
    run = smoke(model="/data/hub/models--Example--Dense-32B-FP8/snapshots/4f1c9e0")
    assert check(good_selection(smoke=run)) == ()


def test_a_folder_that_the_result_does_not_show_is_not_called_another_model() -> None:
    assert check(good_selection(smoke=smoke(model="$MODEL_DIR"))) == ()


def test_the_chosen_engine_needs_no_reason_against_it_however_it_is_written() -> None:
    changes: dict[str, Any] = {"engine.chosen": "vLLM 0.33 with prefix caching"}
    assert check(good_selection(**changes)) == ()


def test_m3_shows_no_folder() -> None:
    found = _message(smoke=smoke(model="/home/somebody/other-model"))
    assert found.message == f"The run was of other-model, the selection is {FACTS.name}."


def test_a_failed_run_says_nothing_of_the_selection() -> None:
    failure = {"phase": "start", "kind": "oom", "message": "x", "advice": "y"}
    assert check(good_selection(smoke=smoke(points=[], failure=failure, model="other"))) == ()


def test_a_search_point_that_misses_a_ceiling_is_no_finding() -> None:
    run = smoke(point(), point("search", concurrency=48, ceilings=_MISSED))
    assert check(good_selection(smoke=run)) == ()


def test_an_empty_selection_blocks_only_on_owners_and_options() -> None:
    empty: dict[str, Any] = {part: {} for part in ("project", "engine", "runtime", "budget", "governance")}
    found = check(good_selection(facts=None, machine=None, smoke=None, **empty))
    assert {(f.rule, f.severity) for f in found} == {("G1", "block"), ("G3", "block")}


def test_what_blocks_comes_first_and_ids_are_in_numeric_order() -> None:
    broken: dict[str, Any] = {
        "engine.owner": ...,
        "runtime.layout.pipeline_parallel": 2,
        "runtime.settings.max_model_len": 7000,
        "engine.options[2].kind": "managed_api",
    }
    found = check(good_selection(machine=_OTHER_GPU, smoke=None, **broken))
    assert [(f.rule, f.severity) for f in found] == [
        ("C4", "block"),
        ("C6", "block"),
        ("G1", "block"),
        ("C11", "warn"),
        ("G3", "warn"),
    ]


def test_a_bundled_item_needs_no_price() -> None:
    changes: dict[str, Any] = {f"{_R}[0]": _priced("R1", unit="GPU-Hours"), f"{_R}[1].basis": "bundled"}
    assert check(good_selection(**changes)) == ()


def test_a_support_subscription_may_be_paid_for_free_software() -> None:
    changes: dict[str, Any] = {f"{_E}[0].unit_price": "10.00", f"{_E}[0].item": "Enterprise subscription"}
    assert check(good_selection(**changes)) == ()


def test_a_packaged_product_is_commercial_whatever_engine_is_inside() -> None:
    found = _message(**{"runtime.product": "NVIDIA NIM", "engine.strategies": {}, "smoke": None})
    assert (found.rule, found.severity) == ("B4", "warn")


def test_explain_finds_a_rule_by_its_id() -> None:
    rule = explain("c3")
    assert rule is not None
    assert rule.title == "Tensor parallel size divides the heads"


def test_explain_knows_no_other_rule() -> None:
    assert explain("Z9") is None
