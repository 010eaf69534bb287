"""What is made of a child's words, also when it was stopped in the middle of one."""

import json
import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.assemble import assemble
from probes.child import Ended, Walked, _events, nvml_command
from probes.host import read_host
from tests.nvml.fake import FakeNvml

HOST = read_host()


@pytest.fixture(scope="module")
def said(fake_nvml: FakeNvml) -> bytes:
    """All that the child says about a machine of two GPUs."""
    command = nvml_command(set())
    return subprocess.run(command, env=os.environ | fake_nvml.env("h100x2"), capture_output=True, check=True).stdout


@settings(max_examples=150)
@given(part=st.floats(0, 1), end=st.sampled_from(["timeout", "crashed"]))
def test_a_child_may_be_stopped_at_any_byte(said: bytes, part: float, end: str) -> None:
    events = _events(said[: int(part * (len(said) - 20))])
    at = next((event["gpu"] for event in reversed(events) if event["event"] == "at"), None)
    walked = Walked(events, [Ended("timeout" if end == "timeout" else "crashed", at, "nvmlX", "", 1.0)])
    assert assemble(walked, HOST).problems[-1].code in ("probe_timeout", "probe_crashed")


@given(st.binary())
def test_any_bytes_give_events_or_nothing(noise: bytes) -> None:
    assert all("event" in event for event in _events(noise))


def test_what_a_second_walk_says_replaces_what_the_first_said() -> None:
    def name(value: str) -> dict[str, object]:
        return {"event": "reading", "gpu": 0, "field": "name", "value": value, "why": None, "source": "nvml:x"}

    walked = Walked(_events(b"\n".join(json.dumps(name(value)).encode() for value in ("old", "new"))))
    assert assemble(walked, HOST).gpus[0].name.value == "new"


def test_a_gpu_that_was_not_reached_is_not_usable() -> None:
    events = [{"event": "count", "value": 2}, {"event": "at", "gpu": 0, "call": "nvmlX"}]
    side = assemble(Walked(events, [Ended("timeout", 0, "nvmlX", "", 5.0)]), HOST)
    assert [(gpu.usable, gpu.name.why) for gpu in side.gpus] == [(False, "timeout"), (False, "timeout")]


def test_a_time_out_says_how_long_was_waited_and_for_what() -> None:
    side = assemble(Walked([], [Ended("timeout", None, "nvmlInit", "", 5.0)]), HOST)
    assert side.problems[0].message == "The NVIDIA driver did not answer within 5 s (at nvmlInit)."


def test_a_crash_shows_the_childs_last_words() -> None:
    side = assemble(Walked([], [Ended("crashed", None, "start", "MemoryError", 0.1)]), HOST)
    assert side.problems[0].message == "The probe crashed while it asked the NVIDIA driver (at start; MemoryError)."
