"""What the file system tells about the NVIDIA driver when its library does not answer."""

import re
from pathlib import Path

from probes.paths import exists
from probes.reading import Reading

LIBRARY = "libnvidia-ml.so.1"
MODULE_FILE = "proc/driver/nvidia/version"

# Where distributions, container hosts and WSL put the driver's libraries.
_LIBRARY_FOLDERS = (
    "opt/nvidia/lib64",
    "usr/local/nvidia/lib64",
    "home/kubernetes/bin/nvidia/lib64",
    "usr/lib/wsl/lib",
    "run/opengl-driver/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib64/nvidia",
    "usr/lib/nvidia",
    "usr/lib",
)


def library_elsewhere(root: Path = Path("/")) -> Path | None:
    """Find the management library where it is known to be put, whether the loader searches there or not."""
    found = (root / folder / LIBRARY for folder in _LIBRARY_FOLDERS)
    return next((path for path in found if exists(path)), None)


def module_version(root: Path = Path("/")) -> Reading[str]:
    """Read the version of the NVIDIA kernel module that is loaded ("580.105.08")."""
    source = f"proc:/{MODULE_FILE}"
    try:
        text = (root / MODULE_FILE).read_text(errors="replace")
    except PermissionError:
        return Reading.absent("no_permission", source)
    except OSError:
        return Reading.absent("not_supported", source)
    match = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", text)
    return Reading.of(match[1], source) if match else Reading.absent("unknown", source)


def numa_node(pci_bus_id: str, root: Path = Path("/")) -> Reading[int]:
    """Read the NUMA node of a PCI device, given by NVML's bus id ("00000000:53:00.0")."""
    # Linux writes the domain with four digits, NVML with eight.
    domain, _, rest = pci_bus_id.lower().partition(":")
    name = f"sys/bus/pci/devices/{int(domain, 16):04x}:{rest}/numa_node"
    try:
        node = int((root / name).read_text())
    except (OSError, ValueError):
        return Reading.absent("unknown", f"sys:/{name}")
    return Reading.of(node, f"sys:/{name}") if node >= 0 else Reading.absent("not_supported", f"sys:/{name}")
