"""What a server says of itself: /metrics, and /server_info of our own child.

Names are those of vLLM 0.32 and 0.33 (counters end in `_total`). A figure that the text lacks is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import Field

from probes.smoke.plan import WantedStrategy, Workload
from probes.smoke.result import Frozen, StrategySeen


class Metrics(Frozen):
    """One reading of /metrics, summed over data-parallel engines (usage: the greatest)."""

    prefix_queries: float | None = None
    prefix_hits: float | None = None
    preemptions: float | None = None
    kv_usage: float | None = None
    running: float | None = None
    waiting: float | None = None
    generation_tokens: float | None = None
    spec_drafts: float | None = None
    spec_accepted: float | None = None
    cache_config: dict[str, str] = Field(default_factory=dict)
    """Labels of vllm:cache_config_info of the first engine."""
    engines: int = 0
    impossible: tuple[str, ...] = ()
    """Names whose values cannot be (negative, not finite, beyond any counter); their figures are None."""

    def number(self, label: str) -> float | None:
        """Return a cache setting as a number, None where it is absent or "None"."""
        try:
            return float(self.cache_config.get(label, ""))
        except ValueError:
            return None


_SUMS = {
    "vllm:prefix_cache_queries_total": "prefix_queries",
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:spec_decode_num_drafts_total": "spec_drafts",
    "vllm:spec_decode_num_accepted_tokens_total": "spec_accepted",
}


_NUMBERS = ("kv_cache_size_tokens", "kv_cache_max_concurrency", "block_size")
_MOST = 1e15
"""No token or request counter of a server's life comes near it, and a float still counts in ones there."""
_USAGE = "vllm:kv_cache_usage_perc"


def _possible(value: float, most: float = _MOST) -> bool:
    return math.isfinite(value) and 0 <= value <= most


