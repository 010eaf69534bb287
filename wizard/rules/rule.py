"""What a rule is, and how a finding is made."""

from collections.abc import Callable
from typing import NamedTuple

from wizard.catalogue import strategies
from wizard.decision.finding import Finding, Severity
from wizard.decision.selection import Selection


class Rule(NamedTuple):
    """One rule as `check --explain` tells it.

    `severity` lists what it can say, gravest first; `source` is where the rule comes from; `check` is the
    rule itself; `remedy` says what to do about it in general.
    """

    id: str
    title: str
    severity: tuple[Severity, ...]
    source: str
    check: Callable[[Selection], list[Finding]]
    remedy: str = ""


def finding(rule: str, severity: Severity, message: str, where: str, remedy: str) -> Finding:
    """Make a finding; `where` is the key of the question to go to."""
    return Finding(rule=rule, severity=severity, message=message, where=where, remedy=remedy)


def number(value: float) -> str:
    """Write a number with separators and no needless digits: 1,500 or 37.5."""
    return f"{value:,.10g}" if value != int(value) else f"{int(value):,}"


def listed(words: list[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(count: int, noun: str) -> str:
    """A small number with its noun: 1 GPU, 2 GPUs."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def strategy_named(identifier: str) -> str:
    """A strategy as the subject of a sentence, whatever its title is: the strategy "Quantised weights"."""
    return f'The strategy "{strategies()[identifier].name}"'


def shortened(text: str, most: int = 60) -> str:
    """A typed text short enough for a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
