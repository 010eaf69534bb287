"""One journey as a person makes it: the installed `selwiz` in tmux, the real vLLM, a written document."""

import datetime
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.smoke.prepare import look_up_tool
from probes.smoke.processes import leftovers
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree

SELWIZ = Path(sys.executable).with_name("selwiz")


class Tmux:
    """One tmux server of our own, with one window of 80 x 24."""

    def __init__(self, folder: Path, command: str) -> None:
        self._socket = str(folder / "tmux.sock")
        self._do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), command)

    def _do(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True, timeout=20
        ).stdout

    def keys(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def sees(self, words: str, timeout_s: float = 30) -> str:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            text = self._do("capture-pane", "-p")
            if words in text:
                return text
            time.sleep(0.1)
        raise AssertionError(f"{words!r} did not come:\n{self._do('capture-pane', '-p')}")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False, timeout=20)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    if not SELWIZ.exists():
        pytest.skip("the command selwiz is not installed beside this Python")
    example = render_answers(example_tree(datetime.datetime.now(datetime.UTC).date()), blanks=False)
    (tmp_path / "project.toml").write_text(example, encoding="utf-8")
    state = f"XDG_STATE_HOME={tmp_path}/state XDG_CACHE_HOME={tmp_path}/cache"
    terminal = Tmux(tmp_path, f"env {state} {SELWIZ} --answers project.toml; echo CODE $?; exec cat")
    yield terminal
    terminal.close()


@pytest.mark.vllm
@pytest.mark.soak
def test_from_the_command_to_a_measured_document(tmux: Tmux, tmp_path: Path) -> None:
    _require_vllm()
    tmux.sees("[1/11]")
    for number in range(2, 12):
        tmux.keys("F4")
        tmux.sees(f"[{number}/11]")
    tmux.keys("F4")
    tmux.sees("waits for your yes", 60)
    tmux.keys("s")
    tmux.sees("Smoke: running")
    tmux.keys("F3")
    tmux.sees("[11/11]")
    tmux.keys("F4")
    tmux.sees("Smoke: done", 400)
    tmux.keys("F4")
    tmux.sees("pipeline only")
    tmux.keys("F4")
    tmux.sees("Write the document", 30)
    tmux.keys("Enter")
    tmux.sees("Wrote technology-selection")
    tmux.keys("F10")
    tmux.sees("Leave selwiz?")
    tmux.keys("Enter")
    tmux.sees("CODE 0")
    (document,) = (path for path in tmp_path.glob("technology-selection-*.md") if not path.name.endswith(".brief.md"))
    again = tmp_path / "again.md"
    evidence = document.with_name(document.name.removesuffix(".md") + ".evidence")
    subprocess.run(
        [SELWIZ, "propose", "--answers", evidence / "answers.toml", "--evidence", evidence, "-o", again],
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert again.read_bytes() == document.read_bytes()


@pytest.mark.vllm
@pytest.mark.soak
def test_a_signal_during_the_smoke_ends_what_was_started(tmux: Tmux, tmp_path: Path) -> None:
    _require_vllm()
    tmux.sees("[1/11]")
    for number in range(2, 12):
        tmux.keys("F4")
        tmux.sees(f"[{number}/11]")
    tmux.keys("F4")
    tmux.sees("waits for your yes", 60)
    tmux.keys("s")
    tmux.sees("now   start", 60)
    (pid,) = _children_named(tmp_path)
    subprocess.run(["kill", "-TERM", str(pid)], check=True)
    tmux.sees("CODE 143", 60)
    assert not leftovers(tmp_path / "state" / "selwiz")


@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("HUP", 129)])
def test_a_signal_saves_what_is_typed_and_leaves_the_terminal_clean(
    tmux: Tmux, tmp_path: Path, name: str, code: int
) -> None:
    tmux.sees("[1/11]")
    tmux.keys("-l", " and more")
    tmux.sees("and more")
    (pid,) = _children_named(tmp_path)
    subprocess.run(["kill", f"-{name}", str(pid)], check=True)
    tmux.sees(f"CODE {code}")
    (session,) = (tmp_path / "state" / "selwiz" / "sessions").glob("*.json")
    assert "and more" in session.read_text(encoding="utf-8")


def _require_vllm() -> None:
    try:
        look_up_tool(None)
    except ProbeError as error:
        pytest.skip(error.message)


def _children_named(folder: Path) -> list[int]:
    """The wizard of this test, found by its folder."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "--answers" in words and "sh" not in Path(words[0]).name and (process / "cwd").resolve() == folder:
                found.append(int(process.name))
        except OSError:
            continue
    return found
