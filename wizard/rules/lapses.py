"""What of a measurement has lapsed: how the run differs from what is in force today, by the trigger that ended it.

A run holds for the model, product, hardware, settings and load that it had. The rules M3, M8 and M11 and the tables of
expiry in the document say the same of it, so what they say is found here.
"""

import datetime
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from probes.cuda import branch_in
from probes.smoke.result import Point, SmokeResult
from wizard.decision.proof import (
    asked_points,
    carried_model,
    hardware_verified,
    probed_machine,
    qualifier,
    ran_other_model,
)
from wizard.decision.selection import Selection
from wizard.rules.rule import counted, number
from wizard.serving.launch import Launch

Trigger = Literal["age", "version", "revision", "driver", "format", "layout", "load", "ceilings", "settings"]


class Lapse(NamedTuple):
    """One difference: what ended the run, in words that may stand in a sentence, and the question that decides it."""

    trigger: Trigger
    words: str
    key: str


#: A run older than this is not of the stack that will be delivered: a release of vLLM appears about monthly.
STALE_DAYS = 90
#: The share that lengths may be off without a word.
_LENGTHS = 0.05
_RUN = "runtime.smoke.devices"
#: Flags that M3 compares, that only say where the server listens, or that the smoke sets itself.
_NOT_COMPARED = {
    "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size", "--quantization", "--kv-cache-dtype",
    "--host", "--port", "--uds", "--api-key", "--hf-token", "--load-format", "--served-model-name", "--device-ids",
    "--shutdown-timeout", "--revision", "--tokenizer", "--kv-cache-memory-bytes",
}  # fmt: skip


#: Flags that change what is measured; a flag that is not written has the runtime's default (vLLM 0.33.0).
_LAYOUT = {
    "--tensor-parallel-size": ("tensor parallel size", "1", "runtime.layout.tensor_parallel"),
    "--pipeline-parallel-size": ("pipeline parallel size", "1", "runtime.layout.pipeline_parallel"),
    "--data-parallel-size": ("data parallel size", "1", "runtime.layout.data_parallel"),
    "--quantization": ("quantisation", "that of the checkpoint", "runtime.settings.quantization"),
    "--kv-cache-dtype": ("key-value cache type", "auto", "runtime.settings.kv_cache_dtype"),
}


def lapses(selection: Selection) -> tuple[Lapse, ...]:
    """Everything in which the run is not of today's selection; empty where there is no run, or a failed one."""
    smoke = selection.smoke
    if smoke is None or smoke.failure is not None:
        return ()
    found = [*_age(selection, smoke), *_version(selection, smoke), *_revision(selection, smoke), *_driver(selection)]
    found += _differing(smoke, selection.launch)
    if not smoke.scaled_down and smoke.mode != "tiny":  # else the load was made smaller on purpose, as M3 says
        found += [*_lengths(selection), *_ceilings(selection), *_flags(smoke, selection.launch)]
    return tuple(found)


def _age(selection: Selection, smoke: SmokeResult) -> Iterator[Lapse]:
    # InferenceX: benchmarks of a moment go stale, because the stack changes within days.
    ended = day_of(smoke.ended_at)
    age = (selection.prepared_on - ended).days if ended else 0
    if age > STALE_DAYS:
        yield Lapse("age", f"the run is {counted(age, 'day')} old", _RUN)


def _version(selection: Selection, smoke: SmokeResult) -> Iterator[Lapse]:
    measured, proposed = smoke.runtime.version, selection.answers.runtime.version
    if measured and proposed and _release(measured) != _release(proposed):
        yield Lapse("version", f"version {measured} was measured, {proposed} is proposed", "runtime.version")


def _revision(selection: Selection, smoke: SmokeResult) -> Iterator[Lapse]:
    """The weights of the run and those that are proposed, where both are pinned; a short commit stands for a long."""
    carried, proposed = carried_model(selection), selection.launch.pinned_revision
    measured = run_revision(smoke)
    if carried is None or not proposed or not measured or smoke.mode == "tiny" or ran_other_model(selection):
        return
    if not (measured.startswith(proposed) or proposed.startswith(measured)):
        words = f"revision {measured} of the weights was measured, {proposed} is proposed"
        yield Lapse("revision", words, f"engine.models[{carried[0]}].revision")


def run_revision(smoke: SmokeResult) -> str | None:
    """The revision that the command of a run names, or the folder of the Hub's cache that its weights lay in."""
    given = _words_of(smoke.runtime.command or ()).get("--revision", ())
    places = (smoke.model or "", *(smoke.runtime.command or ()))
    cached = next((match[1] for place in places if (match := _SNAPSHOT.search(place))), None)
    return given[0] if given else cached


_SNAPSHOT = re.compile(r"/snapshots/([0-9a-f]{7,40})(?:/|$)")


def _driver(selection: Selection) -> Iterator[Lapse]:
    """The driver branch of the machine that was measured, where it is the proposed hardware and can be seen."""
    # NVIDIA: a branch brings its own compiler and kernels; figures of one are not those of another.
    smoke, machine = selection.smoke, probed_machine(selection)
    if smoke is None or machine is None or not hardware_verified(selection) or qualifier(selection) is not None:
        return
    text = selection.answers.runtime.hardware.driver
    measured, proposed = branch_in(machine.driver.version.value), branch_in(text)
    if measured is None or proposed is None or measured == proposed:
        return
    if measured > proposed and _OR_LATER.search(text or ""):
        return
    words = f"driver branch {measured} was measured, branch {proposed} is proposed"
    yield Lapse("driver", words, "runtime.hardware.driver")


