"""Mutations of the rules on GPUs, links, driver and host: C1, C2, C12, C13, C20, C24 and G7."""

from probes.machine import Machine
from probes.reading import PLAN
from tests.unit.rule_mutations.row import M, Row
from tests.unit.selections import FACTS, GPU, linked, machine, on_host, with_driver

_V100 = "Tesla V100-SXM2-32GB"
_A100 = "NVIDIA A100-SXM4-80GB"


def _probed(name: str, capability: str, source: str = "nvml:nvmlDeviceGetCudaComputeCapability") -> Machine:
    return machine(name, name, compute_capability={"value": capability, "source": source})


TABLE: list[Row] = [
    (
        "a GPU too old for the runtime",
        {"machine": _probed(_V100, "7.0"), "runtime.hardware.gpu": _V100, "smoke": None,
         "facts": FACTS.model_copy(update={"quantization": "auto_gptq"})},
        ("C1", "block", "runtime.hardware.gpu"),
    ),
    (
        "a GPU too old for the runtime, by the catalogue",
        {"machine": None, "runtime.hardware.gpu": _V100, "smoke": None,
         "facts": FACTS.model_copy(update={"quantization": "auto_gptq"})},
        ("C1", "note", "runtime.hardware.gpu"),
    ),
    (
        "a format that the GPU is too old for",
        {"machine": _probed(_A100, "8.0"), "runtime.hardware.gpu": _A100, "smoke": None,
         "facts": FACTS.model_copy(update={"quantization": "fp_quant"})},
        ("C1", "block", f"{M}.name"),
    ),
    (
        "FP8 on a GPU that only stores it",
        {"machine": _probed(_A100, "8.0"), "runtime.hardware.gpu": _A100, "smoke": None},
        ("C2", "warn", f"{M}.name"),
    ),
    (
        "FP8 on a GPU that only stores it, to be bought",
        {"machine": machine(_A100, _A100, source=PLAN), "runtime.hardware.gpu": _A100, "smoke": None},
        ("C2", "note", f"{M}.name"),
    ),
    (
        "two GPUs without a link",
        {"machine": linked(machine(GPU, GPU), "pcie")},
        ("C12", "warn", "runtime.layout.tensor_parallel"),
    ),
    (
        "two GPUs to be bought without a link",
        {"machine": None, "runtime.hardware.gpu": "NVIDIA L40S", "smoke": None},
        ("C12", "note", "runtime.layout.tensor_parallel"),
    ),
    (
        "MIG is on",
        {"machine": machine(GPU, GPU, mig={"enabled": {"value": True, "source": "x"},
                                           "pending": {"why": "unknown", "source": "x"}})},
        ("C12", "warn", "runtime.hardware.gpu"),
    ),
    (
        "ECC is off",
        {"machine": machine(GPU, GPU, ecc_enabled={"value": False, "source": "x"})},
        ("C12", "warn", "runtime.hardware.gpu"),
    ),
    (
        "a driver too old for the wheel",
        {"machine": with_driver(machine(GPU, GPU), "550.54.15"), "smoke": None},
        ("C13", "block", "runtime.version"),
    ),
    (
        "a driver that needs the compatibility package",
        {"machine": with_driver(machine(GPU, GPU), "570.86.10"), "smoke": None},
        ("C13", "warn", "runtime.version"),
    ),
    (
        "a driver proposed that is too old",
        {"machine": None, "smoke": None, "runtime.hardware.driver": "branch 550"},
        ("C13", "block", "runtime.hardware.driver"),
    ),
    (
        "three cores for two GPUs",
        {"machine": on_host(machine(GPU, GPU), cpu_physical_cores=3)},
        ("C20", "warn", "runtime.hardware.gpus_per_replica"),
    ),
    (
        "a GPU that the catalogue does not know",
        {"machine": None, "smoke": None, "runtime.hardware.gpu": "NVIDIA H1000"},
        ("C24", "warn", "runtime.hardware.gpu"),
    ),
    (
        "a GPU that the catalogue does not know, probed",
        {"machine": machine("NVIDIA H1000", "NVIDIA H1000"), "runtime.hardware.gpu": "NVIDIA H1000"},
        ("C24", "note", "runtime.hardware.gpu"),
    ),
    (
        "consumer GPUs",
        {"machine": None, "smoke": None, "runtime.hardware.gpu": "NVIDIA GeForce RTX 3090",
         "facts": FACTS.model_copy(update={"quantization": "awq"})},
        ("G7", "warn", "runtime.hardware.gpu"),
    ),
]  # fmt: skip
