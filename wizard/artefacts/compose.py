"""`compose.yaml`: one serving replica on one host, or its part on each of its nodes."""

import math
import re
from typing import Any

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
from wizard.serving.launch import is_variable


def compose(selection: Selection) -> str:
    """The Compose file. On loopback it shares the host's network, so that only the host's own proxy reaches it."""
    launch, found = selection.launch, image(selection)
    gpus = gpus_of_node(selection)
    remarks = [*heading(selection, "One serving replica"), *([found.remark] if found.remark else [])]
    service: dict[str, Any] = {
        "image": _literal(found.reference) if found.reference else "${VLLM_IMAGE:?name the image, pinned by digest}",
        "entrypoint": ["vllm", "serve"],
        "command": _words(container_arguments(launch.head_command())),
        "environment": {name: _literal(redacted(value)) for name, value in launch.environment},
        "restart": "unless-stopped",
    }
    # A variable without a value is taken from the environment of whoever starts it.
    service["environment"] |= dict.fromkeys(secrets(selection))
    if needs_model_folder(selection):
        source, target = "${MODEL_DIR:?name the folder of the model}", MODEL_IN_CONTAINER
    else:
        source, target = "${HF_HOME:?name the folder of the Hub's cache that holds the model}", CACHE_IN_CONTAINER
        service["environment"]["HF_HOME"] = CACHE_IN_CONTAINER
    service["volumes"] = [{"type": "bind", "source": source, "target": target}]
    if launch.nodes > 1:
        remarks += _on_several(selection)
        service["network_mode"] = "host"
    elif is_local_only(selection):
        remarks.append("It listens on this host's loopback address; the proxy before it runs on this host too.")
        service["network_mode"] = "host"
    else:
        remarks.append("Its port is opened on this host's loopback address only, for the proxy before it.")
        service["ports"] = [f"127.0.0.1:{launch.port}:{launch.port}"]
    if shares_memory(selection):
        service["ipc"] = "host"  # tensor parallel processes exchange data there (vLLM's guide for Docker)
    service["healthcheck"] = {
        "test": ["CMD", "python3", "-c", health_check(launch.port or 0)],
        "interval": "10s",
        "timeout": "5s",
        "retries": 3,
        "start_period": f"{start_seconds(selection)}s",
    }
    if gpus is None:
        remarks.append("GPUs per replica were not given, so none are reserved here.")
    else:
        device = {"driver": "nvidia", "count": gpus, "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    if launch.nodes == 1:
        return yaml_text([{"services": {"vllm": service}}], remarks)
    return yaml_text([{"services": _by_node(selection, service)}], remarks)


def _on_several(selection: Selection) -> list[str]:
    last = selection.launch.nodes - 1
    worker = (
        "--profile worker" if selection.launch.launcher == "ray" else f"--profile worker, NODE_RANK from 1 to {last}"
    )
    return [
        "The replica spans nodes: start this file on the head node with --profile head, and on each other node with "
        f"{worker}. HEAD_ADDRESS is the head's address on the closed network, on all of them.",
        "The nodes talk on the host's network; nothing that they say to each other is encrypted.",
    ]


def _by_node(selection: Selection, head: dict[str, Any]) -> dict[str, Any]:
    """The head's service, and the one that every other node runs: no callers, so nothing to ask for its health."""
    launch = selection.launch
    worker = {key: value for key, value in head.items() if key != "healthcheck"} | {"profiles": ["worker"]}
    if launch.launcher == "ray":
        (ray,) = launch.worker_command()
        worker |= {"entrypoint": ["ray"], "command": _words(list(ray[1:]))}
        head = head | {"entrypoint": [_literal(word) for word in RAY_HEAD]}
    else:
        worker |= {"command": _words(container_arguments(launch.worker_command()))}
    return {"head": head | {"profiles": ["head"]}, "worker": worker}


def _words(words: list[str]) -> list[str]:
    return [_variable(word) if is_variable(word) else _literal(word) for word in words]


def _variable(word: str) -> str:
    return re.sub(r"\$(\w+)", r"${\1:?see the comment above}", word)


def _literal(text: str) -> str:
    """Compose reads a dollar as a variable, and two as a dollar."""
    return text.replace("$", "$$")


def health_check(port: int) -> str:
    """Ask /health from inside the container; the image of a runtime in Python has an interpreter, and no curl."""
    return f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/health', timeout=4)"


def start_seconds(selection: Selection) -> int:
    """How long a start may take: three times the measured one, else the half hour that a smoke allows by default."""
    ready_s = selection.smoke.server.ready_s if selection.smoke is not None else None
    return 1800 if ready_s is None else max(60, 10 * math.ceil(0.3 * ready_s))
