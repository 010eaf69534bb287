import pytest

from probes.smoke.metrics import LOOKS, Metrics, Seen, hit_rate, parse_metrics, preempted, strategies_seen
from probes.smoke.plan import WantedStrategy

TEXT = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="t"} 2.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="t"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="t"} 0.5
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{engine="0",model_name="t"} 100.0
vllm:prefix_cache_queries_total{engine="1",model_name="t"} 200.0
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total{engine="0",model_name="t"} 30.0
vllm:prefix_cache_hits_total{engine="1",model_name="t"} 45.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="+Inf"} 3.0
vllm:iteration_tokens_total_count{engine="0"} 3.0
vllm:iteration_tokens_total_sum{engine="0"} 30.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="0",window="None"} 1
vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="1",window="None"} 1
"""
CONFIG = {
    "parallel_config": {"tensor_parallel_size": 4, "pipeline_parallel_size": 1, "enable_expert_parallel": False},
    "scheduler_config": {"enable_chunked_prefill": True, "policy": "fcfs"},
    "model_config": {"quantization": "fp8"},
    "compilation_config": {"cudagraph_mode": 0, "mode": 3},
    "speculative_config": {"method": "eagle3"},
    "lora_config": None,
}


def test_counters_are_summed_over_engines() -> None:
    found = parse_metrics(TEXT)
    assert (found.prefix_queries, found.prefix_hits, found.running) == (300, 75, 2)


def test_usage_is_that_of_the_fullest_engine() -> None:
    assert parse_metrics(TEXT).kv_usage == 0.5


@pytest.mark.parametrize(("label", "value"), [("block_size", 16), ("window", None), ("absent", None)])
def test_labels_become_numbers(label: str, value: float | None) -> None:
    assert parse_metrics(TEXT).number(label) == value


@pytest.mark.parametrize("text", ["", "<html>", "no metrics { at all", "# TYPE x counter\nx_total nonsense"])
def test_a_text_without_metrics_gives_an_empty_reading(text: str) -> None:
    assert parse_metrics(text) == Metrics()


def test_a_figure_that_is_not_there_is_none() -> None:
    assert parse_metrics(TEXT).preemptions is None


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-5", "1e308", "1e999"])
def test_a_value_that_cannot_be_is_left_out_and_named(value: str) -> None:
    lines = [line.rsplit(" ", 1)[0] + f" {value}" if line[0] != "#" else line for line in TEXT.splitlines()]
    found = parse_metrics("\n".join(lines))
    assert (found.prefix_queries, found.running, found.kv_usage) == (None, None, None)
    assert "vllm:kv_cache_usage_perc" in found.impossible


@pytest.mark.parametrize("value", ["nan", "inf", "-7", "0", "1e300"])
def test_a_label_that_cannot_be_is_left_out_and_named(value: str) -> None:
    found = parse_metrics(TEXT.replace('block_size="16"', f'block_size="{value}"'))
    assert (found.number("block_size"), found.impossible) == (None, ("block_size",))


def test_a_cache_that_is_used_by_more_than_all_of_it_is_left_out() -> None:
    assert parse_metrics(TEXT.replace(" 0.5", " 1000")).kv_usage is None


@pytest.mark.parametrize(("before", "after", "count"), [(3, 5, 2), (5, 3, None), (None, 5, None)])
def test_preemptions_are_a_difference_of_a_counter_that_runs_forward(
    before: float | None, after: float, count: int | None
) -> None:
    assert preempted(Metrics(preemptions=before), Metrics(preemptions=after)) == count


@pytest.mark.parametrize(
    ("before", "after", "rate"),
    [
        (Metrics(prefix_queries=100, prefix_hits=0), Metrics(prefix_queries=300, prefix_hits=150), 0.75),
        (Metrics(prefix_queries=100, prefix_hits=0), Metrics(prefix_queries=100, prefix_hits=0), None),
        (Metrics(), Metrics(prefix_queries=100, prefix_hits=0), None),
        (Metrics(prefix_queries=100, prefix_hits=0), Metrics(prefix_queries=101, prefix_hits=1000), None),
        (Metrics(prefix_queries=100, prefix_hits=50), Metrics(prefix_queries=200, prefix_hits=0), None),
    ],
)
def test_the_hit_rate_is_a_difference(before: Metrics, after: Metrics, rate: float | None) -> None:
    assert hit_rate(before, after) == rate


@pytest.mark.parametrize(
    ("name", "expected", "seen"),
    [
        ("tensor_parallel", "4", "in_force"),
        ("tensor_parallel", "2", "not_in_force"),
        ("tensor_parallel", None, "in_force"),
        ("pipeline_parallel", None, "not_in_force"),
        ("prefix_caching", None, "in_force"),
        ("kv_quantization", "fp8", "in_force"),
        ("chunked_prefill", None, "in_force"),
        ("priority_scheduling", None, "not_in_force"),
        ("weight_quantization", "fp8", "in_force"),
        ("weight_quantization", "awq", "not_in_force"),
        ("cuda_graphs", None, "not_in_force"),
        ("graph_compile", None, "in_force"),
        ("spec_eagle3", None, "in_force"),
        ("spec_mtp", None, "not_in_force"),
        ("expert_parallel", None, "not_in_force"),
        ("multi_lora", None, "not_in_force"),
        ("paged_kv", None, "in_force"),
        ("disaggregated_pd", None, "not_visible"),
        ("a strategy of next year", None, "not_visible"),
    ],
)
def test_strategies_in_a_server_that_tells_its_settings(name: str, expected: str | None, seen: str) -> None:
    wanted = WantedStrategy(id=name, decision="adopt", expected=expected)
    found = strategies_seen([wanted], Seen(metrics=parse_metrics(TEXT), config=CONFIG))
    assert found[0].seen == seen


@pytest.mark.parametrize("name", sorted(set(LOOKS) - {"paged_kv", "continuous_batching"}))
def test_nothing_is_claimed_of_a_server_that_tells_nothing(name: str) -> None:
    found = strategies_seen([WantedStrategy(id=name, decision="adopt")], Seen(metrics=Metrics(), config=None))
    assert found[0].seen == "not_visible"


def test_the_attention_backend_comes_from_the_log() -> None:
    wanted = WantedStrategy(id="attention_backend", decision="adopt", expected="FLASHINFER")
    seen = Seen(metrics=Metrics(), config=CONFIG, attention_backend="FLASHINFER")
    assert strategies_seen([wanted], seen)[0].seen == "in_force"
