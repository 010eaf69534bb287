"""What the readings of a machine, taken together, say that a person should know or mend."""

import re
from collections.abc import Iterator, Sequence

from probes.machine import Driver, Gpu, Host, Link, Problem, RuntimeFound, Shell
from probes.problems import problem
from probes.shell import is_mixed

#: The least driver branch for a runtime built for a CUDA version (NVIDIA, CUDA 13.0 release notes, table of drivers).
BRANCH_FOR_CUDA = {12: 525, 13: 580}
#: The least compute capability of CUDA 13, which dropped what came before Turing (NVIDIA, CUDA 13.0 release notes).
LEAST_CAPABILITY_OF_CUDA_13 = (7, 5)
#: The C library that vLLM's wheels ask for by their tag (vLLM 0.33.0, manylinux_2_28).
LEAST_GLIBC = (2, 28)
#: Docker's own size of /dev/shm is 64 MiB, too small for NCCL between GPUs (NVIDIA, NCCL troubleshooting).
LEAST_SHM_BYTES = 1 << 30
#: CUDA's code for "system not yet initialized", as a fabric that is not ready gives it (cuda.h).
_FABRIC_CODE = "error 802"


def findings(
    driver: Driver,
    gpus: Sequence[Gpu],
    links: Sequence[Link],
    host: Host,
    shell: Shell,
    runtimes: Sequence[RuntimeFound],
    earlier: Sequence[Problem] = (),
) -> tuple[Problem, ...]:
    """List what is to be said beyond `earlier`, the failures of the reading itself; the gravest first."""
    found = [
        *_several(gpus),
        *_cuda(driver, gpus, shell, earlier),
        *_runtime(driver, gpus, host, runtimes, earlier),
        *(one for gpu in gpus for one in _gpu(gpu)),
        *_shell(gpus, shell, runtimes),
        *_host(driver, gpus, host),
        *_peers(links),
    ]
    return tuple(found)


def mixes_up_processes(version: str | None) -> bool:
    """Whether this driver changed the structure of a process without a new version number: 535.43 to 535.98."""
    return (535, 43) <= (_number(version, 2) or (0, 0)) < (535, 104)


def _several(gpus: Sequence[Gpu]) -> Iterator[Problem]:
    """Say how many GPUs could not be read, where others could."""
    unread = [gpu for gpu in gpus if not gpu.usable and gpu.name.value is None]
    if unread and any(gpu.name.known for gpu in gpus):
        reasons = ", ".join(sorted({(gpu.name.why or "unknown").replace("_", " ") for gpu in unread}))
        yield problem("some_unreadable", unread=len(unread), all=len(gpus), reasons=reasons)


def _cuda(driver: Driver, gpus: Sequence[Gpu], shell: Shell, earlier: Sequence[Problem]) -> Iterator[Problem]:
    answer = driver.cuda_start.value
    seen = shell.visible_gpus.value != () or bool(shell.visible_slices.value)
    if answer in (None, "ok") or not seen or not any(gpu.usable for gpu in gpus):
        return
    if not any(one.code == "fabric_not_ready" for one in earlier):
        yield problem("fabric_not_ready_cuda" if answer == _FABRIC_CODE else "cuda_cannot_start", text=answer)


def _runtime(
    driver: Driver, gpus: Sequence[Gpu], host: Host, runtimes: Sequence[RuntimeFound], earlier: Sequence[Problem]
) -> Iterator[Problem]:
    """Hold the runtime to be used, the first, against driver, GPUs and host."""
    first = next((runtime for runtime in runtimes if runtime.build == "cuda"), None)
    if first is None:
        return
    name, branch = f"vLLM {first.version}", _number(driver.version.value, 1)
    if not gpus and earlier:
        yield problem("vllm_no_nvml", name=name, reason=earlier[0].message.rstrip("."))
    least = BRANCH_FOR_CUDA.get(first.cuda_major or 0)
    if least and branch and branch[0] < least:
        yield problem("driver_too_old", name=name, cuda=first.cuda_major, least=least, found=driver.version.value)
    for gpu in gpus:
        capability = _number(gpu.compute_capability.value, 2)
        if capability and (first.cuda_major or 0) >= 13 and capability < LEAST_CAPABILITY_OF_CUDA_13:
            yield problem("gpu_too_old", gpu.index, name=name, found=gpu.compute_capability.value)
    if host.gcc.value is False and gpus:
        yield problem("no_compiler")
    glibc = _number(host.glibc.value, 2)
    if glibc and glibc < LEAST_GLIBC:
        yield problem("glibc_too_old", name=name, found=host.glibc.value)


