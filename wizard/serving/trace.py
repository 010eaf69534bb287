"""From a strategy decided in section 1 to the switch or default of section 2 that puts it in force.

Flags and defaults are true for a version, so what is found names the version the catalogue read them from.
"""

from typing import Literal, NamedTuple

from probes.models import ModelFacts
from wizard.catalogue import Switch, engines
from wizard.catalogue.vllm import packaged_facts, release_of
from wizard.serving.launch import Launch, Setting, switch_of

By = Literal["flags", "default", "checkpoint", "off_switch", "nothing", "unknown"]


class Realised(NamedTuple):
    """Whether a strategy is in force in the proposed launch, and by what.

    `in_force` is None where it cannot be said. `flags` are those that decide it, `version` is the one that
    the catalogue's switch was read from. `by`: `flags` switch it on; it is the runtime's `default`, or the
    `checkpoint`'s format; an `off_switch` is set; `nothing` switches it on.
    """

    in_force: bool | None
    by: By
    flags: tuple[str, ...]
    version: str | None


def realised(strategy: str, launch: Launch, facts: ModelFacts | None = None) -> Realised:
    """Find what puts a strategy in force; `facts` of the carried model say the format of its weights."""
    switch = switch_of(strategy, launch.runtime)
    if switch is None:
        return Realised(None, "unknown", (), None)
    off = [index for index, setting in enumerate(launch.settings) if _switches_off(setting, switch)]
    enough, on = _enabling(switch, launch)
    # Where both are written, the later one counts, as it does in the runtime.
    if off and (not enough or max(on) < max(off)):
        return Realised(False, "off_switch", _flags(launch, off), switch.version)
    if enough:
        variables = tuple(flag.flag for flag in switch.enable if flag.variable)
        return Realised(True, "flags", (*_flags(launch, on), *variables), switch.version)
    found = _flags(launch, on)
    if switch.default in ("on", "auto"):
        return Realised(True, "default", found, switch.version)
    if strategy == "weight_quantization":
        if facts is None:
            return Realised(None, "unknown", found, switch.version)
        return Realised(facts.quantization is not None, "checkpoint", found, switch.version)
    return Realised(False, "nothing", (), switch.version)


def default_of(switch: Switch, runtime: str, version: str | None) -> str:
    """The runtime and the version that the default of a switch is said of: "vLLM 0.33.0", "vLLM (read for 0.33.0)".

    It is the selection's `version` where that is the one that was read, or where the answers of both about every flag
    of the switch are packaged and alike.
    """
    name, own = engines()[runtime].name, release_of(version or switch.version)
    if own == release_of(switch.version) or _same_default(switch, own):
        return f"{name} {own if version else switch.version}"
    return f"{name} (read for {switch.version})"


def _same_default(switch: Switch, own: str) -> bool:
    """Whether both versions say the same; a default that is on shows only where each flag names one."""
    here, there = packaged_facts(own), packaged_facts(switch.version)
    if here is None or there is None:
        return False
    flags = {*(flag.flag for flag in (*switch.enable, *switch.disable)), *switch.disabled_by}
    if not flags or not all(flag in here.by_name and flag in there.by_name for flag in flags):
        return False
    pairs = [(here.by_name[flag].default, there.by_name[flag].default) for flag in flags]
    return all(a == b and (switch.default == "off" or a is not None) for a, b in pairs)


def _switches_off(setting: Setting, switch: Switch) -> bool:
    return setting.flag in switch.disabled_by or any(setting.matches(flag) for flag in switch.disable)


def _flags(launch: Launch, indices: list[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(launch.settings[index].flag for index in indices))


def _enabling(switch: Switch, launch: Launch) -> tuple[bool, list[int]]:
    """Find the places of the flags that switch it on or tune it, and whether they are enough."""
    places = {
        flag.flag: index
        for flag in switch.enable
        for index, setting in enumerate(launch.settings)
        if setting.matches(flag) and launch.find(flag.flag) is setting
    }
    needed = [flag for flag in switch.enable if not flag.optional and flag.with_answer is None]
    have = [(flag.flag, flag.value) in launch.environment if flag.variable else flag.flag in places for flag in needed]
    enough = any(have) if switch.any else bool(have) and all(have)
    # A size or a format that is set explicitly switches it on, though the default may do so already.
    enough = enough or (switch.default == "value" and bool(places))
    return enough, list(places.values())
