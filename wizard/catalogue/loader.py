"""Loads the catalogue, once a process."""

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from probes.models import ModelFacts, facts_of
from wizard.catalogue.configurations import known_configuration
from wizard.catalogue.rows import EngineRow, GpuRow, ModelRow, PlainSetting, Strategy


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("wizard.catalogue") / name).read_text(encoding="utf-8"))


@functools.cache
def _strategy_file() -> dict[str, Any]:
    return _read("strategies.toml")


@functools.cache
def strategies() -> Mapping[str, Strategy]:
    """Return every strategy by its id, in the order of the six groups."""
    rows = TypeAdapter(tuple[Strategy, ...]).validate_python(_strategy_file()["strategies"])
    return MappingProxyType({row.id: row for row in rows})


@functools.cache
def plain_settings() -> tuple[PlainSetting, ...]:
    """Return the flags of answers that serve no strategy."""
    return TypeAdapter(tuple[PlainSetting, ...]).validate_python(_strategy_file()["settings"])


@functools.cache
def engines() -> Mapping[str, EngineRow]:
    """Return every engine and product by its id."""
    rows = TypeAdapter(tuple[EngineRow, ...]).validate_python(_read("engines.toml")["engines"])
    return MappingProxyType({row.id: row for row in rows})


def engine_id(name: str | None) -> str | None:
    """Find the catalogue id behind a name as a person writes it ("vLLM server 0.33"), or None."""
    text = " ".join((name or "").casefold().split())
    for row in engines().values():
        for alias in (*row.aliases, row.name.casefold()):
            if re.match(rf"{re.escape(alias)}(?![\w.-])", text):
                return row.id
    return None


@functools.cache
def _models() -> Mapping[str, ModelRow]:
    rows = TypeAdapter(tuple[ModelRow, ...]).validate_python(_read("models.toml")["models"])
    return {name.casefold(): row for row in rows for name in (row.name, *row.aliases)}


def model_facts(name: str | None) -> ModelFacts | None:
    """Return the facts of a well-known model by its name on the Hub, case aside; None if it is not here."""
    row = _models().get((name or "").strip().casefold())
    if row is None:
        configuration = known_configuration(name or "")
        return facts_of(configuration) if configuration else None
    facts = row.model_dump(exclude={"aliases", "read_on", "source"})
    return ModelFacts(**facts, source=f"catalogue: {row.source}, read {row.read_on.isoformat()}")


@functools.cache
def gpus() -> tuple[GpuRow, ...]:
    """Return every GPU, the older ones first."""
    return TypeAdapter(tuple[GpuRow, ...]).validate_python(_read("gpus.toml")["gpus"])


def gpu_row(nvml_name: str | None, memory_total_bytes: int | None = None) -> GpuRow | None:
    """Find a GPU by the whole name that NVML reports (of a MIG slice, its GPU); None if it is not here.

    Where two rows bear one name, the one whose marketed memory is nearer; None if the memory is not known.
    """
    name = (nvml_name or "").partition(" MIG ")[0].strip()
    found = [row for row in gpus() if re.fullmatch(row.nvml_name, name)]
    if len(found) <= 1 or memory_total_bytes is None:
        return found[0] if len(found) == 1 else None
    return min(found, key=lambda row: min(abs(size * 1e9 - memory_total_bytes) for size in row.memory_gb))
