"""`selwiz verify`: is what runs what was approved."""

import argparse
import datetime
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from wizard import __version__
from wizard.console import put_json, put_lines, say
from wizard.decision.selection import Selection
from wizard.decision.selection_file import read_selection
from wizard.document.write import outputs, write_text
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode, first_of
from wizard.verify.check import Delivered
from wizard.verify.compare import compare
from wizard.verify.readers import Sources, look
from wizard.verify.report import as_json, as_lines, as_markdown, matches


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print every check as a table or as JSON, write the report where asked, and say in the exit code what came out."""
    selection = read_selection(arguments.selection)
    if arguments.smoke and arguments.endpoint is None:
        raise UsageError("--smoke measures the delivered runtime, and no endpoint is given.", "Add --endpoint URL.")
    sources = Sources(
        selection=arguments.selection,
        endpoint=arguments.endpoint,
        api_key_env=arguments.api_key_env,
        ca=arguments.ca,
        metrics_url=arguments.metrics_url,
        machine=arguments.machine,
        log=arguments.log,
    )
    moment = datetime.datetime.now(datetime.UTC)
    delivered = look(selection, sources)
    codes = []
    if arguments.smoke:
        delivered = _measured(arguments, selection, delivered)
        failure = delivered.smoke.failure if delivered.smoke else None
        if failure is not None:
            say(f"selwiz: the smoke failed while {failure.phase}: {failure.message}")
            say(f"        {failure.advice}")
            codes.append(ExitCode.SMOKE_FAILED)
    checks = compare(selection, delivered)
    if arguments.json:
        put_json(as_json(checks, strict=arguments.strict))
    else:
        put_lines(as_lines(checks))
    if arguments.output is not None:
        write_text(
            arguments.output, as_markdown(selection, delivered, checks, moment, __version__), force=arguments.force
        )
    if not matches(checks, strict=arguments.strict):
        codes.append(ExitCode.DIFFERENT)
    return first_of(codes)


def _measured(arguments: argparse.Namespace, selection: Selection, delivered: Delivered) -> Delivered:
    """The delivery with a short measurement of the approved load; its files are kept beside the report."""
    from wizard.decision.gather import Gathered
    from wizard.paths import state_dir
    from wizard.smoke.plain import confirmed_smoke
    from wizard.smoke.request import SmokeOptions, smoke_request

    gathered = Gathered(selection.answers, selection.origins, (), {}, None, selection.models)
    with ExitStack() as stack:
        folder = (
            outputs(arguments.output).evidence
            if arguments.output is not None
            else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        )
        options = SmokeOptions(
            out_dir=folder,
            state_dir=state_dir(),
            mode="endpoint",
            vllm=arguments.vllm,
            endpoint=arguments.endpoint,
            api_key_env=arguments.api_key_env,
            ca=arguments.ca,
            allow_remote_load=arguments.allow_remote_load,
            replace=arguments.force,
        )
        smoke = confirmed_smoke(smoke_request(gathered, options), yes=arguments.yes)
    return replace(delivered, smoke=smoke, looked_at=(*delivered.looked_at, f"run {smoke.run_id}"))
