"""The catalogue: every row dated and sourced, and consistent with the answers it names."""

import copy
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from wizard.answers import Answers
from wizard.catalogue import (
    engine_id,
    engines,
    exclusions,
    gpu_row,
    gpus,
    knobs,
    migrations,
    model_facts,
    plain_settings,
    strategies,
)
from wizard.catalogue import loader as catalogue_loader
from wizard.catalogue.rows import (
    EngineRow,
    Exclusion,
    Flag,
    GpuRow,
    Knob,
    Migration,
    ModelRow,
    PlainSetting,
    Strategy,
)
from wizard.catalogue.vllm import packaged_facts, packaged_versions
from wizard.errors import UsageError
from wizard.serving.flags import base_name
from wizard.serving.launch import answer_at


def _rows(file: str, table: str) -> list[dict[str, Any]]:
    text = (files("wizard.catalogue") / file).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)[table]
    return rows


@pytest.mark.parametrize(
    ("model", "file", "table", "field"),
    [
        (Strategy, "strategies/memory.toml", "strategies", "sources"),
        (Strategy, "strategies/memory.toml", "strategies", "read_on"),
        (PlainSetting, "settings.toml", "settings", "source"),
        (Knob, "knobs.toml", "knobs", "sources"),
        (Knob, "knobs.toml", "knobs", "read_on"),
        (Migration, "migration.toml", "migration", "sources"),
        (Migration, "migration.toml", "migration", "read_on"),
        (Exclusion, "exclusions.toml", "exclusions", "source"),
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
    row = copy.deepcopy(_rows("strategies/memory.toml", "strategies")[0])
    del row["switches"]["vllm"]["version"]
    with pytest.raises(ValidationError, match="version"):
        Strategy.model_validate(row)


@pytest.mark.parametrize(
    ("file", "table"), [("engines.toml", "engines"), ("knobs.toml", "knobs"), ("migration.toml", "migration")]
)
def test_ids_are_unique(file: str, table: str) -> None:
    ids = [row["id"] for row in _rows(file, table)]
    assert len(ids) == len(set(ids))


def test_every_strategy_stands_once_and_in_the_file_of_its_group() -> None:
    ids = [
        (row["id"], row["group"], group)
        for group in catalogue_loader.GROUPS
        for row in _rows(f"strategies/{group}.toml", "strategies")
    ]
    assert ([name for name, *_ in ids], [name for name, own, group in ids if own != group]) == (list(strategies()), [])


@pytest.mark.parametrize("identifier", ["nim", "dynamo", "llmd", "ollama"])
def test_a_product_that_names_no_engine_needs_the_one_inside(identifier: str) -> None:
    row = copy.deepcopy(next(row for row in _rows("engines.toml", "engines") if row["id"] == identifier))
    del row["inner"]
    row.pop("pins", None)
    with pytest.raises(ValidationError, match="names no engine"):
        EngineRow.model_validate(row)


def test_every_engine_inside_is_a_row_of_its_own() -> None:
    assert {inner for row in engines().values() for inner in row.inner} <= set(engines())


def test_a_row_edited_to_nonsense_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_loader, "_read", lambda _: {"engines": [{"id": "x", "role": "toy"}]})
    catalogue_loader.engines.cache_clear()
    with pytest.raises(UsageError, match=r"engines\.toml holds a row that cannot be used: 0 name"):
        engines()
    catalogue_loader.engines.cache_clear()


def test_every_knob_says_what_it_means_in_three_engines() -> None:
    assert {name: set(row.meaning) for name, row in knobs().items()} == {
        name: {"vllm", "sglang", "trtllm"} for name in knobs()
    }


def test_work_of_a_migration_stands_in_the_line_that_pays() -> None:
    row = copy.deepcopy(_rows("migration.toml", "migration")[0])
    with pytest.raises(ValidationError, match="other line"):
        Migration.model_validate({**row, "items": ["R1"]})


def test_a_change_in_either_direction_touches_both_lines() -> None:
    assert {(row.change, row.line) for row in migrations().values()} == {
        (change, line) for change in ("engine", "hardware") for line in ("E", "R")
    }


def _unknown(version: str, names: set[str]) -> set[str]:
    facts = packaged_facts(version)
    assert facts is not None
    plain = {base_name(name) for name in names}
    return plain - set(facts.by_name)


def _vllm_flags() -> set[str]:
    found = {name for pair in exclusions() for name in pair.flags}
    found |= {row.flags["vllm"] for row in plain_settings() if "vllm" in row.flags}
    for strategy in strategies().values():
        switch = strategy.switches["vllm"]
        found |= {flag.flag for flag in (*switch.enable, *switch.disable) if not flag.variable}
        found |= set(switch.disabled_by)
    return found


@pytest.mark.parametrize("version", packaged_versions())
def test_every_vllm_flag_of_the_catalogue_is_one_of_the_packaged_version(version: str) -> None:
    assert _unknown(version, _vllm_flags()) == set()


def test_the_packaged_answers_say_what_was_asked_where() -> None:
    said = {version: packaged_facts(version) for version in packaged_versions()}
    assert {version: (f.version, bool(f.read_from), f.problems) for version, f in said.items() if f} == {
        "0.33.0": ("0.33.0", True, {}),
        "0.32.0": ("0.32.0", True, {}),
    }


@pytest.mark.parametrize(
    ("method", "capability"), [("fp8", "7.5"), ("compressed-tensors", "7.0"), ("fp_quant", "10.0"), ("no such", None)]
)
def test_the_least_capability_of_a_weight_format(method: str, capability: str | None) -> None:
    facts = packaged_facts("0.33.0")
    assert facts is not None
    assert facts.min_capability(method) == capability


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
