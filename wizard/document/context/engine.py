"""Section 1, the engine decision, without prices of GPUs, GPU counts and measured latencies."""

from collections.abc import Sequence

from wizard.advice.of_selection import situation_in
from wizard.advice.options import Gate, gates_of
from wizard.answers import EngineOption
from wizard.decision.selection import Selection
from wizard.decision.weighing import robustness, score
from wizard.document import formats
from wizard.document.context import strategies
from wizard.document.context.common import Context, answer, facts, ids, said, sources
from wizard.document.context.expiry import engine_triggers
from wizard.document.markdown import NOT_GIVEN, Table

#: The most options of one table: seven columns less the first and the last two.
_OPTIONS_A_TABLE = 4
_KINDS = {"engine": "", "managed_api": "managed API", "do_nothing": "do nothing"}


def engine(selection: Selection) -> Context:
    """Everything that section 1 says."""
    return {
        "chosen": answer(selection, "engine.chosen"),
        "product": answer(selection, "runtime.product"),
        "owner": said(selection, "engine.owner"),
        "need": facts(
            selection,
            (
                ("Purpose", "engine.purpose"),
                ("Interfaces needed", "engine.interfaces"),
                ("Quality gate", "engine.quality_gate"),
                ("Data class and place", "engine.data_class"),
                ("Licence policy", "engine.licence_policy"),
            ),
        ),
        "models": _models(selection),
        "strategies": strategies.table(selection),
        "undecided": strategies.undecided(selection),
        "gates": _gates(selection),
        "weights_fixed_on": said(selection, "engine.weights_fixed_on"),
        "scores": _scores(selection),
        "unscored": _unscored(selection),
        "rejected": _rejected(selection),
        "consequences": _consequences(selection),
        "supply": _supply(selection),
        "repeated": ids(selection.engine_line, ("E3", "E4", "E6", "E8")),
        "exit": ids(selection.engine_line, ("E10",)),
        "confirmation": answer(selection, "engine.confirmation"),
        "triggers": engine_triggers(selection),
    }


def _models(selection: Selection) -> Table | None:
    rows: list[tuple[str, ...]] = []
    for position, model in enumerate(selection.answers.engine.models):
        key = f"engine.models[{position}]"
        if model.carried_by not in (None, "this"):
            carried = f"not part of this selection; carried by {model.carried_by}"
            word = sources(selection, f"{key}.name", f"{key}.carried_by")
            rows.append((said(selection, f"{key}.name"), carried, *("not applicable",) * 3, word))
            continue
        known = selection.models[position] if position < len(selection.models) else None
        rows.append((said(selection, f"{key}.name"), *strategies.architecture(selection, known, key, position)))
    if not rows:
        return None
    columns = ("Model", "Architecture", "Heads / KV heads", "Context needed", "Engine supports it?", "Source")
    return Table(columns, tuple(rows))


def _option_names(options: Sequence[EngineOption]) -> tuple[str, ...]:
    """Names as column headers: what kind of option it is, where it is no engine."""
    return tuple(_option_name(option) for option in options)


def _option_name(option: EngineOption) -> str:
    kind, name = _KINDS[option.kind], option.name or "option without a name"
    return name if not kind or name.casefold() == kind.casefold() else f"{name}, {kind}"


def _groups(options: Sequence[EngineOption]) -> list[tuple[EngineOption, ...]]:
    """Options in groups that fit a table."""
    return [tuple(options[start : start + _OPTIONS_A_TABLE]) for start in range(0, len(options), _OPTIONS_A_TABLE)]


def _gates(selection: Selection) -> list[Table]:
    names = [gate.name for gate in selection.answers.engine.gates if gate.name]
    options = list(enumerate(selection.answers.engine.options))
    if not names or not options:
        return []
    facts = _gate_facts(selection)
    tables = []
    for start in range(0, len(options), _OPTIONS_A_TABLE):
        group = options[start : start + _OPTIONS_A_TABLE]
        rows = []
        for name in names:
            cells = [_gate_cell(option, name, facts[index]) for index, option in group]
            rows.append((name, *cells, _gate_source(selection, name, group)))
        tables.append(Table(("Gate", *_option_names([option for _, option in group]), "Source"), tuple(rows)))
    return tables


def _gate_facts(selection: Selection) -> list[dict[str, Gate]]:
    """For each option, what the facts say of the standard gates."""
    situation = situation_in(selection)
    return [{gate.name: gate for gate in gates_of(option, situation)} for option in selection.answers.engine.options]


