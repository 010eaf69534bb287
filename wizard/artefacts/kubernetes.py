"""`kubernetes.yaml`: a Deployment with all replicas and the Service before them."""

import math
import re
from typing import Any

from wizard.artefacts.compose import health_check, start_seconds
from wizard.artefacts.facts import (
    CACHE_IN_CONTAINER,
    MODEL_IN_CONTAINER,
    container_arguments,
    heading,
    image,
    is_local_only,
    needs_model_folder,
    secrets,
    shares_memory,
)
from wizard.artefacts.text import yaml_text
from wizard.document.redact import redacted
from wizard.selection import Selection

NO_IMAGE = "IMAGE-NOT-GIVEN"
_NAME = "vllm"
_LABELS = {"app.kubernetes.io/name": _NAME}
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
_PERIOD_S = 10
#: Size of the shared memory of a replica (vLLM's guide for Kubernetes).
_SHARED_MEMORY = "2Gi"


def kubernetes(selection: Selection) -> str:
    """The manifest. Where the runtime listens on the pod's loopback, the Service leads to a proxy that is not ours."""
    remarks = heading(selection, "All replicas, spare ones included")
    found = image(selection)
    if found.remark:
        remarks.append(found.remark + ("" if found.reference else f" Put it in the place of {NO_IMAGE}."))
    layout = selection.answers.runtime.layout
    spec: dict[str, Any] = {
        "selector": {"matchLabels": _LABELS},
        # No GPU is free for a replica more than there are.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "template": {"metadata": {"labels": _labels(selection)}, "spec": _pod(selection, found.reference)},
    }
    if layout.replicas is None:
        remarks.append("Serving replicas were not given, so their number does not stand here.")
    else:
        spec = {"replicas": layout.replicas + (layout.spare_replicas or 0)} | spec
    if selection.answers.runtime.hardware.gpus_per_replica is None:
        remarks.append("GPUs per replica were not given, so no limit stands here.")
    if is_local_only(selection):
        remarks.append(
            "The runtime listens on the pod's loopback address. The proxy before it belongs into this pod, as a "
            "container of yours with a port named proxy, to which the Service leads."
        )
    claim = "model" if needs_model_folder(selection) else "model-cache"
    remarks.append(f"It needs a PersistentVolumeClaim named {claim} that holds the model.")
    if secrets(selection):
        remarks.append(f"It needs a Secret named {_NAME} with the keys {', '.join(secrets(selection))}.")
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "labels": _labels(selection)},
        "spec": spec,
    }
    return yaml_text([deployment, _service(selection)], remarks)


def _labels(selection: Selection) -> dict[str, str]:
    version = selection.answers.runtime.version or ""
    return _LABELS | ({"app.kubernetes.io/version": version} if _LABEL.fullmatch(version) else {})


def _pod(selection: Selection, reference: str | None) -> dict[str, Any]:
    launch = selection.launch
    environment: list[dict[str, Any]] = [
        {"name": name, "value": _literal(redacted(value))} for name, value in launch.environment
    ]
    environment += [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": _NAME, "key": name}}} for name in secrets(selection)
    ]
    own = needs_model_folder(selection)
    if not own:
        environment.append({"name": "HF_HOME", "value": CACHE_IN_CONTAINER})
    claim, path = ("model", MODEL_IN_CONTAINER) if own else ("model-cache", CACHE_IN_CONTAINER)
    volumes: list[dict[str, Any]] = [{"name": "model", "persistentVolumeClaim": {"claimName": claim}}]
    mounts = [{"name": "model", "mountPath": path}]
    if shares_memory(selection):
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": _SHARED_MEMORY}})
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108
    container: dict[str, Any] = {
        "name": _NAME,
        "image": reference or NO_IMAGE,
        "command": ["vllm", "serve"],
        "args": [_literal(word) for word in container_arguments(selection)],
        "env": environment,
        "volumeMounts": mounts,
        "securityContext": {"allowPrivilegeEscalation": False},
        **_probes(selection),
    }
    if not is_local_only(selection):
        container["ports"] = [{"name": "http", "containerPort": launch.port}]
    gpus = selection.answers.runtime.hardware.gpus_per_replica
    if gpus is not None:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    return {"automountServiceAccountToken": False, "containers": [container], "volumes": volumes}


def _probes(selection: Selection) -> dict[str, Any]:
    port = selection.launch.port or 0
    how: dict[str, Any] = {"httpGet": {"path": "/health", "port": port}}
    if is_local_only(selection):
        how = {"exec": {"command": ["python3", "-c", health_check(port)]}}
    timing = {"periodSeconds": _PERIOD_S, "timeoutSeconds": 5}
    tries = math.ceil(start_seconds(selection) / _PERIOD_S)
    return {
        "startupProbe": how | timing | {"failureThreshold": tries},
        "readinessProbe": how | timing | {"failureThreshold": 1},
        "livenessProbe": how | timing | {"failureThreshold": 3},
    }


def _service(selection: Selection) -> dict[str, Any]:
    port = selection.launch.port
    target = "proxy" if is_local_only(selection) else "http"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _NAME, "labels": _labels(selection)},
        "spec": {
            "type": "ClusterIP",
            "selector": _LABELS,
            "ports": [{"name": "http", "port": port, "targetPort": target}],
        },
    }


def _literal(text: str) -> str:
    """Kubernetes reads `$(NAME)` as a variable, and `$$` as a dollar."""
    return text.replace("$(", "$$(")
