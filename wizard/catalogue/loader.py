"""Loads the catalogue, once a process."""

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from probes.models import ModelFacts
from wizard.catalogue.rows import EngineRow, ModelRow, PlainSetting, Strategy


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
        return None
    facts = row.model_dump(exclude={"aliases", "read_on", "source"})
    return ModelFacts(**facts, source=f"catalogue: {row.source}, read {row.read_on.isoformat()}")
