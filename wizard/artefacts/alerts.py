"""`alerts.yaml`: Prometheus rules from the ceilings and the concurrency of 2.3."""

from typing import Any

from wizard.artefacts.facts import heading
from wizard.artefacts.text import yaml_text
from wizard.decision.selection import Selection
from wizard.document import formats

#: The histograms of vLLM 0.32 and 0.33, in seconds (vllm/v1/metrics/loggers.py).
HISTOGRAMS = {
    "ttft_ms": ("TTFT", "vllm:time_to_first_token_seconds"),
    "tpot_ms": ("TPOT", "vllm:request_time_per_output_token_seconds"),
    "e2e_ms": ("E2E", "vllm:e2e_request_latency_seconds"),
}
_WINDOW, _LASTING = "5m", "10m"


def alerts(selection: Selection) -> str:
    """The rules: one for each ceiling, one for a load above the approved one, one for preempted calls."""
    ceilings = selection.answers.runtime.ceilings
    percentile = ceilings.percentile or 95
    rules = []
    for key, (name, metric) in HISTOGRAMS.items():
        limit_ms = getattr(ceilings, key)
        if limit_ms is None:
            continue
        series = f"sum by (le, model_name) (rate({metric}_bucket[{_WINDOW}]))"
        expression = f"histogram_quantile({percentile / 100:g}, {series}) > {limit_ms / 1000:.10g}"
        said = f"p{percentile} of {name} is above its ceiling of {formats.limit_ms(limit_ms)} ms"
        rules.append(_rule(f"Vllm{name.title()}AboveCeiling", expression, said, "warning"))
    calls = selection.answers.runtime.workload.concurrency
    if calls is not None:
        expression = (
            "sum by (model_name) (vllm:num_requests_running) + sum by (model_name) (vllm:num_requests_waiting) "
            f"> {calls}"
        )
        said = f"More calls are in flight than the {formats.number(calls)} that the ceilings were approved for"
        rules.append(_rule("VllmLoadAboveApproved", expression, said, "warning"))
    preempted = f"sum by (model_name) (rate(vllm:num_preemptions_total[{_WINDOW}])) > 0"
    rules.append(_rule("VllmPreemptions", preempted, "The KV cache is full and calls are computed twice", "info"))
    remarks = heading(selection, "Alert rules for Prometheus")
    remarks.append("Metric names are those of vLLM 0.32 and 0.33. A percentile is read between the buckets' limits.")
    if not any(getattr(ceilings, key) is not None for key in HISTOGRAMS):
        remarks.append("No ceiling was given, so no rule watches one.")
    return yaml_text([{"groups": [{"name": "vllm", "rules": rules}]}], remarks)


def _rule(name: str, expression: str, said: str, severity: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expression,
        "for": _LASTING,
        "labels": {"severity": severity},
        "annotations": {"summary": f"{said} ({{{{ $labels.model_name }}}})"},
    }
