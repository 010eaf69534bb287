"""Configurations of well-known models, packed, so that sizing and rules work without their folders."""

import functools
import gzip
import json
from importlib.resources import files
from typing import Any

from probes.models import ModelConfiguration, configuration_of

#: Repositories of the Hub that bear a new name and keep their files.
_ALIASES = {
    "meta-llama/llama-3.1-8b": "meta-llama/meta-llama-3.1-8b",
    "meta-llama/llama-3.1-70b": "meta-llama/meta-llama-3.1-70b",
}


@functools.cache
def _catalogue() -> dict[str, dict[str, Any]]:
    packed = (files("wizard.catalogue") / "configurations.json.gz").read_bytes()
    rows = json.loads(gzip.decompress(packed))["models"]
    return {row["name"].casefold(): row for row in rows}


@functools.lru_cache(maxsize=256)  # one object a model: what the sizing remembers is remembered by object
def known_configuration(name: str) -> ModelConfiguration | None:
    """The configuration of a well-known model by its name on the Hub, case aside; None if it is not here."""
    wanted = name.strip().casefold()
    row = _catalogue().get(_ALIASES.get(wanted, wanted))
    if row is None:
        return None
    source = f"catalogue: config.json of {row['name']}, read {row['read_on']}"
    return configuration_of(row["name"], source, row["config"], row.get("hf_quant_config"))


def known_models() -> tuple[str, ...]:
    """Names of the models in the catalogue."""
    return tuple(row["name"] for row in _catalogue().values())
