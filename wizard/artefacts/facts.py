"""What several artefacts say of one selection: image, address, model, GPUs, secrets."""

import ipaddress
import re
from dataclasses import dataclass

from wizard.catalogue.vllm import release_of
from wizard.decision.selection import Selection
from wizard.document.redact import redacted
from wizard.serving.launch import MODEL_DIR, RAY_PORT, SECRET_VARIABLES
from wizard.serving.spread import spread

#: Where a container finds the model's folder, and the Hub's cache.
MODEL_IN_CONTAINER, CACHE_IN_CONTAINER = "/model", "/hf"
#: An image reference by the grammar of the OCI distribution specification: host, path, tag, digest.
_IMAGE = re.compile(
    r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?P<tag>:\w[\w.-]{0,127})?(?P<digest>@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
#: The vLLM project's own image, whose tags are the releases with a v.
_OFFICIAL = "vllm/vllm-openai"
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9a-z]+)+", re.ASCII)


@dataclass(frozen=True)
class Image:
    """An image as it was answered; `reference` is None where the answer is none. `remark` says what is missing."""

    reference: str | None
    remark: str | None


def image(selection: Selection) -> Image:
    """The answered image; the vLLM project's own without a tag gets that of the answered version."""
    runtime = selection.answers.runtime
    given = (runtime.image or "").strip()
    match = _IMAGE.fullmatch(given) if "/" in given or ":" in given else None
    if match is None:
        said = f' The answer is: "{given}".' if given else ""
        return Image(None, f"The image was not given as a reference, so none stands here.{said}")
    if match["digest"]:
        return Image(given, None)
    release = release_of(runtime.version or "")
    if given == _OFFICIAL and _RELEASE.fullmatch(release):
        given = f"{given}:v{release}"
    remark = "The image is not pinned: it names no tag and no digest."
    if match["tag"] or given != runtime.image:
        remark = "The image is named by its tag, and a tag can be moved: pin it by its digest."
    return Image(given, remark)


def container_arguments(command: tuple[tuple[str, ...], ...]) -> list[str]:
    """The words after `vllm serve` in a container: those of section 2, the model's folder at its place there.

    A secret is no word of the command: vLLM and the Hub's client read it from the variable of that name.
    """
    words: list[str] = []
    for group in command:
        if group[0] == "vllm":
            words.append(MODEL_IN_CONTAINER if group[2] == MODEL_DIR else redacted(group[2]))
        elif not any(word in SECRET_VARIABLES for word in group):
            words += [redacted(word) for word in group]
    return words


def secrets(selection: Selection) -> list[str]:
    """The variables that hold the secrets of the command."""
    words = [word for group in selection.launch.command() for word in group]
    return [name.removeprefix("$") for name in SECRET_VARIABLES if name in words]


def needs_model_folder(selection: Selection) -> bool:
    """Whether the command names the model's folder and not its name."""
    return selection.launch.model == MODEL_DIR


def is_local_only(selection: Selection) -> bool:
    """Whether the runtime listens on loopback only, as section 2 has it unless somebody said otherwise."""
    host = selection.launch.host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shares_memory(selection: Selection) -> bool:
    """Whether several processes of one replica exchange tensors through shared memory."""
    layout = selection.answers.runtime.layout
    return any((size or 1) > 1 for size in (layout.tensor_parallel, layout.pipeline_parallel, layout.data_parallel))


def gpus_of_node(selection: Selection) -> int | None:
    """GPUs that a container takes: those of a replica, or of one of its nodes."""
    return spread(selection.answers).gpus_per_node


#: How a head node with Ray starts: its cluster first; the words after `vllm serve` follow as they are.
RAY_HEAD = ["sh", "-c", f'ray start --head --port={RAY_PORT} && exec vllm serve "$@"', "vllm"]


def heading(selection: Selection, what: str) -> list[str]:
    """The comment that every artefact begins with."""
    runtime = selection.answers.runtime
    lines = [f"{what}, made by selwiz from section 2 of the document; a change belongs into the answers."]
    lines.append(f"vLLM {runtime.version}" if runtime.version else "The version of vLLM was not given.")
    if runtime.security.listening:
        lines.append(f"Listening address and callers, as answered: {runtime.security.listening}")
    return lines
