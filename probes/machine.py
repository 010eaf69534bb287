"""A machine as selwiz saw it: the shape of `selwiz probe --json` and of a recorded machine file.

Every model is frozen and refuses unknown keys; units are in the names; whatever the machine may fail to say
is a `Reading`. GB/s is 10^9 bytes a second; GPU power is in watts; clocks are in MHz as the driver counts
them.
"""

from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from probes.reading import Reading, Why

MemoryKind = Literal["dedicated", "unified", "partition", "profile"]
"""`dedicated`: the card's own, also where nothing says otherwise. `unified`: shared with the CPU.
`partition`: MIG is on, so only its slices can be used. `profile`: what a vGPU profile grants."""

Build = Literal["cuda", "cpu", "rocm", "xpu", "tpu", "unknown"]


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Driver(_Fact):
    """The GPU driver: its version, the highest CUDA version it serves ("13.0"), its NVML's version."""

    version: Reading[str]
    cuda: Reading[str]
    nvml: Reading[str]


class MigInstance(_Fact):
    """One MIG slice, addressed by its own UUID."""

    index: int
    uuid: Reading[str]
    name: Reading[str]
    memory_total_bytes: Reading[int]
    memory_free_bytes: Reading[int]
    multiprocessor_count: Reading[int]
    gpu_instance_id: Reading[int]
    compute_instance_id: Reading[int]


class MigState(_Fact):
    """Whether a GPU is partitioned, now and after its next reset, and into what."""

    enabled: Reading[bool]
    pending: Reading[bool]
    instances: tuple[MigInstance, ...] = ()


class Gpu(_Fact):
    """One GPU. Its identity is the UUID; `index` is NVML's order, which need not be CUDA's."""

    index: int
    uuid: Reading[str]
    name: Reading[str]
    pci_bus_id: Reading[str]
    architecture: Reading[str]
    brand: Reading[str]
    compute_capability: Reading[str]
    cuda_cores: Reading[int]
    memory_total_bytes: Reading[int]
    memory_free_bytes: Reading[int]
    memory_used_bytes: Reading[int]
    memory_reserved_bytes: Reading[int]
    memory_kind: MemoryKind
    memory_bus_width_bits: Reading[int]
    memory_bandwidth_gb_s: Reading[float]
    max_mem_clock_mhz: Reading[int]
    max_sm_clock_mhz: Reading[int]
    power_limit_w: Reading[float]  # the limit in force
    power_limit_default_w: Reading[float]
    power_limit_max_w: Reading[float]
    ecc_enabled: Reading[bool]
    persistence_mode: Reading[bool]
    compute_mode: Reading[str]
    virtualization_mode: Reading[str]
    addressing_mode: Reading[str]
    numa_node: Reading[int]
    fabric_state: Reading[str]
    pcie_gen_max: Reading[int]  # the lesser of the device's and the slot's
    pcie_gen_current: Reading[int]  # drops when the GPU is idle
    pcie_width_max: Reading[int]
    pcie_width_current: Reading[int]
    nvlink_count: Reading[int]
    nvlink_active_count: Reading[int]
    nvlink_speed_mb_s: Reading[int]  # raw, of one link, in one direction
    mig: MigState
    usable: bool
    unusable_because: str | None = None

    @classmethod
    def sparse(cls, index: int, *, why: Why, source: str, **known: Any) -> Self:
        """Make a GPU of which only `known` is known; every other reading is absent for the reason `why`.

        Units and meanings are those of the fields. Raises `pydantic.ValidationError` for an unknown field.
        """
        absent = {"why": why, "source": source}
        fields: dict[str, Any] = {
            name: absent for name in cls.model_fields if name not in _NOT_READINGS and name not in known
        }
        fields |= {"memory_kind": "dedicated", "mig": {"enabled": absent, "pending": absent}, "usable": True}
        return cls.model_validate(fields | known | {"index": index})


_NOT_READINGS = frozenset({"index", "memory_kind", "mig", "usable", "unusable_because"})


class Link(_Fact):
    """How two GPUs (by NVML index) reach each other.

    `level` is `NV<links>` for NVLink, else the PCIe path in the words of `nvidia-smi topo`: `internal`,
    `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, or `unknown`. `gb_s` is the raw sum of the links in one direction,
    null where it is not known; vendors advertise a little less.
    """

    a: int
    b: int
    kind: Literal["nvlink", "pcie", "unknown"]
    level: str
    gb_s: float | None = None
    peer_access: Reading[bool]  # whether each may read the other's memory


class Disk(_Fact):
    """Free space where selwiz and the runtime put things; the path is not kept, it may hold a user's name."""

    purpose: Literal["cache", "working_directory", "temporary"]
    total_bytes: Reading[int]
    free_bytes: Reading[int]


class Host(_Fact):
    """The computer around the GPUs. Its name and addresses are left out on purpose."""

    os_name: Reading[str]
    kernel: Reading[str]
    glibc: Reading[str]
    machine_architecture: Reading[str]
    python: Reading[str]
    cpu_model: Reading[str]
    cpu_physical_cores: Reading[int]
    cpu_logical_cores: Reading[int]
    cpu_usable_cores: Reading[float]  # after CPU affinity and the control group's quota
    memory_total_bytes: Reading[int]
    memory_available_bytes: Reading[int]
    memory_usable_bytes: Reading[int]  # the lesser of the RAM and the control group's limit
    shm_total_bytes: Reading[int]
    shm_free_bytes: Reading[int]
    disks: tuple[Disk, ...]
    in_container: Reading[bool]
    wsl: Reading[bool]
    gcc: Reading[bool]  # whether a C compiler named gcc is on the path; Triton needs one at run time
    nvidia_module: Reading[str]  # version of the kernel module that is loaded


class RuntimeFound(_Fact):
    """A runtime installed on this machine, found on disk without importing it.

    `interpreter`, `executable` and `package_dir` are absolute paths. `cuda_major` is the CUDA version that
    the build was made for, null where its metadata do not say.
    """

    product: Literal["vllm"] = "vllm"
    version: str
    build: Build
    cuda_major: int | None = None
    distribution: str
    interpreter: str
    executable: str | None = None
    package_dir: str | None = None
    torch_version: str | None = None
    found_by: Literal["option", "this_environment", "path"]


class Problem(_Fact):
    """Something that a person should know or mend: one plain sentence and one piece of advice."""

    code: str = Field(pattern=r"^[a-z][a-z_]*$")
    gpu: int | None = None
    message: str
    advice: str


class Machine(_Fact):
    """Everything that the probe read. `model_dump_json()` is the JSON of `selwiz probe --json`."""

    schema_version: Literal[1] = 1
    recorded: bool = False
    tool_version: str
    taken_at: AwareDatetime
    driver: Driver
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    host: Host
    runtimes: tuple[RuntimeFound, ...]
    problems: tuple[Problem, ...]
