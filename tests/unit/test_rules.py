"""Each rule against a good selection broken in exactly one way: that finding comes, and no other."""

import re
from typing import Any

import pytest

from tests.unit.rule_mutations import TABLE
from tests.unit.rule_mutations.budget import priced
from tests.unit.rule_mutations.row import replica_of
from tests.unit.selections import (
    FACTS,
    ceiling,
    good_selection,
    machine,
    point,
    smoke,
)
from wizard.asking.questions import questions
from wizard.catalogue import strategies
from wizard.decision.finding import Finding
from wizard.rules import RULES, Rule, check, explain, sizing
from wizard.serving.launch import switch_of
from wizard.serving.trace import realised

_E = "budget.engine.items"
_R = "budget.runtime.items"
_MISSED = [ceiling(over=40, verdict="contradicted")]
_OTHER_GPU = machine("NVIDIA L40S", "NVIDIA L40S")
#: What the good selection has: its run shares prefixes, as its calls do.
_SHARED = ("M6", "note", "runtime.workload.shared_prefix_tokens")
_ROWS = pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])


def _findings(**changes: Any) -> list[Finding]:
    """What the rules say of a selection, without what they say of the good one."""
    return [f for f in check(good_selection(**changes)) if (f.rule, f.severity, f.where) != _SHARED]


def test_the_good_selection_has_one_note() -> None:
    assert [(f.rule, f.severity, f.where) for f in check(good_selection())] == [_SHARED]


@_ROWS
def test_one_break_gives_exactly_its_finding(changes: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert [(f.rule, f.severity, f.where) for f in _findings(**changes)] == [expected]


@pytest.mark.parametrize("place", sorted({row[2][2] for row in TABLE}))
def test_a_finding_goes_to_a_question_that_exists(place: str) -> None:
    keys = {re.sub(r"\[\]", "", question.key) for question in questions()}
    where = re.sub(r"\[\d+\]", "", re.sub(r"(engine\.strategies)\.\w+", r"\1.<id>", place))
    assert any(key == where or key.startswith(f"{where}.") for key in keys)


@pytest.mark.parametrize("changes", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_finding_is_a_plain_sentence_with_a_remedy(changes: dict[str, Any]) -> None:
    for found in _findings(**changes):
        for sentence in (found.message, found.remedy):
            assert re.fullmatch(r"\w.*[.]", sentence), sentence


def test_every_rule_and_severity_is_in_the_table() -> None:
    shown = {(rule, severity) for _, _, (rule, severity, _) in TABLE} | {_SHARED[:2]}
    assert shown == {(rule.id, severity) for rule in RULES if rule not in sizing.RULES for severity in rule.severity}


def _message(**changes: Any) -> Finding:
    (found,) = _findings(**changes)
    return found


@pytest.mark.parametrize(
    ("key", "typed", "meant"),
    [
        ("runtime.product", "2500", "vLLM, SGLang or TensorRT-LLM"),
        ("runtime.product", "vl", "vLLM"),
        ("runtime.inner_engine", "SGLan", "SGLang"),
        ("engine.chosen", "Qwen/Qwen3-32B", "vLLM, SGLang or TensorRT-LLM"),
    ],
)
def test_c36_names_what_was_perhaps_meant(key: str, typed: str, meant: str) -> None:
    changes: dict[str, Any] = {key: typed, "engine.options": []}
    (found,) = (f for f in check(good_selection(**changes)) if f.rule == "C36")
    assert (found.severity, found.where, meant in found.remedy) == ("warn", key, True)


def test_c36_says_nothing_of_an_own_engine_among_the_options() -> None:
    changes: dict[str, Any] = {"engine.chosen": "Ours", "engine.options[0].name": "Ours"}
    assert "C36" not in {f.rule for f in check(good_selection(**changes))}


def test_c3_lists_the_sizes_that_work() -> None:
    heads_32 = FACTS.model_copy(update={"attention_heads": 32})
    found = _message(
        **{"runtime.layout.tensor_parallel": 3} | replica_of(3),
        facts=heads_32,
        machine=None,
        smoke=None,
    )
    assert found.rule == "C3"
    assert found.remedy == "Use one of the sizes that divide: 1, 2, 4, 8, 16, 32."


def test_c3_blocks_key_value_heads_that_neither_divide_nor_replicate() -> None:
    facts = FACTS.model_copy(update={"kv_heads": 6})
    found = _message(
        **{"runtime.layout.tensor_parallel": 4} | replica_of(4),
        facts=facts,
        machine=None,
        smoke=None,
    )
    assert (found.rule, found.severity) == ("C3", "block")


def test_c7_names_the_version_of_the_default() -> None:
    found = _message(**{"runtime.settings.max_num_queued_reqs": ...}, smoke=None)
    assert found.message == (
        'The strategy "Admission control" is adopted, but nothing switches it on; it is off by default in vLLM 0.33.0.'
    )


@pytest.mark.parametrize(("version", "said"), [("0.32.0", "vLLM 0.32.0."), ("0.31.0", "vLLM (read for 0.33.0).")])
def test_c7_says_a_version_only_where_its_default_is_known(version: str, said: str) -> None:
    found = _message(**{"runtime.settings.max_num_queued_reqs": ..., "runtime.version": version}, smoke=None)
    assert found.message.endswith(f"it is off by default in {said}")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("NVIDA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA A1OO-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA H1000", "H100 SXM5 80GB"),
        ("L4OS", "L40S"),
    ],
)
def test_c24_offers_the_gpu_that_was_perhaps_meant(typed: str, meant: str) -> None:
    found = _message(**{"runtime.hardware.gpu": typed}, machine=None, smoke=None)
    assert (found.rule, meant in found.remedy) == ("C24", True)


