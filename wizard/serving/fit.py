"""What the organisation already runs, held against what the runtime needs, row by row.

A row says "yes" or "no" only where an answer or a reading can be compared with a fact; the rest a person has to check.
"""

import re
from typing import Literal, NamedTuple

from probes.cuda import CUDA_DRIVERS, branch_in
from wizard.catalogue import EngineRow, engine_id, engines
from wizard.catalogue.vllm import release_of
from wizard.decision.proof import carried_model
from wizard.decision.selection import Selection

Fits = Literal["yes", "no", "not checked"]

#: The CUDA version of published wheels whose libraries were read (NEEDED libcudart.so.13 in vLLM 0.33.0).
_WHEEL_CUDA = {"0.33.0": 13}
#: What a container has of /dev/shm unless told otherwise (Docker, --shm-size).
_CONTAINER_SHM_BYTES = 64 * 1024**2
_NONE = re.compile(
    r"(?:there is )?(?:none|no|nothing|not? (?:gateway|identity|monitoring|registry|platform).*|-)[.]?", re.IGNORECASE
)
_CONTAINERS = re.compile(r"kubernetes|k8s|openshift|docker|container|podman|nomad|rancher", re.IGNORECASE)
_PROMETHEUS = re.compile(
    r"prometheus|victoria ?metrics|thanos|mimir|grafana|opentelemetry|otel|datadog|dynatrace", re.IGNORECASE
)
#: The path that a client of each interface calls, and the catalogue's word for the interface.
_PATHS = (
    (re.compile(r"chat|openai", re.IGNORECASE), "/v1/chat/completions", "openai"),
    (re.compile(r"anthropic|messages api", re.IGNORECASE), "/v1/messages", "anthropic"),
    (re.compile(r"embedding", re.IGNORECASE), "/v1/embeddings", "embeddings"),
    (re.compile(r"rerank", re.IGNORECASE), "/v1/rerank", "rerank"),
)  # fmt: skip


class FitRow(NamedTuple):
    """One row: `key` is the answer, `exists` what a probe read where there is no answer to ask for.

    `because` is a sentence that says why it does not fit.
    """

    item: str
    key: str
    need: str
    fits: Fits
    because: str = ""
    exists: str | None = None


def fit_rows(selection: Selection) -> tuple[FitRow, ...]:
    """The rows of "Fit with what exists"."""
    parts = (_platform, _shared_memory, _gateway, _identity, _monitoring, _registry, _driver_policy)
    return tuple(row for part in parts if (row := part(selection)) is not None)


def product_row(selection: Selection) -> EngineRow | None:
    """What the catalogue knows of the product that is bought."""
    return engines().get(engine_id(selection.answers.runtime.product) or "")


def cuda_major(selection: Selection) -> int | None:
    """The CUDA version of the build: of the vLLM that was found, of the image that is named, or of the wheel."""
    found = selection.machine.runtimes if selection.machine else ()
    major = next((runtime.cuda_major for runtime in found if runtime.cuda_major), None)
    if major is not None or selection.launch.runtime != "vllm":
        return major
    given = selection.answers.runtime
    named = re.search(r"\bcu(?:da)?[ -]?(1[0-9])", f"{given.image or ''} {given.version or ''}", re.IGNORECASE)
    if named:
        return int(named[1])
    build = (given.version or "").partition("+")[2]
    return None if build.startswith(("cpu", "rocm", "xpu")) else _WHEEL_CUDA.get(release_of(given.version or ""))


def _is_none(text: str | None) -> bool:
    return text is not None and _NONE.fullmatch(text.strip()) is not None


def _platform(selection: Selection) -> FitRow:
    text, each = selection.answers.runtime.existing.platform, selection.answers.runtime.hardware.gpus_per_replica
    needs = [] if each is None else [f"{each} {'GPU' if each == 1 else 'GPUs'} for each replica"]
    is_vllm = selection.launch.runtime == "vllm"
    if is_vllm:
        needs.append("Linux with glibc 2.28 or later")  # platform tag of the wheel of vLLM 0.33.0: manylinux_2_28
    need = ", ".join(needs) or "what its documentation names"
    if _is_none(text):
        return FitRow("Platform", "runtime.existing.platform", need, "no", "There is no platform for the runtime.")
    if is_vllm and re.search(r"\bwindows\b", text or "", re.IGNORECASE) and not re.search(r"\bWSL", text or ""):
        because = "vLLM runs on Linux, and the platform is Windows."
        return FitRow("Platform", "runtime.existing.platform", need, "no", because)
    return FitRow("Platform", "runtime.existing.platform", need, "not checked")


def _shared_memory(selection: Selection) -> FitRow | None:
    """Ranks of one replica talk through /dev/shm; a container has 64 MiB of it unless told otherwise."""
    # vLLM 0.33.0 docs/deployment/docker.md: --ipc=host or --shm-size for tensor parallel inference.
    layout, machine = selection.answers.runtime.layout, selection.machine
    if selection.launch.runtime != "vllm" or (layout.tensor_parallel or 1) * (layout.pipeline_parallel or 1) == 1:
        return None
    key, need = "runtime.existing.platform", "in a container more than its 64 MiB of /dev/shm: --ipc=host or --shm-size"
    size = machine.host.shm_total_bytes.value if machine is not None and not machine.planned else None
    if machine is None or size is None:
        return FitRow("Shared memory", key, need, "not checked", exists="not given")
    exists = f"{size / 1024**2:,.0f} MiB"
    if size <= _CONTAINER_SHM_BYTES:
        because = f"The ranks of a replica talk through /dev/shm, and the probe found {exists} of it."
        return FitRow("Shared memory", key, need, "no", because, exists)
    given = selection.answers.runtime
    elsewhere = _CONTAINERS.search(f"{given.existing.platform or ''} {given.installed_how or ''}")
    inside = machine.host.in_container.value is True or not elsewhere
    return FitRow("Shared memory", key, need, "yes" if inside else "not checked", exists=exists)


