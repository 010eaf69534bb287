"""Takes one picture of this machine: GPUs, host and runtimes, each failure a plain sentence."""

from datetime import UTC, datetime
from pathlib import Path

from probes.assemble import assemble
from probes.child import walk
from probes.findings import findings
from probes.host import read_host
from probes.machine import Machine
from probes.network import read_interfaces
from probes.runtimes import find_runtimes
from probes.shell import read_shell


def take_machine(
    *, tool_version: str, timeout_s: float = 20.0, vllm: Path | None = None, root: Path = Path("/")
) -> Machine:
    """Read this machine. No driver and no GPU are no errors: they are in `problems`.

    `timeout_s` (seconds) bounds the questions to the GPU driver, which run in a child process and may hang
    or crash; what was read before is kept. `vllm` names a vLLM to look at besides those found: an
    interpreter, an environment's folder or a `vllm` command; raises `ProbeError` when there is none. `root`
    is where `/proc`, `/sys` and the driver's files are looked for.
    """
    taken_at = datetime.now(UTC).replace(microsecond=0)
    runtimes = find_runtimes(vllm)  # first: a wrong path must not wait for the driver
    host = read_host(root)
    gpu_side = assemble(walk(timeout_s), host, root)
    shell = read_shell(gpu_side.gpus)
    more = findings(gpu_side.driver, gpu_side.gpus, gpu_side.links, host, shell, runtimes, gpu_side.problems)
    return Machine(
        tool_version=tool_version,
        taken_at=taken_at,
        driver=gpu_side.driver,
        gpus=gpu_side.gpus,
        links=gpu_side.links,
        host=host,
        shell=shell,
        runtimes=runtimes,
        problems=gpu_side.problems + more,
        interfaces=read_interfaces(root),
    )
