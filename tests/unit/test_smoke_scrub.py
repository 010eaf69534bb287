import getpass
import socket
from pathlib import Path

import pytest

from probes.smoke.scrub import Scrubber


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("GPU-12345678-1234-1234-1234-123456789abc is lost", "GPU-<uuid> is lost"),
        ("token hf_abcdefghijklmnopqrst", "token <key>"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer <key>"),
        ("serve --api-key s3cret --port 1", "serve --api-key <key> --port 1"),
        ("non-default args: {'api_key': ['s3cret'], 'port': 1}", "non-default args: {'api_key': <key>, 'port': 1}"),
        ("mq_connect_ip=10.1.2.3 (local)", "mq_connect_ip=<address> (local)"),
        ("http://127.0.0.1:8000 0.0.0.0 version 0.32.0", "http://127.0.0.1:8000 0.0.0.0 version 0.32.0"),
    ],
)
def test_private_parts_are_taken_out(text: str, clean: str) -> None:
    assert Scrubber()(text) == clean


def test_the_home_folder_becomes_a_tilde() -> None:
    assert Scrubber()(f"{Path.home()}/models/m") == "~/models/m"


def test_a_folder_whose_name_only_begins_alike_stays() -> None:
    assert Scrubber([("/models/m", "$MODEL_DIR")])("/models/m... /models/m.v2 /models/m2") == (
        "$MODEL_DIR... /models/m.v2 /models/m2"
    )


def test_the_longest_path_wins() -> None:
    scrub = Scrubber([("/models", "$A"), ("/models/m", "$B")])
    assert scrub("/models/m/config.json") == "$B/config.json"


def test_a_known_key_goes_wherever_it_stands() -> None:
    assert Scrubber(secrets=["opensesame"])("?key=opensesame&x") == "?key=<key>&x"


def test_the_host_name_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "gpubox7.example.org")
    assert Scrubber()("on gpubox7 and gpubox7.example.org") == "on <host> and <host>"


def test_the_user_name_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "jdoe42")
    assert Scrubber()("torchinductor of jdoe42") == "torchinductor of <user>"


def test_a_user_called_like_a_common_word_does_not_eat_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "vllm")
    assert Scrubber()("vllm serve") == "vllm serve"