def _gpu(gpu: Gpu) -> Iterator[Problem]:
    """Look at one GPU that could be read: its health, its links and whose it is."""
    if gpu.memory_kind == "profile":
        yield problem("vgpu", gpu.index, text=_profile(gpu))
    if gpu.mig.instances and not gpu.memory_total_bytes.known:
        yield problem("slices_only", gpu.index)
    if gpu.mig.enabled.known and gpu.mig.pending.known and gpu.mig.enabled.value != gpu.mig.pending.value:
        yield problem("reset_pending", gpu.index, what="MIG", state=_switch(gpu.mig.pending.value))
    if gpu.ecc_enabled.known and gpu.ecc_pending.known and gpu.ecc_enabled.value != gpu.ecc_pending.value:
        yield problem("reset_pending", gpu.index, what="ECC", state=_switch(gpu.ecc_pending.value))
    if gpu.compute_mode.value == "exclusive_process":
        yield problem("exclusive_process", gpu.index)
    yield from _health(gpu)
    width, most = gpu.pcie_width_current.value, gpu.pcie_width_max.value
    if width and most and width < most:
        yield problem("pcie_narrow", gpu.index, width=width, most=most)
    active, count = gpu.nvlink_active_count.value, gpu.nvlink_count.value
    if active is not None and count and 0 < active < count:
        yield problem("nvlinks_down", gpu.index, active=active, count=count)


def _health(gpu: Gpu) -> Iterator[Problem]:
    asked = gpu.recovery_action.value
    if asked not in (None, "none"):
        yield problem("recovery_needed", gpu.index, action=asked)
    if gpu.row_remap_failed.value:
        yield problem("row_remap_failed", gpu.index)
    elif gpu.row_remap_pending.value:
        yield problem("row_remap_pending", gpu.index)
    if gpu.fabric_health.value not in (None, "healthy"):
        yield problem("fabric_unhealthy", gpu.index, text=(gpu.fabric_health.value or "").replace("_", " "))
    slowed = [
        word for word in ("hw_slowdown", "hw_thermal", "hw_power_brake") if word in (gpu.clock_limited_by.value or "")
    ]
    if slowed:
        yield problem("clocks_held_down", gpu.index, text=", ".join(slowed))


def _profile(gpu: Gpu) -> str:
    total = gpu.memory_total_bytes.value
    return "of unknown size" if total is None else f"of {total / 1024**3:.1f} GiB"


def _shell(gpus: Sequence[Gpu], shell: Shell, runtimes: Sequence[RuntimeFound]) -> Iterator[Problem]:
    raw = shell.cuda_visible_devices.value
    if raw is not None and gpus:
        seen = shell.visible_slices.value or shell.visible_gpus.value
        if seen is not None and len(seen) < sum(gpu.usable for gpu in gpus):
            yield problem("visible_devices", raw=_short(raw), seen=", ".join(map(str, seen)) or "none")
        if re.match(r"\s*(GPU|MIG)-", raw):
            for runtime in runtimes[:1]:
                yield problem("visible_by_uuid", version=runtime.version)
    if is_mixed(gpus) and not shell.cuda_device_order.known:
        yield problem("mixed_gpus")


def _host(driver: Driver, gpus: Sequence[Gpu], host: Host) -> Iterator[Problem]:
    if host.wsl.value and gpus:
        yield problem("wsl")
    if host.jetson.known and gpus:
        yield problem("jetson", model=host.jetson.value)
    if mixes_up_processes(driver.version.value):
        yield problem("process_memory_unreliable", found=driver.version.value)
    if driver.confidential_computing.value:
        yield problem("confidential_computing")
    shm = host.shm_total_bytes.value
    if sum(gpu.usable for gpu in gpus) > 1 and shm is not None and shm < LEAST_SHM_BYTES:
        yield problem("small_shm", size=f"{shm / 1024**2:.0f}")


def _peers(links: Sequence[Link]) -> Iterator[Problem]:
    blocked = [link for link in links if link.kind == "pcie" and link.peer_access.value is False]
    if blocked:
        yield problem("no_peer_access", pairs=len(blocked), all=len(links))


def _number(text: str | None, parts: int) -> tuple[int, ...] | None:
    """Read the first numbers of a version ("580.105.08")."""
    numbers = tuple(map(int, re.findall(r"\d+", text or "")[:parts]))
    return numbers or None


def _switch(value: bool | None) -> str:
    return "on" if value else "off"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
