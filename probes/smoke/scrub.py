"""Takes private parts out of kept text: home, host and user names, keys, GPU UUIDs, addresses."""

from __future__ import annotations

import getpass
import re
import socket
from collections.abc import Iterable
from pathlib import Path

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b")
_TOKEN = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|ghp_[A-Za-z0-9]{20,})")
_BEARER = re.compile(r"(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
_KEY_FLAG = re.compile(r"(--api-key[ =]|['\"]?api_key['\"]?\s*[:=]\s*)(\[[^\]]*\]|\S+)")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b(?![.\d])")
_COMMON_NAMES = frozenset({"root", "user", "users", "admin", "ubuntu", "debian", "python", "vllm", "nobody", "linux"})
_SHORTEST_NAME = 4


class Scrubber:
    """Takes private parts out of text. `paths` are replaced by the names given for them, longest first."""

    def __init__(self, paths: Iterable[tuple[str, str]] = (), secrets: Iterable[str] = ()) -> None:
        pairs = [(path, name) for path, name in paths if len(path) > 1]
        home = str(Path.home())
        if len(home) > 1:
            pairs.append((home, "~"))
        self._paths = sorted(pairs, key=lambda pair: -len(pair[0]))
        self._secrets = [secret for secret in secrets if secret]
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
        for secret in self._secrets:
            text = text.replace(secret, "<key>")
        for path, name in self._paths:
            text = re.sub(re.escape(path) + r"(?![\w-]|\.\w)", lambda _match, name=name: name, text)  # type: ignore[misc]
        for name, instead in self._names:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", instead, text)
        text = _UUID.sub(r"\1-<uuid>", text)
        text = _TOKEN.sub("<key>", text)
        text = _BEARER.sub(r"\1<key>", text)
        text = _KEY_FLAG.sub(r"\1<key>", text)
        return _ADDRESS.sub("<address>", text)