def _gate_cell(option: EngineOption, name: str, facts: dict[str, Gate]) -> str:
    """A result, with the fact behind it where the facts say the same as the answer."""
    result, fact = option.gates.get(name), facts.get(name)
    if result is None:
        return NOT_GIVEN
    return f"{result}, {fact.fact}" if fact is not None and fact.result == result else result


def _gate_source(selection: Selection, name: str, group: Sequence[tuple[int, EngineOption]]) -> str:
    """Who said the results of a gate; a filled one rests on the catalogue."""
    filled = [
        selection.origin(f"engine.options[{index}].gates.{name}").layer == "default" and name in option.gates
        for index, option in group
    ]
    given = [name in option.gates and not is_filled for (_, option), is_filled in zip(group, filled, strict=True)]
    words = [
        *(["answer"] if any(given) else []),
        *(["default", "catalogue"] if any(filled) else []),
        *([] if all(name in option.gates for _, option in group) else ["missing"]),
    ]
    return ", ".join(words)


def _scores(selection: Selection) -> list[Table]:
    criteria = [c for c in selection.answers.engine.criteria if c.name]
    options = [o for o in selection.answers.engine.options if "fail" not in o.gates.values() and o.scores]
    if not criteria or not options:
        return []
    weights = {str(c.name): c.weight for c in criteria if c.weight is not None}
    complete = weights if len(weights) == len(criteria) else {}
    scored = {str(option.name): option.scores for option in options}
    tables = []
    for group in _groups(options):
        rows = [
            (
                str(criterion.name),
                formats.value(criterion.weight),
                *(formats.value(option.scores.get(str(criterion.name))) for option in group),
                formats.value(criterion.evidence),
            )
            for criterion in criteria
        ]
        sums = [score(complete, option.scores) for option in group]
        rows.append(
            (
                "Weighted score, derived F-12",
                formats.number(sum(weights.values())) if complete else NOT_GIVEN,
                *(NOT_GIVEN if total is None else formats.number(total) for total in sums),
                robustness(complete, scored),
            )
        )
        tables.append(Table(("Criterion", "Weight", *_option_names(group), "Evidence"), tuple(rows)))
    return tables


def _unscored(selection: Selection) -> list[str]:
    """Options without a score, with why."""
    return [
        f"{_option_name(option)}, {'which fails a gate' if 'fail' in option.gates.values() else 'no score is given'}"
        for option in selection.answers.engine.options
        if "fail" in option.gates.values() or not option.scores
    ]


def _rejected(selection: Selection) -> list[tuple[str, str | None]]:
    """Every option that was not chosen, with its reason."""
    chosen = selection.answers.engine.chosen
    return [
        (name, option.rejected_because)
        for option, name in zip(
            selection.answers.engine.options, _option_names(selection.answers.engine.options), strict=True
        )
        if option.name != chosen or option.rejected_because
    ]


def _consequences(selection: Selection) -> list[tuple[str, str]]:
    given = selection.answers.engine.consequences
    return [
        ("Good", given.good or NOT_GIVEN),
        ("Neutral", given.neutral or NOT_GIVEN),
        ("Bad", given.bad or NOT_GIVEN),
        ("What becomes harder", given.harder or NOT_GIVEN),
    ]


def _supply(selection: Selection) -> Table:
    columns = ("Component", "Version or commit", "Licence", "Support source", "End of support", "Source")
    keys: tuple[str, ...] = ("engine.licence", "engine.support_source", "engine.support_until")
    name = answer(selection, "engine.chosen")
    same = name is not None and name == answer(selection, "runtime.product")
    version = said(selection, "runtime.version") if same else "the product of 2.1 carries it"
    rows = [
        (
            f"Engine: {formats.value(name)}",
            version,
            *(said(selection, key) for key in keys),
            sources(selection, "engine.chosen", *keys),
        )
    ]
    for position, model in enumerate(selection.answers.engine.models):
        if model.carried_by not in (None, "this"):
            continue
        prefix = f"engine.models[{position}]"
        keys = tuple(f"{prefix}.{field}" for field in ("revision", "licence", "support_source", "support_until"))
        revision, licence, support, end = (said(selection, key) for key in keys)
        review = said(selection, f"{prefix}.licence_review")
        rows.append(
            (
                f"Model: {said(selection, f'{prefix}.name')}",
                revision if revision == NOT_GIVEN else f"revision {revision}",
                f"{licence}; review: {review}",
                support,
                end,
                sources(selection, f"{prefix}.name", f"{prefix}.licence_review", *keys),
            )
        )
    return Table(columns, tuple(rows))
