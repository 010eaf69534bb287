"""The sizing beside the questions: what is typed counts at once, and every figure is said in digits and words."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.document_selections import machine
from wizard.asking.example import example_tree
from wizard.sessions.session import Session
from wizard.sizing.answer import ProposedSizing
from wizard.views.live import answers_with, live_sizing
from wizard.views.sizing import sizing_line, sizing_lines

DAY = datetime.date(2026, 11, 26)
CALLS = "runtime.workload.concurrency"
WIDTH = 35


@pytest.fixture(autouse=True)
def no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def pane(key: str = "", raw: str = "", *, on: Any = None) -> list[str]:
    session = Session(tree=example_tree(DAY))
    answers = answers_with(session, key, raw)
    return sizing_lines(live_sizing(answers, on), answers, WIDTH)


def test_the_pane_of_the_example() -> None:
    assert pane() == [
        "MEMORY PER GPU, GiB         formula",
        " weights 16.0 cache 12.5 other 2.4",
        " required ████████░░░░░░░░░░   30.9",
        " reserved ██████████████████   73.3",
        " free now                 not known",
        " room     54.9 for the cache",
        " = 27.4 calls of 16,384 tokens",
        " = 70.2 calls like yours, unshared",
        " 16 asked: fits, 42.4 to spare",
        "FLOORS      least     ceiling",
        " TTFT     24.2 ms    1,500 ms ok",
        " TPOT      5.1 ms       40 ms ok",
        " E2E     1,313 ms   12,000 ms ok",
    ]


@pytest.mark.parametrize(
    ("key", "raw", "line"),
    [
        (CALLS, "8", " 8 asked: fits, 48.6 to spare"),
        (CALLS, "160", " 160 asked: NOT ALL AT A TIME"),
        ("runtime.settings.kv_cache_dtype", "fp8", " = 54.8 calls of 16,384 tokens"),
        ("runtime.ceilings.tpot_ms", "4", " TPOT      5.1 ms        4 ms NO"),
        ("runtime.settings.gpu_memory_utilization", "0.2", " 16 asked: DOES NOT START"),
    ],
)
def test_what_is_being_typed_counts(key: str, raw: str, line: str) -> None:
    assert line in pane(key, raw)


@pytest.mark.parametrize("raw", ["", "x", "-1", "1e9", "9" * 40])
def test_text_that_cannot_be_used_leaves_a_sizing(raw: str) -> None:
    assert pane(CALLS, raw)[0].startswith("MEMORY PER GPU")


def test_typing_changes_no_answer() -> None:
    session = Session(tree=example_tree(DAY))
    answers_with(session, CALLS, "999")
    assert session.in_force.runtime.workload.concurrency == 16


def test_a_model_that_nobody_knows_is_said() -> None:
    lines = " ".join(pane("engine.models[0].name", "Example/Unknown"))
    assert "not known: Nothing is known of Example/Unknown" in lines


def test_a_heads_problem_names_the_reason() -> None:
    assert "does not divide the heads" in " ".join(pane("runtime.layout.tensor_parallel", "3"))


def test_a_machine_that_was_read_gives_its_own_memory() -> None:
    session = Session(tree=example_tree(DAY))
    found = live_sizing(session.in_force, machine())
    assert found is not None
    assert found.gpu_source == "probe"


def test_without_a_model_there_is_nothing_to_size() -> None:
    assert "no model is named" in sizing_line(None, Session().in_force)


def test_the_line_of_a_narrow_screen() -> None:
    answers = Session(tree=example_tree(DAY)).in_force
    line = sizing_line(live_sizing(answers, None), answers)
    assert line == "Memory 30.9 of 73.3 GiB a GPU: fits; 70.2 calls at a time; TPOT floor 5.1 ms"


def test_a_ceiling_below_its_floor_is_on_the_line() -> None:
    session = Session(tree=example_tree(DAY))
    answers = answers_with(session, "runtime.ceilings.tpot_ms", "4")
    assert "TPOT BELOW ITS FLOOR" in sizing_line(live_sizing(answers, None), answers)


@settings(max_examples=60)
@given(
    calls=st.integers(1, 10**6),
    context=st.integers(1, 40960),
    tokens=st.integers(1, 10**6),
    share=st.floats(0.01, 1),
    tensor=st.integers(1, 16),
)
def test_the_pane_is_never_wider_than_its_place(
    calls: int, context: int, tokens: int, share: float, tensor: int
) -> None:
    session = Session(tree=example_tree(DAY))
    for key, raw in (
        (CALLS, str(calls)),
        ("runtime.settings.max_model_len", str(context)),
        ("runtime.workload.output_tokens", str(tokens)),
        ("runtime.settings.gpu_memory_utilization", f"{share:.2f}"),
        ("runtime.layout.tensor_parallel", str(tensor)),
    ):
        session.set(key, raw)
    answers = session.in_force
    assert max(map(len, sizing_lines(live_sizing(answers, None), answers, WIDTH))) <= WIDTH + 1


def test_a_sentence_cannot_steer_the_terminal() -> None:
    proposed = ProposedSizing(model="m", because="a\x1b[2Jb")
    assert "\x1b" not in "".join(sizing_lines(proposed, Session().in_force, WIDTH))
