"""Asks an installed vLLM what it knows. Runs in vLLM's interpreter, never in ours; prints one JSON object.

Written against vLLM 0.32.0. A part that a later version has moved is named under `problems` and left out, so that
nothing is guessed.
"""

import ast
import importlib
import importlib.util
import inspect
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: The function that makes the parser of `vllm serve`; its module has moved between versions.
PARSERS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)
#: Capabilities that a backend is asked about: the ones with a released GPU.
CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (11, 0), (12, 0))
_NOT_IN_TREE = ("_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS")
#: Defaults that depend on the machine or the shell where the parser was asked.
_OF_THE_MACHINE = ("--api-key", "--host", "--port", "--master-addr")


def main() -> None:
    """Print what the vLLM of this interpreter knows."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM and its libraries print; standard output is kept for the answer
    parts: dict[str, Callable[[], Any]] = {
        "version": _version,
        "build": _build,
        "flags": _flags,
        "architectures": _architectures,
        "quantization_methods": _quantization,
        "attention_backends": _backends,
    }
    facts: dict[str, Any] = {"python": platform.python_version()}
    problems: dict[str, str] = {}
    for name, ask in parts.items():
        try:
            facts[name] = ask()
        except BaseException as error:  # whatever a foreign library raises is an answer too
            problems[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    answers.write(json.dumps({**facts, "problems": problems}))
    answers.flush()
    os._exit(0)


def _version() -> str:
    return str(importlib.import_module("vllm").__version__)


def _build() -> str:
    current = importlib.import_module("vllm.platforms").current_platform
    return str(current.device_type or "unknown")


def _flags() -> list[dict[str, Any]]:
    found = next(module for module in map(_module, PARSERS) if hasattr(module, "make_arg_parser"))
    module = importlib.import_module("vllm.utils.argparse_utils")
    parser = found.make_arg_parser(module.FlexibleArgumentParser())
    exclusive = _exclusive(parser)
    spelled: dict[int, list[str]] = {}
    for name, action in parser._option_string_actions.items():  # also the names that only stay for older commands
        spelled.setdefault(id(action), []).append(str(name))
    flags = []
    for action in parser._actions:
        names = spelled.get(id(action), [])
        long = [name for name in names if name.startswith("--")]
        if not names or action.dest == "help":
            continue
        name = long[0] if long else names[0]
        flags.append(
            {
                "flag": name,
                "aliases": [other for other in names if other != name],
                "takes": "none" if action.nargs == 0 else "several" if action.nargs in ("+", "*", "?") else "one",
                "choices": sorted(str(choice) for choice in action.choices or ()),
                "default": None if name in _OF_THE_MACHINE else _plain(action.default),
                "exclusive_with": exclusive.get(id(action), []),
            }
        )
    return sorted(flags, key=lambda flag: str(flag["flag"]))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _exclusive(parser: Any) -> dict[int, list[str]]:
    """For each action of a group of which one may be given, the first names of the others."""
    found: dict[int, list[str]] = {}
    for group in parser._mutually_exclusive_groups:
        actions = group._group_actions
        for action in actions:
            found[id(action)] = [str(other.option_strings[0]) for other in actions if other is not action]
    return found


def _words(error: BaseException) -> str:
    """What went wrong, without any path of this machine."""
    text = " ".join(word for word in str(error).split() if "/" not in word)
    return f"{type(error).__name__}: {text}"[:160].rstrip(" (")


def _plain(value: Any) -> str | None:
    """A default as it would be typed; None where there is none or where it has no short form."""
    if value is None or callable(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(getattr(value, "value", value))
    return text if text and isinstance(value, str | int | float) and len(text) < 80 and "/" not in text else None


def _architectures() -> list[str]:
    """The names of the registry's tables, read from its source as text; none of the classes is imported."""
    spec = importlib.util.find_spec("vllm.model_executor.models")
    folder = next(iter(spec.submodule_search_locations or ())) if spec else ""
    tree = ast.parse(Path(folder, "registry.py").read_text(encoding="utf-8"))
    return sorted(set(_table_names(tree)))


def _table_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        value = getattr(node, "value", None)
        if not names or not names[0].endswith("_MODELS") or names[0] in _NOT_IN_TREE or not isinstance(value, ast.Dict):
            continue
        yield from (key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _quantization() -> list[dict[str, Any]]:
    module = importlib.import_module("vllm.model_executor.layers.quantization")
    rows = []
    for name in module.QUANTIZATION_METHODS:
        row: dict[str, Any] = {"name": str(name), "min_capability": None, "problem": None}
        try:
            row["min_capability"] = int(module.get_quantization_config(name).get_min_capability())
        except BaseException as error:
            row["problem"] = _words(error)
        rows.append(row)
    return sorted(rows, key=lambda row: str(row["name"]))


def _backends() -> list[dict[str, Any]]:
    _keep_one_kernel_library()
    registry = importlib.import_module("vllm.v1.attention.backends.registry").AttentionBackendEnum
    capability_type = importlib.import_module("vllm.platforms.interface").DeviceCapability
    rows = []
    for name, member in registry.__members__.items():
        row: dict[str, Any] = {"name": name, "capabilities": None, "head_sizes": None, "kv_cache_dtypes": None}
        row["problem"] = None
        try:
            backend = member.get_class()
            row["capabilities"] = [
                f"{major}.{minor}"
                for major, minor in CAPABILITIES
                if backend.supports_compute_capability(capability_type(major, minor))
            ]
            row["head_sizes"] = [int(size) for size in backend.get_supported_head_sizes()]
            given = inspect.getattr_static(backend, "supported_kv_cache_dtypes", None)
            row["kv_cache_dtypes"] = sorted(str(item) for item in given) if given else None
        except BaseException as error:
            row["problem"] = _words(error)
        rows.append(row)
    return sorted(rows, key=lambda row: str(row["name"]))


def _keep_one_kernel_library() -> None:
    """Refuse `vllm._C` where the kernels of this processor are in another file.

    The CPU wheel holds the same kernels for AVX2, AVX-512 and AVX-512 with bf16; a second file registers the same names
    again, which ends the process (vLLM 0.32.0, when a backend of another platform is asked on an AVX2 processor).
    """
    importlib.import_module("vllm._custom_ops")  # loads the file of this processor
    sys.modules.setdefault("vllm._C", None)  # type: ignore[arg-type]  # None makes the import an ImportError


if __name__ == "__main__":
    main()