def test_m1_tells_how_many_requests_were_over() -> None:
    found = _message(smoke=smoke(point(ceilings=_MISSED)))
    assert found.message == (
        "At 24 calls with the shared prefix cached the run contradicts a ceiling: "
        "TTFT p95 of 2,000 ms (40 of 240 over)."
    )


def test_m1_says_that_other_hardware_was_measured() -> None:
    found = _findings(smoke=smoke(point(ceilings=_MISSED)), machine=_OTHER_GPU)
    assert [(f.rule, f.severity) for f in found] == [("C11", "warn"), ("M1", "note")]


def test_a_run_of_another_model_does_not_block_by_its_speed() -> None:
    found = _findings(smoke=smoke(point(ceilings=_MISSED), model="Example/Dense-8B"))
    assert [(f.rule, f.severity) for f in found] == [("M3", "block"), ("M1", "note")]


def test_an_endpoint_counts_as_the_proposed_hardware() -> None:
    runtime = {"product": "vllm", "version": "0.33.0", "command": None}
    run = smoke(point(ceilings=_MISSED), mode="endpoint", runtime=runtime)
    found = _findings(smoke=run, machine=None)
    assert [(f.rule, f.severity) for f in found] == [("M1", "block")]


def test_a_folder_of_the_proposed_model_is_the_proposed_model() -> None:
    run = smoke(model="/data/hub/models--Example--Dense-32B-FP8/snapshots/4f1c9e0")
    assert _findings(smoke=run) == []


def test_a_folder_that_the_result_does_not_show_is_not_called_another_model() -> None:
    assert _findings(smoke=smoke(model="$MODEL_DIR")) == []


def test_the_chosen_engine_needs_no_reason_against_it_however_it_is_written() -> None:
    changes: dict[str, Any] = {"engine.chosen": "vLLM 0.33 with prefix caching"}
    assert _findings(**changes) == []


def test_m3_shows_no_folder() -> None:
    found = _message(smoke=smoke(model="/home/somebody/other-model"))
    assert found.message == f"The run was of other-model, the selection is {FACTS.name}."


def test_a_failed_run_says_nothing_of_the_selection() -> None:
    failure = {"phase": "start", "kind": "oom", "message": "x", "advice": "y"}
    assert _findings(smoke=smoke(points=[], failure=failure, model="other")) == []


