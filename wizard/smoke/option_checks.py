"""Options of a smoke that do not go together: each is one sentence, and none is left aside in silence."""

import re
from typing import TYPE_CHECKING

from probes.machine import Machine
from wizard.errors import UsageError

if TYPE_CHECKING:
    from wizard.smoke.request import SmokeOptions

_DEVICE = re.compile(r"[0-9]{1,4}|(?:GPU|MIG)-[0-9A-Za-z-/]+")
_BOTH = "Leave one of them out."


def check_options(options: "SmokeOptions", machine: Machine | None) -> None:
    """Raise `UsageError` for the first option that cannot be meant, or that would have no effect."""
    _check_endpoint(options)
    if options.devices:
        _check_devices(options, machine)


def _check_endpoint(options: "SmokeOptions") -> None:
    if options.endpoint is None:
        if options.mode == "endpoint":
            raise UsageError("--mode endpoint measures a running server, and none is named.", "Give --endpoint URL.")
        given = {
            "--api-key-env": options.api_key_env is not None,
            "--ca": options.ca is not None,
            "--allow-remote-load": options.allow_remote_load,
        }
        for name in (name for name, there in given.items() if there):
            raise UsageError(f"{name} has no meaning without --endpoint.", "Give both, or neither.")
        return
    if not options.endpoint.strip():
        raise UsageError("--endpoint is empty.", "Give the URL that /v1/models is below of, or leave it out.")
    if options.mode not in (None, "endpoint"):
        raise UsageError(
            f"--mode {options.mode} starts a server of its own, and --endpoint names one that runs already.", _BOTH
        )
    if options.devices:
        raise UsageError("--devices is for a server that selwiz starts, and --endpoint runs already.", _BOTH)


def _check_devices(options: "SmokeOptions", machine: Machine | None) -> None:
    for device in options.devices:
        if not _DEVICE.fullmatch(device):
            raise UsageError(
                f"--devices {device!r} is no GPU.", "Give indices or UUIDs with commas between them, as in 0,1."
            )
    if machine is None:
        return
    if not machine.gpus:
        raise UsageError("--devices names GPUs, and this machine has none that can be seen.", "Leave it out.")
    known = [str(gpu.index) for gpu in machine.gpus]
    for device in options.devices:
        if device.isdigit() and str(int(device)) not in known:
            raise UsageError(f"There is no GPU {device} here.", f"Give --devices one or more of {', '.join(known)}.")
