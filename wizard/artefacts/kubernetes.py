"""`kubernetes.yaml`: all replicas and the Service before them.

A replica on one node is a pod of a Deployment. One that spans nodes is a group of a LeaderWorkerSet, which vLLM's guide
names for it: its pods start and end together and know the address of the first.
"""

import math
import re
from typing import Any

from wizard.artefacts.compose import health_check, start_seconds
from wizard.artefacts.facts import (
    CACHE_IN_CONTAINER,
    MODEL_IN_CONTAINER,
    RAY_HEAD,
    container_arguments,
    gpus_of_node,
    heading,
    image,
    is_local_only,
    needs_model_folder,
    secrets,
    shares_memory,
)
from wizard.artefacts.text import yaml_text
from wizard.decision.selection import Selection
from wizard.document.redact import redacted
from wizard.serving.launch import HEAD_ADDRESS, NODE_RANK, is_variable

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
    layout, nodes = selection.answers.runtime.layout, selection.launch.nodes
    spec: dict[str, Any] = {
        "selector": {"matchLabels": _LABELS},
        # No GPU is free for a replica more than there are.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "template": {"metadata": {"labels": _labels(selection)}, "spec": _pod(selection, found.reference)},
    }
    if nodes > 1:
        spec = _group(selection, found.reference)
        remarks.append(f"A replica spans {nodes} nodes; the LeaderWorkerSet controller has to be installed.")
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
    kind = {"apiVersion": "apps/v1", "kind": "Deployment"}
    if nodes > 1:
        kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    deployment = {
        **kind,
        "metadata": {"name": _NAME, "labels": _labels(selection)},
        "spec": spec,
    }
    return yaml_text([deployment, _service(selection)], remarks)


def _labels(selection: Selection) -> dict[str, str]:
    version = selection.answers.runtime.version or ""
    return _LABELS | ({"app.kubernetes.io/version": version} if _LABEL.fullmatch(version) else {})


def _group(selection: Selection, reference: str | None) -> dict[str, Any]:
    """One replica over several nodes: the leader answers callers, the workers have no port."""
    leader = {"metadata": {"labels": _labels(selection)}, "spec": _pod(selection, reference)}
    return {
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1}},
        "leaderWorkerTemplate": {
            "size": selection.launch.nodes,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": leader,
            "workerTemplate": {"spec": _pod(selection, reference, worker=True)},
        },
    }


def _start(selection: Selection, *, worker: bool) -> dict[str, Any]:
    """The command of a pod and its words, where the group's own variables stand for its rank and its head."""
    launch = selection.launch
    if launch.launcher == "ray" and launch.nodes > 1:
        if worker:
            (ray,) = launch.worker_command()
            return {"command": ["ray"], "args": [_word(word) for word in ray[1:]]}
        return {"command": RAY_HEAD, "args": [_word(word) for word in container_arguments(launch.head_command())]}
    command = launch.worker_command() if worker else launch.head_command()
    return {"command": ["vllm", "serve"], "args": [_word(word) for word in container_arguments(command)]}


def _word(word: str) -> str:
    if not is_variable(word):
        return _literal(word)
    return word.replace(HEAD_ADDRESS, "$(LWS_LEADER_ADDRESS)").replace(NODE_RANK, "$(LWS_WORKER_INDEX)")


def _pod(selection: Selection, reference: str | None, *, worker: bool = False) -> dict[str, Any]:
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
        **_start(selection, worker=worker),
        "env": environment,
        "volumeMounts": mounts,
        "securityContext": {"allowPrivilegeEscalation": False},
        **({} if worker else _probes(selection)),
    }
    if not is_local_only(selection) and not worker:
        container["ports"] = [{"name": "http", "containerPort": launch.port}]
    gpus = gpus_of_node(selection)
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
            "selector": _LABELS,  # of a group only the leader's pod has them
            "ports": [{"name": "http", "port": port, "targetPort": target}],
        },
    }


def _literal(text: str) -> str:
    """Kubernetes reads `$(NAME)` as a variable, and `$$` as a dollar."""
    return text.replace("$(", "$$(")
