"""A small server of our own plays the endpoints that refuse."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from probes.smoke.children import free_port
from probes.smoke.endpoint import look_at, try_payload
from probes.smoke.http import Client, is_loopback
from probes.smoke.load import LoadFailed

MODELS = json.dumps({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]})
STREAM = 'data: {"choices": [{"text": "a"}]}\n\ndata: [DONE]\n\n'


class Endpoint:
    """Answers each path with a status and a body, and remembers what it was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {"/v1/models": (200, MODELS), "/v1/completions": (200, STREAM)}
        self.sent: list[Any] = []
        self.keys: set[str | None] = set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.keys.add(self.headers["Authorization"])
                status, body = endpoint.answers.get(self.path, (404, "{}"))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

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
