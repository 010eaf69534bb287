"""Rules on how the options were weighed, and on dates, licences and models that the decision rests on."""

import datetime
import re
from decimal import Decimal

from wizard.answers import Answers
from wizard.answers.engine import EngineOption
from wizard.answers.governance import Assumption, OpenQuestion, Risk
from wizard.decision.finding import Finding
from wizard.decision.proof import carried_model, same_name
from wizard.decision.selection import Selection
from wizard.decision.weighing import SHIFT, TIE_PERCENT, first_place_stable, near_tie, score
from wizard.rules.governance import chosen_option
from wizard.rules.rule import Rule, counted, finding, listed, shortened

_GREATEST_WEIGHT = 40
#: NVML gives GeForce and TITAN cards names that begin so.
_CONSUMER = re.compile(r"(?:NVIDIA )?(?:GeForce|TITAN)\b", re.IGNORECASE)
_NOBODY = re.compile(r"none|nobody|no one|open|unknown|tbd|to be decided|not yet.*|\?", re.IGNORECASE)
_NOT_REVIEWED = re.compile(
    r"no|none|not (?:yet )?(?:reviewed|done)|open|pending|unknown|to be (?:done|reviewed).*", re.IGNORECASE
)
_NO_LICENCE = re.compile(r"unknown|none|no|open|not known|tbd|\?", re.IGNORECASE)


def options_were_weighed(selection: Selection) -> list[Finding]:
    """G4: gates and weighted scores carry the choice, and no single weight decides it."""
    # Weighted decision matrices: gates first, weights that sum to 100 and stay below 40, scores for every
    # option; a near tie, or a first place that one weight can turn, is a finding and not a result.
    engine = selection.answers.engine
    chosen = chosen_option(selection.answers)
    if chosen is None:
        return []  # G3 says so
    index, option = chosen
    found = _uncompared(selection.answers, index, option)
    if not engine.criteria:
        return found
    weights = {row.name: row.weight for row in engine.criteria if row.name is not None and row.weight is not None}
    found += _weights(weights)
    scores = {
        other.name: other.scores
        for other in engine.options
        if other.name is not None and score(weights, other.scores) is not None
    }
    if option.name in scores and len(scores) > 1:
        found += _places(weights, scores, option.name)
    return found


def _uncompared(answers: Answers, index: int, option: EngineOption) -> list[Finding]:
    """The gates and criteria that the chosen option was not held against."""
    engine = answers.engine
    gates = [gate.name for gate in engine.gates if gate.name is not None]
    criteria = [row.name for row in engine.criteria if row.name is not None]
    if not gates and not criteria:
        message = f"{option.name} is chosen, but no gate and no criterion says what it was held against."
        remedy = "Name the gates that every option must pass, and the criteria with their weights."
        return [finding("G4", "warn", message, "engine.gates", remedy)]
    missing = [(name, "gates") for name in gates if name not in option.gates]
    missing += [(name, "scores") for name in criteria if name not in option.scores]
    if not missing:
        return []
    message = f"{option.name} is chosen without a result for {listed([name for name, _ in missing])}."
    where = f"engine.options[{index}].{missing[0][1]}"
    return [finding("G4", "warn", message, where, "Give the result of each gate and a score for each criterion.")]


def _weights(weights: dict[str, int]) -> list[Finding]:
    found = []
    if sum(weights.values()) != 100:
        message = f"The weights of the criteria sum to {sum(weights.values())} and not to 100."
        found.append(finding("G4", "warn", message, "engine.criteria", "Divide 100 points over the criteria."))
    heavy = [name for name, weight in weights.items() if weight > _GREATEST_WEIGHT]
    if heavy:
        message = f"{listed(heavy)} has more than {_GREATEST_WEIGHT} of 100 points and decides almost alone."
        remedy = "Divide the criterion, or say in its evidence why it weighs so much."
        found.append(finding("G4", "warn", message, "engine.criteria", remedy))
    return found


def _places(weights: dict[str, int], scores: dict[str, dict[str, int]], chosen: str) -> list[Finding]:
    """A chosen option that is not first, or first by a hair, or only with these very weights."""
    totals = {name: score(weights, given) or Decimal(0) for name, given in scores.items()}
    best = max(totals, key=lambda name: (totals[name], name == chosen))
    if best != chosen:
        message = f"{chosen} is chosen with {totals[chosen]} points, {best} has {totals[best]}."
        remedy = "Choose the first, or name the driver that the criteria leave out."
        return [finding("G4", "warn", message, "engine.chosen", remedy)]
    if near_tie(weights, scores) is not None:
        message = f"{chosen} leads by less than {TIE_PERCENT} % of its points, which is a tie."
        remedy = "Say what decides between the two, or find a criterion that tells them apart."
        return [finding("G4", "warn", message, "engine.criteria", remedy)]
    if first_place_stable(weights, scores) is False:
        message = f"The first place of {chosen} is lost when one weight moves by {SHIFT} points."
        remedy = "Say who fixed the weights and when, and why they are these."
        return [finding("G4", "warn", message, "engine.criteria", remedy)]
    return []


def review_date_lies_ahead(selection: Selection) -> list[Finding]:
    """G5: the day on which the selection is looked at again is named and lies ahead."""
    # Decision records expire by trigger and by date; a figure of a fast stack goes stale within months.
    day, key = selection.answers.project.review_by, "project.review_by"
    if day is None:
        message = "No day is named on which the selection is looked at again."
        return [finding("G5", "block", message, key, "Name the day of the next review.")]
    if day < selection.prepared_on:
        message = f"The day of the next review, {day.isoformat()}, has passed."
        return [finding("G5", "block", message, key, "Name a day that lies ahead.")]
    return []


