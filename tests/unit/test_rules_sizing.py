"""The rules on sizing, each against a selection that is good but for one thing; the sizing itself is the real one."""

from typing import Any

import pytest

from probes.machine import Machine
from probes.models import configuration_of, facts_of
from tests.unit.selections import GPU, good_selection
from wizard.catalogue.configurations import known_configuration
from wizard.decision.finding import Finding
from wizard.decision.selection import Selection
from wizard.machine import planned
from wizard.rules import check, explain
from wizard.sizing.gpus import common_types
from wizard.sizing.proposed import proposed_sizing

MODEL = "Qwen/Qwen3-32B-FP8"
_ITEM = "budget.engine.items[0].quantity"
_ONE_GPU: dict[str, Any] = {
    "runtime.layout.tensor_parallel": 1,
    "runtime.hardware.gpus_per_replica": 1,
    "engine.strategies.tensor_parallel": {"decision": "defer", "reason": "one GPU"},
    _ITEM: 2,
}


def sized(model: str = MODEL, on: Machine | None = None, **changes: Any) -> Selection:
    """A good selection with the sizing of its answers; without a machine, on the catalogue's GPU."""
    selection = good_selection(machine=on, smoke=None, **changes)
    configuration = known_configuration(model)
    answer = proposed_sizing(selection.answers, selection.launch, on, configuration, None, common_types())
    return selection.model_copy(update={"sizing": answer})


def on_sizing(selection: Selection) -> list[Finding]:
    return [found for found in check(selection) if found.rule in ("C5", "C15")]


def test_a_good_selection_has_no_finding() -> None:
    assert check(sized()) == ()


def test_a_good_selection_is_sized() -> None:
    sizing = sized().sizing
    assert sizing is not None
    assert sizing.sizing is not None
    assert sizing.sizing.fits is True


TABLE: list[tuple[str, str, dict[str, Any], tuple[str, str, str]]] = [
    (
        "weights and one request above the memory",
        "meta-llama/Meta-Llama-3.1-70B",
        _ONE_GPU,
        ("C5", "block", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "more calls than fit, prefix kept once",
        MODEL,
        {"runtime.workload.concurrency": 600, "runtime.workload.shared_prefix_tokens": 1024},
        ("C5", "block", "runtime.workload.concurrency"),
    ),
    (
        "more calls than fit without a shared prefix",
        MODEL,
        {"runtime.workload.concurrency": 100},
        ("C5", "warn", "runtime.workload.concurrency"),
    ),
    (
        "room for one request only if the estimates are too high",
        MODEL,
        {"runtime.settings.gpu_memory_utilization": 0.23, "runtime.workload.concurrency": 1},
        ("C5", "warn", "runtime.hardware.gpus_per_replica"),
    ),
    ("TPOT below its floor", MODEL, {"runtime.ceilings.tpot_ms": 4}, ("C15", "block", "runtime.ceilings.tpot_ms")),
    ("TTFT below its floor", MODEL, {"runtime.ceilings.ttft_ms": 9}, ("C15", "block", "runtime.ceilings.ttft_ms")),
    ("E2E below its floor", MODEL, {"runtime.ceilings.e2e_ms": 900}, ("C15", "block", "runtime.ceilings.e2e_ms")),
]


@pytest.mark.parametrize(("model", "changes", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_breaking_one_thing_gives_one_finding(
    model: str, changes: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    found = on_sizing(sized(model, **changes))
    assert [(f.rule, f.severity, f.where) for f in found] == [expected]


def test_serving_replicas_share_the_calls() -> None:
    changes: dict[str, Any] = {"runtime.workload.concurrency": 100, "runtime.layout.replicas": 2, _ITEM: 6}
    assert on_sizing(sized(**changes)) == []


def test_calls_beyond_a_batch_wait_and_hold_nothing() -> None:
    changes: dict[str, Any] = {"runtime.workload.concurrency": 600, "runtime.workload.shared_prefix_tokens": 1024}
    found = on_sizing(sized(**(changes | {"runtime.settings.max_num_seqs": 16})))
    assert [f.severity for f in found] == ["warn"]


@pytest.mark.parametrize(
    ("changes", "rule"), [({"runtime.ceilings.tpot_ms": 4}, "C15"), ({"runtime.workload.concurrency": 600}, "C5")]
)
def test_on_a_machine_that_will_be_bought_it_is_a_note(changes: dict[str, Any], rule: str) -> None:
    found = on_sizing(sized(on=planned(f"{GPU}x2"), **changes))
    assert [(f.rule, f.severity) for f in found] == [(rule, "note")]


def test_a_floor_on_a_figure_from_memory_only_warns() -> None:
    changes: dict[str, Any] = {"runtime.hardware.gpu": "NVIDIA L40", "runtime.ceilings.tpot_ms": 9}
    assert [(f.rule, f.severity) for f in on_sizing(sized(**changes))] == [("C15", "warn")]


def test_speculation_divides_the_floor() -> None:
    flags = """--speculative-config '{"method": "eagle3", "num_speculative_tokens": 3}'"""
    changes: dict[str, Any] = {"runtime.ceilings.tpot_ms": 4, "runtime.settings.extra_flags": [flags]}
    assert on_sizing(sized(**changes)) == []


def test_speculation_of_unknown_length_leaves_no_floor() -> None:
    flags = """--speculative-config '{"method": "suffix"}'"""
    changes: dict[str, Any] = {"runtime.ceilings.tpot_ms": 0.01, "runtime.settings.extra_flags": [flags]}
    assert on_sizing(sized(**changes)) == []


def test_a_flag_that_the_formula_does_not_follow_is_said_and_refuses_nothing() -> None:
    changes = _ONE_GPU | {"runtime.settings.extra_flags": ["--cpu-offload-gb 200"]}
    selection = sized("meta-llama/Meta-Llama-3.1-70B", **changes)
    assert on_sizing(selection) == []
    assert selection.sizing is not None
    assert selection.sizing.because == "The formula does not follow --cpu-offload-gb."


def test_an_architecture_that_is_not_covered_refuses_nothing() -> None:
    assert on_sizing(sized("zai-org/GLM-5")) == []


def test_another_product_is_not_sized_as_vllm() -> None:
    changes: dict[str, Any] = {"runtime.product": "SGLang"}
    selection = sized(**changes)
    assert selection.sizing is not None
    assert selection.sizing.sizing is None


@pytest.mark.parametrize(("positions", "rules"), [(131072, []), (40960, ["C6"])])
def test_a_yarn_model_takes_the_positions_that_it_states(positions: int, rules: list[str]) -> None:
    known = known_configuration(MODEL)
    assert known is not None
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    whole = {**known.whole, "max_position_embeddings": positions, "rope_scaling": scaling}
    facts = facts_of(configuration_of("m", "m", whole))
    changes: dict[str, Any] = {"runtime.settings.max_model_len": 100_000}
    selection = good_selection(facts=facts, smoke=None, **changes)
    assert [found.rule for found in check(selection)] == rules


@pytest.mark.parametrize("identifier", ["C5", "C15"])
def test_it_can_be_explained(identifier: str) -> None:
    assert explain(identifier) is not None
