"""What can be wrong with a machine's GPUs: one plain sentence and one piece of advice for each code.

The symptoms were gathered from the trackers of nvitop, nvtop, gpustat, gpud and NVIDIA's container tools;
the words are ours.
"""

from probes.machine import Problem

SENTENCES: dict[str, tuple[str, str]] = {
    "node_failed": (
        "{nodes}: {why}.",
        "Look at the node, and probe the fleet again; what the others said is kept.",
    ),
    "nodes_differ": (
        "The nodes differ in {what}: {kinds}.",
        "Make the nodes of one replica equal: the weakest decides what all of them can do.",
    ),
    "no_nodes": (
        "The Ray cluster has no node that can be asked.",
        "Look at ray status, and wait until its nodes are alive.",
    ),
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
    "some_unreadable": (
        "{unread} of {all} GPUs could not be read ({reasons}); the others are listed.",
        "Mend the GPUs named here before planning with all {all}.",
    ),
    "cuda_cannot_start": (
        "The GPUs are listed, but CUDA cannot start ({text}).",
        "Reload the module nvidia_uvm (a suspend breaks it) or reboot; then run selwiz probe again.",
    ),
    "fabric_not_ready_cuda": (
        "The GPUs are listed, but CUDA cannot start: the system is not yet initialised ({text}).",
        "Install and start nvidia-fabricmanager in exactly the driver's version.",
    ),
    "vllm_no_nvml": (
        "{name} could not find a GPU here either, because it asks NVML first: {reason}.",
        "Mend that first; to see vLLM's own words, start it with VLLM_LOGGING_LEVEL=DEBUG.",
    ),
    "driver_too_old": (
        "{name} was built for CUDA {cuda} and needs driver branch {least} or later, but {found} is loaded.",
        "Update the driver, or install a vLLM that was built for the CUDA version of this driver.",
    ),
    "gpu_too_old": (
        "GPU {gpu} has compute capability {found}, which the CUDA 13 build of {name} no longer serves.",
        "Take a vLLM built for CUDA 12, or a GPU of compute capability 7.5 or more.",
    ),
    "no_compiler": (
        "There is no gcc on the path, and vLLM's Triton kernels are compiled when it runs.",
        "Install gcc and Python's headers (python3-dev).",
    ),
    "glibc_too_old": (
        "The C library here is glibc {found}, and the wheels of {name} need 2.28 or later.",
        "Use a newer system, or run vLLM in its container image.",
    ),
    "vgpu": (
        "GPU {gpu} is a vGPU with a memory profile {text}; clocks, links, power and bandwidth may not be readable.",
        "Plan with the profile's memory; ask whoever runs the host which GPU it is and how it is shared.",
    ),
    "slices_only": (
        "Values of the whole GPU {gpu} are not readable here; the slices listed can be used.",
        "Plan with the memory of the slices; the whole GPU is seen only from the host.",
    ),
    "reset_pending": (
        "{what} of GPU {gpu} will be {state} after its next reset, unlike now.",
        "Reset the GPU (nvidia-smi -i {gpu} -r) or reboot, then run selwiz probe again.",
    ),
    "exclusive_process": (
        "GPU {gpu} takes one process at a time (compute mode exclusive process), so a second server fails on it.",
        "If it is to be shared, ask for: nvidia-smi -i {gpu} -c DEFAULT.",
    ),
    "recovery_needed": (
        "The driver asks for a recovery of GPU {gpu}: {action}.",
        "Drain the GPU and do what is asked; until then do not measure on it.",
    ),
    "row_remap_failed": (
        "GPU {gpu} could not replace defective rows of its memory.",
        "Have the GPU replaced; until then do not rely on it.",
    ),
    "row_remap_pending": (
        "GPU {gpu} has defective rows of memory that are replaced at its next reset.",
        "Reset the GPU (nvidia-smi -i {gpu} -r) when it is idle.",
    ),
    "fabric_unhealthy": (
        "The NVLink fabric of GPU {gpu} reports: {text}.",
        "Look at nvidia-smi -q -i {gpu}, section Fabric, and at the log of nvidia-fabricmanager.",
    ),
    "clocks_held_down": (
        "The hardware holds the clocks of GPU {gpu} down now ({text}), so a measurement would be too slow.",
        "Look at cooling and power supply before measuring.",
    ),
    "pcie_narrow": (
        "GPU {gpu} runs on {width} of {most} PCIe lanes.",
        "On a cloud instance this is usual; else look at the slot, the riser and the firmware's settings.",
    ),
    "nvlinks_down": (
        "Only {active} of {count} NVLinks of GPU {gpu} are up.",
        "Look at nvidia-smi nvlink -s -i {gpu} and at dmesg; on NVSwitch machines at nvidia-fabricmanager.",
    ),
    "visible_devices": (
        "This shell shows CUDA programs only some GPUs: CUDA_VISIBLE_DEVICES={raw} leaves {seen}.",
        "Unset CUDA_VISIBLE_DEVICES if the others are to be used; its first entry that is no GPU hides the rest.",
    ),
    "visible_by_uuid": (
        "CUDA_VISIBLE_DEVICES names a GPU by its UUID, which vLLM {version} may not accept.",
        "Start it once to see; else name GPUs by number and set CUDA_DEVICE_ORDER=PCI_BUS_ID.",
    ),
    "mixed_gpus": (
        "The GPUs are of different models and CUDA_DEVICE_ORDER is not set, so the numbers here may not be CUDA's.",
        "Set CUDA_DEVICE_ORDER=PCI_BUS_ID.",
    ),
    "wsl": (
        "This is WSL2: Windows does not offer some readings; memory and compute capability are valid.",
        "Take the missing figures from Windows' own nvidia-smi where they matter.",
    ),
    "jetson": (
        "This is a Jetson ({model}), whose driver gives only some readings.",
        "Take the missing figures from NVIDIA's data sheet of the module.",
    ),
    "jetson_no_nvml": (
        "This is a Jetson ({model}), whose GPU NVML does not list before JetPack 7.",
        "Update to JetPack 7, or describe the machine with --machine.",
    ),
    "process_memory_unreliable": (
        "The memory of single processes is unreliable with driver {found}, so it is not shown.",
        "Update the driver to 535.104 or later.",
    ),
    "confidential_computing": (
        "Confidential computing is on: transfers to the GPU are slower and GPUs may not reach each other.",
        "Measure on this very machine; figures of others do not hold for it.",
    ),
    "small_shm": (
        "The shared memory /dev/shm has only {size} MiB, too little for GPUs that work together.",
        "Start the container with --ipc=host or --shm-size=16g (Kubernetes: an emptyDir of medium Memory).",
    ),
    "no_peer_access": (
        "{pairs} of {all} pairs of GPUs cannot reach each other's memory, so they exchange data through the host.",
        "Expect slower tensor parallelism; GeForce drivers do not offer this, other cards may need ACS or IOMMU off.",
    ),
    "slow_start": (
        "The first question to GPU {gpu} took {seconds:.1f} s.",
        "Turn on persistence mode (nvidia-persistenced), so that the driver keeps the GPU ready.",
    ),
    "binding_missing": (
        "The Python module pynvml cannot be imported: {text}.",
        "Install nvidia-ml-py into the environment of selwiz.",
    ),
    "wrong_binding": (
        "The Python module pynvml in use is not NVIDIA's ({path}).",
        "Run pip uninstall {packages}, then pip install --force-reinstall nvidia-ml-py.",
    ),
}

_SHOWN_AS = {
    "fabric_not_ready_cuda": "fabric_not_ready",
    "jetson_no_nvml": "jetson",
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
