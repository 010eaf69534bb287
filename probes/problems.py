"""What can be wrong with a machine's GPUs: one plain sentence and one piece of advice for each code.

The symptoms were gathered from the trackers of nvitop, nvtop, gpustat, gpud and NVIDIA's container tools;
the words are ours.
"""

from probes.machine import Problem

SENTENCES: dict[str, tuple[str, str]] = {
    "no_driver": (
        "No NVIDIA driver was found on this machine.",
        "Install the NVIDIA driver if there is an NVIDIA GPU; to describe another machine, give --machine.",
    ),
    "no_driver_in_container": (
        "No NVIDIA driver is visible in this container.",
        "Start the container with its GPUs passed in (docker run --gpus all; or Kubernetes' nvidia runtime).",
    ),
    "no_library": (
        "The NVIDIA kernel module {module} is loaded, but its library libnvidia-ml.so.1 is not installed.",
        "Install the driver's user-space libraries of the same version.",
    ),
    "library_off_path": (
        "{path} exists, but the loader does not search there.",
        "Set LD_LIBRARY_PATH={folder} and start selwiz again.",
    ),
    "stub_library": (
        "The library that was loaded, {path}, is the CUDA toolkit's stub and not the driver's.",
        "Take the folder with the stubs out of LD_LIBRARY_PATH.",
    ),
    "driver_mismatch": (
        "The driver's files were upgraded, but the kernel still runs the old NVIDIA module ({module}).",
        "Reboot, or unload and load the NVIDIA kernel modules.",
    ),
    "driver_not_loaded": (
        "The NVIDIA driver is installed, but its kernel module is not loaded.",
        "Run modprobe nvidia; if that fails, look at Secure Boot and at the nouveau driver.",
    ),
    "container_lost_gpus": (
        "The driver answers with an unknown error; most often the container has lost its GPU devices.",
        "Restart the container; a systemctl daemon-reload on the host causes this.",
    ),
    "driver_failed": (
        "The NVIDIA driver cannot be asked: {text} (code {code}).",
        "Run nvidia-smi; if it fails too, look at dmesg for lines with NVRM or Xid, and reboot.",
    ),
    "no_driver_permission": (
        "This user may not ask the NVIDIA driver.",
        "Look at the permissions of /dev/nvidiactl and /dev/nvidia*, and at the groups of this user.",
    ),
    "no_gpu": (
        "The NVIDIA driver works, but it sees no GPU.",
        "Look at lspci for the GPU; in a container or a virtual machine, pass the GPU in.",
    ),
    "no_libcuda": (
        "The driver's CUDA library (libcuda.so.1) was not found, so the CUDA version is not known.",
        "In a container grant the compute capability: NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
    ),
    "gpu_lost": (
        "GPU {gpu} fell off the bus, so it is left out.",
        "Look at dmesg for Xid 79, at power, temperature and seating; drain the machine or reboot it.",
    ),
    "no_permission": (
        "GPU {gpu} is there, but this user or container may not read it.",
        "Look at the permissions of /dev/nvidia{gpu}, at the container's devices and at its control group.",
    ),
    "gpu_unreadable": (
        "GPU {gpu} cannot be read: {text}.",
        "Run nvidia-smi -i {gpu}; look at dmesg for lines with NVRM or Xid.",
    ),
    "fabric_not_ready": (
        "The NVSwitch fabric of GPU {gpu} is not ready ({text}), so CUDA cannot start on it.",
        "Install and start nvidia-fabricmanager in exactly the driver's version.",
    ),
    "compute_prohibited": (
        "GPU {gpu} is in compute mode prohibited, so no runtime can use it.",
        "Ask whoever runs the machine for: nvidia-smi -i {gpu} -c DEFAULT.",
    ),
    "mig_empty": (
        "MIG is enabled on GPU {gpu}, but it has no instance, so no runtime can use it.",
        "Create GPU and compute instances with nvidia-smi mig, or turn MIG off.",
    ),
    "corrupt_name": (
        "GPU {gpu} has a name that is not text, so it may match nothing.",
        "Update the driver; the Windows driver 555 is known for this under WSL.",
    ),
    "probe_timeout": (
        "{what} did not answer within {seconds:g} s (at {call}).",
        "Turn on persistence mode (nvidia-persistenced) or give --probe-timeout more seconds; look at dmesg.",
    ),
    "probe_crashed": (
        "The probe crashed while it asked {what} (at {call}{text}).",
        "Run nvidia-smi; if it fails too, look at dmesg for Xid and reboot, else report this as a bug.",
    ),
    "binding_missing": (
        "The Python module pynvml cannot be imported: {text}.",
        "Install nvidia-ml-py into the environment of selwiz.",
    ),
    "wrong_binding": (
        "The Python module pynvml in use is not NVIDIA's ({path}).",
        "Remove the package that provides it and install nvidia-ml-py again.",
    ),
}

_SHOWN_AS = {
    "no_driver_in_container": "no_driver",
    "no_library": "no_driver",
    "no_driver_permission": "no_permission",
}


def problem(sentence: str, gpu: int | None = None, **values: object) -> Problem:
    """Make the problem with the named sentence; `values` fill its blanks. KeyError for an unknown name."""
    message, advice = SENTENCES[sentence]
    blanks = {"gpu": gpu, **values}
    return Problem(
        code=_SHOWN_AS.get(sentence, sentence),
        gpu=gpu,
        message=message.format(**blanks),
        advice=advice.format(**blanks),
    )
