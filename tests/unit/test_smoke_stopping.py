import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from probes.smoke.evidence import LOCK_NAME, CannotWriteEvidence, claimed, write_atomically, write_evidence
from probes.smoke.observer import PlainLines
from probes.smoke.stopping import Stopped, Stopper, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_becomes_a_wish(number: signal.Signals) -> None:
    with stop_on_signals() as stopper:
        os.kill(os.getpid(), number)
        with pytest.raises(Stopped) as caught:
            stopper.wait(5)
    assert caught.value.signal_number == number


def test_the_earlier_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals():
        pass
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stopper:
            os.kill(os.getpid(), signal.SIGHUP)
            stopper.check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_may_stop_a_run() -> None:
    stopper = Stopper()
    thread = threading.Thread(target=stopper.stop)
    thread.start()
    with pytest.raises(Stopped):
        stopper.wait(5)
    thread.join()


def test_the_first_wish_counts() -> None:
    stopper = Stopper()
    stopper.stop(signal.SIGTERM)
    stopper.stop(signal.SIGINT)
    assert stopper.signal_number == signal.SIGTERM


def test_plain_lines_tell_progress_once_a_quarter() -> None:
    told: list[str] = []
    lines = PlainLines(told.append)
    for done in range(101):
        lines.on_progress("unshared", done, 100)
    assert len(told) == 4


def test_evidence_is_listed_by_name_with_its_hash(tmp_path: Path) -> None:
    files = write_evidence(tmp_path, {"b.txt": "b", "a.txt": ""})
    assert [(file.name, file.sha256[:8]) for file in files] == [("a.txt", "e3b0c442"), ("b.txt", "3e23e816")]


def test_what_cannot_be_written_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWriteEvidence, match="cannot be written"):
        write_atomically(tmp_path / "file" / "x", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_where_one_file_cannot_be_written_none_appears(tmp_path: Path) -> None:
    with pytest.raises(CannotWriteEvidence):
        write_evidence(tmp_path, {"a.txt": "a", "b/no such folder.txt": "b"})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_one_run_s_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    with claimed(folder), pytest.raises(CannotWriteEvidence, match="another selwiz is writing"), claimed(folder):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_of_its_claim_bars_nobody(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("")
    with claimed(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_written_files_are_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x", b"data")
    assert (stat.S_ISREG((tmp_path / "x").stat().st_mode), (tmp_path / "x").read_bytes()) == (True, b"data")
