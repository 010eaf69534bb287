"""How far the sizing is from what vLLM's own code answered: one table, configuration × ratio to the truth.

Run: `.venv/bin/python -m tests.benchmarks.sizing`. The truth lies in tests/data/sizing and is taken anew with
tests/tools/vllm_truth.py. 1 is exact; "no figure" is said where the formula does not cover an architecture, "no
reference" where vLLM gave no answer to hold it against.
"""

import json
import time
from typing import Any

from probes.models import ModelConfiguration
from tests.tools.vllm_truth import CONTEXT, DATA, configuration
from wizard.sizing.answer import Sizing
from wizard.sizing.compute import compute
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
    return "no figure" if found is None else "1" if found == truth else f"{found / truth:.10g}"


def lines() -> list[tuple[str, str, str, str, str]]:
    """One row a question: configuration, architecture, what was asked, and the two ratios."""
    found = []
    for row in json.loads((DATA / "vllm_truth.json").read_text())["rows"]:
        asked = [f"{key}={value}" for key, value in row["asked"].items() if key not in (*_NOT_OURS, "context")]
        if row["asked"].get("ignore_quantization"):
            asked.append("unquantised")
        model = configuration(row["model"])
        if "no_answer" in row:
            shape = cache_shape(model)
            ratios = ("no figure", "no figure")
            if not isinstance(shape, NotCovered):
                ratios = ("no reference", "no reference")
        else:
            sizing = answer(row)
            ratios = (
                ratio(sizing.kv_bytes_per_request_per_gpu, max(row["kv_bytes_per_request"])),
                ratio(sizing.weight_bytes_per_gpu, max(row["weight_bytes"])),
            )
        found.append((row["model"], str(model.architecture), " ".join(asked), *ratios))
    return found + _references()


def _references() -> list[tuple[str, str, str, str, str]]:
    """The rows of the other file, which holds answers for models that this machine's vLLM could not build."""
    found = []
    for row in json.loads((DATA / "vllm_reference.json").read_text())["rows"]:
        model = configuration(row["model"])
        asked = SizeRequest(
            context=row["context"],
            planner="cpu",
            block_size=row["block_size"],
            kv_cache_dtype=row["kv_cache_dtype"],
        )
        sizing = compute(model, asked)
        cache = ratio(sizing.kv_bytes_per_request, row["kv_bytes_per_request"])
        weights = ratio(sizing.weight_bytes, row["weight_bytes"]) if row["weight_bytes"] else "no reference"
        found.append((row["model"], str(model.architecture), f"block_size={row['block_size']}", cache, weights))
    return found


def summary(rows: list[tuple[str, str, str, str, str]]) -> list[str]:
    """The table of the README: one row an architecture, the worst ratios of all its configurations."""
    groups: dict[tuple[str, bool], list[tuple[str, str, str, str, str]]] = {}
    known = {row[1] for row in rows if row[3][0].isdigit()}
    for row in rows:
        if row[3] == "no reference" and row[1] in known:
            continue
        groups.setdefault((row[1], row[3] in ("no figure", "no reference")), []).append(row)
    text = ["| architecture | configurations | KV cache | weights |", "|---|---|---|---|"]
    for (architecture, _), members in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0].casefold())):
        ranges = (_range([member[place] for member in members]) for place in (3, 4))
        text.append(f"| {architecture} | {len(members)} | {' | '.join(ranges)} |")
    return text


def _range(ratios: list[str]) -> str:
    known = sorted({ratio for ratio in ratios if ratio[0].isdigit()}, key=float)
    if not known:
        return " or ".join(sorted(set(ratios)))
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"


def main() -> None:
    """Print what a question costs, every row, and the table of the README."""
    model = configuration("Qwen/Qwen3-235B-A22B")
    for text in ("first question", "what if"):
        started = time.perf_counter()
        compute(model, SizeRequest(context=CONTEXT if text == "what if" else 4096, concurrency=8))
        print(f"{text}: {(time.perf_counter() - started) * 1e3:.1f} ms (Qwen3-235B-A22B)")
    rows = lines()
    print("| configuration | asked | KV cache | weights |")
    print("|---|---|---|---|")
    for name, _, asked, cache, weights in rows:
        print(f"| {name} | {asked or 'as it is'} | {cache} | {weights} |")
    print("\n" + "\n".join(summary(rows)))


if __name__ == "__main__":
    main()
