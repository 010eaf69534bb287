"""What one vLLM knows: its flags and their defaults, architectures, weight formats and attention backends.

The answers come from vLLM itself, in a child of its own interpreter; nothing of it is imported here.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from probes.errors import ProbeError

CHILD = Path(__file__).with_name("vllm_facts_child.py")
_KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
_REMEDY = "Give --vllm the interpreter of a working vLLM."


class _Facts(BaseModel):
    # Most of these are never made in a run; the validator is built for those that are.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class KnownFlag(_Facts):
    """One flag of `vllm serve`.

    `aliases` are its other spellings, the off-switch of a yes-or-no flag among them. `takes` says how many values it
    wants, `several` any number, none included. `default` is the parser's; None where it has none, where it depends on
    the machine, or where it has no short form.
    """

    flag: str
    aliases: tuple[str, ...] = ()
    takes: Literal["none", "one", "several"] = "one"
    choices: tuple[str, ...] = ()
    default: str | None = None
    exclusive_with: tuple[str, ...] = ()


class QuantizationMethod(_Facts):
    """A weight format and the least compute capability times ten (89 is 8.9); None with the `problem` in words."""

    name: str
    min_capability: int | None = None
    problem: str | None = None


class AttentionBackend(_Facts):
    """An attention backend; empty `head_sizes` means any. None is what it did not say, with the `problem`."""

    name: str
    capabilities: tuple[str, ...] | None = None
    head_sizes: tuple[int, ...] | None = None
    kv_cache_dtypes: tuple[str, ...] | None = None
    problem: str | None = None


class VllmFacts(_Facts):
    """What a vLLM of `version` and `build` answered. `read_from` says what was asked where, `read_on` when.

    `problems` names the parts that could not be asked, with the reason; those parts are empty.
    """

    version: str
    build: str
    python: str
    read_from: Annotated[str, Field(min_length=1)]
    read_on: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    problems: dict[str, str] = Field(default_factory=dict)
    flags: tuple[KnownFlag, ...] = ()
    architectures: tuple[str, ...] = ()
    quantization_methods: tuple[QuantizationMethod, ...] = ()
    attention_backends: tuple[AttentionBackend, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, KnownFlag]:
        """The flags by each of their spellings."""
        return {name: row for row in self.flags for name in (row.flag, *row.aliases)}

    def min_capability(self, method: str | None) -> str | None:
        """The least compute capability of a weight format ("8.9"); None where it is not known."""
        row = next((row for row in self.quantization_methods if row.name == method), None)
        return None if row is None or row.min_capability is None else f"{row.min_capability / 10:.1f}"


def ask_vllm(interpreter: Path, *, read_from: str, read_on: str, timeout_s: float = 120.0) -> VllmFacts:
    """Ask the vLLM of `interpreter`; takes about 10 s on two cores.

    Raises `ProbeError` where it cannot be started, does not answer in time, or answers in an unknown form.
    """
    said = _said(interpreter, timeout_s)
    try:
        return VllmFacts.model_validate({**said, "read_from": read_from, "read_on": read_on})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ProbeError(f"vLLM answered in a form that is not known ({where}: {first['msg']}).", _REMEDY) from None


def _said(interpreter: Path, timeout_s: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="selwiz-facts-", ignore_cleanup_errors=True) as private:
        environment = {key: value for key, value in os.environ.items() if key in _KEPT}
        environment |= {
            "TMPDIR": private,
            "VLLM_CACHE_ROOT": private,
            "HF_HOME": private,
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_LOGGING_LEVEL": "ERROR",
        }
        try:
            child = subprocess.Popen(
                [str(interpreter), "-P", str(CHILD)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=private,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise ProbeError(f"{interpreter} cannot be started: {error.strerror}.", _REMEDY) from None
        try:
            output, _ = child.communicate(timeout=timeout_s)
            return dict(json.loads(output))
        except subprocess.TimeoutExpired:
            raise ProbeError(f"vLLM did not say its flags within {timeout_s:.0f} s.", _REMEDY) from None
        except (TypeError, ValueError):
            message = f"vLLM ended without saying its flags (exit code {child.returncode})."
            raise ProbeError(message, _REMEDY) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def to_text(facts: VllmFacts) -> str:
    """The facts as a file that a person can review: one flag, format or backend a line."""
    return "\n".join(_lines(facts)) + "\n"


def _lines(facts: VllmFacts) -> Iterator[str]:
    data = facts.model_dump(mode="json", exclude_defaults=True)
    yield "{"
    parts = [name for name in VllmFacts.model_fields if name in data]
    for name in parts:
        comma = "," if name != parts[-1] else ""
        value = data[name]
        if isinstance(value, list):
            rows = [json.dumps(row, ensure_ascii=False) for row in value]
            yield f'"{name}": ['
            yield ",\n".join(f" {row}" for row in rows)
            yield f"]{comma}"
        else:
            yield f'"{name}": {json.dumps(value, ensure_ascii=False)}{comma}'
    yield "}"
