"""Ask a vLLM for the truth that the sizing is held against, and write it as the tests' data.

    python -m tests.tools.vllm_truth INTERPRETER > tests/data/sizing/vllm_truth.json

INTERPRETER is the Python of an environment with vLLM (the CPU build will do). A case takes up to a minute. Run it with
the next vLLM version and look at what changed; configurations that it cannot build are recorded with its reason.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probes.drybuild import DryBuildRequest, dry_build
from probes.errors import ProbeError
from probes.models import ModelConfiguration, configuration_of
from wizard.catalogue.configurations import known_configuration, known_models
from wizard.sizing.formats import weight_format

DATA = Path(__file__).parent.parent / "data" / "sizing"
AVAILABLE_BYTES = 80 * 10**9
CONTEXT = 32768
#: The model's own limit where it is shorter.
SHORT = {"nvidia/Nemotron-H-56B-Base-8K": 8192, "own/llama-mha-odd-vocab": 8192}

#: One model of each family whose classes differ in what they build on every stage.
STAGED = (
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3.5-35B-A3B",
    "mistralai/Mixtral-8x7B-v0.1",
    "nvidia/Nemotron-H-56B-Base-8K",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "google/gemma-4-26B-A4B",
    "Qwen/Qwen3-VL-2B-Instruct",
    "own/deepseek-v2-lite",
    "Qwen/Qwen3-VL-235B-A22B-Instruct",
)
#: Quantised checkpoints, built with their quantisation although no kernel is here.
QUANTISED = (
    "Qwen/Qwen3-32B-FP8",
    "Qwen/Qwen3-30B-A3B-FP8",
    "deepseek-ai/DeepSeek-V3",
    "MiniMaxAI/MiniMax-M2.5",
    "nvidia/Gemma-4-26B-A4B-NVFP4",
    "nvidia/Qwen3.5-122B-A10B-NVFP4",
    "openai/gpt-oss-20b",
)

#: Further questions: layouts, cache types, block sizes and lengths.
MORE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Qwen/Qwen3-0.6B", {"kv_cache_dtype": "fp8", "context": 1000}),
    ("Qwen/Qwen3-0.6B", {"tensor_parallel": 2}),
    ("Qwen/Qwen3-0.6B", {"pipeline_parallel": 2}),
    ("Qwen/Qwen3-30B-A3B", {"tensor_parallel": 2}),
    ("Qwen/Qwen3-30B-A3B", {"tensor_parallel": 2, "expert_parallel": True}),
    ("Qwen/Qwen3.5-27B", {"tensor_parallel": 2}),
    ("Qwen/Qwen3.5-27B", {"kv_cache_dtype": "fp8"}),
    ("Qwen/Qwen3.5-35B-A3B", {"context": 100000}),
    ("own/deepseek-v2-lite", {"tensor_parallel": 2}),
    ("own/gemma3-text", {"tensor_parallel": 2, "context": 100000}),
    ("own/gemma3-text", {"pipeline_parallel": 2}),
    ("openai/gpt-oss-20b", {"tensor_parallel": 2, "ignore_quantization": True}),
    ("openai/gpt-oss-20b", {"block_size": 16, "ignore_quantization": True}),
    ("google/gemma-4-26B-A4B", {"block_size": 16}),
    ("google/gemma-4-26B-A4B", {"tensor_parallel": 2}),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {"block_size": 16, "context": 65536}),
    ("own/qwen2-7b", {"tensor_parallel": 2, "block_size": 32}),
    ("own/qwen2-7b", {"tensor_parallel": 4}),
    ("own/llama-mha-odd-vocab", {"tensor_parallel": 2, "context": 4096}),
    ("own/mistral-window", {"block_size": 16, "max_num_batched_tokens": 2048}),
    ("nvidia/Nemotron-H-56B-Base-8K", {"context": 8192, "tensor_parallel": 2}),
    ("Qwen/Qwen3-VL-2B-Instruct", {"tensor_parallel": 2}),
    ("own/llama-tied", {"tensor_parallel": 2, "pipeline_parallel": 2}),
    ("deepseek-ai/DeepSeek-V3", {"kv_cache_dtype": "fp8", "ignore_quantization": True}),
    *((name, {"pipeline_parallel": 2, "context": SHORT.get(name, CONTEXT)}) for name in STAGED),
    ("openai/gpt-oss-20b", {"pipeline_parallel": 2, "ignore_quantization": True}),
    ("MiniMaxAI/MiniMax-M2.5", {"pipeline_parallel": 2, "ignore_quantization": True}),
    *((name, {"any_kernel": True}) for name in QUANTISED),
    ("Qwen/Qwen3-30B-A3B-FP8", {"any_kernel": True, "tensor_parallel": 2}),
    ("openai/gpt-oss-20b", {"any_kernel": True, "tensor_parallel": 2}),
)


def own_models() -> dict[str, dict[str, Any]]:
    """Configurations of our own, in dialects that the catalogue's models do not have."""
    found: dict[str, dict[str, Any]] = json.loads((DATA / "own_models.json").read_text())
    return found


def configuration(name: str) -> ModelConfiguration:
    """The configuration of a model of the catalogue, or of our own."""
    known = known_configuration(name)
    return known or configuration_of(name, name, own_models()[name])


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every model once with its quantisation left aside, then the further questions."""
    for name in (*known_models(), *own_models()):
        quantised = weight_format(configuration(name)) is not None
        yield name, {"context": SHORT.get(name, CONTEXT), "ignore_quantization": quantised}
    yield from MORE


def asked(options: dict[str, Any], **more: Any) -> DryBuildRequest:
    """The question of one case."""
    return DryBuildRequest(**{"context": CONTEXT, "available_bytes": AVAILABLE_BYTES, **options, **more})


def main() -> None:
    """Ask every case and print the data file."""
    rows = []
    for name, options in cases():
        row: dict[str, Any] = {"model": name, "asked": options}
        try:
            built = dry_build(Path(sys.argv[1]), configuration(name), asked(options), timeout_s=600)
            row |= {
                "vllm": f"{built.version} {built.platform}",
                "parameters": built.parameters,
                "weight_bytes": built.weight_bytes,
                "kv_bytes_per_request": built.kv_bytes_per_request,
                "block_size": built.block_size,
                "batches_in_flight": built.batches_in_flight,
                "max_concurrency": built.max_concurrency,
                "layers": built.layers,
            }
        except ProbeError as error:
            row["no_answer"] = error.message[:200]
        rows.append(row)
        print(f"{len(rows):>4} {name} {options} {row.get('no_answer', 'ok')}", file=sys.stderr)
    lines = ",\n".join(json.dumps(row, sort_keys=True) for row in rows)
    print(f'{{"available_bytes": {AVAILABLE_BYTES}, "rows": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
