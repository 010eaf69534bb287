"""The host, read from files made for the purpose and from this computer."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from probes.driver_files import module_version, numa_node
from probes.host import read_host
from probes.machine import Host

GIB = 1024**3
NO_ENVIRONMENT: dict[str, str] = {}

Read = Callable[..., Host]


@pytest.fixture
def host(tmp_path: Path) -> Read:
    """Reads a host whose files are given as name → text."""

    def read(files: Mapping[str, str] | None = None, environ: Mapping[str, str] = NO_ENVIRONMENT) -> Host:
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return read_host(tmp_path, environ)

    return read


def test_this_computer_has_memory() -> None:
    assert (read_host().memory_total_bytes.value or 0) > 0


def test_this_computer_can_be_asked_for_every_disk() -> None:
    assert [disk.purpose for disk in read_host().disks if disk.free_bytes.known] == [
        "cache",
        "working_directory",
        "temporary",
    ]


def test_a_cache_that_is_not_there_yet_is_measured_where_it_will_be(host: Read, tmp_path: Path) -> None:
    cache = next(disk for disk in host(environ={"HF_HOME": str(tmp_path / "not/yet")}).disks if disk.purpose == "cache")
    assert cache.free_bytes.known


def test_the_host_name_is_not_recorded() -> None:
    assert not {"hostname", "host_name", "node", "name"} & set(Host.model_fields)


def test_nothing_is_made_up_where_there_are_no_files(host: Read) -> None:
    assert (host().cpu_model.why, host().os_name.why, host().wsl.why) == ("unknown", "unknown", "unknown")


def test_cpu_model(host: Read) -> None:
    assert host({"proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9654\n"}).cpu_model.value == "AMD EPYC 9654"


def test_os_name(host: Read) -> None:
    assert (
        host({"etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n'}).os_name.value
        == "Debian GNU/Linux 12"
    )


def test_the_memory_limit_of_a_control_group_counts(host: Read) -> None:
    usable = host({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{GIB}\n"}).memory_usable_bytes
    assert (usable.value, usable.source) == (GIB, "cgroup:memory.max")


def test_a_control_group_without_a_limit_leaves_the_memory(host: Read) -> None:
    found = host({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"})
    assert found.memory_usable_bytes == found.memory_total_bytes


def test_the_limit_of_a_parent_group_binds(host: Read) -> None:
    files = {
        "proc/self/cgroup": "0::/pod/container\n",
        "sys/fs/cgroup/pod/container/memory.max": "max\n",
        "sys/fs/cgroup/pod/memory.max": f"{GIB}\n",
    }
    assert host(files).memory_usable_bytes.value == GIB


def test_the_memory_limit_of_an_old_control_group_counts(host: Read) -> None:
    files = {"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n"}
    assert host(files).memory_usable_bytes.value == GIB


def test_the_old_word_for_no_limit_is_no_limit(host: Read) -> None:
    files = {"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2**63 - 4096}\n"}
    assert host(files).memory_usable_bytes == host(files).memory_total_bytes


def test_the_cpu_quota_of_a_control_group_counts(host: Read) -> None:
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}
    assert host(files).cpu_usable_cores.value == 0.5


def test_the_cpu_quota_of_an_old_control_group_counts(host: Read) -> None:
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert host(files).cpu_usable_cores.value == 0.5


@pytest.mark.parametrize(
    "files",
    [
        {".dockerenv": ""},
        {"run/.containerenv": ""},
        {"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"},
        {"proc/self/mounts": "overlay / overlay rw 0 0\n"},
    ],
    ids=["docker", "podman", "kubernetes", "overlay"],
)
def test_a_container_is_recognised(host: Read, files: dict[str, str]) -> None:
    assert host(files).in_container.value is True


def test_a_container_is_recognised_by_its_environment(host: Read) -> None:
    assert host(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).in_container.value is True


def test_a_plain_computer_is_no_container(host: Read) -> None:
    assert host({"proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n"}).in_container.value is False


def test_wsl_is_recognised(host: Read) -> None:
    assert host({"proc/version": "Linux version 5.15.90.1-microsoft-standard-WSL2\n"}).wsl.value is True


def test_a_missing_gcc_is_seen(host: Read, tmp_path: Path) -> None:
    assert host(environ={"PATH": str(tmp_path)}).gcc.value is False


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023", "535.104.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build", "580.105.08"),
    ],
    ids=["closed", "open"],
)
def test_the_version_of_the_loaded_module(tmp_path: Path, text: str, version: str) -> None:
    path = tmp_path / "proc/driver/nvidia/version"
    path.parent.mkdir(parents=True)
    path.write_text(text + "\nGCC version:  gcc version 12.2.0\n")
    assert module_version(tmp_path).value == version


def test_no_module_is_loaded(tmp_path: Path) -> None:
    assert module_version(tmp_path).why == "not_supported"


@pytest.mark.parametrize(("text", "node", "why"), [("1\n", 1, None), ("-1\n", None, "not_supported")])
def test_numa_node(tmp_path: Path, text: str, node: int | None, why: str | None) -> None:
    path = tmp_path / "sys/bus/pci/devices/0019:01:00.0/numa_node"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    found = numa_node("00000019:01:00.0", tmp_path)
    assert (found.value, found.why) == (node, why)
