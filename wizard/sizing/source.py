"""Where a model's configuration is found: a folder, the Hub's cache, the catalogue, or the Hub if allowed."""

import functools
import os
from pathlib import Path

from probes.errors import ProbeError
from probes.models import ModelConfiguration, WeightFiles, read_configuration, read_weights
from wizard.catalogue.configurations import known_configuration
from wizard.errors import UsageError

_FILES = ("config.json", "hf_quant_config.json", "model.safetensors.index.json")


def find_model(name: str, *, allow_download: bool = False) -> tuple[ModelConfiguration, WeightFiles | None]:
    """Find the configuration of a model by its folder or its name on the Hub, with the weights where they are here.

    Raises `UsageError` for a name that is nowhere, `ProbeError` for a folder that cannot be used.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return read_configuration(folder), read_weights(folder)
    cached = cached_folder(name)
    if cached is not None:
        try:
            weights = read_weights(cached)
        except ProbeError:
            weights = None  # a cache that holds a part of the files is still good for its config.json
        return read_configuration(cached), weights
    known = known_configuration(name)
    if known is not None:
        return known, None
    if allow_download:
        return _downloaded(name), None
    raise UsageError(
        f"The model {name} is no folder here, and neither the Hub's cache nor the catalogue has it.",
        "Give its folder, or --allow-download to fetch its config.json from the Hub.",
    )


def configuration_at(folder: Path) -> ModelConfiguration:
    """Read the configuration in a folder, once as long as its files stay as they are. Raises `ProbeError`."""
    stamps = []
    for name in _FILES[:2]:
        try:
            found = (folder / name).stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append((0, 0))
    return _read_once(folder.absolute(), tuple(stamps))


@functools.lru_cache(maxsize=8)
def _read_once(folder: Path, _: tuple[tuple[int, int], ...]) -> ModelConfiguration:
    return read_configuration(folder)


def weights_at(folder: Path) -> WeightFiles | None:
    """What the weight files in a folder hold, read once as long as no file comes or goes; None where none are whole."""
    try:
        stamp = folder.stat().st_mtime_ns
    except OSError:
        return None
    return _weights_once(folder.absolute(), stamp)


@functools.lru_cache(maxsize=8)
def _weights_once(folder: Path, _: int) -> WeightFiles | None:
    try:
        return read_weights(folder)
    except ProbeError:
        return None  # what is missing is said when the weights are needed; the configuration is good without them


def cached_folder(name: str) -> Path | None:
    """The newest snapshot of a model in the Hub's cache that has a config.json."""
    root = os.environ.get("HF_HUB_CACHE") or str(
        Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser() / "hub"
    )
    if "/" not in name or ".." in name:
        return None
    snapshots = Path(root) / f"models--{name.replace('/', '--')}" / "snapshots"
    found = [config.parent for config in snapshots.glob("*/config.json")]
    return max(found, key=lambda folder: folder.stat().st_mtime, default=None)


def _downloaded(name: str) -> ModelConfiguration:
    try:
        import huggingface_hub
    except ImportError:
        raise UsageError(
            "Fetching from the Hub needs huggingface_hub.", "Install it with: pip install 'selwiz[hub]'"
        ) from None
    try:
        folder = huggingface_hub.snapshot_download(name, allow_patterns=list(_FILES))
    except Exception as error:  # its errors share no base class besides Exception
        first = str(error).strip().splitlines()
        raise UsageError(
            f"The Hub did not give the configuration of {name}: {first[0] if first else type(error).__name__}",
            "Look at the name and the network; a gated model needs its licence accepted and HF_TOKEN set.",
        ) from None
    return read_configuration(Path(folder))
