"""The rules: each a pure function from a selection to findings, with its id, severity and source.

A rule fires only on what is known. What is missing is an open question, except where the gap itself blocks.
"""

import re

from wizard.finding import Finding, Severity
from wizard.rules import budget, compatibility, governance, measurement, sizing
from wizard.rules.rule import Rule
from wizard.selection import Selection

__all__ = ["RULES", "Rule", "check", "explain"]

RULES: tuple[Rule, ...] = (*compatibility.RULES, *sizing.RULES, *measurement.RULES, *budget.RULES, *governance.RULES)

_ORDER: dict[Severity, int] = {"block": 0, "warn": 1, "note": 2}


def check(selection: Selection) -> tuple[Finding, ...]:
    """Apply every rule; what blocks comes first, then by rule id and place, so that the order is stable."""
    return tuple(sorted((f for rule in RULES for f in rule.check(selection)), key=_place))


def explain(identifier: str) -> Rule | None:
    """Return the rule of an id such as C3, case aside; None if there is none."""
    return next((rule for rule in RULES if rule.id == identifier.strip().upper()), None)


def _place(finding: Finding) -> tuple[int, str, int, list[str | int]]:
    group, number = finding.rule[0], int(finding.rule[1:])
    # items[10] comes after items[9]
    where: list[str | int] = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", finding.where)]
    return _ORDER[finding.severity], group, number, where