def weights_licence_is_reviewed(selection: Selection) -> list[Finding]:
    """G6: the licence of the carried weights is known and was reviewed for this version."""
    # Code, data and weights are licensed apart, and approval of one version of a model does not carry to the next.
    carried = carried_model(selection)
    if carried is None or carried[1].name is None:
        return []
    index, model, _ = carried
    at = f"engine.models[{index}]"
    if model.licence is None or _NO_LICENCE.fullmatch(model.licence.strip()):
        message = f"The licence of the weights of {model.name} is not known."
        return [finding("G6", "warn", message, f"{at}.licence", "Name it for exactly this version.")]
    review = model.licence_review
    if review is None or _NOT_REVIEWED.fullmatch(review.strip()):
        message = f"The licence of {model.name} was not reviewed for this version."
        remedy = "Have legal review this very version, and say who did and when."
        return [finding("G6", "warn", message, f"{at}.licence_review", remedy)]
    return []


def consumer_gpus_stay_out_of_data_centres(selection: Selection) -> list[Finding]:
    """G7: GeForce and TITAN hardware is not proposed for a data centre."""
    # NVIDIA driver licence for GeForce software: no data centre deployment.
    gpu = selection.answers.runtime.hardware.gpu
    if gpu is None or not _CONSUMER.match(gpu.strip()):
        return []
    message = f"{gpu} is a consumer GPU; the licence of its driver does not allow it in a data centre."
    remedy = "Propose a data centre GPU, or have legal say that the place is none."
    return [finding("G7", "warn", message, "runtime.hardware.gpu", remedy)]


def every_model_is_carried(selection: Selection) -> list[Finding]:
    """G8: each model of the project is carried by this selection or by one that is named."""
    # One launch command serves one model: a second one that is said to be carried here is started by nobody.
    carried = carried_model(selection)
    found = []
    for index, model in enumerate(selection.answers.engine.models):
        name, key = model.name or model.path or f"Model {index + 1}", f"engine.models[{index}].carried_by"
        if model.carried_by is not None and _NOBODY.fullmatch(model.carried_by.strip()):
            message = f"{name} is carried by no selection."
            found.append(finding("G8", "warn", message, key, "Name the selection that carries it, or make one."))
        elif model.carried_here and carried is not None and index != carried[0]:
            started = carried[1].name or "another model"
            message = f"{name} is to be carried here, but the launch command starts {started} only."
            found.append(finding("G8", "warn", message, key, "Make a selection for it and name that here."))
        elif model.name is not None and any(
            other.name is not None and same_name(model.name, other.name)
            for other in selection.answers.engine.models[:index]
        ):
            message = f"{model.name} stands twice among the models."
            where = f"engine.models[{index}].name"
            found.append(finding("G8", "warn", message, where, "Take one of the two out."))
    return found


def dates_lie_ahead(selection: Selection) -> list[Finding]:
    """G9: risks, assumptions and open questions are due after the document was prepared."""
    # A date that has passed says that nobody looked: PRINCE2 registers are kept up to date for the review.
    governance, today = selection.answers.governance, selection.prepared_on
    late: list[tuple[str, str, datetime.date]] = []
    tables: tuple[tuple[str, str, tuple[Risk | Assumption | OpenQuestion, ...]], ...] = (
        ("risks", "risk", governance.risks),
        ("assumptions", "assumption", governance.assumptions),
        ("open_questions", "open question", governance.open_questions),
    )
    for name, word, rows in tables:
        for index, row in enumerate(rows):
            if row.due is not None and row.due < today:
                text = shortened(row.text or getattr(row, "key", None) or f"{word} {index + 1}")
                late.append((f"governance.{name}[{index}].due", f'The {word} "{text}"', row.due))
    return [
        finding(
            "G9",
            "warn",
            f"{what} was due {counted((today - due).days, 'day')} before the document, on {due.isoformat()}.",
            key,
            "Say what came of it, or give it a day that lies ahead.",
        )
        for key, what, due in late
    ]


RULES = (
    Rule(
        "G4",
        "The options were weighed, and no single weight decides",
        ("warn",),
        "weighted decision matrices: gates first, weights of 100 in all, sensitivity of one weight at a time",
        options_were_weighed,
        "Hold every option against the same gates and criteria; make the weights sum to 100 with none above 40.",
    ),
    Rule(
        "G5",
        "The next review lies ahead",
        ("block",),
        "MADR 4 and AWS decision records: when to visit a decision again",
        review_date_lies_ahead,
        "Name the day on which the selection is looked at again even if nothing changed.",
    ),
    Rule(
        "G6",
        "The licence of the weights was reviewed for this version",
        ("warn",),
        "licences of weights differ between versions of one model (Meta Llama licences 2 to 4)",
        weights_licence_is_reviewed,
        "Name the licence of exactly this version and who reviewed it when.",
    ),
    Rule(
        "G7",
        "No consumer GPU is proposed for a data centre",
        ("warn",),
        "NVIDIA driver licence for GeForce software: no data centre deployment",
        consumer_gpus_stay_out_of_data_centres,
        "Propose a data centre GPU, or let legal decide that the licence allows the place.",
    ),
    Rule(
        "G8",
        "Every model of the project is carried by a selection",
        ("warn",),
        "one launch command serves one model (vLLM 0.33.0, vllm serve)",
        every_model_is_carried,
        "Name the selection that carries the model, or make one for it.",
    ),
    Rule(
        "G9",
        "Nothing was due before the document",
        ("warn",),
        "PRINCE2: risk and issue registers are up to date at a decision",
        dates_lie_ahead,
        "Close what was due, or give it a day that lies ahead.",
    ),
)
