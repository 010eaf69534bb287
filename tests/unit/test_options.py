"""Gates of engine options from the facts, near ties, and what may be added."""

from typing import Any

import pytest

from tests.unit.document_selections import full
from tests.unit.selections import FACTS, good_answers
from wizard.advice.filling import fill_options
from wizard.advice.options import STANDARD_GATES, gates_of, rejection_of
from wizard.advice.situation import situation_of
from wizard.answers import EngineOption
from wizard.decision.weighing import flips, near_tie
from wizard.views.option_list import about_criteria, choices


def _gate(name: str, gate: str, option: dict[str, Any] | None = None, **changes: Any) -> tuple[str, str]:
    known = {"engine.licence_policy": "Apache-2.0, MIT or BSD", "engine.interfaces": "OpenAI chat", **changes}
    facts = FACTS.model_copy(update={"architecture": "LlamaForCausalLM"})
    row = EngineOption.model_validate({"name": name, **(option or {})})
    found = {g.name: g for g in gates_of(row, situation_of(good_answers(**known), facts, None))}[gate]
    return found.result, found.fact


@pytest.mark.parametrize(
    ("name", "gate", "result"),
    [
        ("vLLM", "Licence policy", "pass"),
        ("NVIDIA NIM", "Licence policy", "fail"),
        ("ExLlamaV3", "Licence policy", "fail"),
        ("vLLM", "Architecture supported", "pass"),
        ("SGLang", "Architecture supported", "not known"),
        ("vLLM", "Minimum compute capability", "pass"),
        ("llama.cpp", "Minimum compute capability", "not known"),
        ("vLLM", "Weight format", "pass"),
        ("llama.cpp", "Weight format", "fail"),
        ("NVIDIA NIM", "Weight format", "not known"),
        ("vLLM", "Interface", "pass"),
        ("ONNX Runtime GenAI", "Interface", "fail"),
        ("DeepSpeed-MII", "Interface", "fail"),
        ("OpenVINO GenAI", "Hardware vendor", "fail"),
        ("vLLM", "Hardware vendor", "pass"),
        ("Hugging Face TGI", "Maintenance state", "fail"),
        ("TokenSpeed", "Maintenance state", "not known"),
        ("an engine of our own", "Maintenance state", "not known"),
    ],
)
def test_a_gate_from_the_facts(name: str, gate: str, result: str) -> None:
    assert _gate(name, gate)[0] == result


def test_a_result_names_its_fact() -> None:
    assert _gate("Hugging Face TGI", "Maintenance state") == ("fail", "maintenance mode, release 3.3.7 of 2025-12")


def test_without_a_policy_the_licence_is_not_judged() -> None:
    nothing: dict[str, Any] = {"engine.licence_policy": ""}
    assert _gate("vLLM", "Licence policy", **nothing)[0] == "not known"


def test_an_engine_of_ones_own_has_its_own_facts() -> None:
    own = {"licence": "MIT", "weight_formats": ["fp8"], "min_compute_capability": "9.1", "maintenance": "active"}
    gates = ("Licence policy", "Weight format", "Minimum compute capability", "Maintenance state")
    assert [_gate("Ours", gate, own)[0] for gate in gates] == ["pass", "pass", "fail", "pass"]


def test_what_runs_no_engine_passes_no_gate() -> None:
    option = EngineOption(name="Managed API", kind="managed_api")
    found = gates_of(option, situation_of(good_answers(), FACTS, None))
    assert {gate.result for gate in found} == {"not applicable"}


def test_the_reason_against_an_option_that_fails() -> None:
    situation = situation_of(good_answers(), FACTS, None)
    assert rejection_of(EngineOption(name="Hugging Face TGI"), situation) == (
        "it fails the gate Maintenance state: maintenance mode, release 3.3.7 of 2025-12"
    )


def test_standard_gates_are_filled_where_nobody_named_any() -> None:
    filled, origins = fill_options(good_answers(**{"engine.gates": []}), {}, (FACTS,), None)
    names = tuple(gate.name for gate in filled.engine.gates)
    assert (names, origins["engine.options[0].gates.Hardware vendor"].word) == (STANDARD_GATES, "default")


def test_what_a_person_said_of_a_gate_stays() -> None:
    answers = good_answers(
        **{"engine.gates": [{"name": "Hardware vendor"}], "engine.options[0].gates": {"Hardware vendor": "fail"}}
    )
    filled, _ = fill_options(answers, {}, (FACTS,), None)
    assert filled.engine.options[0].gates == {"Hardware vendor": "fail"}


def test_a_failed_gate_gives_the_reason_by_default() -> None:
    answers = good_answers(
        **{
            "engine.gates": [],
            "engine.options[1].name": "DeepSpeed-MII",
            "engine.options[1].rejected_because": ...,
        }
    )
    filled, origins = fill_options(answers, {}, (FACTS,), None)
    assert "dormant" in (filled.engine.options[1].rejected_because or "")
    assert origins["engine.options[1].rejected_because"].word == "default"


def test_the_chosen_option_is_never_rejected() -> None:
    answers = good_answers(**{"engine.options[0].name": "DeepSpeed-MII", "engine.chosen": "DeepSpeed-MII"})
    assert fill_options(answers, {}, (FACTS,), None)[0].engine.options[0].rejected_because is None


def test_without_options_nothing_is_filled() -> None:
    answers = good_answers(**{"engine.options": []})
    assert fill_options(answers, {}, (FACTS,), None) == (answers, {})


def test_both_ways_without_an_engine_and_one_of_ones_own_may_be_added() -> None:
    assert [row.kind for row in choices()][-3:] == ["managed_api", "do_nothing", "engine"]


@pytest.mark.parametrize(
    ("scores", "tie"),
    [
        ({"a": {"x": 5, "y": 5}, "b": {"x": 5, "y": 4}}, None),
        ({"a": {"x": 5, "y": 5}, "b": {"x": 5, "y": 5}}, ("a", "b")),
        ({"a": {"x": 5, "y": 5}}, None),
        ({"a": {"x": 0, "y": 0}, "b": {"x": 0, "y": 0}}, ("a", "b")),
    ],
)
def test_a_near_tie(scores: dict[str, dict[str, int]], tie: tuple[str, str] | None) -> None:
    assert near_tie({"x": 50, "y": 50}, scores) == tie


def test_a_flip_names_the_weight_the_move_and_who_is_then_first() -> None:
    assert flips({"x": 52, "y": 48}, {"a": {"x": 5, "y": 3}, "b": {"x": 3, "y": 5}}) == (
        ("x", -10, "b"),
        ("y", 10, "b"),
    )


def test_the_criteria_say_their_sum_the_scores_and_whether_the_order_holds() -> None:
    assert about_criteria(full())[4:8] == [
        "Weights so far: 100 of 100",
        "vLLM: 4.50",
        "SGLang: 3.70",
        "",
    ]
