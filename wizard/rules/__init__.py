"""The rules: each a pure function from a selection to findings, with its id, severity and source.

A rule fires only on what is known. What is missing is an open question, except where the gap itself blocks.
"""

import re

from wizard.decision.finding import Finding, Severity
from wizard.decision.selection import Selection
from wizard.rules import (
    agreement,
    budget,
    capacity,
    compatibility,
    currency,
    decision,
    governance,
    hardware,
    measurement,
    nodes,
    other_options,
    owned,
    prices,
    product,
    run_quality,
    security,
    sizing,
    strategies,
    structure,
)
from wizard.rules.rule import Rule

__all__ = ["GROUPS", "RULES", "Rule", "check", "explain", "group_of"]

#: What the letter of a rule's id says it is about, in the order in which findings are shown.
GROUPS = {
    "X": "structure",
    "C": "engine and hardware",
    "M": "measurement",
    "B": "budget",
    "G": "governance",
    "S": "security",
}

RULES: tuple[Rule, ...] = (
    *structure.RULES,
    *compatibility.RULES,
    *hardware.RULES,
    *nodes.RULES,
    *strategies.RULES,
    *product.RULES,
    *sizing.RULES,
    *agreement.RULES,
    *measurement.RULES,
    *run_quality.RULES,
    *budget.RULES,
    *prices.RULES,
    *currency.RULES,
    *capacity.RULES,
    *owned.RULES,
    *other_options.RULES,
    *governance.RULES,
    *decision.RULES,
    *security.RULES,
)

_ORDER: dict[Severity, int] = {"block": 0, "warn": 1, "note": 2}


def check(selection: Selection) -> tuple[Finding, ...]:
    """Apply every rule; what blocks comes first, then by rule id and place, so that the order is stable."""
    return tuple(sorted((f for rule in RULES for f in rule.check(selection)), key=_place))


def explain(identifier: str) -> Rule | None:
    """Return the rule of an id such as C3, case aside; None if there is none."""
    return next((rule for rule in RULES if rule.id == identifier.strip().upper()), None)


def group_of(rule: str) -> str:
    """What a rule is about, by its id: "budget" for B7."""
    return GROUPS[rule[0]]


def _place(finding: Finding) -> tuple[int, int, int, list[str | int]]:
    group, number = list(GROUPS).index(finding.rule[0]), int(finding.rule[1:])
    # items[10] comes after items[9]
    where: list[str | int] = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", finding.where)]
    return _ORDER[finding.severity], group, number, where
