"""Builds the stand-in for NVIDIA's management library and describes machines to it.

The library is our own C (`fake_nvml.c`) with a stub for every other symbol that the installed pynvml may
look up, so that a symbol is absent only where a scenario hides it, as on an old driver.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
LIBRARY = "libnvidia-ml.so.1"
CUDA_LIBRARY = "libcuda.so.1"
SCENARIO_VARIABLE = "SELWIZ_FAKE_NVML"

Scenario = Mapping[str, Any]


def scenario(name: str) -> dict[str, Any]:
    """Read the scenario file of that name, laid over the one that it names as its `base`.

    Besides what `flatten` describes, `files` are texts by their path below the root, and `library` false leaves the
    machine without NVIDIA's library.
    """
    loaded: dict[str, Any] = json.loads((SCENARIOS / f"{name}.json").read_text(encoding="utf-8"))
    return merged(scenario(loaded.pop("base")), loaded) if "base" in loaded else loaded


def merged(base: Scenario, change: Scenario) -> dict[str, Any]:
    """Lay `change` over `base`, key by key in nested objects; the values of `change` win."""
    result = dict(base)
    for key, value in change.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def flatten(machine: Scenario) -> str:
    """Turn a scenario into the `key=value` lines that the library reads.

    `gpu_defaults` holds for every GPU, `pair_defaults` for every pair; a null in a GPU takes a default away.
    """
    lines: dict[str, str] = {}
    gpus = [{**machine.get("gpu_defaults", {}), **gpu} for gpu in machine.get("gpus", [])]
    lines["count"] = str(machine.get("count", len(gpus)))
    for index, gpu in enumerate(gpus):
        lines |= _lines(f"gpu.{index}", gpu)
        for other in range(index + 1, len(gpus)):
            lines |= _lines(f"link.{index}.{other}", machine.get("pair_defaults", {}))
    lines |= _lines("driver", machine.get("driver", {}))
    faults = machine.get("faults", {})
    for kind in ("return", "from_call", "delay_ms", "crash"):
        lines |= _lines(kind, faults.get(kind, {}))
    lines |= {f"lost.{index}": "1" for index in faults.get("lost", [])}
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _lines(prefix: str, values: Scenario) -> dict[str, str]:
    lines: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            lines |= _lines(f"{prefix}.{key}", value)
        elif value is not None:
            lines[f"{prefix}.{key}"] = str(int(value)) if isinstance(value, bool) else str(value)
    return lines


def pynvml_symbols() -> set[str]:
    """Name every symbol that the installed pynvml may look up in the library."""
    spec = find_spec("pynvml")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    return set(re.findall(r"_nvmlGetFunctionPointer\([\"'](\w+)[\"']\)", source))


@dataclass(frozen=True)
class FakeNvml:
    """Builds libraries into `folder`, one for each set of hidden symbols, and scenarios beside them."""

    folder: Path

    @staticmethod
    def compiler() -> str | None:
        """Tell where gcc is; None: it is not installed and nothing here can be built."""
        return shutil.which("gcc")

    @cached_property
    def _object(self) -> Path:
        source = (HERE / "fake_nvml.c").read_text(encoding="utf-8")
        written = set(re.findall(r"\b(nvml\w+)(?=[(,])", source))
        stubs = sorted(pynvml_symbols() - written)
        file = self.folder / "all.c"
        generated = "".join(f"int {name}(void) {{ return 3; }}\n" for name in stubs)
        file.write_text(f"{source}\n{generated}", encoding="utf-8")
        target = self.folder / "all.o"
        self._gcc("-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c", str(file), "-o", str(target))
        return target

    def _gcc(self, *arguments: str) -> None:
        gcc = self.compiler()
        assert gcc is not None, "gcc is not installed"
        subprocess.run([gcc, *arguments], check=True)

    def library(self, hidden: frozenset[str] = frozenset(), subfolder: str = "") -> Path:
        """Link the library without the `hidden` symbols; returns its folder."""
        name = "-".join(sorted(hidden)) or "whole"
        folder = self.folder / f"{abs(hash(name)):x}" / subfolder
        target = folder / LIBRARY
        if not target.exists():
            folder.mkdir(parents=True, exist_ok=True)
            script = folder / "symbols.map"
            local = "".join(f"{symbol}; " for symbol in sorted(hidden))
            script.write_text(f"{{ global: nvml*; cuInit; local: {local}*; }};\n", encoding="utf-8")
            options = ("-shared", f"-Wl,-soname,{LIBRARY}", f"-Wl,--version-script={script}")
            self._gcc(*options, str(self._object), "-o", str(target))
            (folder / CUDA_LIBRARY).symlink_to(target.name)
        return folder

    def _no_library(self) -> Path:
        """Give a folder that hides the library of this computer: what lies there cannot be loaded."""
        folder = self.folder / "no-library"
        folder.mkdir(exist_ok=True)
        for name in (LIBRARY, CUDA_LIBRARY):
            (folder / name).write_bytes(b"not a library")
        return folder

    def env(self, machine: str | Scenario, subfolder: str = "", **change: Any) -> dict[str, str]:
        """Give the environment in which a new process finds the machine: a scenario's name or the scenario
        itself.

        `change` is laid over it. A running process cannot change its own loader's path.
        """
        whole = merged(scenario(machine) if isinstance(machine, str) else machine, change)
        text = flatten(whole)
        file = self.folder / f"{abs(hash(text)):x}.scenario"
        file.write_text(text, encoding="utf-8")
        if not whole.get("library", True):
            return {"LD_LIBRARY_PATH": str(self._no_library()), SCENARIO_VARIABLE: str(file)}
        hidden = frozenset(whole.get("faults", {}).get("hide", ()))
        return {"LD_LIBRARY_PATH": str(self.library(hidden, subfolder)), SCENARIO_VARIABLE: str(file)}


def all_scenarios() -> list[str]:
    """Name every scenario that is shipped."""
    return sorted(path.stem for path in SCENARIOS.glob("*.json"))
