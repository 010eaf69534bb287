"""What if: two columns of figures, and what keeping the second one writes."""

import datetime

import pytest

from wizard.asking.example import example_tree
from wizard.sessions.session import Session
from wizard.views.what_if import KEYS, keep, shown_now, suppose

GPUS, TENSOR = "runtime.hardware.gpus_per_replica", "runtime.layout.tensor_parallel"


@pytest.fixture
def session() -> Session:
    return Session(tree=example_tree(datetime.date(2026, 11, 30)))


def texts(session: Session, **changed: str) -> dict[str, str]:
    short = {key.rpartition(".")[2]: key for key in KEYS}
    return {key: shown_now(session, key) for key in KEYS} | {short[name]: text for name, text in changed.items()}


def test_nothing_supposed_differs_in_nothing(session: Session) -> None:
    found = suppose(session, texts(session))
    assert (found.changes, [row for row in found.rows if row.differs]) == ({}, [])


def test_half_the_cache_bytes_give_twice_the_calls(session: Session) -> None:
    rows = {row.name: row for row in suppose(session, texts(session, kv_cache_dtype="fp8")).rows}
    assert float(rows["calls like yours that have room"].then) == pytest.approx(
        2 * float(rows["calls like yours that have room"].now), rel=0.02
    )


def test_more_gpus_take_the_tensor_parallel_size_with_them(session: Session) -> None:
    assert suppose(session, texts(session, gpus_per_replica="4")).changes == {GPUS: "4", TENSOR: "4"}


def test_a_tensor_parallel_size_that_is_given_is_left(session: Session) -> None:
    assert suppose(session, texts(session, gpus_per_replica="4", tensor_parallel="1")).changes[TENSOR] == "1"


def test_text_that_cannot_be_used_is_said_and_changes_nothing(session: Session) -> None:
    found = suppose(session, texts(session, concurrency="many"))
    assert list(found.problems) == ["runtime.workload.concurrency"]
    assert not any(row.differs for row in found.rows)


def test_a_gpu_that_nobody_knows_has_no_figures_and_says_so(session: Session) -> None:
    rows = {row.name: row for row in suppose(session, texts(session, gpu="NVIDIA X1")).rows}
    assert rows["not known"].then != "-"
    assert rows["required, GiB a GPU"].differs is False
    assert rows["room for the cache, GiB a GPU"].then == "?"


def test_keeping_writes_the_answers_and_supposing_does_not(session: Session) -> None:
    found = suppose(session, texts(session, gpus_per_replica="4"))
    assert session.in_force.runtime.hardware.gpus_per_replica == 2
    keep(session, found)
    assert session.in_force.runtime.layout.tensor_parallel == 4
