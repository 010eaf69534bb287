"""`selwiz smoke`: the short benchmark of the runtime that the answers describe."""

import argparse
import dataclasses
from typing import Any

from probes.recorded import without_home
from probes.smoke.evidence import CannotWriteEvidence
from probes.smoke.imported import NotAResult, import_result
from probes.smoke.report import utc_now
from probes.smoke.result import SmokeResult
from wizard.console import put, say
from wizard.decision.gather import Gathered, gather
from wizard.document.evidence import MACHINE, machine_file
from wizard.document.write import write_files
from wizard.errors import CannotWriteError, UsageError
from wizard.exit_codes import ExitCode
from wizard.paths import state_dir
from wizard.smoke.plain import confirmed_smoke
from wizard.smoke.request import SmokeOptions, smoke_request

#: What says how something is run, beside --import.
_ONLY_FOR_A_RUN = (
    *("endpoint", "mode", "search", "resume_smoke", "master_addr", "master_port", "prompts", "devices"),
    *("api_key_env", "ca", "allow_remote_load", "allow_download"),
)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run it and print where the result lies, or the result as JSON."""
    gathered = gather(arguments.answers, vllm=arguments.vllm)
    if arguments.import_result is not None:
        result = _imported(arguments, gathered)
    else:
        request = smoke_request(gathered, options(arguments, state_dir=state_dir(), out_dir=arguments.out))
        result = confirmed_smoke(request, yes=arguments.yes)
    if gathered.machine is not None:
        write_files({arguments.out / MACHINE: machine_file(without_home(gathered.machine))}, force=True)
    if arguments.json:
        put(result.to_json())
    if result.failure is not None:
        say(f"selwiz: the smoke failed while {result.failure.phase}: {result.failure.message}")
        say(f"        {result.failure.advice}")
        return ExitCode.SMOKE_FAILED
    say(f"The result is in {arguments.out}; `selwiz propose --evidence {arguments.out}` puts it into the document.")
    return ExitCode.DONE


def _imported(arguments: argparse.Namespace, gathered: Gathered) -> SmokeResult:
    """Take a result file of vLLM's load tool over; nothing is started."""
    refused = [name for name in _ONLY_FOR_A_RUN if getattr(arguments, name) not in (None, False)]
    if refused:
        name = refused[0].removesuffix("_smoke").replace("_", "-")
        raise UsageError(f"--import runs nothing, so --{name} has no meaning beside it.", "Leave one of them out.")
    made = options(arguments, state_dir=state_dir(), out_dir=arguments.out)
    request = smoke_request(gathered, dataclasses.replace(made, mode="tiny"))
    try:
        return import_result(arguments.import_result, request, utc_now())
    except CannotWriteEvidence as error:
        raise CannotWriteError(error.message, error.remedy) from None
    except NotAResult as error:
        raise UsageError(f"{error.message}.", f"{error.remedy[0].upper()}{error.remedy[1:]}.") from None


def options(arguments: argparse.Namespace, **more: Any) -> SmokeOptions:
    """The smoke options of a command line."""
    return SmokeOptions(
        mode=arguments.mode,
        vllm=arguments.vllm,
        devices=() if arguments.devices is None else tuple(part.strip() for part in arguments.devices.split(",")),
        master_addr=arguments.master_addr,
        master_port=arguments.master_port,
        endpoint=arguments.endpoint,
        api_key_env=arguments.api_key_env,
        ca=arguments.ca,
        allow_remote_load=arguments.allow_remote_load,
        allow_download=arguments.allow_download,
        search=arguments.search,
        resume=arguments.resume_smoke,
        prompts=arguments.prompts,
        time_limit_s=arguments.time_limit,
        **more,
    )
