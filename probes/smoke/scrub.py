"""Takes private parts out of kept text: home, host and user names, keys, GPU UUIDs, addresses."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b")
_TOKEN = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|ghp_[A-Za-z0-9]{20,})")
_BEARER = re.compile(r"(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
_KEY_FLAG = re.compile(r"(--api-key[ =]|['\"]?api_key['\"]?\s*[:=]\s*)(\[[^\]]*\]|\S+)")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b(?![.\d])")
_COMMON_NAMES = frozenset({"root", "user", "users", "admin", "ubuntu", "debian", "python", "vllm", "nobody", "linux"})
_SHORTEST_NAME = 4
SHORTEST_KEY = 8
"""Characters of a key that can be told apart from the words around it."""
_PROVIDER_KEY = re.compile(r"(?i)(?:^|_)API_?KEY$")
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:API_?KEY|ACCESS_KEY|SECRET(?:_KEY)?|TOKEN|PASSW(?:OR)?D)$")
_SECRET_FIELD = re.compile(r"(?i)^(?:api_?key|(?:hf|api|auth|access)_?token|password|secret)$")
_OWN_WORDS = frozenset(
    {"mode", "kind", "metric", "verdict", "decision", "seen", "how", "role", "where", "term", "id", "key", "phase"}
    | {"run_id", "started_at", "ended_at", "tool", "build", "sha256"}
)
"""Fields of a result that hold our own words only: a user or host called like one of them must not change it."""


_VERSIONS = frozenset({"version", "product"})
"""Fields in which four numbers are no address."""


def without_provider_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without keys of API providers, which a child would send to whatever it talks to."""
    return {name: value for name, value in environment.items() if not _PROVIDER_KEY.search(name)}


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without any variable that is called like a secret."""
    return {name: value for name, value in environment.items() if not _SECRET_NAME.search(name)}


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets of an environment that are long enough to be told apart from common words."""
    found = environment.keys() - without_secrets(environment).keys()
    return tuple(sorted(environment[name] for name in found if len(environment[name]) >= SHORTEST_KEY))


class Scrubber:
    """Takes private parts out of text. `paths` are replaced by the names given for them, longest first."""

    def __init__(self, paths: Iterable[tuple[str, str]] = (), secrets: Iterable[str] = ()) -> None:
        pairs = [(path, name) for path, name in paths if len(path) > 1]
        home = str(Path.home())
        if len(home) > 1:
            pairs.append((home, "~"))
        self._paths = sorted(pairs, key=lambda pair: -len(pair[0]))
        forms = {form for key in secrets if key for form in (key, json.dumps(key)[1:-1], quote(key, safe=""))}
        self._secrets = sorted(forms, key=len, reverse=True)
        names = {socket.gethostname(), socket.gethostname().split(".")[0]}
        self._names = [(name, "<host>") for name in sorted(names, key=len, reverse=True) if self._worth(name)]
        user = self._user()
        if self._worth(user):
            self._names.append((user, "<user>"))

    @staticmethod
    def _user() -> str:
        try:
            return getpass.getuser()
        except (KeyError, OSError):
            return ""

    @staticmethod
    def _worth(name: str) -> bool:
        """Whether a name can be replaced: one that is also a common word would take half the log with it."""
        return len(name) >= _SHORTEST_NAME and name not in _COMMON_NAMES and name != "localhost"

    def __call__(self, text: str) -> str:
        """Return the text without its private parts."""
        text = self.without_keys(text)
        for path, name in self._paths:
            text = re.sub(re.escape(path) + r"(?![\w-]|\.\w)", lambda _match, name=name: name, text)  # type: ignore[misc]
        for name, instead in self._names:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", instead, text)
        return _ADDRESS.sub("<address>", text)

    def without_keys(self, text: str) -> str:
        """Return the text without keys and UUIDs."""
        for secret in self._secrets:
            text = text.replace(secret, "<key>")
        text = _UUID.sub(r"\1-<uuid>", text)
        text = _TOKEN.sub("<key>", text)
        text = _BEARER.sub(r"\1<key>", text)
        return _KEY_FLAG.sub(r"\1<key>", text)

    def tree(self, value: Any) -> Any:
        """Return a tree of JSON values with every text in it cleaned. Names of fields, numbers and own words stay."""
        if isinstance(value, str):
            return self(value.encode("utf-8", errors="replace").decode("utf-8"))
        if isinstance(value, list | tuple):
            return [self.tree(entry) for entry in value]
        if isinstance(value, dict):
            return {name: self._field(name, entry) for name, entry in value.items()}
        return value

    def _field(self, name: str, value: Any) -> Any:
        if _SECRET_FIELD.search(name) and value:
            return "<key>"
        if isinstance(value, str) and name in _OWN_WORDS:
            return value
        return self.without_keys(value) if isinstance(value, str) and name in _VERSIONS else self.tree(value)
