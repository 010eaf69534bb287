"""What must hold for any model and any question."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.models import configuration_of
from wizard.catalogue.configurations import known_configuration, known_models
from wizard.sizing.answer import Floor, Sizing
from wizard.sizing.compute import compute
from wizard.sizing.floors import Ceilings, below_floor, uncached_tokens
from wizard.sizing.layers import CacheShape, cache_shape
from wizard.sizing.planner import PlannerInputs, concurrency, plan
from wizard.sizing.request import GIB, GpuFacts, SizeRequest, working_tensor_parallel

GPU = GpuFacts("any", 80 * GIB, bandwidth_gb_s=3350.0, tflops=(("bf16", 989.0),))


def covered(name: str) -> bool:
    model = known_configuration(name)
    return model is not None and isinstance(cache_shape(model), CacheShape)


COVERED = [name for name in known_models() if covered(name)]


@st.composite
def plain_models(draw: st.DrawFn) -> dict[str, Any]:
    """A Llama of any proportions."""
    kv_heads = draw(st.sampled_from([1, 2, 4, 8]))
    head_dim = draw(st.sampled_from([32, 64, 128]))
    heads = kv_heads * draw(st.sampled_from([1, 2, 4]))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": draw(st.integers(1, 40)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_size": heads * head_dim,
        "intermediate_size": 64 * draw(st.integers(1, 100)),
        "vocab_size": draw(st.integers(100, 200_000)),
        "max_position_embeddings": 1_000_000,
        "tie_word_embeddings": draw(st.booleans()),
        "torch_dtype": "bfloat16",
    }


def shape_of(name: str) -> CacheShape:
    model = known_configuration(name)
    assert model is not None
    shape = cache_shape(model)
    assert isinstance(shape, CacheShape)
    return shape


def asked(name: str, request: SizeRequest) -> Sizing:
    model = known_configuration(name)
    assert model is not None
    return compute(model, request)


contexts = st.integers(1, 8192)
names = st.sampled_from(COVERED)
planners = st.sampled_from(["cuda", "cpu"])


@given(names, contexts, contexts, planners)
@settings(max_examples=60)
def test_more_context_never_needs_less(name: str, one: int, other: int, planner: Any) -> None:
    shape = shape_of(name)
    short, long = (
        plan(shape, PlannerInputs(context, planner)).bytes_per_request[0] for context in sorted((one, other))
    )
    assert short <= long


@given(names, contexts, planners)
@settings(max_examples=60)
def test_an_fp8_cache_never_exceeds_bf16(name: str, context: int, planner: Any) -> None:
    shape = shape_of(name)
    inputs = PlannerInputs(context, planner, kv_cache_dtype="bfloat16")
    wide, narrow = (plan(shape, replace(inputs, kv_cache_dtype=kind)) for kind in ("bfloat16", "fp8"))
    if not shape.has_state:  # with states, FP8 doubles the tokens of a block, and a short request rounds up further
        assert narrow.bytes_per_request[0] <= wide.bytes_per_request[0]
    assert max(narrow.bytes_per_block) <= 2 * max(wide.bytes_per_block)


@given(names)
@settings(max_examples=30)
def test_tensor_parallelism_never_raises_weights_of_a_gpu(name: str) -> None:
    sizes = working_tensor_parallel(shape_of(name), 8)
    held = [asked(name, SizeRequest(context=4096, tensor_parallel=size)).weight_bytes_per_gpu for size in sizes]
    known = [size for size in held if size is not None]
    assert known == sorted(known, reverse=True)


@given(names, contexts)
@settings(max_examples=40)
def test_tensor_parallelism_never_raises_cache_of_a_gpu(name: str, context: int) -> None:
    shape = shape_of(name)
    if shape.has_state:
        return  # the block is resolved anew for each size, and a short request may round up further
    held = [
        plan(shape, PlannerInputs(context, tensor_parallel=size)).bytes_per_request[0]
        for size in working_tensor_parallel(shape, 16)
    ]
    assert held == sorted(held, reverse=True)


@given(plain_models(), st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=40)
def test_stages_hold_at_least_the_whole_model_together(config: dict[str, Any], stages: int) -> None:
    stages = min(stages, config["num_hidden_layers"])
    model = configuration_of("any", "any", config)
    one = compute(model, SizeRequest(context=1024)).weight_bytes
    each = compute(model, SizeRequest(context=1024, pipeline_parallel=stages)).weight_bytes_per_gpu
    assert one is not None
    assert each is not None
    assert each * stages >= one >= each


@given(names, st.integers(0, 10**12))
@settings(max_examples=40)
def test_concurrency_never_falls_with_more_room(name: str, room: int) -> None:
    found = plan(shape_of(name), PlannerInputs(4096))
    less, more = concurrency(found, [room]), concurrency(found, [room + 10**9])
    assert (less or 0.0) <= (more or 0.0)


@given(names, contexts, st.integers(1, 64))
@settings(max_examples=40)
def test_terms_add_up_to_what_is_required(name: str, context: int, calls: int) -> None:
    sizing = asked(name, SizeRequest(context=context, concurrency=calls, gpu=GPU))
    if sizing.required_bytes_per_gpu is not None:
        assert sum(term.bytes for term in sizing.terms) == sizing.required_bytes_per_gpu


@given(names, st.integers(1, 4000), st.integers(0, 4000), st.integers(1, 8), st.integers(0, 8))
@settings(max_examples=60)
def test_what_an_engine_may_save_only_lowers_the_floors(
    name: str, prompt: int, shared: int, turns: int, speculative: int
) -> None:
    plain = SizeRequest(context=4096, gpu=GPU, input_tokens=prompt)
    saving = replace(plain, shared_prefix_tokens=shared, turns=turns, speculative_tokens=speculative)
    before, after = asked(name, plain).floor, asked(name, saving).floor
    assert (after.tpot_ms or 0) <= (before.tpot_ms or 0)
    assert (after.ttft_ms or 0) <= (before.ttft_ms or 0)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 100))
def test_uncached_tokens_are_never_negative(prompt: int, shared: int, turns: int) -> None:
    found = uncached_tokens(SizeRequest(input_tokens=prompt, shared_prefix_tokens=shared, turns=turns))
    assert found is not None
    assert 0 <= found <= prompt


@given(st.floats(0.1, 1e4), st.floats(0.1, 1e4))
def test_a_ceiling_above_its_floor_is_never_refuted(floor_ms: float, more_ms: float) -> None:
    ceilings = Ceilings(tpot_ms=floor_ms + more_ms)
    assert below_floor(Floor(floor_ms, None, ""), ceilings) == []
