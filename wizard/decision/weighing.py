"""Weighted scores of options: the score of each, and whether the order depends on one weight."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

#: How far one weight is moved, in points of 100, to see whether the first place depends on it.
SHIFT = 10
#: Two options closer than this share of the better one are a tie in practice.
TIE_PERCENT = 5


def score(weights: Mapping[str, int], scores: Mapping[str, int]) -> Decimal | None:
    """Sum of weight x score / 100 to two decimals; None while a weight or a score is missing.

    Weights that do not sum to 100 are used as they are: a rule says so, and scaling them would hide it.
    """
    if not weights or any(name not in scores for name in weights):
        return None
    total = sum((Decimal(weight) * scores[name] for name, weight in weights.items()), Decimal(0))
    return (total / 100).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


def shifted(weights: Mapping[str, int], moved: str, points: int) -> dict[str, Decimal]:
    """The weights with `moved` changed by `points`, the others scaled so that the sum stays."""
    rest = sum(weights.values()) - weights[moved]
    new = max(0, weights[moved] + points)
    scale = Decimal(rest + weights[moved] - new) / rest if rest else Decimal(0)
    return {name: Decimal(new) if name == moved else weight * scale for name, weight in weights.items()}


def first_place_stable(weights: Mapping[str, int], options: Mapping[str, Mapping[str, int]]) -> bool | None:
    """Whether the same option stays first when each weight in turn moves by 10 points either way.

    None while fewer than two options have every score.
    """
    scored = {name: given for name, given in options.items() if score(weights, given) is not None}
    if len(scored) < 2:
        return None
    first = _first({name: Decimal(weight) for name, weight in weights.items()}, scored)
    return all(
        _first(shifted(weights, moved, points), scored) == first for moved in weights for points in (-SHIFT, SHIFT)
    )


def near_tie(weights: Mapping[str, int], options: Mapping[str, Mapping[str, int]]) -> tuple[str, str] | None:
    """The first and the second option where they are less than 5 % of the first apart; None where they are not."""
    sums = {name: total for name, given in options.items() if (total := score(weights, given)) is not None}
    ranked = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(ranked) < 2:
        return None
    (first, best), (second, next_best) = ranked[:2]
    return (first, second) if (best - next_best) * 100 < best * TIE_PERCENT or best == 0 else None


def flips(weights: Mapping[str, int], options: Mapping[str, Mapping[str, int]]) -> tuple[tuple[str, int, str], ...]:
    """The moves of one weight by 10 points that put another option first: criterion, points, and who is then first."""
    scored = {name: given for name, given in options.items() if score(weights, given) is not None}
    if len(scored) < 2:
        return ()
    first = _first({name: Decimal(weight) for name, weight in weights.items()}, scored)
    found = []
    for moved in weights:
        for points in (-SHIFT, SHIFT):
            then = _first(shifted(weights, moved, points), scored)
            if then != first:
                found.append((moved, points, " and ".join(sorted(then))))
    return tuple(found)


def robustness(weights: Mapping[str, int], scored: Mapping[str, Mapping[str, int]]) -> str:
    """Whether the order rests on one weight, and whether first and second are as good as equal."""
    stable = first_place_stable(weights, scored) if weights else None
    if stable is None:
        return "the order cannot be tested: fewer than two options have every score"
    tie = near_tie(weights, scored)
    words = f"; {tie[0]} and {tie[1]} are less than {TIE_PERCENT} % apart, as good as equal" if tie else ""
    if stable:
        return f"the first place stays when one weight moves by {SHIFT} points{words}"
    moves = ", ".join(f"{name} {points:+d}: {then}" for name, points, then in flips(weights, scored))
    return f"the first place changes when one weight moves by {SHIFT} points ({moves}){words}"


def _first(weights: Mapping[str, Decimal], options: Mapping[str, Mapping[str, int]]) -> frozenset[str]:
    """The option or options with the greatest score."""
    sums = {
        name: sum((weight * given[criterion] for criterion, weight in weights.items()), Decimal(0))
        for name, given in options.items()
    }
    best = max(sums.values())
    return frozenset(name for name, total in sums.items() if total == best)