def _without_impossible(labels: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return labels without numbers that cannot be, and the names of those."""
    number, wrong = Metrics(cache_config=labels).number, []
    for name in _NUMBERS:
        value = number(name)
        if value is not None and not (_possible(value) and value > 0):
            wrong.append(name)
    return {name: value for name, value in labels.items() if name not in wrong}, wrong


def parse_metrics(text: str) -> Metrics:
    """Read a /metrics text. A text that is none gives an empty reading, a value that cannot be is left out."""
    from prometheus_client.parser import text_string_to_metric_families  # costly import, only needed in a run

    sums: dict[str, float] = {}
    usage: list[float] = []
    configs: list[dict[str, str]] = []
    impossible: list[str] = []
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                known = sample.name in _SUMS or sample.name == _USAGE
                if known and not _possible(sample.value, 1 if sample.name == _USAGE else _MOST):
                    impossible.append(sample.name)
                elif sample.name in _SUMS:
                    key = _SUMS[sample.name]
                    sums[key] = sums.get(key, 0.0) + sample.value
                elif sample.name == _USAGE:
                    usage.append(sample.value)
                elif sample.name == "vllm:cache_config_info":
                    configs.append(dict(sample.labels))
    except (ValueError, KeyError, IndexError):
        return Metrics()
    configs.sort(key=lambda labels: labels.get("engine", ""))
    config, wrong = _without_impossible(configs[0] if configs else {})
    gone = {_SUMS[name] for name in impossible if name in _SUMS}  # a sum over only some engines is none
    return Metrics(
        **{key: value for key, value in sums.items() if key not in gone},
        kv_usage=None if _USAGE in impossible else max(usage, default=None),
        cache_config=config,
        engines=len(configs),
        impossible=tuple(sorted({*impossible, *wrong})),
    )


def preempted(before: Metrics, after: Metrics) -> int | None:
    """Return how many requests were preempted between two readings, None where a counter is missing or ran back."""
    if before.preemptions is None or after.preemptions is None or after.preemptions < before.preemptions:
        return None
    return int(after.preemptions - before.preemptions)


def hit_rate(before: Metrics, after: Metrics) -> float | None:
    """Return the share of prompt tokens found in the prefix cache between two readings.

    None where a counter is missing, and where the two do not fit together: one ran back, or more was found than looked
    for.
    """
    readings = (before.prefix_queries, after.prefix_queries, before.prefix_hits, after.prefix_hits)
    if any(value is None for value in readings):
        return None
    queries = (after.prefix_queries or 0.0) - (before.prefix_queries or 0.0)
    hits = (after.prefix_hits or 0.0) - (before.prefix_hits or 0.0)
    return hits / queries if queries > 0 and 0 <= hits <= queries else None


def greatest_useful(config: dict[str, Any] | None, metrics: Metrics, load: Workload) -> tuple[int | None, str]:
    """Return the concurrency above which this server only lets requests wait, with the reason; None if not visible.

    The smaller of max_num_seqs and the requests of this load that the KV cache holds, both for all data-parallel
    engines. A shared prefix is held once.
    """
    found: list[tuple[int, str]] = []
    scheduler = config.get("scheduler_config") if config else None
    at_a_time = scheduler.get("max_num_seqs") if isinstance(scheduler, dict) else None
    engines = max(metrics.engines, 1)
    if isinstance(at_a_time, int) and at_a_time > 0:
        found.append((at_a_time * engines, f"the server runs at most {at_a_time * engines} requests at a time"))
    room = metrics.number("kv_cache_size_tokens")
    own = load.longest_request - load.shared_prefix_tokens
    if room is not None and room > load.shared_prefix_tokens + own:
        held = int((room - load.shared_prefix_tokens) // own) * engines
        found.append((held, f"the KV cache holds at most {held} requests of this load at a time"))
    return min(found, default=(None, ""))


class Seen(Frozen):
    """Everything that can show a strategy in force."""

    metrics: Metrics
    config: dict[str, Any] | None
    """`vllm_config` of /server_info; None on a server that does not tell."""
    hits: float | None = None
    """Share of the shared run's prompt tokens found in the prefix cache."""
    attention_backend: str | None = None
    """As the start-up log names it."""
    trials: dict[str, tuple[bool | None, str]] = Field(default_factory=dict)
    """What one real request showed of a strategy."""

    def setting(self, *path: str) -> Any:
        """Return a resolved setting, None where it is absent."""
        value: Any = self.config
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


Look = Callable[[Seen], tuple[bool | str | None, str]]
"""Return the value in force (True, False or text; None: not visible) and the words that show it."""


def _of(section: str, key: str) -> Look:
    def look(seen: Seen) -> tuple[bool | str | None, str]:
        value = seen.setting(section, key)
        if value is None:
            return None, f"{section}.{key} is not shown"
        return (value if isinstance(value, bool) else str(value)), f"server_info {section}.{key} = {value}"

    return look


def _size(key: str) -> Look:
    def look(seen: Seen) -> tuple[bool | str | None, str]:
        value = seen.setting("parallel_config", key)
        return (None if value is None else str(value)), f"server_info parallel_config.{key} = {value}"

    return look


def _prefix_caching(seen: Seen) -> tuple[bool | str | None, str]:
    label = seen.metrics.cache_config.get("enable_prefix_caching")
    if label is None:
        return None, "/metrics shows no cache configuration"
    hits = "" if seen.hits is None else f", {seen.hits:.0%} of the shared run's prompt tokens came from the cache"
    return label == "True", f"/metrics enable_prefix_caching = {label}{hits}"


def _kv_dtype(seen: Seen) -> tuple[bool | str | None, str]:
    label = seen.metrics.cache_config.get("cache_dtype")
    if label is None:
        return None, "/metrics shows no cache configuration"
    return (False if label in ("auto", "float16", "bfloat16") else label), f"/metrics cache_dtype = {label}"


def _weights(seen: Seen) -> tuple[bool | str | None, str]:
    if seen.config is None:
        return None, "the server does not tell its settings"
    value = seen.setting("model_config", "quantization")
    return (False if value is None else str(value)), f"server_info model_config.quantization = {value}"


def _graphs(seen: Seen) -> tuple[bool | str | None, str]:
    value = seen.setting("compilation_config", "cudagraph_mode")
    if value is None:
        return None, "the server does not tell its settings"
    return str(value) not in ("0", "NONE"), f"server_info compilation_config.cudagraph_mode = {value}"


def _compile(seen: Seen) -> tuple[bool | str | None, str]:
    value = seen.setting("compilation_config", "mode")
    if value is None:
        return None, "the server does not tell its settings"
    return str(value) not in ("0", "NONE"), f"server_info compilation_config.mode = {value}"


def _speculation(*methods: str) -> Look:
    def look(seen: Seen) -> tuple[bool | str | None, str]:
        if seen.config is None:
            if seen.metrics.spec_drafts:
                return True, f"/metrics counts {seen.metrics.spec_drafts:.0f} drafts"
            return None, "the server does not tell its settings"
        method = seen.setting("speculative_config", "method")
        if method is None:
            return False, "server_info speculative_config = null"
        return method in methods, f"server_info speculative_config.method = {method}"

    return look


def _present(section: str) -> Look:
    def look(seen: Seen) -> tuple[bool | str | None, str]:
        if seen.config is None:
            return None, "the server does not tell its settings"
        value = seen.setting(section)
        return value is not None, f"server_info {section} is {'set' if value is not None else 'null'}"

    return look


def _attention(seen: Seen) -> tuple[bool | str | None, str]:
    if seen.attention_backend is not None:
        return seen.attention_backend, f"the start-up log names the backend {seen.attention_backend}"
    value = seen.setting("attention_config", "backend")
    return (None if value is None else str(value)), f"server_info attention_config.backend = {value}"


def _always(words: str) -> Look:
    return lambda _seen: (True, words)


LOOKS: dict[str, Look] = {
    "attention_backend": _attention,
    "cuda_graphs": _graphs,
    "graph_compile": _compile,
    "weight_quantization": _weights,
    "prefix_caching": _prefix_caching,
    "kv_quantization": _kv_dtype,
    "chunked_prefill": _of("scheduler_config", "enable_chunked_prefill"),
    "overlap_scheduling": _of("scheduler_config", "async_scheduling"),
    "priority_scheduling": lambda seen: _priority(seen),
    "spec_draft_model": _speculation("draft_model"),
    "spec_eagle3": _speculation("eagle3", "eagle"),
    "spec_mtp": _speculation("mtp", "deepseek_mtp"),
    "spec_ngram_suffix": _speculation("ngram", "suffix", "ngram_gpu"),
    "tensor_parallel": _size("tensor_parallel_size"),
    "pipeline_parallel": _size("pipeline_parallel_size"),
    "data_parallel": _size("data_parallel_size"),
    "expert_parallel": _of("parallel_config", "enable_expert_parallel"),
    "context_parallel": _size("decode_context_parallel_size"),
    "multi_lora": _present("lora_config"),
    "paged_kv": _always("every vLLM pages its cache"),
    "continuous_batching": _always("every vLLM batches continuously"),
}
"""How each strategy shows itself; a strategy without an entry is not visible."""


def _priority(seen: Seen) -> tuple[bool | str | None, str]:
    value = seen.setting("scheduler_config", "policy")
    return (None if value is None else value == "priority"), f"server_info scheduler_config.policy = {value}"


def _is_on(value: bool | str, expected: str | None) -> bool:
    if isinstance(value, bool):
        return value if expected is None else str(value).lower() == expected.lower()
    if expected is not None:
        return value.lower() == expected.lower()
    return value not in ("1", "0", "auto")  # a parallel size of 1 is none


def strategies_seen(wanted: Iterable[WantedStrategy], seen: Seen) -> tuple[StrategySeen, ...]:
    """Say of each strategy whether the server shows it in force. The decision plays no part."""
    rows = []
    for strategy in wanted:
        look = LOOKS.get(strategy.id)
        nothing = seen.trials.get(strategy.id, (None, "nothing that a server tells shows it"))
        value, because = nothing if look is None else look(seen)
        if value is None:
            rows.append(StrategySeen(id=strategy.id, decision=strategy.decision, seen="not_visible", because=because))
            continue
        state = "in_force" if _is_on(value, strategy.expected) else "not_in_force"
        if strategy.expected is not None:
            because += f", expected {strategy.expected}"
        rows.append(StrategySeen(id=strategy.id, decision=strategy.decision, seen=state, because=because))
    return tuple(rows)
