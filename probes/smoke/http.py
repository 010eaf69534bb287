"""The few HTTP requests a smoke makes itself; the load is the load tool's."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 3.0
GREATEST_BODY = 8 * 1024 * 1024


class HttpError(Exception):
    """No usable answer. `status` is None when nothing answered at all; the text holds no key."""

    def __init__(self, message: str, status: int | None = None, body: str = "") -> None:
        super().__init__(message)
        self.status, self.body = status, body


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine's loopback address; a name is only `localhost`."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Client:
    """A base URL with an optional key and certificate authority."""

    base: str
    api_key: str | None = None
    ca_file: Path | None = None

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = []
        if is_loopback(self.base):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine's loopback
        if self.base.startswith("https"):
            context = ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        return urllib.request.build_opener(*handlers)

    def request(
        self, path: str, payload: Any = None, *, method: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> str:
        """Return the body of an answer with status 200. Raises `HttpError` otherwise."""
        if urlsplit(self.base).scheme not in ("http", "https"):
            raise HttpError(f"{self.base} is no http or https address")
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        data = None
        if payload is not None:
            data = json.dumps(payload).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.base + path, data=data, headers=headers, method=method)  # noqa: S310
        try:
            with self._opener().open(request, timeout=timeout_s) as answer:
                return str(answer.read(GREATEST_BODY).decode("utf-8", errors="replace"))
        except urllib.error.HTTPError as refusal:
            with refusal:
                body = refusal.read(4096).decode("utf-8", errors="replace")
            raise HttpError(f"{path} was answered with {refusal.code}", refusal.code, body) from None
        except (OSError, ValueError, http.client.HTTPException) as problem:  # URLError and timeouts are OSErrors
            reason = getattr(problem, "reason", problem)
            raise HttpError(f"{self.base} does not answer: {reason}") from None

    def get_json(self, path: str, *, timeout_s: float = TIMEOUT_S) -> Any:
        """Return an answer's JSON. Raises `HttpError` when it is none."""
        try:
            return json.loads(self.request(path, timeout_s=timeout_s))
        except (ValueError, RecursionError):
            raise HttpError(f"{path} was not answered with JSON") from None
