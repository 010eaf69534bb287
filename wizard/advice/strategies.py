"""For each strategy: whether it matters here, what it needs, what it becomes, and a sensible decision with its why."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from wizard.advice.matters import Opinion, opinion
from wizard.advice.needs import Prerequisite, Verdict, prerequisite
from wizard.advice.situation import Situation
from wizard.catalogue import Flag, Strategy, Switch, strategies
from wizard.serving.launch import switch_of
from wizard.serving.trace import default_of, realised

#: `matters`: a person decides. `follows`: model or runtime decide by themselves. `not_here`: it has no use here.
Place = Literal["matters", "follows", "not_here"]


class Advice(BaseModel):
    """What is to be said of one strategy before and beside its decision.

    `why` is the reason for its place where it does not matter. `decision` is the sensible default with its `reason`;
    None where the facts give none. `becomes` are the flags that switch it on, `off` those that switch it off, and
    `by_default` what the runtime does without any, with the version that was read; empty for a runtime whose switches
    are not in the catalogue.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    place: Place
    why: str
    prerequisites: tuple[Prerequisite, ...] = ()
    decision: Literal["adopt", "defer", "reject"] | None = None
    reason: str = ""
    becomes: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    by_default: str = ""

    @property
    def here(self) -> Verdict:
        """Whether model and machine give what it needs: no where one thing is missing, yes where all are there."""
        verdicts = {item.met for item in self.prerequisites}
        return "no" if "no" in verdicts else "not known" if "not known" in verdicts else "yes"


def advise(situation: Situation) -> tuple[Advice, ...]:
    """What is to be said of every strategy, in the order of the catalogue."""
    return tuple(advise_one(row, situation) for row in strategies().values())


def advise_one(row: Strategy, situation: Situation) -> Advice:
    """What is to be said of one strategy."""
    switch = switch_of(row.id, situation.launch.runtime)
    given = situation.answers.engine.strategies.get(row.id)
    found = opinion(row.id, situation, switch)
    place: Place = "matters" if given is not None and given.decision else found.place
    decided = _seen(row.id, situation) or found
    usable = place == "matters" and found.place == "matters" and decided.decision is not None
    return Advice(
        id=row.id,
        place=place,
        why=found.why,
        prerequisites=tuple(prerequisite(need, situation) for need in row.needs),
        decision=decided.decision if usable else None,
        reason=decided.reason if usable else "",
        becomes=_flags(switch, on=True),
        off=_flags(switch, on=False),
        by_default=_default_words(switch, situation),
    )


def _seen(strategy: str, situation: Situation) -> Opinion | None:
    """What the launch settings have decided already: a flag that somebody typed is a decision."""
    if strategy in situation.answers.engine.strategies:
        return None
    seen = realised(strategy, situation.launch, situation.facts)
    flags = ", ".join(seen.flags)
    if seen.by == "flags" and seen.in_force:
        return Opinion("matters", "", "adopt", f"{flags} switches it on")
    if seen.by == "off_switch":
        return Opinion("matters", "", "reject", f"{flags} switches it off")
    return None


def _flags(switch: Switch | None, *, on: bool) -> tuple[str, ...]:
    if switch is None:
        return ()
    wanted = switch.enable if on else switch.disable
    return tuple(f"{flag.flag}={flag.value}" if flag.variable else " ".join(_words(flag)) for flag in wanted)


def _words(flag: Flag) -> list[str]:
    return [flag.flag] if flag.value is None else [flag.flag, flag.value]


def _default_words(switch: Switch | None, situation: Situation) -> str:
    runtime = situation.launch.runtime
    if switch is None or runtime is None:
        return ""
    state = {
        "on": "on by default",
        "off": "off by default",
        "auto": "decided at the start by default",
        "value": f"{switch.default_value} by default",
    }[switch.default]
    return f"{state} in {default_of(switch, runtime, situation.answers.runtime.version)}"
