"""Loads the catalogue, once a process."""

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from probes.models import ModelFacts, facts_of
from wizard.catalogue.configurations import known_configuration
from wizard.catalogue.rows import (
    EngineRow,
    Exclusion,
    GpuRow,
    Group,
    Knob,
    Migration,
    ModelRow,
    Pair,
    PlainSetting,
    Strategy,
)
from wizard.errors import UsageError

_Shape = TypeVar("_Shape")
_MEND = "Put the file back as it was installed, or mend the row."


GROUPS: tuple[Group, ...] = get_args(Group)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("wizard.catalogue") / name).read_text(encoding="utf-8"))


def _rows(shape: type[_Shape], file: str, table: str) -> tuple[_Shape, ...]:
    """The rows of one file; raises `UsageError` with file, row and field where a row was edited to nonsense."""
    try:
        return TypeAdapter(tuple[shape, ...]).validate_python(_read(file)[table])  # type: ignore[valid-type]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise UsageError(f"The catalogue file {file} cannot be read: {error}.", _MEND) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"])
        message = f"The catalogue file {file} holds a row that cannot be used: {place}: {first['msg']}."
        raise UsageError(message, _MEND) from None


@functools.cache
def strategies() -> Mapping[str, Strategy]:
    """Return every strategy by its id, in the order of the six groups."""
    rows = [row for group in GROUPS for row in _rows(Strategy, f"strategies/{group}.toml", "strategies")]
    return MappingProxyType({row.id: row for row in rows})


@functools.cache
def plain_settings() -> tuple[PlainSetting, ...]:
    """Return the flags of answers that serve no strategy."""
    return _rows(PlainSetting, "settings.toml", "settings")


@functools.cache
def engines() -> Mapping[str, EngineRow]:
    """Return every engine and product by its id."""
    return MappingProxyType({row.id: row for row in _rows(EngineRow, "engines.toml", "engines")})


@functools.cache
def knobs() -> Mapping[str, Knob]:
    """Return the settings that look alike in every engine, by their id."""
    return MappingProxyType({row.id: row for row in _rows(Knob, "knobs.toml", "knobs")})


@functools.cache
def migrations() -> Mapping[str, Migration]:
    """Return the work that a change of engine or hardware brings, by its id."""
    return MappingProxyType({row.id: row for row in _rows(Migration, "migration.toml", "migration")})


@functools.cache
def exclusions() -> tuple[Exclusion, ...]:
    """Return the pairs of vLLM flags of which one may be given."""
    return _rows(Exclusion, "exclusions.toml", "exclusions")


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """Return the strategies that a runtime does not take together."""
    return _rows(Pair, "pairs.toml", "pairs")


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
    rows = _rows(ModelRow, "models.toml", "models")
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
    return _rows(GpuRow, "gpus.toml", "gpus")


def _is_named(pattern: str, name: str, flags: int = 0) -> bool:
    """Whether a name is one of a pattern; most patterns are plain names, and 70 of them take long to compile."""
    if _PLAIN_NAME.fullmatch(pattern):
        return pattern.casefold() == name.casefold() if flags else pattern == name
    return re.fullmatch(pattern, name, flags) is not None


_PLAIN_NAME = re.compile(r"[\w /-]*")


@functools.cache
def gpus_named(name: str | None) -> tuple[GpuRow, ...]:
    """Return the rows that bear a name, case aside: the whole one that NVML reports, or the catalogue's own."""
    text = " ".join((name or "").partition(" MIG ")[0].split()).casefold()
    return tuple(
        row for row in gpus() if text and (_is_named(row.nvml_name, text, re.IGNORECASE) or row.name.casefold() == text)
    )


@functools.cache
def gpu_row(nvml_name: str | None, memory_total_bytes: int | None = None) -> GpuRow | None:
    """Find a GPU by the whole name that NVML reports (of a MIG slice, its GPU); None if it is not here.

    Where two rows bear one name, the one whose marketed memory is nearer; None if the memory is not known.
    """
    name = (nvml_name or "").partition(" MIG ")[0].strip()
    found = [row for row in gpus() if _is_named(row.nvml_name, name)]
    if len(found) <= 1 or memory_total_bytes is None:
        return found[0] if len(found) == 1 else None
    return min(found, key=lambda row: min(abs(size * 1e9 - memory_total_bytes) for size in row.memory_gb))
