"""What a workload profile makes of the answered token figures: the same means, in the form that such a project sends.

The factors are selwiz's own choice, not measured on any traffic; the means stay those of the answers, and the plan
and the document print what was sent.
"""

from __future__ import annotations

from typing import Literal

from probes.smoke.plan import Workload

Profile = Literal["agent", "chat", "rag", "batch", "custom"]

_BURST: dict[Profile, int] = {"agent": 3}
"""Parallel calls of one turn of a task, which repeat the same earlier part."""
_OUTPUTS: dict[Profile, tuple[float, ...]] = {
    "agent": (0.9,) * 4 + (1.9,) + (0.9,) * 5,
    "chat": (1.0, 0.5, 1.5, 0.75, 1.25),
    "rag": (1.0, 0.5, 1.5, 0.75, 1.25),
}
"""Answer lengths in shares of the mean, taken in turn: an agent's are short with an occasional long one."""
_INPUTS: dict[Profile, tuple[float, ...]] = {"rag": (1.0, 0.75, 1.25, 0.875, 1.125)}
"""Lengths of the part of a prompt that is not shared, in shares of its mean."""
_GROWS: frozenset[Profile] = frozenset({"agent", "chat"})
"""Profiles whose prompts grow over the turns of a task, from half to one and a half of the mean."""


def shaped(profile: Profile, load: Workload, longest: int | None) -> Workload:
    """Return the load in the form of a profile; unchanged where its longest request exceeds `longest` tokens.

    `batch` and `custom` send every request as answered.
    """
    own = load.input_tokens - load.shared_prefix_tokens
    shares = _INPUTS.get(profile, ())
    if profile in _GROWS and load.turns > 1:
        shares = tuple(0.5 + turn / (load.turns - 1) for turn in range(load.turns))
    made = load.model_copy(
        update={
            "burst": _BURST.get(profile, 1),
            "input_mix": tuple(load.shared_prefix_tokens + max(1, round(own * share)) for share in shares),
            "output_mix": tuple(max(1, round(load.output_tokens * share)) for share in _OUTPUTS.get(profile, ())),
        }
    )
    return load if longest is not None and made.longest_request > longest else made
