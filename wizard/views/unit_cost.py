"""What one line costs per million output tokens, in words; each line alone, with what it still waits for."""

from typing import TYPE_CHECKING

from wizard.answers import Answers
from wizard.budget import engine_line, engine_unit_cost, hourly_r1, runtime_line, runtime_unit_costs, tokens_per_year

if TYPE_CHECKING:
    from wizard.decision.selection import Selection


def unit_cost_words(line: str, answers: Answers, selection: "Selection | None") -> str:
    """The sentence below the prices of one line. `selection` is the one checked last, which knows what was measured."""
    load = answers.runtime.workload
    tokens = tokens_per_year(load.calls_per_year, load.output_tokens)
    if not tokens:
        said = "waits for the calls a year and the output tokens of a call (workload)"
    else:
        said = _engine(answers, tokens) if line == "E" else _runtime(answers, tokens, selection)
    return f"per million output tokens, line {line}: {said}"


def _engine(answers: Answers, tokens: int) -> str:
    priced = engine_line(answers.budget.engine)
    cost = engine_unit_cost(priced, tokens)
    if cost is None:
        unpriced = ", ".join(priced.recurring.unpriced)
        return f"waits for the price of {unpriced}" if unpriced else "waits for a recurring item"
    return f"{cost.text()}, recurring part over {tokens:,} a year (F-8)"


def _runtime(answers: Answers, tokens: int, selection: "Selection | None") -> str:
    from wizard.document.context.measurement import rate

    hourly = hourly_r1(runtime_line(answers.budget.runtime))
    if hourly is None:
        return "waits for the recurring price of R1"
    measured = None if selection is None else rate(selection)
    if measured is None or measured.tok_s is None:
        return f"waits for a measured rate: {measured.why if measured else 'nothing was measured'}"
    costs = runtime_unit_costs(hourly, measured.tok_s, tokens)
    if costs is None:
        return "not known"
    shown = [row for row in costs.rows if row.from_volume] or list(costs.rows[-1:])
    over = " (the measured rate does not carry the volume)" if costs.utilisation > 1 else ""
    figures = [f"{row.quoted.text()} at {row.utilisation:.0%} use{over}" for row in shown]
    return f"{', '.join(figures)}, rate of {measured.run} (F-10)"
