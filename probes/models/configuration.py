"""A model's config.json in the dialects that families use, read with care: the file comes from strangers."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.paths import expanded, home, is_dir

NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
#: A count above this is no model's; the greatest published one (a context length) is a hundred times smaller.
GREATEST = 10**9
#: Each layer is looked at; the deepest published model has a few hundred.
GREATEST_DEPTH = 10_000
_DEPTHS = frozenset({*LAYERS, "depth", "num_nextn_predict_layers", "mtp_num_hidden_layers"})
_MOST_BYTES = 32 * 1024 * 1024  # the greatest config.json of a public model is far below this
_MOST_LEVELS = 8  # a multimodal model nests its language part once or twice


@dataclass(frozen=True, eq=False)  # compared by identity, so that what follows from one can be remembered
class ModelConfiguration:
    """The whole config.json, the part that describes the language model, and NVIDIA's file of quantization beside it.

    `source` is the file, with `~` for the user's home, or the catalogue's row.
    """

    name: str
    source: str
    whole: dict[str, Any]
    text: dict[str, Any]
    modelopt: dict[str, Any] | None = field(default=None)

    @property
    def architecture(self) -> str | None:
        """The first of `architectures`, of the whole model."""
        names = self.whole.get("architectures")
        return next((name for name in names if isinstance(name, str)), None) if isinstance(names, list) else None

    @property
    def vision(self) -> dict[str, Any] | None:
        """The part that describes a vision encoder, if there is one."""
        part = self.whole.get("vision_config")
        return part if isinstance(part, dict) else None

    def count(self, *names: str, least: int = 1) -> int | None:
        """A count of the language part under the first of its names; raises `ProbeError` where it is impossible."""
        return count_in(self.source, self.text, names, least)

    def needed(self, *names: str, least: int = 1) -> int:
        """The same for a count without which nothing can be computed."""
        value = self.count(*names, least=least)
        if value is None:
            raise ProbeError(
                f'{self.source} does not state "{names[0]}", which the size of this architecture depends on.',
                "Take the config.json that the model's publisher gives.",
            )
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """A yes or no of the language part."""
        value = self.text.get(name, default)
        return value if isinstance(value, bool) else default


def read_configuration(path: Path) -> ModelConfiguration:
    """Read config.json in the folder `path`; raises `ProbeError`, one sentence and a remedy each."""
    folder = expanded(path)
    if not is_dir(folder):
        raise ProbeError(f"There is no folder {path}.", "Give the folder that holds the model's config.json.")
    file = folder / "config.json"
    return configuration_of(model_name(folder), shown(file), read_json(file), _modelopt(folder))


def configuration_of(
    name: str, source: str, whole: dict[str, Any], modelopt: dict[str, Any] | None = None
) -> ModelConfiguration:
    """The configuration behind a config.json that was parsed already."""
    return ModelConfiguration(name, source, whole, language_part(source, whole), modelopt)


def read_json(file: Path) -> dict[str, Any]:
    """Read one JSON object that must be there."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ProbeError(
                f"{shown(file)} is too large to be a model's configuration.", "Give the model's own folder."
            )
        whole = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise ProbeError(
            f"There is no config.json in {shown(file.parent)}.",
            "Give the folder that holds the model's config.json; a GGUF file alone is not enough.",
        ) from None
    except OSError as error:
        raise ProbeError(f"{shown(file)} cannot be read: {error.strerror}.", "Look at its permissions.") from None
    except (ValueError, RecursionError):
        raise ProbeError(
            f"{shown(file)} is not JSON.", "Download the file again; a pointer of Git LFS looks like this too."
        ) from None
    if not isinstance(whole, dict):
        raise ProbeError(f"{shown(file)} is JSON, but not an object.", "Download the file again.")
    return whole


def language_part(source: str, config: dict[str, Any]) -> dict[str, Any]:
    """Find the part that describes the language model: all of it, or a part in a multimodal model."""
    part = config
    for _ in range(_MOST_LEVELS):
        inner = next((part[key] for key in NESTED if isinstance(part.get(key), dict)), None)
        if inner is None or any(name in part for name in LAYERS):
            return part
        part = inner
    raise ProbeError(
        f"{source} nests its language part more than {_MOST_LEVELS} levels deep, which no model does.",
        "Download the file again from the model's publisher.",
    )


def count_in(source: str, part: dict[str, Any], names: tuple[str, ...], least: int = 1) -> int | None:
    """A count under the first of its names that has one; raises `ProbeError` where it is impossible."""
    for name in names:
        value = part.get(name)
        if value is None or isinstance(value, list | dict):
            continue  # one value a layer: no single number states the fact
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _greatest(name):
            raise ProbeError(
                f'{source} states "{name}": {json.dumps(value)[:40]}, which is no possible count.',
                "Correct the file, or download it again.",
            )
        return value
    return None


def _greatest(name: str) -> int:
    return GREATEST_DEPTH if name in _DEPTHS else GREATEST


def model_name(folder: Path) -> str:
    """Name the model after its folder; in the Hub's cache (`models--owner--name/…`) after the repository."""
    resolved = folder.absolute()
    cached = next((part for part in reversed(resolved.parts) if part.startswith("models--")), None)
    return cached.removeprefix("models--").replace("--", "/", 1) if cached else resolved.name


def shown(path: Path) -> str:
    """A path as it is printed: `~` for the user's home."""
    absolute, own = path.absolute(), home()
    return str("~" / absolute.relative_to(own)) if own and absolute.is_relative_to(own) else str(absolute)


def _modelopt(folder: Path) -> dict[str, Any] | None:
    try:
        settings = json.loads((folder / "hf_quant_config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return settings if isinstance(settings, dict) else None
