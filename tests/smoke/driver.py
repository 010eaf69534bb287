"""Runs one smoke in mode tiny as a process of its own, for tests that stop or kill it."""

import functools
import signal
import sys
from pathlib import Path

from probes.smoke.observer import PlainLines
from probes.smoke.plan import SmokeRequest, Workload
from probes.smoke.run import run_smoke
from probes.smoke.stopping import Stopped, stop_on_signals


def main() -> int:
    """Take the vLLM command and a folder; tell phases on standard output."""
    # nohup and a shell's background jobs ignore signals, and the children of the tests would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    folder = Path(sys.argv[2])
    request = SmokeRequest(
        mode="tiny",
        vllm=Path(sys.argv[1]),
        workload=Workload(concurrency=4, input_tokens=400, output_tokens=16),
        out_dir=folder / "out",
        state_dir=folder / "state",
    )
    try:
        with stop_on_signals() as stopper:
            run_smoke(request, PlainLines(functools.partial(print, flush=True)), stopper=stopper)
    except Stopped as stopped:
        return 128 + (stopped.signal_number or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
