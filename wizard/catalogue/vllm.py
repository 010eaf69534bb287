"""What each vLLM version knows, as it said itself: the packaged answers, and those of a vLLM that was asked here."""

import contextlib
import datetime
import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from probes.vllm_facts import KnownFlag, VllmFacts, ask_vllm, to_text

_PREFIX, _SUFFIX = "vllm-", ".json"


@cache
def packaged_versions() -> tuple[str, ...]:
    """The versions whose answers are part of the catalogue, the newest first."""
    names = [entry.name for entry in files("wizard.catalogue").iterdir()]
    versions = [
        name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        for name in names
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
    ]
    return tuple(sorted(versions, key=_order, reverse=True))


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def release_of(version: str) -> str:
    """The release that a version belongs to: `0.32.0+cpu` and `v0.32.0` are 0.32.0."""
    return version.strip().lower().removeprefix("v").partition("+")[0]


@cache
def packaged_facts(version: str) -> VllmFacts | None:
    """The answers of one release; None where none are packaged."""
    if version not in packaged_versions():
        return None
    text = (files("wizard.catalogue") / f"{_PREFIX}{version}{_SUFFIX}").read_text(encoding="utf-8")
    return _facts(json.loads(text))


def _facts(data: dict[str, object]) -> VllmFacts:
    return VllmFacts.model_validate(data)


def kept_facts(folder: Path, version: str) -> VllmFacts | None:
    """The answers of a vLLM that was asked on this machine, if they were kept; they win over the packaged ones."""
    path = folder / f"{_PREFIX}{release_of(version)}{_SUFFIX}"
    try:
        return VllmFacts.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def keep_facts(folder: Path, interpreter: Path) -> VllmFacts:
    """Ask the vLLM of `interpreter` and keep its answers; raises `ProbeError` where it cannot be asked."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    facts = ask_vllm(interpreter, read_from="the vLLM that is installed on this machine", read_on=today)
    with contextlib.suppress(OSError):  # without a place to keep them they are asked again
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_PREFIX}{release_of(facts.version)}{_SUFFIX}").write_text(to_text(facts), encoding="utf-8")
    return facts


__all__ = ["KnownFlag", "VllmFacts", "keep_facts", "kept_facts", "packaged_facts", "packaged_versions", "release_of"]
