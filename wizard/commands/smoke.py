"""`selwiz smoke`: the short benchmark of the runtime that the answers describe."""

import argparse
from typing import Any

from probes.recorded import without_home
from wizard.console import put, say
from wizard.document.evidence import MACHINE, machine_file
from wizard.document.write import write_files
from wizard.exit_codes import ExitCode
from wizard.gather import gather
from wizard.paths import state_dir
from wizard.run_smoke import confirmed_smoke
from wizard.smoke_request import SmokeOptions, smoke_request


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run it and print where the result lies, or the result as JSON."""
    gathered = gather(arguments.answers, vllm=arguments.vllm)
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


def options(arguments: argparse.Namespace, **more: Any) -> SmokeOptions:
    """The smoke options of a command line."""
    return SmokeOptions(
        mode=arguments.mode,
        vllm=arguments.vllm,
        devices=tuple(part.strip() for part in (arguments.devices or "").split(",") if part.strip()),
        endpoint=arguments.endpoint,
        api_key_env=arguments.api_key_env,
        ca=arguments.ca,
        allow_remote_load=arguments.allow_remote_load,
        allow_download=arguments.allow_download,
        search=arguments.search,
        time_limit_s=arguments.time_limit,
        **more,
    )
