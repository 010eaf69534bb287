"""An endpoint that sends a byte now and then holds nobody: neither a signal nor the time limit waits for it."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from probes.smoke.http import Client
from probes.smoke.observer import Silent
from probes.smoke.plan import ModelFacts, SmokePlan, SmokeRequest, VllmTool, Workload
from probes.smoke.planning import make_plan
from probes.smoke.run import run_smoke
from probes.smoke.stopping import Stopped, Stopper, stop_on_signals
from probes.smoke.trials import try_out
from tests.unit.test_smoke_endpoint import MODELS

TOOL = VllmTool(executable=("vllm",), interpreter=Path("python"), version="0.32.0", build="cuda")
MODEL = ModelFacts(folder=Path("/m"), has_tokenizer=True, weights_bytes=None, is_local=True)
#: Far less than the minute that a trial request may take, far more than a loaded machine needs to stop.
AT_ONCE_S = 10


@pytest.fixture
def dripping() -> Iterator[str]:
    """The address of a server that lists its model and then answers every request for ever."""
    end = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(MODELS.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            while not end.wait(0.02):
                try:
                    self.wfile.write(b" ")
                except OSError:
                    return

        def log_message(self, *_arguments: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    end.set()
    server.shutdown()
    thread.join()
    server.server_close()


def plan_for(url: str, folder: Path, time_limit_s: float = 300) -> SmokePlan:
    """A run against the endpoint."""
    request = SmokeRequest(
        mode="endpoint",
        endpoint_url=url,
        workload=Workload(concurrency=1, input_tokens=32, output_tokens=4),
        time_limit_s=time_limit_s,
        out_dir=folder / "out",
        state_dir=folder / "state",
    )
    return make_plan(request, TOOL, MODEL, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_run_at_once(dripping: str, tmp_path: Path, number: signal.Signals) -> None:
    plan = plan_for(dripping, tmp_path)
    begin = time.monotonic()
    with stop_on_signals() as stopper:
        threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
        with pytest.raises(Stopped) as caught:
            run_smoke(plan.request, Silent(), plan=plan, stopper=stopper)
    assert (caught.value.signal_number, time.monotonic() - begin < AT_ONCE_S) == (number, True)
    assert not (tmp_path / "out").exists()


def test_the_time_limit_ends_the_run_at_once(dripping: str, tmp_path: Path) -> None:
    plan = plan_for(dripping, tmp_path, time_limit_s=0.3)
    begin = time.monotonic()
    failure = run_smoke(plan.request, Silent(), plan=plan).failure
    assert (failure and failure.kind, time.monotonic() - begin < AT_ONCE_S) == ("time_limit", True)


def test_a_trial_after_the_loads_that_the_time_limit_ends_takes_nothing_from_the_run(dripping: str) -> None:
    client = Client(dripping, stopper=Stopper(), until=time.monotonic() + 0.2)
    assert try_out("structured_output", client, "m", "endpoint") == (
        None,
        "the time limit was over before the one request for it was answered",
    )
