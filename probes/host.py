"""Reads the computer around the GPUs: CPU, memory, disks, system, container. Its name is not read."""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil

from probes.driver_files import module_version
from probes.machine import Disk, Host
from probes.paths import exists, text_of
from probes.reading import Reading

T = TypeVar("T")

_UNLIMITED_BYTES = 1 << 60  # version 1 control groups write a number near 2^63 for "no limit"


def read_host(root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> Host:
    """Read the host; `root` is where /proc, /sys and /etc are looked for. Never raises for a gap."""
    memory_total = _try(lambda: int(psutil.virtual_memory().total), "psutil:virtual_memory.total")
    logical = _try(lambda: psutil.cpu_count(logical=True), "psutil:cpu_count(logical)")
    shm = root / "dev/shm"
    return Host(
        os_name=_os_name(root),
        kernel=_try(platform.release, "uname:release"),
        glibc=_glibc(),
        machine_architecture=_try(platform.machine, "uname:machine"),
        python=Reading.of(platform.python_version(), "python"),
        cpu_model=_cpu_model(root),
        cpu_physical_cores=_try(lambda: psutil.cpu_count(logical=False), "psutil:cpu_count(physical)"),
        cpu_logical_cores=logical,
        cpu_usable_cores=_cpu_usable(root, logical),
        memory_total_bytes=memory_total,
        memory_available_bytes=_try(lambda: int(psutil.virtual_memory().available), "psutil:virtual_memory.available"),
        memory_usable_bytes=_memory_usable(root, memory_total),
        shm_total_bytes=_try(lambda: shutil.disk_usage(shm).total, "statvfs:/dev/shm"),
        shm_free_bytes=_try(lambda: shutil.disk_usage(shm).free, "statvfs:/dev/shm"),
        disks=_disks(environ),
        in_container=_in_container(root, environ),
        wsl=_wsl(root),
        gcc=Reading.of(shutil.which("gcc", path=environ.get("PATH")) is not None, "path:gcc"),
        nvidia_module=module_version(root),
        jetson=_jetson(root),
    )


def _try(read: Callable[[], T | None], source: str) -> Reading[T]:
    try:
        value = read()
    except PermissionError:
        return Reading.absent("no_permission", source)
    except (OSError, RuntimeError, ValueError, NotImplementedError, psutil.Error):
        return Reading.absent("unknown", source)
    return Reading.absent("unknown", source) if value in (None, "") else Reading.of(value, source)


def _os_name(root: Path) -> Reading[str]:
    for name in ("etc/os-release", "usr/lib/os-release"):
        match = re.search(r'^PRETTY_NAME="?([^"\n]+)"?', text_of(root / name) or "", re.MULTILINE)
        if match:
            return Reading.of(match[1], f"file:/{name}")
    return Reading.absent("unknown", "file:/etc/os-release")


def _glibc() -> Reading[str]:
    source = "confstr:CS_GNU_LIBC_VERSION"
    try:
        words = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (ValueError, OSError):
        return Reading.absent("not_supported", source)  # another C library, such as musl
    return Reading.of(words[-1], source) if words else Reading.absent("unknown", source)


def _cpu_model(root: Path) -> Reading[str]:
    text = text_of(root / "proc/cpuinfo") or ""
    match = re.search(r"^(?:model name|Model|cpu model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    if match:
        return Reading.of(match[1].strip(), "proc:/proc/cpuinfo")
    return Reading.absent("unknown", "proc:/proc/cpuinfo")  # most Arm kernels do not name the model


def control_group_folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield this process's control group and its parents, of version 2 and of `controller` in version 1.

    A limit of a parent binds its children too. Inside a container the path in /proc may not exist; the
    mount's own root is then the group.
    """
    for line in (text_of(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        base = root / "sys/fs/cgroup" / (controller if controllers else "")
        group = base / path.strip().lstrip("/")
        while group != base and base in group.parents:
            yield group
            group = group.parent
        yield base


def _memory_usable(root: Path, total: Reading[int]) -> Reading[int]:
    """Take the least of the RAM and every memory limit of the control groups (the kernel's cgroup-v2)."""
    least = total
    for folder in control_group_folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = (text_of(folder / name) or "").strip()
            if text.isdigit() and int(text) < (least.value or _UNLIMITED_BYTES):
                least = Reading.of(int(text), f"cgroup:{name}")
    return least


def _cpu_usable(root: Path, logical: Reading[int]) -> Reading[float]:
    """Take the least of the CPUs this process may run on and every CPU quota of its groups, in cores."""
    least: Reading[float] = _try(lambda: float(len(os.sched_getaffinity(0))), "sched_getaffinity")
    if least.value is None and logical.value is not None:
        least = Reading.of(float(logical.value), logical.source)
    for folder in control_group_folders(root, "cpu"):
        words = (text_of(folder / "cpu.max") or "").split()
        name = "cpu.max"
        if not words:
            name = "cpu.cfs_quota_us"
            words = [(text_of(folder / part) or "").strip() for part in (name, "cpu.cfs_period_us")]
        if len(words) == 2 and all(word.isdigit() and int(word) for word in words):
            cores = int(words[0]) / int(words[1])
            if least.value is None or cores < least.value:
                least = Reading.of(cores, f"cgroup:{name}")
    return least


def _disks(environ: Mapping[str, str]) -> tuple[Disk, ...]:
    home = Path(environ.get("HOME") or "/")
    cache = Path(environ.get("HF_HOME") or environ.get("XDG_CACHE_HOME") or home / ".cache")
    disks: list[Disk] = []
    for purpose, folder in (
        ("cache", lambda: cache),
        ("working_directory", Path.cwd),
        ("temporary", lambda: Path(tempfile.gettempdir())),
    ):
        usage = _try(partial(_usage, folder), f"statvfs:{purpose}")
        total, free = usage.value or (None, None)
        disks.append(
            Disk.model_validate(
                {
                    "purpose": purpose,
                    "total_bytes": {"value": total, "why": usage.why, "source": usage.source},
                    "free_bytes": {"value": free, "why": usage.why, "source": usage.source},
                }
            )
        )
    return tuple(disks)


def _usage(folder: Callable[[], Path]) -> tuple[int, int]:
    usage = shutil.disk_usage(_existing(folder()))
    return usage.total, usage.free


def _existing(folder: Path) -> Path:
    """Go up to the nearest folder that exists: a cache that is not there yet will be made on that disk."""
    return next((path for path in (folder, *folder.parents) if exists(path)), folder)


def _in_container(root: Path, environ: Mapping[str, str]) -> Reading[bool]:
    for name in (".dockerenv", "run/.containerenv"):
        if exists(root / name):
            return Reading.of(True, f"file:/{name}")
    for variable in ("container", "KUBERNETES_SERVICE_HOST"):
        if environ.get(variable):
            return Reading.of(True, f"env:{variable}")
    groups = text_of(root / "proc/1/cgroup") or ""
    if re.search(r"docker|kubepods|containerd|libpod|lxc|garden", groups):
        return Reading.of(True, "proc:/proc/1/cgroup")
    mounts = text_of(root / "proc/self/mounts")
    if mounts is None:
        return Reading.absent("unknown", "proc:/proc/self/mounts")
    overlay = re.search(r"^overlay / overlay ", mounts, re.MULTILINE) is not None
    return Reading.of(overlay, "proc:/proc/self/mounts")


def _wsl(root: Path) -> Reading[bool]:
    text = text_of(root / "proc/version")
    if text is None:
        return Reading.absent("unknown", "proc:/proc/version")
    return Reading.of("microsoft" in text.lower(), "proc:/proc/version")


def _jetson(root: Path) -> Reading[str]:
    """Read the model of a Jetson module; NVIDIA's Jetson Linux leaves a release file of its own."""
    release, source = "etc/nv_tegra_release", "proc:/proc/device-tree/model"
    model = (text_of(root / "proc/device-tree/model") or "").strip("\0\n ")
    if "jetson" in model.lower() or (model and exists(root / release)):
        return Reading.of(model, source)
    if exists(root / release):
        return Reading.of("unknown model", f"file:/{release}")
    return Reading.absent("not_supported", source)
