from pathlib import Path

from probes.smoke.server import LogTail, PhaseClock


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
