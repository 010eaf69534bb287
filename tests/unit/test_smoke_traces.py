import json
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from probes.smoke.plan import CHUNK_TOKENS, PlannedRun, Workload
from probes.smoke.traces import make_trace, trace_text, write_traces


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    input_tokens = draw(st.integers(1, 3000))
    return Workload(
        concurrency=1,
        input_tokens=input_tokens,
        output_tokens=draw(st.integers(1, 300)),
        shared_prefix_tokens=draw(st.integers(0, input_tokens - 1)),
        turns=draw(st.integers(1, 6)),
        output_mix=tuple(draw(st.lists(st.integers(1, 300), max_size=4))),
    )


@given(workloads(), st.integers(1, 60))
def test_every_prompt_has_enough_chunks_for_its_exact_length(workload: Workload, requests: int) -> None:
    chunks = -(-workload.input_tokens // CHUNK_TOKENS)
    trace = make_trace(workload, requests, seed=0, run=0)
    assert [(request.input_length, len(request.hash_ids)) for request in trace] == [
        (workload.input_tokens, chunks)
    ] * requests


@given(workloads(), st.integers(2, 60))
def test_all_prompts_begin_with_the_shared_prefix(workload: Workload, requests: int) -> None:
    shared = workload.shared_prefix_tokens // CHUNK_TOKENS
    trace = make_trace(workload, requests, seed=0, run=0)
    assert len({request.hash_ids[:shared] for request in trace}) == 1


@given(workloads(), st.integers(2, 60))
def test_without_turns_nothing_beyond_the_prefix_is_shared(workload: Workload, requests: int) -> None:
    single = workload.model_copy(update={"turns": 1})
    shared = single.shared_prefix_tokens // CHUNK_TOKENS
    own = [chunk for request in make_trace(single, requests, seed=0, run=0) for chunk in request.hash_ids[shared:]]
    assert len(own) == len(set(own))


@given(workloads(), st.integers(1, 60))
def test_two_runs_share_no_chunk(workload: Workload, requests: int) -> None:
    first, second = (
        {chunk for request in make_trace(workload, requests, seed=0, run=run) for chunk in request.hash_ids}
        for run in (0, 1)
    )
    assert not first & second


def test_a_later_turn_repeats_more_of_its_task() -> None:
    workload = Workload(concurrency=1, input_tokens=64 * CHUNK_TOKENS, output_tokens=1, turns=4)
    first_task = make_trace(workload, 16, seed=0, run=0)[::5]  # the next turn of a task comes one round later
    repeated = [
        sum(a == b for a, b in zip(before.hash_ids, after.hash_ids, strict=True))
        for before, after in pairwise(first_task)
    ]
    assert repeated == [16, 32, 48]


def test_mixed_output_lengths_are_kept_in_turn() -> None:
    workload = Workload(concurrency=1, input_tokens=10, output_tokens=5, output_mix=(3, 9))
    assert [request.output_length for request in make_trace(workload, 5, seed=0, run=0)] == [3, 9, 3, 9, 3]


def test_the_file_has_the_fields_that_the_load_tool_reads() -> None:
    trace = make_trace(Workload(concurrency=1, input_tokens=20, output_tokens=5), 1, seed=0, run=0)
    assert json.loads(trace_text(trace)) == {
        "timestamp": 0,
        "input_length": 20,
        "output_length": 5,
        "hash_ids": [0, 1],
    }


def test_one_file_per_run(tmp_path: Path) -> None:
    workload = Workload(concurrency=1, input_tokens=20, output_tokens=5)
    runs = tuple(PlannedRun(name=name, kind="asked_unshared", requests=3, workload=workload) for name in ("a", "b"))
    write_traces(tmp_path, runs, seed=0)
    assert {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()} == {
        "a.jsonl": 3,
        "b.jsonl": 3,
    }
