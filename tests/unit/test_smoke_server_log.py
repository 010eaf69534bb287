import sys
import time
from pathlib import Path

import pytest

from probes.smoke import server as server_module
from probes.smoke.children import Children
from probes.smoke.evidence import bounded_log
from probes.smoke.logs import LogTail
from probes.smoke.plan import ModelFacts, SmokeRequest, VllmTool, Workload
from probes.smoke.planning import make_plan
from probes.smoke.server import PhaseClock, Server, ServerFailed
from probes.smoke.stopping import Stopper


def test_only_whole_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    tail = LogTail(path)
    first = tail.read()
    path.write_bytes(b"one\ntwo\n")
    assert (first, tail.read()) == (["one"], ["two"])


def test_a_progress_bar_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0%\r50%\r100%\nnext\n")
    assert LogTail(path).read() == ["100%", "next"]


def test_a_log_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    assert LogTail(tmp_path / "log").read() == []


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfe\n")
    assert len(LogTail(path).read()) == 1


def test_phases_follow_the_log_and_end_with_readiness() -> None:
    clock = PhaseClock(0.0)
    for at, line in [
        (2.0, "non-default args: {}"),
        (5.0, "Initializing a V1 LLM engine (v0.33.0)"),
        (6.0, "Starting to load model m..."),
        (9.0, "Model loading took 15.0 GiB memory and 3.0 seconds"),
    ]:
        clock.see(line, at)
    assert [(phase.name, phase.s) for phase in clock.phases(10.0)] == [
        ("import vLLM", 2.0),
        ("configuration", 3.0),
        ("engine process", 1.0),
        ("weights", 3.0),
        ("memory profile", 1.0),
    ]


def test_phases_never_go_back() -> None:
    clock = PhaseClock(0.0)
    clock.see("Starting to load model m", 1.0)
    assert clock.see("Resolved architecture: X", 2.0) is None


def test_a_flooded_log_is_read_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (LogTail.MOST_BYTES_A_LOOK + 100) + b"\nthe cause\n")
    assert LogTail(path).read()[-1] == "the cause"


def test_of_too_many_lines_the_first_and_the_last_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("first\n" + "noise\n" * LogTail.MOST_LINES + "last\n")
    tail = LogTail(path)
    tail.read()
    assert (tail.lines[0], tail.lines[-1], len(tail.lines)) == ("first", "last", LogTail.MOST_LINES)


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 100_000 + b"\n")
    assert len(LogTail(path).read()[0]) == LogTail.MOST_CHARACTERS


def test_evidence_of_a_flooded_log_says_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("begin " + "x" * 1000 + " end")
    kept = bounded_log(path, most_bytes=20)
    assert (kept[:5], kept[-3:], "990 bytes of this log are left out" in kept) == ("begin", "end", True)


def test_a_silent_start_is_told_once_with_its_phase_and_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "STALL_S", 0.3)
    script = "import time\nprint('INFO 11-30 22:30:13 [x.py:1] Starting to load model m', flush=True)\ntime.sleep(60)"
    request = SmokeRequest(
        mode="tiny",
        workload=Workload(concurrency=1, input_tokens=9, output_tokens=1),
        out_dir=tmp_path / "out",
        state_dir=tmp_path / "state",
    )
    tool = VllmTool(executable=(sys.executable,), interpreter=Path(sys.executable), version="0", build="cpu")
    facts = ModelFacts(folder=None, has_tokenizer=False, weights_bytes=None, is_local=True)
    plan = make_plan(request, tool, facts, 9)  # nothing answers on the discard port
    told: list[str] = []
    with Children(tmp_path / "state") as children:
        server = Server(children, plan, (sys.executable, "-c", script), children.folder / "server.log")
        server.start()
        with pytest.raises(ServerFailed, match="time limit"):
            server.wait_ready(Stopper(), time.monotonic() + 3, lambda _line: None, lambda _name, _s: None, told.append)
    assert [sentence.split("; ")[1] for sentence in told] == [
        "its processes hardly compute. Last line: Starting to load model m"
    ]
    assert "in the phase weights" in told[0]
