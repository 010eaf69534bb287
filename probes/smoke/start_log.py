"""What the start-up log of a server says of the settings it started with.

Lines as vLLM 0.32 and 0.33 write them: the API server's `non-default args` names the flags that differ from their
defaults, the engine's `Initializing a V1 LLM engine` (v1/engine/core.py) the resolved settings in one flat list.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.smoke.result import Frozen
from probes.smoke.server import logged_facts

#: Only the begin of a log tells the start; a server that runs for months goes on for gigabytes.
MOST_BYTES = 16 * 1024 * 1024
_VERSION = re.compile(r"Initializing a V1 LLM engine \(v([^)\s]+)\)|^.{0,200}?\sversion (\d+\.\d+\S*)")
_ARGUMENTS = re.compile(r"non-default args: (\{.*\})\s*$")
_CONFIG = re.compile(r"Initializing a V1 LLM engine \(v[^)]*\) with config: (.*)$")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ENUM = re.compile(r"<\w+\.(\w+): ?[^>]*>")

#: Where `/server_info` keeps what the log's flat list names.
_SECTIONS = {
    "tensor_parallel_size": "parallel_config",
    "pipeline_parallel_size": "parallel_config",
    "data_parallel_size": "parallel_config",
    "decode_context_parallel_size": "parallel_config",
    "quantization": "model_config",
    "enable_chunked_prefill": "scheduler_config",
    "enable_prefix_caching": "cache_config",
}


class StartLog(Frozen):
    """What a start-up log tells; None for what it does not.

    `arguments` are the flags that differ from their defaults, by the names of vLLM's parser (`max_model_len`), without
    secrets; `resolved` are the settings in force by the names of the log. `config` is the same arranged as in
    `vllm_config` of `/server_info`.
    """

    version: str | None = None
    arguments: dict[str, Any] | None = None
    resolved: dict[str, Any] | None = None
    config: dict[str, Any] | None = None
    max_model_len: int | None = None
    model: str | None = None
    kv_cache_size_tokens: int | None = None
    attention_backend: str | None = None

    @property
    def tells(self) -> bool:
        """Whether anything of a start was found."""
        return any(value is not None for value in (self.version, self.arguments, self.config))


def read_start_log(path: Path) -> StartLog:
    """Read a start-up log. Raises `ProbeError` if it cannot be read or tells no start of a vLLM."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise ProbeError(f"{path} cannot be read: {error.strerror}.", "Look at the path and its permissions.") from None
    log = parse_start_log(text)
    if not log.tells:
        raise ProbeError(
            f"{path} holds no start of a vLLM.",
            "Give the server's own log from its first line on, at the level INFO.",
        )
    return log


def parse_start_log(text: str) -> StartLog:
    """Take a start-up log apart; the last start in it counts."""
    lines = _last_start([_ANSI.sub("", line) for line in text.splitlines()])
    arguments = _last(lines, _ARGUMENTS)
    config = _last(lines, _CONFIG)
    flat = None if config is None else _pairs(config)
    facts = logged_facts(lines)
    length = (flat or {}).get("max_seq_len")
    size = facts["kv_cache_size_tokens"]
    model = (flat or {}).get("model")
    return StartLog(
        version=_last(lines, _VERSION),
        arguments=None if arguments is None else _without_secrets(_pairs(arguments[1:-1])),
        resolved=flat,
        config=None if flat is None else _nested(flat),
        max_model_len=length if isinstance(length, int) else None,
        model=model if isinstance(model, str) else None,
        kv_cache_size_tokens=size if isinstance(size, int) else None,
        attention_backend=str(facts["attention_backend"]) if facts["attention_backend"] else None,
    )


def _last_start(lines: list[str]) -> list[str]:
    """A supervisor that starts a server again appends to the same log."""
    starts = [number for number, line in enumerate(lines) if _ARGUMENTS.search(line)]
    if len(starts) < 2:
        return lines
    return [*(line for line in lines[: starts[0]] if _VERSION.search(line)), *lines[starts[-1] :]]


def _last(lines: list[str], pattern: re.Pattern[str]) -> str | None:
    for line in reversed(lines):
        match = pattern.search(line)
        if match:
            return next((group for group in match.groups() if group), None)
    return None


def _pairs(text: str) -> dict[str, Any]:
    """Read `key=value, …` or `'key': value, …`; a value that is no plain Python value stays text."""
    found = {}
    for part in _parts(text):
        match = re.match(r"\s*(?:'(\w+)'\s*:|(\w+)\s*=)\s*(.*)$", part, re.DOTALL)
        if match:
            found[match[1] or match[2]] = _value(match[3].strip())
    return found


def _without_secrets(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key not in ("api_key", "hf_token")}


def _parts(text: str) -> list[str]:
    """Split at the commas that stand in no bracket and no quotes."""
    parts, depth, quote, begin, skip = [], 0, "", 0, False
    for position, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


def _value(text: str) -> Any:
    plain = _ENUM.sub(r"'\1'", text)
    try:
        return ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for key, section in _SECTIONS.items():
        if key in flat:
            config.setdefault(section, {})[key] = flat[key]
    for key in ("compilation_config", "speculative_config"):
        value = flat.get(key, False)
        if value is None or isinstance(value, dict):
            config[key] = value
        elif isinstance(value, str) and (method := re.search(r"method='(\w+)'", value)):
            config[key] = {"method": method[1]}
    return config
