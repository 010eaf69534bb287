"""What is advised on strategies: which matter, what they need, and the decision that the facts suggest."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.models import ModelFacts
from tests.unit.selections import FACTS, GPU, good_answers, machine
from wizard.advice import Advice, advise, situation_of
from wizard.advice.filling import fill_strategies
from wizard.advice.needs import native_capability
from wizard.answers import Answers
from wizard.catalogue import strategies
from wizard.decision.gather import gather
from wizard.serving.launch import launch
from wizard.serving.trace import realised

MACHINE = machine(GPU, GPU)
_NONE = {"engine.strategies": ...}
_EXTRA = "runtime.settings.extra_flags"


def _advice(facts: ModelFacts | None = FACTS, host: Any = MACHINE, **changes: Any) -> dict[str, Advice]:
    situation = situation_of(good_answers(**{**_NONE, **changes}), facts, host)
    return {row.id: row for row in advise(situation)}


def _need(strategy: str, what: str, **changes: Any) -> tuple[str, str]:
    found = [p for p in _advice(**changes)[strategy].prerequisites if what in p.what]
    return (found[0].met, found[0].fact)


def test_every_strategy_is_spoken_of_once_in_the_order_of_the_catalogue() -> None:
    assert list(_advice()) == list(strategies())


def test_what_does_not_matter_says_why() -> None:
    assert [row.id for row in _advice().values() if row.place != "matters" and not row.why] == []


def test_what_is_suggested_has_a_reason() -> None:
    assert [row.id for row in _advice().values() if row.decision and not row.reason] == []


def test_a_dense_model_needs_no_experts_strategy() -> None:
    rows = _advice()
    names = ("moe_kernel", "expert_parallel", "dp_attention", "comm_compute_overlap")
    assert {rows[name].place for name in names} == {"not_here"}


def test_a_mixture_of_experts_does() -> None:
    moe = FACTS.model_copy(update={"is_moe": True, "experts": 128})
    assert (_advice(moe)["expert_parallel"].place, _advice(moe)["moe_kernel"].place) == ("matters", "follows")


def test_one_gpu_leaves_no_layout_to_choose() -> None:
    one: dict[str, Any] = {"runtime.hardware.gpus_per_replica": 1, "runtime.layout.tensor_parallel": 1}
    rows = _advice(**one)
    assert {rows[name].place for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")} == {"not_here"}


@pytest.mark.parametrize(
    ("strategy", "changes", "decision"),
    [
        ("prefix_caching", {}, "adopt"),
        ("prefix_caching", {"runtime.workload.shared_prefix_tokens": 0}, "adopt"),
        ("weight_quantization", {}, "adopt"),
        ("tensor_parallel", {}, "adopt"),
        ("tensor_parallel", {"runtime.layout.tensor_parallel": 1}, "reject"),
        ("admission_control", {}, "adopt"),
        ("admission_control", {"runtime.settings.max_num_queued_reqs": ...}, "defer"),
        ("kv_quantization", {}, "defer"),
        ("kv_quantization", {"runtime.settings.kv_cache_dtype": "fp8"}, "adopt"),
        ("cuda_graphs", {}, "adopt"),
        ("cuda_graphs", {_EXTRA: ["--enforce-eager"]}, "reject"),
        ("multi_lora", {_EXTRA: ["--enable-lora"]}, None),
        ("disaggregated_pd", {"runtime.layout.replicas": 2}, "reject"),
        ("graph_compile", {"runtime.product": "SGLang"}, "defer"),
    ],
)
def test_what_the_facts_suggest(strategy: str, changes: dict[str, Any], decision: str | None) -> None:
    assert _advice(**changes)[strategy].decision == decision


@pytest.mark.parametrize(
    ("strategy", "what", "changes", "met"),
    [
        ("tensor_parallel", "heads", {}, "yes"),
        ("tensor_parallel", "heads", {"runtime.layout.tensor_parallel": 3}, "no"),
        ("tensor_parallel", "several GPUs", {"runtime.hardware.gpus_per_replica": ...}, "not known"),
        ("weight_quantization", "computes in", {}, "yes"),
        ("weight_quantization", "computes in", {"runtime.hardware.gpu": "NVIDIA A100-SXM4-80GB"}, "no"),
        ("weight_quantization", "computes in", {"runtime.hardware.gpu": "an unknown GPU"}, "not known"),
        ("kv_quantization", "FP8 cache", {"runtime.hardware.gpu": "Tesla T4"}, "no"),
        ("attention_backend", "capability", {"runtime.hardware.gpu": "Tesla T4"}, "no"),
        ("prefix_caching", "same text", {}, "yes"),
        ("tool_reasoning_parsers", "parser", {"runtime.settings.tool_call_parser": ...}, "no"),
        ("disaggregated_pd", "instances", {}, "no"),
    ],
)
def test_a_prerequisite_is_held_against_model_and_machine(
    strategy: str, what: str, changes: dict[str, Any], met: str
) -> None:
    assert _need(strategy, what, **changes)[0] == met


def test_a_verdict_names_its_fact() -> None:
    assert _need("weight_quantization", "computes in", **{"runtime.hardware.gpu": "NVIDIA A100-SXM4-80GB"})[1] == (
        "fp8 is computed from 8.9 on, the GPU has 8.0 and only stores it"
    )


def test_without_a_machine_its_facts_are_not_known() -> None:
    assert _need("kv_offload", "memory beside", host=None) == ("not known", "the host memory was not read")


@pytest.mark.parametrize(("method", "least"), [("fp8", "8.9"), ("NVFP4", "10.0"), ("awq", None), (None, None)])
def test_the_format_that_a_gpu_computes_in(method: str | None, least: str | None) -> None:
    assert native_capability(method) == least


def test_a_decision_of_a_person_is_never_replaced() -> None:
    answers = good_answers()
    filled, _ = fill_strategies(answers, {}, (FACTS,), MACHINE)
    assert {name: filled.engine.strategies[name] for name in answers.engine.strategies} == answers.engine.strategies


def test_a_filled_decision_is_a_default_with_its_reason() -> None:
    filled, origins = fill_strategies(good_answers(**_NONE), {}, (FACTS,), MACHINE)
    decided = filled.engine.strategies
    assert {
        origins[f"engine.strategies.{name}.{part}"].word for name in decided for part in ("decision", "reason")
    } == {"default"}


@given(
    tensor=st.integers(1, 8),
    gpus=st.integers(1, 8),
    shared=st.integers(0, 4000),
    replicas=st.integers(1, 4),
    product=st.sampled_from(["vLLM", "SGLang", "TensorRT-LLM", "something else"]),
    gpu=st.sampled_from(["NVIDIA H100 80GB HBM3", "Tesla T4", "nothing known"]),
    known=st.booleans(),
)
def test_a_suggestion_never_contradicts_the_launch_that_it_makes(
    tensor: int, gpus: int, shared: int, replicas: int, product: str, gpu: str, known: bool
) -> None:
    answers = good_answers(
        **{
            **_NONE,
            "runtime.layout.tensor_parallel": tensor,
            "runtime.hardware.gpus_per_replica": gpus,
            "runtime.hardware.gpu": gpu,
            "runtime.workload.shared_prefix_tokens": shared,
            "runtime.layout.replicas": replicas,
            "runtime.product": product,
        }
    )
    facts = FACTS if known else None
    filled, _ = fill_strategies(answers, {}, (facts,), None)
    command = launch(filled)
    wrong = []
    for name, answer in filled.engine.strategies.items():
        seen = realised(name, command, facts)
        if (answer.decision == "adopt" and seen.in_force is False) or (
            answer.decision in ("reject", "defer") and seen.in_force and seen.by != "off_switch"
        ):
            wrong.append((name, answer.decision, seen))
    assert wrong == []


def test_nothing_known_is_no_error() -> None:
    assert len(advise(situation_of(Answers()))) == len(strategies())


def test_a_default_decision_knows_what_the_sizing_says(tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(
        'schema_version = 1\n[[engine.models]]\nname = "Qwen/Qwen3-32B"\ncontext_tokens = 8192\ncarried_by = "this"\n'
        '[runtime.hardware]\ngpu = "NVIDIA L40S"\ngpus_per_replica = 1\n'
    )
    decided = gather([file], probe=False).answers.engine.strategies["weight_quantization"]
    assert (decided.decision, "does not fit" in (decided.reason or "")) == ("defer", True)
