import getpass
import socket
from pathlib import Path

import pytest

from probes.smoke.scrub import Scrubber, secret_values, without_provider_keys, without_secrets


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


def test_a_tree_keeps_its_form_whatever_the_key_is() -> None:
    tree = {"input_lens": [1, 0], "text": "input 0", "verdict": "supported", "deep": [{"api_key": "x", "n": None}]}
    assert Scrubber(secrets=["input", "supported"]).tree(tree) == {
        "input_lens": [1, 0],
        "text": "<key> 0",
        "verdict": "supported",
        "deep": [{"api_key": "<key>", "n": None}],
    }


def test_a_version_of_four_numbers_is_no_address() -> None:
    assert Scrubber().tree({"version": "0.10.1.1", "note": "at 10.1.2.3"}) == {
        "version": "0.10.1.1",
        "note": "at <address>",
    }


@pytest.mark.parametrize("shown", ['say\\"open', "say%22open"])
def test_a_key_goes_in_every_spelling(shown: str) -> None:
    assert Scrubber(secrets=['say"open'])(shown) == "<key>"


def test_the_secrets_of_a_shell_are_known_by_their_names() -> None:
    shell = {"OPENAI_API_KEY": "sk-abcdefgh", "HF_TOKEN": "hf_abcdef", "PATH": "/usr/bin", "MY_SECRET": "short"}
    assert secret_values(shell) == ("hf_abcdef", "sk-abcdefgh")
    assert without_secrets(shell) == {"PATH": "/usr/bin"}
    assert sorted(without_provider_keys(shell)) == ["HF_TOKEN", "MY_SECRET", "PATH"]


def test_the_host_name_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "gpubox7.example.org")
    assert Scrubber()("on gpubox7 and gpubox7.example.org") == "on <host> and <host>"


def test_the_user_name_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "jdoe42")
    assert Scrubber()("torchinductor of jdoe42") == "torchinductor of <user>"


def test_a_user_called_like_a_common_word_does_not_eat_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "vllm")
    assert Scrubber()("vllm serve") == "vllm serve"
