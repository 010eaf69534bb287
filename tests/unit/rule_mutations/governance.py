"""Mutations of the rules on who decides and what was compared: G1 to G10."""

import datetime

from tests.unit.rule_mutations.row import M, Row

_PAST = datetime.date(2026, 11, 1)
_OPTION = "engine.options[0]"

TABLE: list[Row] = [
    ("no owner of section 1", {"engine.owner": ...}, ("G1", "block", "engine.owner")),
    ("no owner of section 2", {"runtime.owner": ...}, ("G1", "block", "runtime.owner")),
    ("no owner of line E", {"budget.engine.owner": ...}, ("G1", "block", "budget.engine.owner")),
    ("no owner of line R", {"budget.runtime.owner": ...}, ("G1", "block", "budget.runtime.owner")),
    ("one owner of both lines", {"budget.runtime.owner": "Engine  Lead"}, ("G2", "warn", "budget.runtime.owner")),
    (
        "one owner of both lines in a small team",
        {"budget.runtime.owner": "engine lead", "governance.small_team": True},
        ("G2", "note", "budget.runtime.owner"),
    ),
    (
        "an owner approves alone",
        {"governance.approvals[0].name": "engine lead"},
        ("G2", "warn", "governance.approvals"),
    ),
    (
        "one option",
        {"engine.options[1].kind": "do_nothing", "engine.options[2]": {"name": "x", "kind": "do_nothing",
                                                                      "rejected_because": "x"}},
        ("G3", "block", "engine.options"),
    ),
    ("no reason", {"engine.options[1].rejected_because": ...},
     ("G3", "block", "engine.options[1].rejected_because")),
    ("no reason in section 2", {"runtime.options[0].rejected_because": ...},
     ("G3", "block", "runtime.options[0].rejected_because")),
    ("doing nothing is not an option", {"engine.options[2].kind": "managed_api"}, ("G3", "warn", "engine.options")),
    ("nothing is chosen", {"engine.chosen": ...}, ("G3", "block", "engine.chosen")),
    (
        "the chosen one is no option",
        {_OPTION: {"name": "LMDeploy", "rejected_because": "x"}},
        ("G3", "block", "engine.chosen"),
    ),
    ("an option without a name", {"engine.options[1].name": ..., "engine.options[2].kind": "managed_api",
                                  "engine.options[3]": {"name": "x", "kind": "do_nothing", "rejected_because": "x"}},
     ("G3", "block", "engine.options[1].name")),
    ("one engine as two options", {"engine.options[3]": {"name": "sglang", "rejected_because": "x"}},
     ("G3", "block", "engine.options[3].name")),
    ("one model as two", {"engine.models[1].name": "example/dense-32b-fp8"},
     ("G8", "warn", "engine.models[1].name")),
    ("nobody approves", {"governance.approvals": []}, ("G10", "warn", "governance.approvals")),
    ("nobody approves line R", {"governance.approvals[1].covers": "runtime"}, ("G10", "warn", "governance.approvals")),
    ("the chosen one fails a gate", {f"{_OPTION}.gates": {"licence": "fail"}}, ("G3", "block", f"{_OPTION}.gates")),
    ("no gate result of the chosen", {f"{_OPTION}.gates": {}}, ("G4", "warn", f"{_OPTION}.gates")),
    ("no score of the chosen", {f"{_OPTION}.scores": {"strategies": 4, "operation": 5}},
     ("G4", "warn", f"{_OPTION}.scores")),
    ("no gate and no criterion", {"engine.gates": [], "engine.criteria": []}, ("G4", "warn", "engine.gates")),
    ("weights of 110", {"engine.criteria[1].weight": 40}, ("G4", "warn", "engine.criteria")),
    (
        "a weight of 50",
        {"engine.criteria[0].weight": 50, "engine.criteria[1].weight": 20},
        ("G4", "warn", "engine.criteria"),
    ),
    (
        "the chosen one is second",
        {"engine.options[1].scores": {"strategies": 5, "operation": 5, "skills": 5}},
        ("G4", "warn", "engine.chosen"),
    ),
    (
        "a tie",
        {"engine.options[1].scores": {"strategies": 4, "operation": 5, "skills": 5}},
        ("G4", "warn", "engine.criteria"),
    ),
    (
        "one weight turns the first place",
        {"engine.options[1].scores": {"strategies": 1, "operation": 5, "skills": 5},
         f"{_OPTION}.scores": {"strategies": 5, "operation": 3, "skills": 3}},
        ("G4", "warn", "engine.criteria"),
    ),
    ("no review", {"project.review_by": ...}, ("G5", "block", "project.review_by")),
    ("the review has passed", {"project.review_by": _PAST}, ("G5", "block", "project.review_by")),
    ("no licence of the weights", {f"{M}.licence": ...}, ("G6", "warn", f"{M}.licence")),
    ("a licence that nobody reviewed", {f"{M}.licence_review": "not reviewed"}, ("G6", "warn", f"{M}.licence_review")),
    ("a model that nothing carries", {"engine.models[1].carried_by": "nobody"},
     ("G8", "warn", "engine.models[1].carried_by")),
    ("two models in one launch", {"engine.models[1].carried_by": "this"},
     ("G8", "warn", "engine.models[1].carried_by")),
    (
        "a risk that was due",
        {"governance.risks": [{"text": "x", "owner": "x", "due": _PAST, "consequence": "x"}]},
        ("G9", "warn", "governance.risks[0].due"),
    ),
    (
        "a question that was due",
        {"governance.open_questions": [{"text": "x", "owner": "x", "due": _PAST}]},
        ("G9", "warn", "governance.open_questions[0].due"),
    ),
]  # fmt: skip
