"""The catalogue: every row dated and sourced, and consistent with the answers it names."""

import copy
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from wizard.answers import Answers
from wizard.catalogue import engine_id, engines, gpu_row, gpus, model_facts, plain_settings, strategies
from wizard.catalogue.rows import EngineRow, Flag, GpuRow, ModelRow, PlainSetting, Strategy
from wizard.launch import answer_at


def _rows(file: str, table: str) -> list[dict[str, Any]]:
    text = (files("wizard.catalogue") / file).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)[table]
    return rows


@pytest.mark.parametrize(
    ("model", "file", "table", "field"),
    [
        (Strategy, "strategies.toml", "strategies", "sources"),
        (Strategy, "strategies.toml", "strategies", "read_on"),
        (PlainSetting, "strategies.toml", "settings", "source"),
        (EngineRow, "engines.toml", "engines", "source"),
        (EngineRow, "engines.toml", "engines", "read_on"),
        (ModelRow, "models.toml", "models", "source"),
        (ModelRow, "models.toml", "models", "read_on"),
        (GpuRow, "gpus.toml", "gpus", "sources"),
        (GpuRow, "gpus.toml", "gpus", "read_on"),
        (GpuRow, "gpus.toml", "gpus", "confidence"),
    ],
)
def test_a_row_without_source_or_date_is_refused(model: Any, file: str, table: str, field: str) -> None:
    row = copy.deepcopy(_rows(file, table)[0])
    del row[field]
    with pytest.raises(ValidationError, match=field):
        model.model_validate(row)


def test_a_switch_without_the_version_it_was_read_from_is_refused() -> None:
    row = copy.deepcopy(_rows("strategies.toml", "strategies")[0])
    del row["switches"]["vllm"]["version"]
    with pytest.raises(ValidationError, match="version"):
        Strategy.model_validate(row)


@pytest.mark.parametrize(("file", "table"), [("strategies.toml", "strategies"), ("engines.toml", "engines")])
def test_ids_are_unique(file: str, table: str) -> None:
    ids = [row["id"] for row in _rows(file, table)]
    assert len(ids) == len(set(ids))


def _flags() -> Iterator[Flag]:
    for strategy in strategies().values():
        for switch in strategy.switches.values():
            yield from (*switch.enable, *switch.disable)


def test_every_answer_that_a_flag_names_is_a_question() -> None:
    keys = {key for flag in _flags() for key in (flag.answer, flag.with_answer) if key}
    keys |= {row.answer for row in plain_settings()}
    assert [answer_at(Answers(), key) for key in keys] == [None] * len(keys)


def test_every_runtime_with_switches_is_an_engine_of_the_catalogue() -> None:
    assert {runtime for strategy in strategies().values() for runtime in strategy.switches} <= set(engines())


def test_every_strategy_says_how_vllm_switches_it() -> None:
    assert [strategy.id for strategy in strategies().values() if "vllm" not in strategy.switches] == []


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("vLLM", "vllm"),
        ("vllm server 0.33.0", "vllm"),
        ("TensorRT-LLM (PyTorch backend)", "trtllm"),
        ("NVIDIA NIM", "nim"),
        ("nimble", None),
        ("", None),
        (None, None),
    ],
)
def test_an_engine_is_found_by_the_name_people_write(name: str | None, identifier: str | None) -> None:
    assert engine_id(name) == identifier


def test_facts_of_a_well_known_model_name_their_source() -> None:
    facts = model_facts("qwen/qwen3-32b-fp8")
    assert facts is not None
    assert (facts.attention_heads, facts.kv_heads, facts.quantization, facts.source) == (
        64,
        8,
        "fp8",
        "catalogue: config.json of Qwen/Qwen3-32B-FP8 on the Hugging Face Hub, read 2026-11-30",
    )


def test_an_unknown_model_has_no_facts() -> None:
    assert model_facts("Example/Unknown-1B") is None


@pytest.mark.parametrize(
    ("nvml_name", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe 80GB"),
        ("NVIDIA H200", "H200 SXM 141GB"),
        ("NVIDIA H200 NVL", "H200 NVL 141GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "A100 SXM4 40GB"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 D", "RTX 4090 D"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4070 SUPER", None),
        ("NVIDIA GeForce RTX 5090 D", None),
        ("Orin (nvgpu)", "Jetson AGX Orin 64GB"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2 16/32GB"),
        ("NVIDIA T4", None),
        ("an NVIDIA H200", None),
        ("", None),
        (None, None),
    ],
)
def test_a_gpu_is_found_by_the_whole_name_that_nvml_reports(nvml_name: str | None, name: str | None) -> None:
    row = gpu_row(nvml_name)
    assert (row.name if row else None) == name


@pytest.mark.parametrize(
    ("memory_bytes", "name"), [(None, None), (131e9, "Jetson AGX Thor (T5000)"), (66e9, "Jetson T4000 (Thor)")]
)
def test_two_gpus_of_one_name_are_told_apart_by_their_memory(memory_bytes: float | None, name: str | None) -> None:
    row = gpu_row("NVIDIA Thor", int(memory_bytes) if memory_bytes else None)
    assert (row.name if row else None) == name


def test_the_names_of_gpus_are_unique() -> None:
    assert len({row.name.casefold() for row in gpus()}) == len(gpus()) == 71


@pytest.mark.parametrize("row", gpus(), ids=lambda row: row.name)
def test_no_gpu_is_quicker_with_wider_numbers(row: GpuRow) -> None:
    """FP8 is never slower than BF16, nor FP4 than FP8: a swapped column would show here."""
    rates = [rate for rate in (row.bf16_tflops, row.fp8_tflops, row.fp4_tflops) if rate is not None]
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    "row", [row for row in gpus() if row.nvml_memory_mib and len(row.memory_gb) == 1], ids=lambda r: r.name
)
def test_nvml_never_reports_less_than_is_marketed(row: GpuRow) -> None:
    """A planned machine takes the marketed size for a lower bound where NVML's is not known."""
    assert (row.nvml_memory_mib or 0) * 1024**2 >= row.memory_gb[0] * 1e9
