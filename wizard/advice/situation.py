"""What is known of model, machine and workload, gathered for advice. None is "not known" everywhere."""

from dataclasses import dataclass

from probes.machine import Gpu, Machine
from probes.models import ModelFacts
from wizard.answers import Answers
from wizard.catalogue import gpu_row
from wizard.catalogue.rows import GpuRow
from wizard.serving.launch import Launch, launch

GIB = 1024**3


@dataclass(frozen=True)
class Situation:
    """The answers in force, the facts of the carried model, the machine, and the launch that the answers make.

    `gpu` is the catalogue's row of the proposed GPU; `found` are the machine's usable GPUs of that name: what was
    read there is true of what is proposed. `fits` says whether the model fits the GPUs of a replica.
    """

    answers: Answers
    launch: Launch
    facts: ModelFacts | None = None
    machine: Machine | None = None
    gpu: GpuRow | None = None
    found: tuple[Gpu, ...] = ()
    fits: bool | None = None

    @property
    def gpus_per_replica(self) -> int | None:
        """GPUs of one replica."""
        return self.answers.runtime.hardware.gpus_per_replica

    @property
    def has_gpu(self) -> bool | None:
        """Whether a GPU is proposed or there; None while neither was said nor looked at."""
        if self.answers.runtime.hardware.gpu is not None:
            return True
        return None if self.machine is None else any(gpu.usable for gpu in self.machine.gpus)

    @property
    def capability(self) -> tuple[str | None, str]:
        """The compute capability of the proposed GPU, and where it comes from in words."""
        read = {gpu.compute_capability.value for gpu in self.found} - {None}
        if len(read) == 1:
            return read.pop(), "read from the machine"
        if self.gpu is not None:
            return self.gpu.compute_capability, f"the catalogue's, of {self.gpu.name}"
        return None, "no GPU that the catalogue knows is proposed"

    @property
    def is_moe(self) -> bool | None:
        """Whether the model is a mixture of experts."""
        return None if self.facts is None else self.facts.is_moe

    @property
    def shares_text(self) -> bool | None:
        """Whether calls begin with the same text: a shared prefix, or earlier turns."""
        load = self.answers.runtime.workload
        if load.shared_prefix_tokens or (load.turns or 1) > 1:
            return True
        return None if load.shared_prefix_tokens is None else False


def situation_of(
    answers: Answers,
    facts: ModelFacts | None = None,
    machine: Machine | None = None,
    *,
    fits: bool | None = None,
    command: Launch | None = None,
) -> Situation:
    """Gather the situation of these answers; raises `UsageError` for further flags that are no flags."""
    name = answers.runtime.hardware.gpu
    found = tuple(gpu for gpu in machine.gpus if gpu.usable and _same(gpu.name.value, name)) if machine else ()
    memory = found[0].memory_total_bytes.value if found else None
    row = gpu_row(name, memory)
    return Situation(
        answers=answers,
        launch=launch(answers) if command is None else command,
        facts=facts,
        machine=machine,
        gpu=row,
        found=found,
        fits=fits,
    )


def _same(a: str | None, b: str | None) -> bool:
    return a is not None and b is not None and a.casefold().split() == b.casefold().split()
