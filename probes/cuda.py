"""Which drivers carry which CUDA version."""

import re

#: The least driver branch by major version of CUDA (NVIDIA CUDA toolkit release notes, minor version compatibility).
CUDA_DRIVERS = {12: 525, 13: 580}
#: Branches that NVIDIA's compatibility package lifts to CUDA 13 (vLLM 0.33.0, gpu.cuda.inc.md) …
COMPATIBLE_BRANCHES = (535, 570)
#: … on data centre GPUs, which these names are not.
WORKSTATION = re.compile(r"GeForce|TITAN|RTX|Quadro", re.IGNORECASE)


def branch_in(text: str | None) -> int | None:
    """The driver branch that a text names: 580 in "580 or later" and in "580.105.08"."""
    match = re.search(r"(?<![0-9.])([0-9]{3})(?![0-9])", text or "")
    return int(match[1]) if match else None
