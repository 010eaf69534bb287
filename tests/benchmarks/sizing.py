"""How far the sizing is from what vLLM's own code answered: one table, configuration × ratio to the truth.

Run: `.venv/bin/python -m tests.benchmarks.sizing`. The truth lies in tests/data/sizing and is taken anew with
tests/tools/vllm_truth.py. 1 is exact; a dash is no figure, because vLLM could not build it either.
"""

import json
import time
from typing import Any

from probes.models import ModelConfiguration
from tests.tools.vllm_truth import CONTEXT, DATA, configuration
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
from wizard.sizing.families import model_tensors
from wizard.sizing.layers import NotCovered, cache_shape
from wizard.sizing.request import SizeRequest

_NOT_OURS = ("ignore_quantization", "any_kernel")


def plain(model: ModelConfiguration) -> ModelConfiguration:
    """The same model with its quantisation left aside, as vLLM was asked."""
    parts = [
        {key: value for key, value in part.items() if key != "quantization_config"}
        for part in (model.whole, model.text)
    ]
    return ModelConfiguration(model.name, model.source, parts[0], parts[1])


def answer(row: dict[str, Any]) -> Sizing:
    """The formula's answer to the question of a row."""
    model = configuration(row["model"])
    asked = {key: value for key, value in row["asked"].items() if key not in _NOT_OURS}
    if row["asked"].get("ignore_quantization"):
        model = plain(model)
    return compute(model, SizeRequest(**{"context": CONTEXT, "planner": "cpu", **asked}))


def ratio(found: int | None, truth: int) -> str:
    """Our figure over vLLM's."""
    return "-" if found is None else "1" if found == truth else f"{found / truth:.6f}"


def main() -> None:
    """Print the table, then what a question costs."""
    rows = json.loads((DATA / "vllm_truth.json").read_text())["rows"]
    print("| configuration | asked | KV cache | weights |")
    print("|---|---|---|---|")
    for row in rows:
        asked = " ".join(f"{key}={value}" for key, value in row["asked"].items() if key not in _NOT_OURS)
        if row["asked"].get("ignore_quantization"):
            asked += " unquantised"
        if "no_answer" in row:
            shape = cache_shape(configuration(row["model"]))
            ours = "no figure" if isinstance(shape, NotCovered) else "a figure without a reference"
            print(f"| {row['model']} | {asked} | - ({ours}) | - |")
            continue
        sizing = answer(row)
        cache = ratio(sizing.kv_bytes_per_request_per_gpu, max(row["kv_bytes_per_request"]))
        print(
            f"| {row['model']} | {asked} | {cache} | {ratio(sizing.weight_bytes_per_gpu, max(row['weight_bytes']))} |"
        )
    print()
    model = configuration("Qwen/Qwen3-235B-A22B")
    assert not isinstance(model_tensors(model), NotCovered)
    for text in ("first question", "what if"):
        started = time.perf_counter()
        compute(model, SizeRequest(context=CONTEXT if text == "what if" else 4096, concurrency=8))
        print(f"{text}: {(time.perf_counter() - started) * 1e3:.1f} ms (Qwen3-235B-A22B)")


if __name__ == "__main__":
    main()
