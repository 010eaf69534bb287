"""Rules on whether the proposed GPUs, their links, their driver and their host carry the runtime.

What a probe read may block. What rests on the catalogue, because the hardware will be bought, is a note: it is checked
on delivery.
"""

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple

from probes.cuda import COMPATIBLE_BRANCHES, CUDA_DRIVERS, WORKSTATION, branch_in
from probes.machine import Gpu, Machine
from wizard.advice.needs import native_capability
from wizard.catalogue import GpuRow, engine_id, engines, gpus, gpus_named
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import carried_model, same_gpu, usable_gpus
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, counted, finding, listed, number
from wizard.serving.fit import cuda_major
from wizard.serving.gpu_needs import format_needs
from wizard.serving.spread import spread

_GPU = "runtime.hardware.gpu"
_ON_DELIVERY = "Make it a condition of acceptance, and probe the machine on delivery."
#: Drivers below branch 580 that a CUDA 13 container with NVIDIA's compatibility package may use, on data centre GPUs.


class ProposedGpu(NamedTuple):
    """The proposed GPU: as it was probed (`probed` holds those of its name), or as the catalogue knows it."""

    name: str
    probed: tuple[Gpu, ...]
    machine: Machine | None
    row: GpuRow | None

    @property
    def capability(self) -> str | None:
        """The compute capability; of several GPUs the least."""
        known = [gpu.compute_capability.value for gpu in self.probed if gpu.compute_capability.value is not None]
        if known:
            return min(known, key=_order)
        return self.row.compute_capability if self.row else None

    @property
    def was_read(self) -> bool:
        """Whether the compute capability was read from the GPU itself."""
        return any(gpu.compute_capability.value is not None for gpu in self.probed)


def proposed_gpu(selection: Selection) -> ProposedGpu | None:
    """What is known of the proposed GPU; None where none is proposed."""
    name, machine = selection.answers.runtime.hardware.gpu, selection.machine
    if name is None:
        return None
    probed: tuple[Gpu, ...] = ()
    if machine is not None and not machine.planned:
        probed = tuple(g for g in usable_gpus(machine) if g.name.value is not None and same_gpu(g.name.value, name))
    rows = gpus_named(name)
    row = rows[0] if len({row.compute_capability for row in rows}) == 1 else None
    return ProposedGpu(name, probed, machine if probed else None, row)


def _order(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split(".") if part.isdigit())


def of_every_kind(check: Callable[[Selection], list[Finding]]) -> Callable[[Selection], list[Finding]]:
    """Make a rule look at each kind of node of a fleet; what it says of several is said once."""

    def checked(selection: Selection) -> list[Finding]:
        machine = selection.machine
        if machine is None or not machine.other_kinds:
            return check(selection)
        found: list[Finding] = []
        for kind in machine.kinds:
            facts = {name: getattr(kind, name) for name in type(kind).model_fields}
            alone = machine.model_copy(update=facts | {"other_kinds": (), "nodes": ()})
            found += [one for one in check(selection.model_copy(update={"machine": alone})) if one not in found]
        return found

    return checked


def capability_suffices(selection: Selection) -> list[Finding]:
    """C1: the GPU has the compute capability that runtime, weight format and cache type need at least."""
    # vLLM 0.33.0: TORCH_CUDA_ARCH_LIST of the wheel; get_min_capability of each format, as vLLM itself answered;
    # FP8 caches need FlashInfer or a later Triton, so 8.0 (attention backends).
    gpu = proposed_gpu(selection)
    if gpu is None or gpu.capability is None:
        return []
    severity: Severity = "block" if gpu.was_read else "note"
    found = []
    for need, what, key in _least(selection):
        if _order(gpu.capability) < _order(need):
            message = f"{what} needs compute capability {need}; {gpu.name} has {gpu.capability}."
            remedy = f"Propose a GPU from {need} on, or another format." if gpu.was_read else _ON_DELIVERY
            found.append(finding("C1", severity, message, key, remedy))
    return found


def _least(selection: Selection) -> list[tuple[str, str, str]]:
    """What needs how much at least, and the question that decides it."""
    found = []
    product = engines().get(engine_id(selection.answers.runtime.product) or "")
    if product is not None and product.min_compute_capability is not None:
        found.append((product.min_compute_capability, product.name, _GPU))
    keys = {"weights": _format_key(selection), "cache": "runtime.settings.kv_cache_dtype"}
    needs = format_needs(selection.answers, selection.launch, weight_format(selection))
    return found + [(need.capability, need.what, keys[need.of]) for need in needs]


def weight_format(selection: Selection) -> str | None:
    """The weight format that is proposed: set by a flag, or that of the checkpoint."""
    setting, carried = selection.launch.find("--quantization"), carried_model(selection)
    if setting is not None and setting.value not in (None, "none"):
        return setting.value
    return carried[2].quantization if carried and carried[2] else None


