"""A machine as selwiz saw it: the shape of `selwiz probe --json` and of a recorded machine file.

Every model is frozen and refuses unknown keys; units are in the names; whatever the machine may fail to say
is a `Reading`. GB/s is 10^9 bytes a second; GPU power is in watts; clocks are in MHz as the driver counts
them.
"""

from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from probes.reading import PLAN, Reading, Why

MemoryKind = Literal["dedicated", "unified", "partition", "profile"]
"""`dedicated`: the card's own, also where nothing says otherwise. `unified`: shared with the CPU.
`partition`: MIG is on, so only its slices can be used. `profile`: what a vGPU profile grants."""

Build = Literal["cuda", "cpu", "rocm", "xpu", "tpu", "unknown"]


# What a machine file of an older version does not hold.
_ABSENT: Reading[Any] = Reading.absent("not_in_capture", "recorded")


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Driver(_Fact):
    """The GPU driver: its version, the highest CUDA version it serves ("13.0"), its NVML's version."""

    version: Reading[str]
    cuda: Reading[str]
    nvml: Reading[str]
    branch: Reading[str] = _ABSENT
    confidential_computing: Reading[bool] = _ABSENT  # on: transfers go through a bounce buffer
    cuda_start: Reading[str] = _ABSENT  # what CUDA's initialisation answered: "ok", or its code ("error 802")


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
    board_part_number: Reading[str] = _ABSENT
    minor_number: Reading[int] = _ABSENT  # of /dev/nvidia<n>; it need not be the index
    mem_clock_mhz: Reading[int] = _ABSENT  # now, as are all without `max`
    sm_clock_mhz: Reading[int] = _ABSENT
    clock_limited_by: Reading[str] = _ABSENT  # what holds the clocks down now, "none" for nothing
    power_w: Reading[float] = _ABSENT
    energy_j: Reading[float] = _ABSENT  # since the driver was loaded
    temperature_c: Reading[int] = _ABSENT
    temperature_margin_c: Reading[int] = _ABSENT  # up to where the GPU slows down
    memory_temperature_c: Reading[int] = _ABSENT
    ecc_pending: Reading[bool] = _ABSENT  # after the next reset
    ecc_errors_corrected: Reading[int] = _ABSENT  # over the GPU's life, as the next
    ecc_errors_uncorrected: Reading[int] = _ABSENT
    remapped_rows_corrected: Reading[int] = _ABSENT
    remapped_rows_uncorrected: Reading[int] = _ABSENT
    row_remap_pending: Reading[bool] = _ABSENT
    row_remap_failed: Reading[bool] = _ABSENT
    recovery_action: Reading[str] = _ABSENT  # what the driver asks for, "none" for nothing
    c2c_enabled: Reading[bool] = _ABSENT  # the coherent link to the CPU
    fabric_spans_nodes: Reading[bool] = _ABSENT  # the GPU is in a cluster of NVLink that may span computers
    fabric_clique: Reading[int] = _ABSENT
    fabric_health: Reading[str] = _ABSENT
    pcie_gen_device_max: Reading[int] = _ABSENT  # the device's alone, without the slot's
    bar1_total_bytes: Reading[int] = _ABSENT
    cpu_affinity: Reading[str] = _ABSENT  # ideal CPUs, as ranges ("0-31,64-95")
    memory_affinity: Reading[str] = _ABSENT  # ideal NUMA nodes, as ranges
    own_numa_node: Reading[int] = _ABSENT  # where the GPU's memory itself is a NUMA node
    nvlink_version: Reading[str] = _ABSENT
    utilization_percent: Reading[int] = _ABSENT
    process_count: Reading[int] = _ABSENT  # running compute processes; a container sees few or none of them
    process_memory_bytes: Reading[int] = _ABSENT  # what they hold, as far as they are seen
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
    `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, or `unknown`. `gb_s` is the raw sum of the NVLinks in one direction
    (vendors advertise a little less), on PCIe what the narrower of the two GPUs' links can carry at most, and
    null where it is not known.
    """

    a: int
    b: int
    kind: Literal["nvlink", "pcie", "unknown"]
    level: str
    gb_s: float | None = None
    peer_access: Reading[bool]  # whether each may read the other's memory
    peer_write: Reading[bool] = _ABSENT
    peer_atomics: Reading[bool] = _ABSENT


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
    jetson: Reading[str] = _ABSENT  # the model, where the computer is one of NVIDIA's Jetson modules


class Interface(_Fact):
    """A network interface that is up and leads to other computers; its addresses are left out on purpose.

    `driver` is the kernel's ("mlx5_core"). `speed_mb_s` counts 10^6 bytes a second in one direction.
    """

    driver: Reading[str]
    speed_mb_s: Reading[float]
    mtu_bytes: Reading[int]


class Shell(_Fact):
    """What the shell that started selwiz lets a CUDA program see.

    `visible_gpus` are NVML indices in the order in which CUDA counts them; `visible_slices` the UUIDs of MIG slices.
    """

    cuda_visible_devices: Reading[str] = _ABSENT
    cuda_device_order: Reading[str] = _ABSENT
    visible_gpus: Reading[tuple[int, ...]] = _ABSENT
    visible_slices: Reading[tuple[str, ...]] = _ABSENT


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


class NodeKind(_Fact):
    """What equal nodes of a fleet have in common; readings that change by the minute are those of the first of them."""

    driver: Driver
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    host: Host
    shell: Shell = Shell()
    runtimes: tuple[RuntimeFound, ...]
    interfaces: tuple[Interface, ...] = ()

    @property
    def usable_gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that a runtime could use."""
        return tuple(gpu for gpu in self.gpus if gpu.usable)


class Node(_Fact):
    """One node of a fleet. `name` is its part in the fleet ("node-3"), never its host name.

    `kind` is its place in `Machine.kinds`. `memory_free_bytes` is that of its GPU with the least.
    """

    name: str
    kind: int
    gpu_uuids: tuple[str, ...] = ()
    memory_free_bytes: Reading[int] = _ABSENT


class Problem(_Fact):
    """Something that a person should know or mend: one plain sentence and one piece of advice.

    `nodes` names the nodes of a fleet that it is true for.
    """

    code: str = Field(pattern=r"^[a-z][a-z_]*$")
    gpu: int | None = None
    nodes: tuple[str, ...] = ()
    message: str
    advice: str


class Machine(_Fact):
    """Everything that the probe read. `model_dump_json()` is the JSON of `selwiz probe --json`.

    Of a fleet, `nodes` lists every node that answered, GPUs, host and runtimes are those of its weakest kind of node
    (the least GPU memory), and `other_kinds` holds the kinds that differ from it.
    """

    schema_version: Literal[1] = 1
    recorded: bool = False
    tool_version: str
    taken_at: AwareDatetime
    driver: Driver
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    host: Host
    shell: Shell = Shell()
    runtimes: tuple[RuntimeFound, ...]
    problems: tuple[Problem, ...]
    interfaces: tuple[Interface, ...] = ()
    nodes: tuple[Node, ...] = ()
    other_kinds: tuple[NodeKind, ...] = ()

    @model_validator(mode="after")
    def _every_node_has_a_kind(self) -> Self:
        if any(not 0 <= node.kind <= len(self.other_kinds) for node in self.nodes):
            raise ValueError("a node names a kind that is not there")
        return self

    @property
    def kinds(self) -> tuple[NodeKind, ...]:
        """The kinds of nodes; `Node.kind` counts in this order. A machine that is no fleet has one."""
        own = NodeKind(**{name: getattr(self, name) for name in NodeKind.model_fields})
        return (own, *self.other_kinds)

    @property
    def usable_gpu_count(self) -> int:
        """The GPUs that a runtime could use, over all nodes."""
        own = sum(gpu.usable for gpu in self.gpus)
        if not self.nodes:
            return own
        each = [own, *(len(kind.usable_gpus) for kind in self.other_kinds)]
        return sum(each[node.kind] for node in self.nodes)

    @property
    def planned(self) -> bool:
        """Whether the machine will be bought: the catalogue described it and nothing was read from it."""
        return any(gpu.name.source == PLAN for gpu in self.gpus)