def test_a_search_point_that_misses_a_ceiling_is_no_finding() -> None:
    run = smoke(point(), point("search", concurrency=48, ceilings=_MISSED))
    assert _findings(smoke=run) == []


def test_an_empty_selection_blocks_on_what_a_review_cannot_do_without() -> None:
    empty: dict[str, Any] = {part: {} for part in ("project", "engine", "runtime", "budget", "governance")}
    found = _findings(facts=None, machine=None, smoke=None, **empty)
    assert {f.rule for f in found if f.severity == "block"} == {"C10", "G1", "G3", "G5"}


def test_what_blocks_comes_first_and_ids_are_in_numeric_order() -> None:
    broken: dict[str, Any] = {
        "engine.owner": ...,
        "runtime.layout.pipeline_parallel": 2,
        "runtime.settings.max_model_len": 7000,
        "engine.options[2].kind": "managed_api",
    }
    found = _findings(machine=_OTHER_GPU, smoke=None, **broken)
    assert [(f.rule, f.severity) for f in found] == [
        ("C4", "block"),
        ("C6", "block"),
        ("G1", "block"),
        ("C11", "warn"),
        ("G3", "warn"),
    ]


def test_a_bundled_item_needs_no_price() -> None:
    paid = priced("R1", unit="GPU-Hours", quantity=17520)
    changes: dict[str, Any] = {f"{_R}[0]": paid, f"{_R}[1].basis": "bundled"}
    assert _findings(**changes) == []


def test_an_offer_for_engine_and_hardware_stands_whole_in_line_r() -> None:
    changes: dict[str, Any] = {f"{_E}[2]": {"id": "E2", "basis": "bundled", "included_in": "R1", "frequency": "yearly"}}
    assert _findings(**changes) == []


def test_a_support_subscription_may_be_paid_for_free_software() -> None:
    changes: dict[str, Any] = {f"{_E}[0].unit_price": "10.00", f"{_E}[0].item": "Enterprise subscription"}
    assert _findings(**changes) == []


def test_a_packaged_product_is_commercial_whatever_engine_is_inside() -> None:
    inside = {"runtime.inner_engine": "vLLM", "runtime.inner_version": "0.33.0"}
    found = _message(**{"runtime.product": "NVIDIA NIM", "engine.strategies": {}, "smoke": None}, **inside)
    assert (found.rule, found.severity) == ("B4", "warn")


def test_explain_finds_a_rule_by_its_id() -> None:
    rule = explain("c3")
    assert rule is not None
    assert rule.title == "Tensor parallel size divides the heads"


def test_explain_knows_no_other_rule() -> None:
    assert explain("Z9") is None


def test_no_two_rules_have_one_id() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_each_rule_says_its_source_and_what_to_do(rule: Rule) -> None:
    assert rule.source
    assert rule.remedy.endswith(".")


def test_the_catalogues_name_of_a_gpu_is_the_name_that_nvml_gives() -> None:
    named: dict[str, Any] = {"runtime.hardware.gpu": "H100 SXM5 80GB"}
    assert _findings(**named) == []


_SWITCHED = [
    (name, decision) for name, row in strategies().items() if "vllm" in row.switches for decision in ("adopt", "reject")
]


@pytest.mark.parametrize(("strategy", "decision"), _SWITCHED, ids=[f"{s}-{d}" for s, d in _SWITCHED])
def test_section_2_does_what_section_1_decides_or_a_finding_blocks(strategy: str, decision: str) -> None:
    decided: dict[str, Any] = {f"engine.strategies.{strategy}": {"decision": decision, "reason": "x"}}
    selection = good_selection(smoke=None, **decided)
    facts = selection.models[0]
    in_force = realised(strategy, selection.launch, facts).in_force
    said = {f.rule for f in check(selection) if f.severity == "block"}
    wanted, rule = (True, "C7") if decision == "adopt" else (False, "C8")
    assert in_force is wanted or rule in said or _is_left_to_the_runtime(strategy)


def _is_left_to_the_runtime(strategy: str) -> bool:
    switch = switch_of(strategy, "vllm")
    return switch is not None and switch.default == "auto"
