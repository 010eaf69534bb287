"""What a result file of `vllm bench serve` from elsewhere must hold to be believed, and the fields that are kept of it.

Field names are those of vLLM 0.32 benchmarks/serve.py. A figure that no run can have is refused: JSON as Python reads
it knows NaN and Infinity, and a file may have been edited or written by something else.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

from probes.smoke.load import is_answered, is_count, last_line
from probes.smoke.names import is_usable_name

ALWAYS = ("completed", "num_prompts", "duration", "total_input_tokens", "total_output_tokens", "max_concurrency")
DETAILED = ("start_times", "ttfts", "latencies", "input_lens", "output_lens", "itls", "errors")
_COUNTS = ("completed", "num_prompts", "total_input_tokens", "total_output_tokens", "max_concurrency")
_STATISTIC = re.compile(r"(mean|median|std|p\d+(\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
_DATE = "%Y%m%d-%H%M%S"

GREATEST_COUNT = 10**15
"""Far more tokens than any run has, and exact as a float."""
GREATEST_S = 10.0**8
"""Three years."""
LEAST_RUN_S = 0.001
_CLOCKS_DIFFER = 1.01
"""The file's duration and its latencies are read one after the other."""


class ImpossibleFigure(Exception):  # noqa: N818 - reads as a sentence where it is caught
    """A field has a value that no run can have; the text names the field, and the row of a list."""


def checked(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the known fields of a result file, each of which a run can have. Raises `ImpossibleFigure`.

    Of the texts only the model's name and the last line of each error are kept.
    """
    for name in _COUNTS:
        _demand(_is_count(raw[name]), name, raw[name], "a whole number of 0 or more")
    _demand(_is_time(raw["duration"], LEAST_RUN_S), "duration", raw["duration"], "a length of time in seconds")
    sent, done = raw["num_prompts"], raw["completed"]
    if not 1 <= done <= sent:
        raise ImpossibleFigure(f"completed is {done} of {sent} requests")
    if not 1 <= raw["max_concurrency"] <= sent:
        raise ImpossibleFigure(f"max_concurrency is {raw['max_concurrency']}, which {sent} requests cannot reach")
    kept = {name: raw[name] for name in ALWAYS}
    if raw.get("failed") is not None:
        _demand(_is_count(raw["failed"]), "failed", raw["failed"], "a whole number of 0 or more")
        if done + raw["failed"] > sent:
            raise ImpossibleFigure(f"completed and failed are {done + raw['failed']} of {sent} requests")
        kept["failed"] = raw["failed"]
    if raw.get("date") is not None:
        _demand(started_at(raw) is not None, "date", raw["date"], "a time such as 20261130-223013")
        kept["date"] = raw["date"]
    if isinstance(raw.get("model_id"), str):
        _demand(is_usable_name(raw["model_id"]), "model_id", raw["model_id"], "the name of a model")
        kept["model_id"] = raw["model_id"]
    for name, value in raw.items():
        if _STATISTIC.fullmatch(name) and value is not None:
            _demand(_is_number(value) and value >= 0, name, value, "a length of time in milliseconds")
            kept[name] = value
    if all(isinstance(raw.get(name), list) for name in DETAILED):
        kept |= _checked_rows(raw)
    return kept


def started_at(raw: dict[str, Any]) -> str | None:
    """Return the file's own time, which has no zone, as if it were UTC; None where it is no time."""
    given = raw.get("date")
    if not isinstance(given, str) or not re.fullmatch(r"[0-9]{8}-[0-9]{6}", given):
        return None
    try:
        return f"{datetime.datetime.strptime(given, _DATE).isoformat()}Z"
    except ValueError:
        return None


def _checked_rows(raw: dict[str, Any]) -> dict[str, Any]:
    sent = len(raw["errors"])
    for name in DETAILED:
        if len(raw[name]) != sent:
            raise ImpossibleFigure(f"{name} has {len(raw[name])} rows and errors has {sent}")
    if sent > raw["num_prompts"]:
        raise ImpossibleFigure(f"errors has {sent} rows and num_prompts is {raw['num_prompts']}")
    _each(raw, "start_times", lambda value: _is_number(value), "a time")
    _each(raw, "ttfts", _is_time, "a length of time in seconds")
    _each(raw, "latencies", _is_time, "a length of time in seconds")
    _each(raw, "input_lens", is_count, "a number of tokens")
    _each(raw, "output_lens", is_count, "a number of tokens")
    _each(raw, "itls", _are_gaps, "a list of lengths of time in seconds")
    _each(raw, "errors", lambda value: value is None or isinstance(value, str), "a text")
    answered = [is_answered(error, latency) for error, latency in zip(raw["errors"], raw["latencies"], strict=True)]
    if sum(answered) != raw["completed"]:
        raise ImpossibleFigure(f"completed is {raw['completed']}, and {sum(answered)} of {sent} rows have an answer")
    longest = raw["duration"] * _CLOCKS_DIFFER
    for row, ttft, latency in itertools.compress(
        zip(itertools.count(1), raw["ttfts"], raw["latencies"], strict=False), answered
    ):
        if latency < ttft:
            raise ImpossibleFigure(f"row {row} of latencies is {latency}, less than its ttfts, {ttft}")
        if latency > longest:
            raise ImpossibleFigure(f"row {row} of latencies is {latency}, more than the duration, {raw['duration']}")
    return {name: raw[name] for name in DETAILED} | {"errors": [last_line(error) for error in raw["errors"]]}


def _each(raw: dict[str, Any], name: str, is_good: Callable[[Any], bool], wanted: str) -> None:
    for row, value in enumerate(raw[name], 1):
        if not is_good(value):
            _demand(False, f"row {row} of {name}", value, wanted)


def _demand(good: bool, name: str, value: Any, wanted: str) -> None:
    if not good:
        # A number of thousands of digits cannot even be shown.
        shown = "beyond any run" if isinstance(value, int) and abs(value) > GREATEST_COUNT else repr(value)[:40]
        raise ImpossibleFigure(f"{name} is {shown}, not {wanted}")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= GREATEST_COUNT if isinstance(value, int) else math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= GREATEST_COUNT


def _is_time(value: Any, least_s: float = 0.0) -> bool:
    return _is_number(value) and least_s <= value <= GREATEST_S


def _are_gaps(value: Any) -> bool:
    return isinstance(value, list) and all(_is_time(gap) for gap in value)
