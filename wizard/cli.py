"""The command line: what each command takes, and what it ends with."""

import argparse
import datetime
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from wizard import __version__
from wizard.console import say
from wizard.endings import code_of
from wizard.exit_codes import ExitCode
from wizard.paths import require_not_read

_EXIT_CODES = """\
exit codes:
  0 done   1 fault of selwiz   2 wrong usage or answers   3 probe failed   4 smoke failed
  5 done, with a blocking finding (the document is a draft)   6 different   7 output cannot be written
  129, 130, 143 stopped by SIGHUP, by you, by SIGTERM"""


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; every error is said in words on standard error."""
    arguments = _parser().parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup had it ignored on purpose
            signal.signal(number, _stop)
    try:
        _spare_inputs(arguments)
        command = importlib.import_module(f"wizard.commands.{arguments.command or 'wizard'}")
        return int(command.run(arguments))
    except Exception as error:
        return code_of(error)
    except KeyboardInterrupt:
        say("selwiz: stopped. Nothing was written.")
        return ExitCode.INTERRUPTED


def _stop(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _spare_inputs(arguments: argparse.Namespace) -> None:
    """Not even --force writes over a file that this very command reads."""
    given = [getattr(arguments, name, None) for name in ("machine", "selection", "log")]
    read = [*(getattr(arguments, "answers", None) or ()), *given]
    if output := getattr(arguments, "output", None):
        require_not_read(Path(output), [Path(path) for path in read if path])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="selwiz",
        description="Technology selection for a self-hosted language model: two decisions, two budget lines. "
        "Without a command: the wizard in this terminal.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"selwiz {__version__}")
    _wizard(parser)
    commands = parser.add_subparsers(dest="command", metavar="command")
    _probe(_command(commands, "probe", "what this machine is", "selwiz probe --json > machine.json"))
    _size(
        _command(
            commands,
            "size",
            "does it fit, how many at a time",
            'selwiz size --model Qwen/Qwen3-8B --context 32768 --concurrency 8 --gpu "NVIDIA H100 80GB HBM3"',
        )
    )
    _check(_command(commands, "check", "the rules", "selwiz check --answers project.toml"))
    _smoke(_command(commands, "smoke", "the short benchmark", "selwiz smoke --answers project.toml --out evidence"))
    _propose(
        _command(
            commands,
            "propose",
            "the document, without questions",
            "selwiz propose --answers project.toml -o proposal.md",
        )
    )
    _verify(
        _command(
            commands,
            "verify",
            "is what runs what was approved",
            "selwiz verify proposal.selection.json --endpoint http://127.0.0.1:8000 --log server.log -o acceptance.md",
        )
    )
    _explain_log(_command(commands, "explain", "why a vLLM did not start, in plain words", "selwiz explain server.log"))
    _diff(
        _command(
            commands,
            "diff",
            "what changed between two selections, which line it touches",
            "selwiz diff old.selection.json new.selection.json",
        )
    )
    _answers(_command(commands, "answers", "a commented answers file", "selwiz answers --example -o project.toml"))
    _show(_command(commands, "show", "every value with its source", "selwiz show --answers project.toml"))
    _command(commands, "schema", "JSON Schema of the answers file", "selwiz schema > answers.schema.json")
    _command(commands, "doctor", "versions, paths and state, for a bug report", "selwiz doctor")
    return parser


def _wizard(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser, required=False)
    _machine_option(parser)
    _vllm_option(parser)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--new", action="store_true", help="begin a new selection at its first question")
    way.add_argument("--resume", action="store_true", help="go on with the session saved last")
    parser.add_argument("--short", action="store_true", help="with --new: nine questions")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, does: str, example: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--no-color", action="store_true", help="no colour; output is plain text without it too")
    return parser


def _answers_option(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument(
        "--answers",
        metavar="FILE",
        type=Path,
        action="append",
        required=required,
        default=[],
        help="answers file (TOML); may be given several times, the files are merged",
    )


def _vllm_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vllm", metavar="PATH", type=Path, help="vLLM to use: its command, interpreter or environment"
    )


def _machine_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--machine",
        metavar="WHERE",
        help="a machine instead of this one: a file of `probe --record`, or plan:NAMExN for one that will be bought",
    )


def _probe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON on standard output")
    parser.add_argument("--record", metavar="FILE", type=Path, help="write the machine to a file for --machine")
    _machine_option(parser)
    _vllm_option(parser)
    parser.add_argument(
        "--probe-timeout",
        metavar="S",
        type=_seconds,
        default=20.0,
        help="seconds the NVIDIA driver may take (20), on each node",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help='every node of the Ray cluster at this address, or "auto" on a node of it',
    )


def _size(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser, required=False)
    parser.add_argument("--model", metavar="NAME_OR_DIR", help="the model's folder, or its name on the Hub")
    parser.add_argument("--gpu", metavar="NAME", help="a GPU of the catalogue, or the name that nvidia-smi shows")
    parser.add_argument("--gpu-memory-gib", metavar="G", type=_positive, help="memory of one GPU as NVML counts it")
    parser.add_argument("--gpus", metavar="N", type=_at_least_one, help="GPUs of one replica")
    parser.add_argument("--tp", metavar="N", type=_at_least_one, help="tensor parallel size (--gpus, if nothing else)")
    parser.add_argument("--pp", metavar="N", type=_at_least_one, help="pipeline parallel size (1)")
    parser.add_argument("--dp", metavar="N", type=_at_least_one, help="data parallel size (1)")
    parser.add_argument("--context", metavar="TOKENS", type=_at_least_one, help="longest request (the model's limit)")
    parser.add_argument("--concurrency", metavar="N", type=_at_least_one, help="requests that must have room at a time")
    parser.add_argument("--kv-cache-dtype", metavar="T", help="type of the cache (auto: the model's own)")
    parser.add_argument("--quantization", metavar="Q", help="format made while loading, of an unquantised checkpoint")
    parser.add_argument("--gpu-memory-utilization", metavar="U", type=_share, help="share that vLLM takes (0.92)")
    parser.add_argument("--max-num-batched-tokens", metavar="N", type=_at_least_one, help="tokens of one engine step")
    parser.add_argument("--block-size", metavar="N", type=_at_least_one, help="tokens of a cache block")
    parser.add_argument("--planner", choices=("cuda", "cpu"), help="whose block sizes the plan takes (cuda)")
    _vllm_option(parser)
    parser.add_argument(
        "--method",
        choices=("auto", "formula", "dry-build"),
        default="auto",
        help="auto: the formula, and an installed vLLM for what it does not cover",
    )
    parser.add_argument("--candidates", action="store_true", help="also the least number of GPUs of each type")
    parser.add_argument("--allow-download", action="store_true", help="config.json may be fetched from the Hub")
    parser.add_argument("--json", action="store_true", help="as JSON on standard output")


def _check(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser, required=False)
    _machine_option(parser)
    parser.add_argument("--explain", metavar="RULE", help="say what a rule such as C3 is about; reads no answers")
    parser.add_argument("--evidence", metavar="DIR", type=Path, help="folder of an earlier smoke or document")
    parser.add_argument("--json", action="store_true", help="as JSON on standard output")


def _smoke(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser)
    _vllm_option(parser)
    _smoke_options(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("selwiz-smoke"),
        help="where the evidence goes (selwiz-smoke)",
    )
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")


def _smoke_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=("local", "dummy", "endpoint", "tiny"),
        help="which weights are run; chosen by what is there",
    )
    parser.add_argument("--devices", metavar="LIST", help="GPUs to use, as indices or UUIDs with commas")
    parser.add_argument(
        "--master-addr",
        metavar="ADDRESS",
        help="start the head node of a replica over several nodes, here where the others reach it; "
        "127.0.0.1 tries all nodes on this machine",
    )
    parser.add_argument("--master-port", metavar="PORT", type=_port, help="where the ranks of the nodes meet (29501)")
    parser.add_argument("--endpoint", metavar="URL", help="measure a server that is already running")
    parser.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key of the endpoint")
    parser.add_argument("--ca", metavar="FILE", type=Path, help="certificate authority of the endpoint")
    parser.add_argument(
        "--import",
        dest="import_result",
        metavar="RESULT.json",
        type=Path,
        help="take over a result file of `vllm bench serve` instead of running anything",
    )
    parser.add_argument("--allow-remote-load", action="store_true", help="the endpoint may be on another machine")
    parser.add_argument(
        "--search", action="store_true", help="also look for the greatest concurrency at which every ceiling holds"
    )
    parser.add_argument(
        "--prompts",
        metavar="FILE",
        type=Path,
        help="JSONL of your own prompts: their lengths and shared beginnings are used, their text goes nowhere",
    )
    parser.add_argument(
        "--resume",
        dest="resume_smoke",
        action="store_true",
        help="take over the points that an unfinished run of the same kind has measured",
    )
    parser.add_argument(
        "--time-limit", metavar="S", type=_seconds, default=1800.0, help="seconds for the whole run (1800)"
    )
    parser.add_argument(
        "--yes", action="store_true", help="start what is shown without asking; never allows a download"
    )
    parser.add_argument("--allow-download", action="store_true", help="weights may be downloaded")


def _propose(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser)
    _machine_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the document; - for standard output")
    parser.add_argument(
        "--evidence", metavar="DIR", type=Path, help="folder of an earlier smoke, whose results are used"
    )
    smoke = parser.add_mutually_exclusive_group()
    smoke.add_argument("--smoke", action="store_true", help="run the short benchmark first")
    smoke.add_argument("--no-smoke", dest="smoke", action="store_false", help="start nothing (the default)")
    parser.add_argument(
        "--yes", action="store_true", help="start what is shown without asking; never allows a download"
    )
    parser.add_argument("--allow-download", action="store_true", help="weights may be downloaded")
    parser.add_argument("--date", metavar="YYYY-MM-DD", type=_date, help="date of the document (today)")
    parser.add_argument("--force", action="store_true", help="replace an existing document")
    parser.add_argument("--dry-run", action="store_true", help="print the document, write nothing")


def _verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("selection", metavar="SELECTION.json", type=Path, help="the approved NAME.selection.json")
    parser.add_argument("--endpoint", metavar="URL", help="the server that was delivered")
    parser.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the key of the endpoint")
    parser.add_argument("--ca", metavar="FILE", type=Path, help="certificate authority of the endpoint")
    parser.add_argument("--metrics-url", metavar="URL", help="its metrics, where they are not below the endpoint")
    parser.add_argument("--machine", metavar="FILE", type=Path, help="the delivered machine, by `probe --record`")
    parser.add_argument("--log", metavar="FILE", type=Path, help="start-up log of the delivered server")
    parser.add_argument("--smoke", action="store_true", help="measure the endpoint and test the ceilings again")
    _vllm_option(parser)
    parser.add_argument("--allow-remote-load", action="store_true", help="the endpoint may be on another machine")
    parser.add_argument("--yes", action="store_true", help="start the smoke that is shown without asking")
    parser.add_argument("--strict", action="store_true", help="what cannot be seen counts as a difference")
    parser.add_argument("-o", "--output", metavar="REPORT.md", type=Path, help="write a report for the acceptance")
    parser.add_argument("--force", action="store_true", help="replace an existing report")
    parser.add_argument("--json", action="store_true", help="as JSON on standard output")


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="the selection file of the earlier document")
    parser.add_argument("new", type=Path, metavar="NEW", help="the selection file of the later one")
    parser.add_argument("--json", action="store_true", help="as JSON on standard output")


def _explain_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="the log of the start; - for standard input")


def _answers(parser: argparse.ArgumentParser) -> None:
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--example",
        metavar="NAME",
        nargs="?",
        const="one-node",
        choices=("one-node", "two-nodes"),
        help="a complete, invented example: one-node, or two-nodes for a model that outgrows a machine",
    )
    kind.add_argument("--blank", action="store_true", help="every question, nothing answered")
    kind.add_argument("--missing", action="store_true", help="what is still open in --answers")
    _answers_option(parser, required=False)
    _machine_option(parser)
    parser.add_argument("--for", dest="colleague", metavar="NAME", help="with --missing: only what waits for NAME")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write it (standard output)")
    parser.add_argument(
        "--date", metavar="YYYY-MM-DD", type=_date, help="day from which the example's dates count (today)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _show(parser: argparse.ArgumentParser) -> None:
    _answers_option(parser)
    _machine_option(parser)


def _date(text: str) -> datetime.date:
    try:
        # Only this form is promised; the library takes others too.
        datetime.datetime.strptime(text, "%Y-%m-%d")
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2027-01-31") from None


def _at_least_one(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000000000")
    return number


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _share(text: str) -> float:
    number = _positive(text)
    if number > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share of at most 1, such as 0.92")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < port < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return port
