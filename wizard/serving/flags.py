"""Flags that a person typed: split as a shell would, spelled in one way, and known to the version or refused."""

import difflib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from probes.errors import ProbeError
from probes.machine import Machine
from wizard.catalogue import exclusions
from wizard.catalogue.vllm import (
    KnownFlag,
    VllmFacts,
    keep_facts,
    kept_facts,
    packaged_facts,
    packaged_versions,
    release_of,
)
from wizard.errors import UsageError

EXTRA_FLAGS = "runtime.settings.extra_flags"
#: Short spellings of flags (vLLM 0.33.0 vllm/engine/arg_utils.py).
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
}
_LEVEL = re.compile(r"-O\d?$")

Words = tuple[str, ...]


def typed_flags(texts: Sequence[str], runtime: str | None) -> Iterator[Words]:
    """Yield each typed flag with its values; raises `UsageError` where the texts are no flags."""
    try:
        words = [word for text in texts for word in shlex.split(text)]
    except ValueError as error:
        raise UsageError(f"{EXTRA_FLAGS} cannot be split into words: {error}.", "Close the quotes.") from None
    groups: list[list[str]] = []
    for word in words:
        if _is_flag(word):
            groups.append(list(_spelled(word, runtime)))
        elif groups:
            groups[-1].append(word)
        else:
            raise UsageError(f"{EXTRA_FLAGS} begins with {word!r}, which is no flag.", "Begin with a flag.")
    yield from (tuple(group) for group in groups)


def base_name(flag: str) -> str:
    """The flag that vLLM's parser makes of one: `-cc.mode=3` is `-cc`, `-O2` is `--optimization-level`."""
    if _LEVEL.match(flag):
        return "--optimization-level"  # vLLM 0.33.0 vllm/utils/argparse_utils.py
    return flag.partition("=")[0].partition(".")[0].replace("_", "-")


def check_flags(typed: Sequence[Words], version: str | None, machine: Machine | None, kept_in: Path) -> None:
    """See that vLLM `version` knows the typed flags and takes them together.

    The installed vLLM of that version wins over the packaged answers: it is asked (10 s, once, kept in the folder
    `kept_in`) before a flag is refused. A version of which nothing is known refuses nothing. Raises `UsageError` for
    the first flag that cannot be used.
    """
    facts = facts_of(version, kept_in)
    strangers = [words for words in typed if facts is None or base_name(words[0]) not in facts.by_name]
    if strangers:
        facts = _asked(version, machine, kept_in) or facts
    if facts is not None:
        for words in typed:
            _check_one(words, facts)
    _check_pairs({base_name(words[0]): words for words in typed}, typed)


def facts_of(version: str | None, kept_in: Path) -> VllmFacts | None:
    """What is known of a vLLM version without asking one; without a version, the newest that is packaged."""
    if version is None:
        return packaged_facts(packaged_versions()[0])
    return kept_facts(kept_in, release_of(version)) or packaged_facts(release_of(version))


def _asked(version: str | None, machine: Machine | None, kept_in: Path) -> VllmFacts | None:
    if machine is None or machine.recorded or machine.planned:
        return None
    wanted = None if version is None else release_of(version)
    found = next((r for r in machine.runtimes if wanted in (None, release_of(r.version))), None)
    if found is None or kept_facts(kept_in, release_of(found.version)) is not None:
        return None
    try:
        return keep_facts(kept_in, Path(found.interpreter).expanduser())
    except ProbeError:
        return None  # it could not be asked: what is packaged decides


def _check_one(words: Words, facts: VllmFacts) -> None:
    flag, values, name = words[0], words[1:], base_name(words[0])
    known = facts.by_name.get(name)
    where = f"{EXTRA_FLAGS}: vLLM {facts.version}"
    if known is None:
        near = difflib.get_close_matches(name, list(facts.by_name), n=1, cutoff=0.6)
        remedy = f"The nearest one is {near[0]}." if near else "Remove it, or name the version that knows it."
        raise UsageError(f"{where} has no flag {flag}.", remedy)
    if flag != name or _LEVEL.match(flag):
        return  # a part of a larger setting carries its value with it
    if known.takes == "none" and values:
        raise UsageError(f"{where} takes no value after {flag}.", f"Remove {values[0]!r}.")
    if known.takes == "one" and len(values) != 1:
        words_given = "none is" if not values else f"{len(values)} are"
        raise UsageError(f"{where} wants one value after {flag}, and {words_given} given.", _choices(known))
    wrong = [value for value in values if known.choices and value not in known.choices]
    if wrong:
        raise UsageError(f"{where} does not take {wrong[0]!r} for {flag}.", _choices(known))


def _choices(known: KnownFlag) -> str:
    return f"It takes {', '.join(known.choices)}." if known.choices else "Write it as the flag and one value."


def _check_pairs(given: Mapping[str, Words], typed: Sequence[Words]) -> None:
    for pair in exclusions():
        first, second = pair.flags
        others = [words for words in typed if _is(words[0], second)]
        if first in given and any(pair.key is None or _holds(words, pair.key) for words in others):
            what = second if pair.key is None else f"{pair.key} in {second}"
            raise UsageError(f"{EXTRA_FLAGS}: {first} and {what} exclude each other.", "Keep one of them.")
    for flag in given:
        opposite = _opposites(flag) & set(given)
        if opposite:
            other = min(opposite)
            raise UsageError(f"{EXTRA_FLAGS}: {flag} and {other} exclude each other.", "Keep one of them.")


def _is(flag: str, name: str) -> bool:
    aliases = {"--compilation-config": "-cc", "--attention-config": "-ac", "--speculative-config": "-sc"}
    return base_name(flag) in (name, aliases.get(name))


def _holds(words: Words, key: str) -> bool:
    """Whether a JSON flag (`--x '{"key": 1}'`) or its dotted form (`-x.key=1`) sets `key`."""
    dotted = words[0].partition(".")[2]
    if dotted:
        return dotted.partition("=")[0].partition(".")[0] == key
    try:
        held = json.loads(words[1]) if len(words) > 1 else None
    except ValueError:
        return False
    return isinstance(held, dict) and key in held


def _opposites(flag: str) -> set[str]:
    """The spellings that switch the other way (vLLM 0.33.0 `EnableDisableAction` and Python's own `--no-`)."""
    if flag.startswith("--no-"):
        return {"--" + flag.removeprefix("--no-")}
    found = {"--no-" + flag.removeprefix("--")}
    if flag.startswith("--enable-"):
        found.add("--disable-" + flag.removeprefix("--enable-"))
    return found


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] == ".")


def _spelled(word: str, runtime: str | None) -> Words:
    """Split `--flag=value` and give the flag its usual spelling; dotted flags and `-O2` stay as they are."""
    flag, equals, value = word.partition("=")
    if "." in flag:
        return (word,)
    if flag.startswith("--"):
        flag = flag.replace("_", "-")
    elif runtime == "vllm":
        flag = _SHORT.get(flag, flag)
    return (flag, value) if equals else (flag,)
