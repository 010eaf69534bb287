"""The dry build in a real vLLM, and its agreement with the formula."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from probes.drybuild import DryBuild, DryBuildRequest, dry_build
from probes.errors import ProbeError
from probes.models import configuration_of
from probes.smoke.plan import VllmTool
from probes.smoke.tiny_model import CONFIG
from tests.tools.vllm_truth import SHORT, configuration, own_models
from tests.unit.test_sizing_exact import ANSWERED
from wizard.catalogue.configurations import known_configuration, known_models
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
from wizard.sizing.dry import dry_sizing
from wizard.sizing.request import GIB, GpuFacts, SizeRequest

TINY = configuration_of("tiny", "tiny", CONFIG)
ALONE = sorted({row["model"] for row in ANSWERED})


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))  # noqa: PTH208  # names are enough


@pytest.mark.vllm
def test_the_dry_build_and_the_formula_agree(vllm: VllmTool) -> None:
    built = dry_build(vllm.interpreter, TINY, DryBuildRequest(context=1024))
    sized = compute(TINY, SizeRequest(context=1024, planner="cpu"))
    assert (built.weight_bytes, built.kv_bytes_per_request, built.block_size) == (
        (sized.weight_bytes,),
        (sized.kv_bytes_per_request,),
        sized.block_size,
    )


@pytest.mark.vllm
@pytest.mark.soak
def test_two_ranks_hold_what_the_formula_says(vllm: VllmTool) -> None:
    built = dry_build(vllm.interpreter, TINY, DryBuildRequest(context=1024, tensor_parallel=2))
    sized = compute(TINY, SizeRequest(context=1024, tensor_parallel=2, planner="cpu"))
    assert built.weight_bytes == (sized.weight_bytes_per_gpu, sized.weight_bytes_per_gpu)


@pytest.mark.vllm
def test_the_command_takes_over_what_vllm_answered(vllm: VllmTool) -> None:
    request = SizeRequest(context=1024, planner="cpu", gpu=GpuFacts("any", 8 * GIB))
    formula = compute(TINY, request)
    answered = dry_sizing(TINY, request, formula, vllm.interpreter)
    assert (answered.method, answered.max_concurrency) == ("dry_build", formula.max_concurrency)


@pytest.mark.vllm
def test_what_vllm_cannot_build_falls_back_with_its_reason(vllm: VllmTool) -> None:
    model = known_configuration("zai-org/GLM-5")
    assert model is not None
    request = SizeRequest(context=1024, planner="cpu")
    answered = dry_sizing(model, request, compute(model, request), vllm.interpreter)
    assert (answered.method, "could not build" in (answered.method_note or "")) == ("formula", True)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="cannot be started"):
        dry_build(tmp_path / "python", TINY, DryBuildRequest(context=1024))


def test_more_ranks_than_are_started(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="at most 4"):
        dry_build(tmp_path / "python", TINY, DryBuildRequest(context=1024, tensor_parallel=8))


def test_a_child_that_says_nothing(tmp_path: Path) -> None:
    child = tmp_path / "python"
    child.write_text("#!/bin/sh\nexit 3\n")
    child.chmod(0o755)
    with pytest.raises(ProbeError, match="exit code 3"):
        dry_build(child, TINY, DryBuildRequest(context=1024))


def test_a_child_that_never_answers_is_ended(tmp_path: Path) -> None:
    child = tmp_path / "python"
    child.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec tail -f /dev/null\n")
    child.chmod(0o755)
    with pytest.raises(ProbeError, match="time limit"):
        dry_build(child, TINY, DryBuildRequest(context=1024), timeout_s=1)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


@dataclass(frozen=True)
class Compared:
    """One model without its quantisation: the formula's answer, and vLLM's or why there is none."""

    sized: Sizing
    built: DryBuild | ProbeError


def compared(interpreter: Path, name: str) -> Compared:
    """Ask both about one model."""
    model = configuration(name)
    asked: dict[str, Any] = {"context": SHORT.get(name, 32768)}
    plain = {key: value for key, value in model.whole.items() if key not in ("quantization_config",)}
    model = type(model)(name, name, plain, {k: v for k, v in model.text.items() if k != "quantization_config"})
    sized = compute(model, SizeRequest(**asked, planner="cpu"))
    try:
        return Compared(sized, dry_build(interpreter, model, DryBuildRequest(**asked), timeout_s=600))
    except ProbeError as error:
        return Compared(sized, error)


@pytest.fixture(scope="module")
def every_model(vllm: VllmTool) -> dict[str, Compared]:
    """All the models, a child on each core: one child takes half a minute and one core."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(ALONE, pool.map(lambda name: compared(vllm.interpreter, name), ALONE), strict=True))


@pytest.mark.vllm
@pytest.mark.soak
@pytest.mark.parametrize("name", ALONE)
def test_agreement_on_every_model_that_vllm_builds_here(every_model: dict[str, Compared], name: str) -> None:
    if name == "own/qwen3-next" and "avx512_bf16" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("vLLM keeps this model's state in float32 only on a processor with AVX-512 BF16, and this has none")
    sized, built = every_model[name].sized, every_model[name].built
    assert isinstance(built, DryBuild), built
    assert (built.weight_bytes, built.kv_bytes_per_request) == ((sized.weight_bytes,), (sized.kv_bytes_per_request,))


def test_at_least_twenty_models_are_compared() -> None:
    assert len(ALONE) >= 20
    assert set(ALONE) <= {*known_models(), *own_models()}