_OR_LATER = re.compile(r"later|newer|above|at least|from|\+|>", re.IGNORECASE)


def day_of(stamp: str) -> datetime.date | None:
    """The day of a time stamp; None where it is none."""
    try:
        return datetime.datetime.fromisoformat(stamp).date()
    except ValueError:
        return None  # an imported result may hold any text


def _release(version: str) -> str:
    return version.strip().casefold().removeprefix("v").partition("+")[0]


def _differing(smoke: SmokeResult, launch: Launch) -> Iterator[Lapse]:
    """What differs in the flags of layout and formats."""
    if smoke.runtime.command is None or launch.runtime != "vllm":
        return  # flags behind an endpoint cannot be seen
    measured = _flag_values(smoke.runtime.command)
    for flag, (name, default, key) in _LAYOUT.items():
        setting = launch.find(flag)
        proposed = setting.value if setting and setting.value is not None else default
        if measured.get(flag, default) != proposed:
            words = f"{name} ({measured.get(flag, default)} measured, {proposed} proposed)"
            yield Lapse("layout" if "parallel" in flag else "format", words, key)


def _flag_values(words: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for word, following in zip(words, (*words[1:], ""), strict=True):
        flag, equals, value = word.partition("=")
        if flag in _LAYOUT:
            values[flag] = value if equals else following
    return values


def _lengths(selection: Selection) -> Iterator[Lapse]:
    load = selection.answers.runtime.workload
    asked: tuple[tuple[str, int | None, Callable[[Point], float]], ...] = (
        ("input_tokens", load.input_tokens, lambda point: point.input_tokens / point.completed),
        ("output_tokens", load.output_tokens, lambda point: point.output_tokens / point.completed),
    )
    points = [point for point in asked_points(selection) if point.completed]
    for name, wanted, mean in asked:
        sent = [mean(point) for point in points]
        # Shorter answers are M4's: the runtime ended them.
        if wanted is None or not sent or (name == "output_tokens" and max(sent) < wanted):
            continue
        if any(abs(tokens - wanted) > _LENGTHS * wanted for tokens in sent):
            word = "prompt" if name == "input_tokens" else "output"
            words = f"{number(round(sent[0]))} {word} tokens, not {number(wanted)}"
            yield Lapse("load", words, f"runtime.workload.{name}")
    shared = next((point.shared_prefix_tokens for point in points if point.kind == "asked_shared"), None)
    wanted = load.shared_prefix_tokens
    # Prefixes are cut to whole blocks of the trace.
    if shared and wanted is not None and abs(shared - wanted) > max(64, _LENGTHS * wanted):
        words = f"{number(shared)} shared tokens, not {number(wanted)}"
        yield Lapse("load", words, "runtime.workload.shared_prefix_tokens")


def _ceilings(selection: Selection) -> list[Lapse]:
    given = selection.answers.runtime.ceilings
    found: dict[str, Lapse] = {}
    limits = {"ttft_ms": given.ttft_ms, "tpot_ms": given.tpot_ms, "e2e_ms": given.e2e_ms}
    for point in asked_points(selection):
        for result in point.ceilings:
            limit, name = limits[result.metric], result.metric.removesuffix("_ms").upper()
            if limit is not None and result.limit != limit:
                words = f"a {name} ceiling of {number(result.limit)} ms, not {number(limit)}"
                found[result.metric] = Lapse("ceilings", words, f"runtime.ceilings.{result.metric}")
            elif given.percentile is not None and result.percentile != given.percentile:
                words = f"ceilings at p{number(result.percentile)}, not p{given.percentile}"
                found["percentile"] = Lapse("ceilings", words, "runtime.ceilings.percentile")
    return list(found.values())


def _flags(smoke: SmokeResult, launch: Launch) -> Iterator[Lapse]:
    """The proposed flags that the run's command did not have, or had otherwise."""
    if smoke.runtime.command is None or launch.runtime != "vllm":
        return  # flags behind an endpoint cannot be seen
    ran = _words_of(smoke.runtime.command)
    for setting in launch.settings:
        flag, *wanted = setting.words()
        if flag in _NOT_COMPARED or ran.get(flag) == tuple(wanted):
            continue
        had = f"had {' '.join((flag, *ran[flag]))}" if flag in ran else "did not have it"
        key = setting.source_keys[0] if setting.source_keys else "runtime.settings.extra_flags"
        yield Lapse("settings", f"{' '.join((flag, *wanted))} is proposed, the run {had}", key)
    proposed = {setting.flag for setting in launch.settings}
    for flag, values in ran.items():
        if flag not in _NOT_COMPARED and flag not in proposed:
            words = f"the run had {' '.join((flag, *values))}, which is not proposed"
            yield Lapse("settings", words, "runtime.settings.extra_flags")


def _words_of(command: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The flags of a command with their values; `--flag=value` and `--flag value` are the same."""
    groups: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in command:
        if word.startswith("-") and not word[1:2].isdigit():
            flag, equals, value = word.partition("=") if "." not in word.partition("=")[0] else (word, "", "")
            groups[flag] = (value,) if equals else ()
        elif flag:
            groups[flag] += (word,)
    return groups
