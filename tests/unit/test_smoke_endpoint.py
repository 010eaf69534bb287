"""A small server of our own plays the endpoints that refuse."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from probes.smoke.children import free_port
from probes.smoke.endpoint import look_at, try_payload
from probes.smoke.http import Client, HttpError
from probes.smoke.load import LoadFailed
from probes.smoke.owners import is_loopback
from probes.smoke.stopping import Stopped, Stopper

MODELS = json.dumps({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]})
STREAM = (
    'data: {"choices": [{"text": "a"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 32, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)


WRONG_COUNTS = (
    *((count, f"counts {count} tokens for an answer of at most 2") for count in ("0", "-3", "3", "1000000000")),
    *((count, "does not count its tokens") for count in ("null", "true", '"2"', "2.5")),
)


class Endpoint:
    """Answers each path with a status and a body, and remembers what it was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {"/v1/models": (200, MODELS), "/v1/completions": (200, STREAM)}
        self.locations: dict[str, str] = {}
        """Where a path sends its caller on to."""
        self.sent: list[Any] = []
        self.keys: set[str | None] = set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.keys.add(self.headers["Authorization"])
                status, body = endpoint.answers.get(self.path, (404, "{}"))
                self.send_response(status)
                if self.path in endpoint.locations:
                    self.send_header("Location", endpoint.locations[self.path])
                self.end_headers()
                self.wfile.write(body.replace("$KEY", self.headers["Authorization"] or "").encode())

            def do_POST(self) -> None:
                endpoint.sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.do_GET()

            def log_message(self, *_arguments: object) -> None:
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.client = Client(f"http://127.0.0.1:{self.server.server_port}")


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint that answers as long as the block lasts."""
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        yield made


@pytest.mark.parametrize(
    "data",
    [
        "7",
        "true",
        "null",
        "{}",
        "[]",
        "[7]",
        '[{"id": "\\ud800"}]',
        '[{"id": "a\\u0000b"}]',
        '[{"id": ""}]',
        '[{"id": null}]',
        '[{"id": 5}]',
        '[{"id": "--help"}]',
        '[{"id": "%s"}]' % ("x" * 501),
    ],
)
def test_a_list_of_models_without_a_usable_name_is_refused(endpoint: Endpoint, data: str) -> None:
    endpoint.answers["/v1/models"] = (200, f'{{"data": {data}}}')
    with pytest.raises(LoadFailed, match="serves no model") as caught:
        look_at(endpoint.client, None)
    assert caught.value.kind == "endpoint_refused"


def test_a_model_beside_one_without_a_usable_name_is_taken(endpoint: Endpoint) -> None:
    endpoint.answers["/v1/models"] = (200, '{"data": [{"id": ""}, {"id": "m"}]}')
    assert look_at(endpoint.client, None).name == "m"


def test_the_first_model_is_taken(endpoint: Endpoint) -> None:
    found = look_at(endpoint.client, None)
    assert (found.name, found.max_model_len, found.product, found.version) == ("m", 4096, "vllm", None)


def test_a_model_that_is_not_served_is_told(endpoint: Endpoint) -> None:
    with pytest.raises(LoadFailed, match="does not serve x, it serves m"):
        look_at(endpoint.client, "x")


@pytest.mark.parametrize("body", ["{}", "[]", "null", '{"data": []}', '{"data": [3]}'])
def test_an_endpoint_without_a_model_is_refused(endpoint: Endpoint, body: str) -> None:
    endpoint.answers["/v1/models"] = (200, body)
    with pytest.raises(LoadFailed, match="no model"):
        look_at(endpoint.client, None)


def test_a_missing_key_is_told(endpoint: Endpoint) -> None:
    endpoint.answers["/v1/models"] = (401, "{}")
    with pytest.raises(LoadFailed, match="valid key"):
        look_at(endpoint.client, None)


def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(LoadFailed) as caught:
        look_at(Client(f"http://127.0.0.1:{free_port()}"), None)
    assert caught.value.kind == "endpoint_unreachable"


def test_the_trial_has_the_fields_of_vllm_s_client(endpoint: Endpoint) -> None:
    try_payload(endpoint.client, "m")
    assert {"repetition_penalty", "ignore_eos", "stream", "stream_options", "max_tokens", "prompt"} <= set(
        endpoint.sent[0]
    )


def test_a_refused_trial_is_one_sentence_with_the_endpoint_s_words(endpoint: Endpoint) -> None:
    endpoint.answers["/v1/completions"] = (422, '{"error": "ignore_eos\nis not permitted"}')
    with pytest.raises(LoadFailed, match=r"422.*ignore_eos is not permitted"):
        try_payload(endpoint.client, "m")


def test_an_answer_that_is_no_stream_is_refused(endpoint: Endpoint) -> None:
    endpoint.answers["/v1/completions"] = (200, '{"error": "later"}')
    with pytest.raises(LoadFailed, match="without a token stream"):
        try_payload(endpoint.client, "m")


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:1", True),
        ("http://localhost", True),
        ("http://[::1]:8", True),
        ("http://127.evil.example", False),
        ("https://example.org", False),
        ("http://10.0.0.1:8000", False),
    ],
)
def test_loopback(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, "<html><body>Welcome</body></html>", "no OpenAI-style server: /v1/models was not answered with JSON"),
        (301, "", "no OpenAI-style"),
        (403, "{}", "valid key"),
        (404, "{}", "no OpenAI-style list of models"),
        (429, "{}", "takes no more requests for now"),
        (500, "oops", r"error of its own \(500\)"),
    ],
)
def test_what_is_no_usable_list_of_models_is_told_in_one_sentence(
    endpoint: Endpoint, status: int, body: str, said: str
) -> None:
    endpoint.answers["/v1/models"] = (status, body)
    with pytest.raises(LoadFailed, match=said):
        look_at(endpoint.client, None)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (429, "{}", "takes no more requests for now"),
        (500, "{}", "error of its own"),
        (200, 'data: {"choices": [{"text": "a"}]}\n\n', "breaks its token stream off"),
        (200, 'data: {"choices": [{"text": "a"}]}\n\ndata: [DONE]\n\n', "does not count its tokens"),
        (200, "data: 5\n\ndata: nothing\n\n", "without a token stream"),
        *((200, STREAM.replace(": 2}", f": {count}}}"), said) for count, said in WRONG_COUNTS),
    ],
)
def test_a_trial_that_cannot_be_measured_is_told_in_one_sentence(
    endpoint: Endpoint, status: int, body: str, said: str
) -> None:
    endpoint.answers["/v1/completions"] = (status, body)
    with pytest.raises(LoadFailed, match=said):
        try_payload(endpoint.client, "m")


class Raw:
    """A server of bare sockets: sends what it is told, then holds the connection, closes it, or drips."""

    def __init__(self, sent: bytes, then: str) -> None:
        self._sent, self._then = sent, then
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self.client = Client(f"http://127.0.0.1:{self._listening.getsockname()[1]}")

    def __enter__(self) -> "Raw":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            connection.sendall(self._sent)
            while self._then != "close" and not self._end.wait(0.02):
                if self._then == "drip":
                    connection.sendall(b" ")


STARTED = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"


@pytest.mark.parametrize(
    ("sent", "then", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "close", "does not speak HTTP"),
        (b"", "close", "closed"),
        (STARTED, "close", "closed the connection in the middle of its answer"),
        (STARTED, "stall", "began to answer and did not end"),
        (STARTED, "drip", "began to answer and did not end"),
        (b"", "stall", "does not answer"),
        (b"HTTP/1.1 200 OK\r\nX: ", "drip", "does not answer"),
    ],
)
def test_a_server_that_does_not_answer_properly_is_told_in_time(sent: bytes, then: str, said: str) -> None:
    with Raw(sent, then) as server, pytest.raises(HttpError, match=said):
        server.client.request("/v1/models", timeout_s=0.3)


def test_a_stop_ends_a_dripping_answer_at_once() -> None:
    stopper = Stopper()
    with Raw(STARTED, "drip") as server:
        timer = threading.Timer(0.2, stopper.stop)
        timer.start()
        with pytest.raises(Stopped):
            replace(server.client, stopper=stopper).request("/v1/completions", timeout_s=60)


def test_the_time_limit_ends_a_dripping_answer_at_once() -> None:
    with Raw(STARTED, "drip") as server:
        limited = replace(server.client, until=time.monotonic() + 0.2)
        with pytest.raises(LoadFailed) as caught:
            try_payload(limited, "m")
    assert caught.value.kind == "time_limit"


@pytest.mark.parametrize("path", ["/v1/models", "/v1/completions"])
@pytest.mark.parametrize("status", [301, 302, 307])
def test_no_redirect_is_followed_and_its_target_is_named(endpoint: Endpoint, path: str, status: int) -> None:
    with serving() as other:
        client = replace(endpoint.client, api_key="opensesame")
        endpoint.answers[path] = (status, "")
        endpoint.locations[path] = other.client.base + path
        asked = look_at if path == "/v1/models" else try_payload
        with pytest.raises(LoadFailed, match="follows no redirect") as caught:
            asked(client, "m")
        assert (other.keys, caught.value.advice.split()[-1]) == (set(), other.client.base)


@pytest.mark.parametrize("length", ["-5", "true", "1" + "0" * 400, '"4096"', "0"])
def test_a_context_that_cannot_be_is_not_known(endpoint: Endpoint, length: str) -> None:
    endpoint.answers["/v1/models"] = (200, MODELS.replace("4096", length))
    assert look_at(endpoint.client, None).max_model_len is None


def test_no_answer_shows_the_key(endpoint: Endpoint) -> None:
    endpoint.answers["/v1/models"] = (403, "x" * 190 + "$KEY")
    with pytest.raises(HttpError) as caught:
        replace(endpoint.client, api_key="opensesame").request("/v1/models")
    assert caught.value.body == "x" * 190 + "Bearer <key>"