def _gateway(selection: Selection) -> FitRow:
    key, text = "runtime.existing.gateway", selection.answers.runtime.existing.gateway
    wanted = [
        (path, name) for pattern, path, name in _PATHS if pattern.search(selection.answers.engine.interfaces or "")
    ]
    paths = " and ".join(path for path, _ in wanted) or "the paths of the interfaces needed"
    need, open_paths = f"{paths} let through, every other path closed", selection.answers.runtime.security.open_paths
    product = product_row(selection)
    for path, name in wanted:
        if product is not None and product.interfaces and name not in product.interfaces:
            because = f"Clients call {path}, and {product.name} does not offer that interface."
            return FitRow("Gateway", "engine.interfaces", need, "no", because)
    if _is_none(text):
        because = "Nothing stands before the runtime, whose own key guards some paths only."
        return FitRow("Gateway", key, need, "no", because)
    if text is None or open_paths is None or not wanted:
        return FitRow("Gateway", key, need, "not checked")
    closed = [path for path, _ in wanted if not _lets_through(open_paths, path)]
    if closed:
        because = f"Clients call {' and '.join(closed)}, which the list of open paths does not name."
        return FitRow("Gateway", "runtime.security.open_paths", need, "no", because)
    return FitRow("Gateway", key, need, "yes")


def _lets_through(open_paths: str, path: str) -> bool:
    named = re.findall(r"/[\w./*-]*", open_paths)
    return any(
        path == word.rstrip(".,") or (word.rstrip("*./,") == "/v1" and path.startswith("/v1/")) for word in named
    )


def _identity(selection: Selection) -> FitRow:
    key, text = "runtime.existing.identity", selection.answers.runtime.existing.identity
    need = "callers known before they reach it"
    if selection.launch.runtime == "vllm":
        # vLLM 0.33.0 entrypoints/serve/middleware/authenticate.py
        need += ": its own key guards only /v1, /v2, /inference and /cohere"
    because = "Nothing says who a caller is before the runtime is reached."
    return (
        FitRow("Identity", key, need, "no", because) if _is_none(text) else FitRow("Identity", key, need, "not checked")
    )


def _monitoring(selection: Selection) -> FitRow:
    key, text = "runtime.existing.monitoring", selection.answers.runtime.existing.monitoring
    product = product_row(selection)
    metrics = product.metrics if product is not None else None
    need = f"metrics: {metrics}" if metrics else "a reader of its metrics"
    if _is_none(text):
        return FitRow("Monitoring", key, need, "no", "Nothing reads the metrics of the runtime.")
    flag = metrics_flag(product) if product is not None else None
    if product is not None and flag is not None and selection.launch.find(flag) is None:
        because = f"{product.name} shows metrics only with {flag}, which is not set."
        return FitRow("Monitoring", "runtime.settings.extra_flags", need, "no", because)
    if text is None or product is None or metrics is None or not _PROMETHEUS.search(text):
        return FitRow("Monitoring", key, need, "not checked")
    if not metrics.startswith("Prometheus"):
        because = f"The metrics of {product.name} are no Prometheus text, which the monitoring reads."
        return FitRow("Monitoring", key, need, "no", because)
    return FitRow("Monitoring", key, need, "yes")


def metrics_flag(product: EngineRow) -> str | None:
    """The flag without which a product shows no metrics, as its row says ("only with --enable-metrics")."""
    match = re.search(r"only with (--[\w-]+)", product.metrics or "")
    return match[1] if match else None


def _registry(selection: Selection) -> FitRow:
    key, text = "runtime.existing.registry", selection.answers.runtime.existing.registry
    need = "image or wheel pinned by digest, weights by revision"
    if _is_none(text):
        return FitRow("Registry", key, need, "no", "There is no place where images and weights are pinned.")
    carried = carried_model(selection)
    revision = carried[1].revision if carried else None
    pinned = "sha256:" in (selection.answers.runtime.image or "") and re.fullmatch(r"[0-9a-f]{7,40}", revision or "")
    return FitRow("Registry", key, need, "yes" if text is not None and pinned else "not checked")


def _driver_policy(selection: Selection) -> FitRow:
    key, text = "runtime.existing.driver_policy", selection.answers.runtime.existing.driver_policy
    major = cuda_major(selection)
    least = CUDA_DRIVERS.get(major or 0)
    if major is None or least is None:
        return FitRow("Driver policy", key, "a driver that serves the CUDA version of its build", "not checked")
    need, branch = f"driver branch {least} or later for a CUDA {major} build", branch_in(text)
    if branch is None:
        return FitRow("Driver policy", key, need, "not checked")
    if branch >= least:
        return FitRow("Driver policy", key, need, "yes")
    because = f"The driver policy names branch {branch}; a CUDA {major} build needs {least} or later."
    return FitRow("Driver policy", key, need, "no", because)