def _format_key(selection: Selection) -> str:
    if selection.launch.find("--quantization") is not None:
        return "runtime.settings.quantization"
    carried = carried_model(selection)
    return f"engine.models[{carried[0] if carried else 0}].name"


def format_is_native(selection: Selection) -> list[Finding]:
    """C2: the GPU computes in the weight format, and does not only store the weights in it."""
    # vLLM 0.33.0: FP8 below 8.9 and FP4 below 10.0 run weight-only through Marlin: less memory, no faster arithmetic.
    gpu, method = proposed_gpu(selection), weight_format(selection)
    native = native_capability(method)
    if gpu is None or gpu.capability is None or native is None or _order(gpu.capability) >= _order(native):
        return []
    if any(_order(gpu.capability) < _order(need) for need, _, _ in _least(selection)):
        return []  # it does not run at all, which C1 says
    message = (
        f"{gpu.name} (compute capability {gpu.capability}) stores {method} and executes weight-only; "
        f"it computes in that format from {native} on."
    )
    remedy = (
        "Expect the memory and not the speed of the format, or propose a newer GPU." if gpu.was_read else _ON_DELIVERY
    )
    return [finding("C2", "warn" if gpu.was_read else "note", message, _format_key(selection), remedy)]


def gpus_are_fit_for_service(selection: Selection) -> list[Finding]:
    """C12: tensor parallel GPUs are linked, none is partitioned, and their memory corrects errors."""
    # vLLM 0.33.0 docs/serving/parallelism_scaling.md: without NVLink pipeline parallelism gives more throughput;
    # MLPerf inference rules: ECC in the data centre.
    gpu = proposed_gpu(selection)
    if gpu is None:
        return []
    found, size = [], selection.answers.runtime.layout.tensor_parallel or 1
    if gpu.machine is not None:
        inside = {one.index for one in gpu.probed}
        links = [link for link in gpu.machine.links if {link.a, link.b} <= inside]
        if size > 1 and links and not any(link.kind == "nvlink" for link in links):
            message = f"{counted(size, 'GPU')} share every layer, and the probe found no NVLink between them."
            remedy = "Consider pipeline parallelism, which needs little of the links, or GPUs with NVLink."
            found.append(finding("C12", "warn", message, "runtime.layout.tensor_parallel", remedy))
        sliced = [one.index for one in gpu.probed if one.mig.enabled.value]
        if sliced:
            message = f"MIG is on (GPU {listed([str(index) for index in sliced])}): only slices can be used."
            remedy = "Have whoever runs the machine switch MIG off, or size for one slice."
            found.append(finding("C12", "warn", message, _GPU, remedy))
        if any(one.ecc_enabled.value is False for one in gpu.probed):
            message = "ECC is off: a flipped bit in GPU memory goes unnoticed."
            found.append(finding("C12", "warn", message, _GPU, "Have ECC switched on before the measurement."))
    elif size > 1 and gpu.row is not None and gpu.row.nvlink_generation is None:
        message = f"{counted(size, 'GPU')} share every layer, and the catalogue knows no NVLink of {gpu.name}."
        found.append(finding("C12", "note", message, "runtime.layout.tensor_parallel", _ON_DELIVERY))
    return found


def driver_carries_the_build(selection: Selection) -> list[Finding]:
    """C13: the driver is new enough for the CUDA version of the runtime's build."""
    # NVIDIA CUDA toolkit release notes: CUDA 13 needs branch 580, CUDA 12 branch 525; vLLM 0.33.0
    # docs/getting_started/installation/gpu.cuda.inc.md: compatibility containers on 535 and 570.
    major, gpu = cuda_major(selection), proposed_gpu(selection)
    need = CUDA_DRIVERS.get(major or 0)
    if need is None:
        return []
    if gpu is not None and gpu.machine is not None:
        text, key, whose = gpu.machine.driver.version.value, "runtime.version", "The probed machine has"
    else:
        text, key, whose = (
            selection.answers.runtime.hardware.driver,
            "runtime.hardware.driver",
            "The proposed driver is",
        )
    branch = branch_in(text)
    if branch is None or branch >= need:
        return []
    message = f"The build for CUDA {major} needs driver branch {need} or later. {whose} branch {branch}."
    compatible = need == CUDA_DRIVERS[13] and branch in COMPATIBLE_BRANCHES
    if compatible and gpu is not None and not WORKSTATION.search(gpu.name):
        remedy = (
            "Update the driver, or run a container with NVIDIA's compatibility package, which data centre GPUs allow."
        )
        return [finding("C13", "warn", message, key, remedy)]
    return [finding("C13", "block", message, key, "Update the driver, or take a build for an older CUDA.")]


