"""Rules on who decides and what was compared."""

from wizard.answers import Answers, EngineOption
from wizard.catalogue import engine_id
from wizard.decision.finding import Finding, Severity
from wizard.decision.proof import same_name
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, listed


def every_part_has_an_owner(selection: Selection) -> list[Finding]:
    """G1: both sections and both lines have an owner."""
    # PRINCE2 project initiation: each product and each budget has one accountable person.
    answers = selection.answers
    parts = (
        ("engine.owner", "Section 1, the engine decision,", answers.engine.owner),
        ("runtime.owner", "Section 2, the runtime decision,", answers.runtime.owner),
        ("budget.engine.owner", "Line E", answers.budget.engine.owner),
        ("budget.runtime.owner", "Line R", answers.budget.runtime.owner),
    )
    return [
        finding("G1", "block", f"{part} has no owner.", key, "Name the role that answers for it.")
        for key, part, owner in parts
        if owner is None
    ]


def duties_are_separated(selection: Selection) -> list[Finding]:
    """G2: the two lines have different owners, and no owner is the only approver of the own line."""
    # Separation of duties: who asks for an amount does not approve it alone. A small team is told, not
    # warned.
    answers = selection.answers
    severity: Severity = "note" if answers.governance.small_team else "warn"
    engine, runtime = answers.budget.engine.owner, answers.budget.runtime.owner
    found = []
    if engine is not None and runtime is not None and same_name(engine, runtime):
        message = f"Both budget lines are owned by {engine}."
        remedy = "Give the lines different owners, or say that it is one small team."
        found.append(finding("G2", severity, message, "budget.runtime.owner", remedy))
    for line, owner in (("E", engine), ("R", runtime)):
        approvers = _approvers(answers, f"line {line.casefold()}")
        if owner is not None and approvers and all(same_name(name, owner) for name in approvers):
            message = f"The owner of line {line}, {owner}, is also its only approver."
            remedy = "Name a second approver of this line."
            found.append(finding("G2", severity, message, "governance.approvals", remedy))
    return found


def _approvers(answers: Answers, line: str) -> list[str]:
    return [
        approval.name or approval.role or ""
        for approval in answers.governance.approvals
        if line in " ".join((approval.covers or "").casefold().split())
    ]


def real_options_were_compared(selection: Selection) -> list[Finding]:
    """G3: at least two real options, a reason for each that was rejected, and doing nothing among them."""
    # Rust RFC template: "what is the impact of not doing this?"; MADR: considered options with their reasons.
    engine = selection.answers.engine
    real = [option for option in engine.options if option.kind != "do_nothing" and option.name is not None]
    found = []
    if len(real) < 2:
        counted = "no real option" if not real else "one real option"
        message = f"There is {counted} for the engine; a choice needs two."
        found.append(finding("G3", "block", message, "engine.options", "Add an option that could be chosen."))
    if engine.options and not any(option.kind == "do_nothing" for option in engine.options):
        message = "Doing nothing is not among the options of the engine."
        remedy = "Add it, with what would follow."
        found.append(finding("G3", "warn", message, "engine.options", remedy))
    found += _nameless(engine.options)
    found += _named_twice(engine.options)
    found += _chosen(selection.answers)
    # Which options were rejected is known only once one of them was chosen.
    is_chosen = [_is_same_engine(option.name, engine.chosen) for option in engine.options]
    for index, option in enumerate(engine.options):
        if any(is_chosen) and not is_chosen[index] and option.name and option.rejected_because is None:
            found.append(_no_reason(option.name, f"engine.options[{index}].rejected_because"))
    for index, other in enumerate(selection.answers.runtime.options):
        if other.name is not None and other.rejected_because is None:
            found.append(_no_reason(other.name, f"runtime.options[{index}].rejected_because"))
    return found


def _nameless(options: tuple[EngineOption, ...]) -> list[Finding]:
    """The options of which something is said but not the name."""
    return [
        finding(
            "G3",
            "block",
            f"Option {index + 1} of the engine has no name.",
            f"engine.options[{index}].name",
            "Name it, or take it out.",
        )
        for index, option in enumerate(options)
        if option.name is None and (option.licence or option.gates or option.scores or option.rejected_because)
    ]


def _named_twice(options: tuple[EngineOption, ...]) -> list[Finding]:
    """An option that stands among the options a second time: two rows of one engine are one option."""
    names = [(index, option.name) for index, option in enumerate(options) if option.name is not None]
    return [
        finding(
            "G3",
            "block",
            f"{name} stands twice among the options of the engine.",
            f"engine.options[{index}].name",
            "Take one of the two out, or name what sets them apart.",
        )
        for place, (index, name) in enumerate(names)
        if any(same_name(name, other) for _, other in names[:place])
    ]


def _chosen(answers: Answers) -> list[Finding]:
    """What is wrong with the choice itself: nothing chosen, not one of the options, or one that a gate rules out."""
    engine = answers.engine
    if engine.chosen is None:
        message = "No engine is chosen, so section 1 decides nothing."
        return [finding("G3", "block", message, "engine.chosen", "Name the option that is chosen.")]
    named = [option.name for option in engine.options if option.name is not None]
    if not named:
        return []
    chosen = chosen_option(answers)
    if chosen is None:
        message = f"{engine.chosen} is chosen but is none of the options that were compared: {listed(named)}."
        remedy = "Choose one of the options, or add this one with its gates and scores."
        return [finding("G3", "block", message, "engine.chosen", remedy)]
    index, option = chosen
    failed = [name for name, passed in option.gates.items() if passed == "fail"]
    if failed:
        message = (
            f"{option.name} is chosen although it fails {'a gate' if len(failed) == 1 else 'gates'}: {listed(failed)}."
        )
        remedy = "Choose an option that passes every gate, or correct the gate."
        return [finding("G3", "block", message, f"engine.options[{index}].gates", remedy)]
    return []


def chosen_option(answers: Answers) -> tuple[int, EngineOption] | None:
    """Return the option that is the chosen engine, with its place."""
    for index, option in enumerate(answers.engine.options):
        if _is_same_engine(option.name, answers.engine.chosen):
            return index, option
    return None


def _is_same_engine(option: str | None, chosen: str | None) -> bool:
    """Whether an option is the chosen engine, written the same or with words added ("vLLM 0.33")."""
    if option is None or chosen is None:
        return False
    return same_name(option, chosen) or (engine_id(option) is not None and engine_id(option) == engine_id(chosen))


def _no_reason(name: str, where: str) -> Finding:
    message = f"{name} was rejected without a reason."
    return finding("G3", "block", message, where, "Say why it was not chosen.")


RULES = (
    Rule(
        "G1",
        "Both sections and both lines have an owner",
        ("block",),
        "PRINCE2, project initiation documentation: roles and responsibilities",
        every_part_has_an_owner,
        "Name the role that answers for each section and each line; without one the document stays a draft.",
    ),
    Rule(
        "G2",
        "Duties are separated",
        ("warn", "note"),
        "separation of duties: who asks does not approve alone",
        duties_are_separated,
        "Give the lines different owners and second approvers, or say that it is one small team.",
    ),
    Rule(
        "G3",
        "Real options were compared, doing nothing among them",
        ("block", "warn"),
        "MADR 4, considered options; Rust RFC template, impact of not doing this",
        real_options_were_compared,
        "Compare two options or more, and doing nothing; choose one, and say why each other was not chosen.",
    ),
)
