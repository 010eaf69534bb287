"""The load as trace files for `vllm bench serve --dataset-name timed_trace`.

One JSON object a line: `timestamp`, `input_length`, `output_length` and `hash_ids`. Each id stands for
`CHUNK_TOKENS` tokens drawn from the id alone (Python's string hash, so PYTHONHASHSEED is fixed): lists that
begin alike give prompts that begin alike. Lengths are exact. See TimedTrace in vLLM 0.32.0
benchmarks/datasets.
"""

from __future__ import annotations

import json
from pathlib import Path

from probes.smoke.plan import CHUNK_TOKENS, PlannedRun, Workload
from probes.smoke.prompts import PromptForm, chunk_ids
from probes.smoke.result import Frozen

HASH_SEED = "0"
"""PYTHONHASHSEED of the load tool."""
_IDS_PER_RUN = 10**9
_IDS_PER_SEED = 10**10


class TraceRequest(Frozen):
    """One request of a trace."""

    input_length: int
    output_length: int
    hash_ids: tuple[int, ...]


class _Ids:
    """Hands out chunk ids that no other run and no other seed uses."""

    def __init__(self, seed: int, run: int) -> None:
        self._next = seed * _IDS_PER_SEED + run * _IDS_PER_RUN

    def take(self, count: int) -> tuple[int, ...]:
        first = self._next
        self._next += count
        return tuple(range(first, first + count))


class _Tasks:
    """The tasks of a trace: each has a history, of which a later call repeats more than an earlier one."""

    def __init__(self, workload: Workload, ids: _Ids, prefix_chunks: int) -> None:
        self._load, self._ids, self._prefix = workload, ids, prefix_chunks
        self._histories: dict[int, tuple[int, ...]] = {}
        self._lengths = workload.input_mix or (workload.input_tokens,)
        self._longest = _chunks(max(self._lengths)) - prefix_chunks

    def length(self, turn: int, group: int) -> int:
        """Return the tokens of a prompt: by its turn, or in turn where tasks have only one."""
        return self._lengths[(turn if self._load.turns > 1 else group) % len(self._lengths)]

    def own_chunks(self, task: int, turn: int, group: int, member: int) -> tuple[int, ...]:
        """Return the chunks after the shared prefix. The first call of a burst carries the history on."""
        count = _chunks(self.length(turn, group)) - self._prefix
        if self._load.turns == 1 and self._load.burst == 1:
            return self._ids.take(count)
        if task not in self._histories:
            self._histories[task] = self._ids.take(self._longest)
        kept = min(count, self._end(turn if member == 0 else turn - 1))
        return (*self._histories[task][:kept], *self._ids.take(count - kept))

    def _end(self, turn: int) -> int:
        """Return how much of its history a task has sent after a turn."""
        if turn < 0:
            return 0
        if self._load.input_mix:
            return _chunks(self.length(turn, 0)) - self._prefix
        return self._longest * (turn + 1) // self._load.turns


def _chunks(tokens: int) -> int:
    return -(-tokens // CHUNK_TOKENS)


def make_trace(workload: Workload, requests: int, *, seed: int, run: int) -> tuple[TraceRequest, ...]:
    """Return `requests` requests of exactly the asked lengths.

    All prompts begin with the shared prefix (in whole chunks). With turns, a task is a row of calls, each of which
    repeats what the one before it sent and adds to it; with a burst, several calls of one turn stand beside each other.
    Every turn occurs equally often from the first request to the last, so that the load stays the same: a run begins
    with tasks that are on their way already, and a task's next turn stands at least two rounds of all callers later.
    """
    ids = _Ids(seed, run)
    prefix = ids.take(workload.shared_prefix_tokens // CHUNK_TOKENS)
    outputs = workload.output_mix or (workload.output_tokens,)
    tasks, turns, burst = _Tasks(workload, ids, len(prefix)), workload.turns, workload.burst
    apart = -(-2 * workload.concurrency // (turns * burst))
    trace = []
    for number in range(requests):
        group, member = divmod(number, burst)
        begun, turn = divmod(group, turns)
        own = tasks.own_chunks(begun - turn * apart, turn, group, member)
        trace.append(
            TraceRequest(
                input_length=tasks.length(turn, group),
                output_length=outputs[number % len(outputs)],
                hash_ids=(*prefix, *own),
            )
        )
    return tuple(trace)


def trace_of_forms(
    forms: tuple[PromptForm, ...], workload: Workload, requests: int, *, seed: int, run: int, shared: bool
) -> tuple[TraceRequest, ...]:
    """Return requests of the form of the user's own prompts; answers have the given length, else the workload's."""
    made = chunk_ids(forms, requests, _Ids(seed, run).take, shared=shared)
    return tuple(
        TraceRequest(
            input_length=forms[number % len(forms)].tokens,
            output_length=forms[number % len(forms)].output_tokens or workload.output_tokens,
            hash_ids=ids,
        )
        for number, ids in enumerate(made)
    )


def trace_text(trace: tuple[TraceRequest, ...]) -> str:
    """Return a trace as the lines of its file."""
    return "".join(
        json.dumps(
            {
                "timestamp": 0,
                "input_length": request.input_length,
                "output_length": request.output_length,
                "hash_ids": list(request.hash_ids),
            }
        )
        + "\n"
        for request in trace
    )


def write_trace(folder: Path, run: PlannedRun, *, seed: int, number: int, forms: tuple[PromptForm, ...] = ()) -> None:
    """Write the trace file of one run; `number` keeps its chunks apart from those of the others."""
    if forms:
        shared = run.kind in ("asked_shared", "search")
        trace = trace_of_forms(forms, run.workload, run.requests, seed=seed, run=number, shared=shared)
    else:
        trace = make_trace(run.workload, run.requests, seed=seed, run=number)
    (folder / f"{run.name}.jsonl").write_text(trace_text(trace), encoding="utf-8")


def write_traces(folder: Path, runs: tuple[PlannedRun, ...], seed: int, forms: tuple[PromptForm, ...] = ()) -> None:
    """Write one trace file per run; no two runs share a chunk, so none warms the cache of another."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, run in enumerate(runs):
        write_trace(folder, run, seed=seed, number=number, forms=forms)
