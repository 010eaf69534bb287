"""The sizing against what vLLM's own code answered; how the answers were taken is in tests/tools/vllm_truth.py."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.tools.vllm_truth import CONTEXT, DATA, configuration
from wizard.sizing.compute import compute
from wizard.sizing.families import model_tensors
from wizard.sizing.formats import cache_type_of_checkpoint
from wizard.sizing.layers import CacheShape, NotCovered, State, cache_shape
from wizard.sizing.planner import CachePlan, PlannerInputs, concurrency, plan
from wizard.sizing.request import SizeRequest

REFERENCE = json.loads((DATA / "vllm_reference.json").read_text())["rows"]
FILE = json.loads((DATA / "vllm_truth.json").read_text())
ANSWERED = [row for row in FILE["rows"] if "no_answer" not in row]
NOT_OF_THE_PLAN = ("ignore_quantization", "any_kernel", "expert_parallel")
BUILT = {row["model"] for row in ANSWERED}
UNANSWERED = sorted({row["model"] for row in FILE["rows"]} - BUILT)


def name_of(row: dict[str, Any]) -> str:
    asked = row.get("asked", {"block_size": row.get("block_size")})
    return f"{row['model']} {' '.join(f'{key}={value}' for key, value in asked.items())}"


def reference_plan(row: dict[str, Any]) -> CachePlan:
    shape = cache_shape(configuration(row["model"]))
    assert isinstance(shape, CacheShape)
    return plan(
        shape,
        PlannerInputs(
            context=row["context"],
            planner="cpu",
            block_size=row["block_size"],
            kv_cache_dtype=row["kv_cache_dtype"],
        ),
    )


def truth_plan(row: dict[str, Any]) -> CachePlan:
    shape = cache_shape(configuration(row["model"]))
    assert isinstance(shape, CacheShape)
    asked = {key: value for key, value in row["asked"].items() if key not in NOT_OF_THE_PLAN}
    if "kv_cache_dtype" not in asked and not row["asked"].get("ignore_quantization"):
        asked["kv_cache_dtype"] = cache_type_of_checkpoint(configuration(row["model"])) or "auto"
    return plan(shape, PlannerInputs(**{"context": CONTEXT, "planner": "cpu", **asked}))


def stages(row: dict[str, Any], key: str) -> tuple[int, ...]:
    """One value a pipeline stage: ranks of a stage hold the same."""
    return tuple(row[key][:: row["asked"].get("tensor_parallel", 1)])


@pytest.mark.parametrize("row", REFERENCE, ids=name_of)
def test_cache_of_one_request_to_the_byte(row: dict[str, Any]) -> None:
    assert reference_plan(row).bytes_per_request == (row["kv_bytes_per_request"],)


@pytest.mark.parametrize("row", REFERENCE, ids=name_of)
def test_cache_groups(row: dict[str, Any]) -> None:
    assert len(reference_plan(row).groups) == row["cache_groups"]


def test_a_state_of_an_unstated_type_on_a_processor_without_bf16() -> None:
    """What vLLM 0.32.0 answered on an AVX2 processor, where it takes the model's type as it does on CUDA."""
    shape = cache_shape(configuration("own/qwen3-next"))
    assert isinstance(shape, CacheShape)
    layers = tuple(
        replace(layer, head_bytes=layer.conv_bytes) if isinstance(layer, State) else layer for layer in shape.layers
    )
    answered = plan(replace(shape, layers=layers), PlannerInputs(context=32768, planner="cpu"))
    assert (answered.block_size, answered.bytes_per_request) == (640, (912261120,))


def test_a_state_of_an_unstated_type_is_the_model_s_on_cuda() -> None:
    """32 heads of 128 x 128 and 8192 channels of 3 inputs, two bytes each; 2048 bytes a token: 34 x 16 tokens."""
    shape = cache_shape(configuration("own/qwen3-next"))
    assert isinstance(shape, CacheShape)
    assert plan(shape, PlannerInputs(context=32768, planner="cuda")).block_size == 544


@pytest.mark.parametrize("row", [row for row in REFERENCE if row["parameters"]], ids=name_of)
def test_parameters_and_weight_bytes_of_the_reference(row: dict[str, Any]) -> None:
    sizing = compute(configuration(row["model"]), SizeRequest(context=row["context"]))
    assert (sizing.parameters, sizing.weight_bytes) == (row["parameters"], row["weight_bytes"])


@pytest.mark.parametrize("row", ANSWERED, ids=name_of)
def test_cache_on_each_stage_to_the_byte(row: dict[str, Any]) -> None:
    assert truth_plan(row).bytes_per_request == stages(row, "kv_bytes_per_request")


@pytest.mark.parametrize("row", ANSWERED, ids=name_of)
def test_resolved_block_size(row: dict[str, Any]) -> None:
    assert truth_plan(row).block_size == row["block_size"]


@pytest.mark.parametrize("row", ANSWERED, ids=name_of)
def test_concurrency_as_vllm_logs_it(row: dict[str, Any]) -> None:
    found = truth_plan(row)
    room = [FILE["available_bytes"]] * len(found.bytes_per_block)
    assert concurrency(found, room) == row["max_concurrency"]


@pytest.mark.parametrize("row", ANSWERED, ids=name_of)
def test_weights_on_the_heaviest_rank(row: dict[str, Any]) -> None:
    asked = row["asked"]
    quantised = bool(asked.get("any_kernel"))
    model = configuration(row["model"])
    if asked.get("ignore_quantization"):
        plain = {key: value for key, value in model.whole.items() if key != "quantization_config"}
        model = type(model)(model.name, model.source, plain, {**model.text, "quantization_config": None})
    request = SizeRequest(
        context=asked.get("context", CONTEXT),
        tensor_parallel=asked.get("tensor_parallel", 1),
        pipeline_parallel=asked.get("pipeline_parallel", 1),
        expert_parallel=asked.get("expert_parallel", False),
        planner="cpu",
    )
    found = compute(model, request).weight_bytes_per_gpu
    assert found == (pytest.approx(max(row["weight_bytes"]), rel=1e-4) if quantised else max(row["weight_bytes"]))


@pytest.mark.parametrize("name", UNANSWERED)
def test_what_vllm_could_not_build_is_not_guessed(name: str) -> None:
    """Two of these have a reference of their own: a row of the other file, and the same class with our own file."""
    known = {"moonshotai/Kimi-K2.5", "XiaomiMiMo/MiMo-7B-Base"}
    assert isinstance(cache_shape(configuration(name)), CacheShape) == (name in known)


@pytest.mark.parametrize("name", ["deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5", "stepfun-ai/Step-3.7-Flash"])
def test_weights_of_an_architecture_that_is_not_covered(name: str) -> None:
    assert isinstance(model_tensors(configuration(name)), NotCovered)
