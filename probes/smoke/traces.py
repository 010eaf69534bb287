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


def make_trace(workload: Workload, requests: int, *, seed: int, run: int) -> tuple[TraceRequest, ...]:
    """Return `requests` requests of exactly the asked lengths.

    All prompts begin with the shared prefix (in whole chunks). With turns, a task is a row of calls: call t
    repeats the first (t - 1) / turns of the rest and adds to it; what is left of the prompt is new, so that
    every prompt has the asked length while the repeated part grows. The calls of one turn of all tasks come
    before the next turn, so that what a call repeats has been sent before.
    """
    ids = _Ids(seed, run)
    chunks = -(-workload.input_tokens // CHUNK_TOKENS)
    prefix = ids.take(workload.shared_prefix_tokens // CHUNK_TOKENS)
    rest = chunks - len(prefix)
    outputs = workload.output_mix or (workload.output_tokens,)
    tasks = -(-requests // workload.turns)
    histories = [ids.take(rest) for _ in range(tasks)] if workload.turns > 1 else []
    trace = []
    for number in range(requests):
        turn, task = divmod(number, tasks)
        kept = histories[task][: rest * (turn + 1) // workload.turns] if histories else ()
        trace.append(
            TraceRequest(
                input_length=workload.input_tokens,
                output_length=outputs[number % len(outputs)],
                hash_ids=(*prefix, *kept, *ids.take(rest - len(kept))),
            )
        )
    return tuple(trace)


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


def write_trace(folder: Path, run: PlannedRun, *, seed: int, number: int) -> None:
    """Write the trace file of one run; `number` keeps its chunks apart from those of the others."""
    trace = make_trace(run.workload, run.requests, seed=seed, run=number)
    (folder / f"{run.name}.jsonl").write_text(trace_text(trace), encoding="utf-8")


def write_traces(folder: Path, runs: tuple[PlannedRun, ...], seed: int) -> None:
    """Write one trace file per run; no two runs share a chunk, so none warms the cache of another."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, run in enumerate(runs):
        write_trace(folder, run, seed=seed, number=number)
