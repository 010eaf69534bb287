"""The few HTTP requests a smoke makes itself; the load is the load tool's."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from probes.smoke.owners import is_loopback
from probes.smoke.scrub import SHORTEST_KEY
from probes.smoke.stopping import Stopper

TIMEOUT_S = 3.0
GREATEST_BODY = 8 * 1024 * 1024
_PIECE_BYTES = 65536
_LOOK_S = 0.05
_LONGEST_TARGET = 200


class HttpError(Exception):
    """No usable answer. `status` is None when nothing answered at all; the text holds no key."""

    def __init__(self, message: str, status: int | None = None, body: str = "") -> None:
        super().__init__(message)
        self.status, self.body = status, body


class Redirected(HttpError):  # noqa: N818 - reads as a sentence where it is caught
    """The server names another address, which is not followed: key and load go only where they were allowed to."""

    def __init__(self, path: str, status: int, target: str) -> None:
        super().__init__(f"{path} was answered with {status}, a redirect to {target}", status)
        self.target = target


class OutOfTime(HttpError):  # noqa: N818 - reads as a sentence where it is caught
    """The time limit of the whole run was over before the answer was."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Lets a redirect be an error like any other status."""

    def redirect_request(self, *_: object) -> None:
        """Make no further request."""


@dataclass(frozen=True)
class Client:
    """A base URL with an optional key and certificate authority. No redirect is followed, and no answer shows the key.

    With a `stopper` a request ends as soon as stopping is asked for (`Stopped`), and at `until`, a time of
    `time.monotonic`, with `OutOfTime`.
    """

    base: str
    api_key: str | None = None
    ca_file: Path | None = None
    stopper: Stopper | None = None
    until: float | None = None

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if is_loopback(self.base):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine's loopback
        if self.base.startswith("https"):
            context = ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        return urllib.request.build_opener(*handlers)

    def request(
        self, path: str, payload: Any = None, *, method: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> str:
        """Return the body of an answer with status 200, whole within `timeout_s`. Raises `HttpError` otherwise.

        A server that sends a byte now and then is as good as silent, so the time counts for the whole answer. No
        time-out of a socket can do that, so a thread makes the request and is left to itself when its time is over.
        """
        if urlsplit(self.base).scheme not in ("http", "https"):
            raise HttpError(f"{self.base} is no http or https address")
        asked = _Asked(self._opener(), self._made(path, payload, method), timeout_s)
        worker = threading.Thread(target=asked.run, name="selwiz-http", daemon=True)
        worker.start()
        end = time.monotonic() + timeout_s
        while not asked.done.wait(_LOOK_S):
            now = time.monotonic()
            over = self.until is not None and now > self.until
            if over or now > end or (self.stopper is not None and self.stopper.is_set):
                asked.given_up.set()
                if self.stopper is not None:
                    self.stopper.check()
                if over:
                    raise OutOfTime(f"{self.base} had not answered when the time limit was over")
                raise HttpError(f"{self.base} {asked.state} for {timeout_s:.0f} s")
        try:
            return self._without_key(asked.body(self.base, path))
        except Redirected as problem:
            raise Redirected(path, problem.status or 302, self._without_key(problem.target)) from None
        except HttpError as problem:
            raise HttpError(str(problem), problem.status, self._without_key(problem.body)) from None

    def _without_key(self, text: str) -> str:
        """Take the key out of what a server sends back, so that it is nowhere behind this place, cut or whole."""
        known = self.api_key is not None and len(self.api_key) >= SHORTEST_KEY
        return text.replace(self.api_key or "", "<key>") if known else text

    def _made(self, path: str, payload: Any, method: str | None) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        data = None
        if payload is not None:
            data = json.dumps(payload).encode()
            headers["Content-Type"] = "application/json"
        return urllib.request.Request(self.base + path, data=data, headers=headers, method=method)  # noqa: S310

    def get_json(self, path: str, *, timeout_s: float = TIMEOUT_S) -> Any:
        """Return an answer's JSON. Raises `HttpError` when it is none."""
        try:
            return json.loads(self.request(path, timeout_s=timeout_s))
        except (ValueError, RecursionError):
            raise HttpError(f"{path} was not answered with JSON", 200) from None


class _Asked:
    """One request in the thread that waits for its answer."""

    def __init__(
        self, opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout_s: float
    ) -> None:
        self._opener, self._request, self._timeout_s = opener, request, timeout_s
        self._body = b""
        self._problem: Exception | None = None
        self.state = "does not answer"
        self.done, self.given_up = threading.Event(), threading.Event()

    def run(self) -> None:
        """Send the request and read the answer in pieces, until it ends or nobody waits for it any more."""
        try:
            with self._opener.open(self._request, timeout=self._timeout_s) as answer:
                self.state = "began to answer and did not end"
                while not self.given_up.is_set() and len(self._body) < GREATEST_BODY:
                    piece = answer.read1(_PIECE_BYTES)
                    if not piece:
                        if answer.length:  # what Content-Length promised and did not come
                            raise http.client.IncompleteRead(self._body, answer.length)
                        break
                    self._body += piece
        except urllib.error.HTTPError as refusal:
            self._problem = refusal
            with contextlib.suppress(OSError, http.client.HTTPException), refusal:
                self._body = refusal.read(4096)
        except Exception as problem:  # told to whoever waits
            self._problem = problem
        self.done.set()

    def body(self, base: str, path: str) -> str:
        """Return what was read. Raises `HttpError` with the reason if it is no whole answer."""
        problem, text = self._problem, self._body.decode("utf-8", errors="replace")
        if problem is None:
            return text
        if isinstance(problem, urllib.error.HTTPError):
            target = problem.headers.get("Location") if 300 <= problem.code < 400 else None
            if target:
                raise Redirected(path, problem.code, _address(urljoin(base + path, target), path))
            raise HttpError(f"{path} was answered with {problem.code}", problem.code, text)
        if isinstance(problem, TimeoutError):
            raise HttpError(f"{base} {self.state} for {self._timeout_s:.0f} s")
        if isinstance(problem, http.client.BadStatusLine | http.client.UnknownProtocol) and not isinstance(
            problem, http.client.RemoteDisconnected
        ):
            raise HttpError(f"{base} does not speak HTTP")
        if isinstance(problem, http.client.IncompleteRead | ConnectionResetError) or self._body:
            raise HttpError(f"{base} closed the connection in the middle of its answer")
        if isinstance(problem, OSError | ValueError | http.client.HTTPException):  # URLError is an OSError
            raise HttpError(f"{base} does not answer: {getattr(problem, 'reason', problem)}")
        raise problem


def _address(target: str, path: str) -> str:
    """Return the target of a redirect as an endpoint's address: printable, of bounded length, without the path."""
    shown = "".join(letter for letter in target if letter.isprintable())[:_LONGEST_TARGET]
    return shown.removesuffix(path).rstrip("/")