def host_has_cores(selection: Selection) -> list[Finding]:
    """C20: the host has the CPU cores that the runtime's processes need."""
    # vLLM 0.33.0 docs/configuration/optimization.md: 2 + N physical cores for N GPUs; with data parallelism
    # A + DP + N + 1, where A is the number of API servers.
    gpu, over = proposed_gpu(selection), spread(selection.answers)
    count = over.gpus_per_node
    if gpu is None or gpu.machine is None or count is None or selection.launch.runtime != "vllm":
        return []
    cores = gpu.machine.host.cpu_physical_cores.value
    ranks = max(1, over.data // over.nodes)
    servers = selection.launch.find("--api-server-count")
    typed = servers.value if servers else None
    asked = int(typed) if typed is not None and typed.isdigit() else ranks
    need = 2 + count if ranks == 1 else asked + ranks + count + 1
    if cores is None or cores >= need:
        return []
    message = f"{counted(count, 'GPU')} want {number(need)} physical cores, the probed machine has {number(cores)}."
    remedy = "Propose a host with more cores: without them the GPUs wait for the scheduler."
    return [finding("C20", "warn", message, "runtime.hardware.gpus_per_replica", remedy)]


def gpu_is_known(selection: Selection) -> list[Finding]:
    """C24: the catalogue knows the proposed GPU, so that memory, rates and formats can be looked up."""
    # NVML gives the full name; the form factors of one chip are different products.
    gpu = proposed_gpu(selection)
    if gpu is None or gpus_named(gpu.name):
        return []
    near = _near(gpu.name)
    remedy = f"Near names are {listed(near)}." if near else "Write the name that nvidia-smi shows, or measure on it."
    if gpu.probed:
        message = f"The catalogue does not know {gpu.name}; only what was read from it is said of it."
        return [finding("C24", "note", message, _GPU, remedy)]
    message = f"The catalogue does not know {gpu.name}: no rule can look up its memory, rates or formats."
    return [finding("C24", "warn", message, _GPU, remedy)]


def _near(name: str) -> list[str]:
    """At most three names of the catalogue that were perhaps meant: those that hold the words, then the nearest.

    Compared are as many words of each name as were typed, so that the memory that a name ends with does not count.
    """
    known = [row.name for row in gpus()]
    known += [row.nvml_name for row in gpus() if re.fullmatch(r"[\w -]+", row.nvml_name)]
    typed = _words_of(name)
    if not typed:
        return []
    holding = [full for full in known if " ".join(typed) in " ".join(_words_of(full))]
    starts: dict[str, list[str]] = {}
    for full in known:
        starts.setdefault(" ".join(_words_of(full)[: len(typed)]), []).append(full)
    alike = difflib.get_close_matches(" ".join(typed), starts, 3, 0.6)
    return list(dict.fromkeys([*holding, *(full for start in alike for full in starts[start])]))[:3]


def _words_of(name: str) -> list[str]:
    return name.casefold().removeprefix("nvidia ").split()


RULES = (
    Rule(
        "C1",
        "The GPU has the compute capability that runtime and formats need",
        ("block", "note"),
        "vLLM itself, get_min_capability, as kept in the catalogue; docker/Dockerfile for the wheel",
        of_every_kind(capability_suffices),
        "Propose a GPU that is new enough, or another weight format.",
    ),
    Rule(
        "C2",
        "The GPU computes in the weight format",
        ("warn", "note"),
        "vLLM 0.33.0, docs/features/quantization: below it the format is executed weight-only",
        of_every_kind(format_is_native),
        "Expect the memory of the format and not its speed, or propose a newer GPU.",
    ),
    Rule(
        "C12",
        "The GPUs are linked, whole, and correct errors",
        ("warn", "note"),
        "vLLM 0.33.0, docs/serving/parallelism_scaling.md; MLPerf inference rules: ECC",
        of_every_kind(gpus_are_fit_for_service),
        "Use linked GPUs or pipeline parallelism; have MIG switched off and ECC on.",
    ),
    Rule(
        "C13",
        "The driver carries the CUDA version of the build",
        ("block", "warn"),
        "NVIDIA CUDA toolkit release notes, minimum driver versions",
        of_every_kind(driver_carries_the_build),
        "Update the driver, or take a build for an older CUDA.",
    ),
    Rule(
        "C20",
        "The host has enough CPU cores",
        ("warn",),
        "vLLM 0.33.0, docs/configuration/optimization.md: 2 + N physical cores for N GPUs",
        of_every_kind(host_has_cores),
        "Propose a host with two physical cores and one more for each GPU.",
    ),
    Rule(
        "C24",
        "The catalogue knows the proposed GPU",
        ("warn", "note"),
        "the catalogue of GPUs, by the names that NVML gives",
        gpu_is_known,
        "Write the full name that nvidia-smi shows; measure on a GPU that the catalogue does not know.",
    ),
)
