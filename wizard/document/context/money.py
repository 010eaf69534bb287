"""The two budget blocks. Each function here takes one line and nothing of the other.

`Said` is how a block learns source words: it is given the keys of its own line only.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wizard.answers import EngineBudget, Item, RuntimeBudget
from wizard.answers.budget import Line
from wizard.budget import (
    EngineLine,
    EngineMoney,
    EngineRow,
    EngineSubtotal,
    RuntimeLine,
    RuntimeMoney,
    RuntimeRow,
    RuntimeSubtotal,
    engine_unit_cost,
    hourly_r1,
    idle_memo,
    runtime_unit_costs,
)
from wizard.document import formats
from wizard.document.context.alternatives import other_options
from wizard.document.context.common import Context
from wizard.document.context.owned import owned_block
from wizard.document.context.rates import rates_table, tax_words, unfirm_words
from wizard.document.markdown import NOT_GIVEN, Table

Said = Callable[..., str]
_Row = EngineRow | RuntimeRow
_Subtotal = EngineSubtotal | RuntimeSubtotal
_Line = EngineLine | RuntimeLine
_Answers = EngineBudget | RuntimeBudget

AMOUNTS = ("Id", "Item", "Frequency", "Quantity and unit", "Unit price", "Amount", "Source")
BASIS = (
    "Id",
    "Price basis",
    "Provider / publisher / reference",
    "Observed on",
    "Valid until",
    "Pricing and tax",
    "Assumption",
)
#: How often a row is paid, and how many times a year: the amount shown is per year, so that the column can be added.
_FREQUENCIES = {
    "one-time": "one-time",
    "monthly": "recurring, 12 × monthly",
    "yearly": "recurring, yearly",
    "usage-yearly": "usage-based, yearly",
}
_PERIODS = {"one-time": "one-time", "recurring": "recurring, yearly"}
_LACKS = {
    "quantity": "quantity",
    "unit_price": "unit price",
    "frequency": "frequency",
    "currency": "currency",
    "rate": "dated exchange rate into the currency of the line",
}


class Rate(NamedTuple):
    """Output tokens a second of all serving capacity at a load that keeps the ceilings, and the run it comes from.

    `tok_s` is None where no run gives it; `why` then says why.
    """

    tok_s: float | None
    run: str
    why: str


def funding(line: _Line, answers: Line, purpose: str) -> tuple[str, ...]:
    """The row of one line in the table of funding requests: no amount of the other line, no total."""
    return (
        line.line,
        answers.purpose or purpose,
        _request(line, line.one_time),
        _request(line, line.recurring),
        line.currency or NOT_GIVEN,
        answers.owner or NOT_GIVEN,
        answers.approval_route or NOT_GIVEN,
    )


def _request(line: _Line, subtotal: _Subtotal) -> str:
    if not line.rows:
        return NOT_GIVEN
    return _incomplete(subtotal) or ("none" if subtotal.money is None else subtotal.money.number())


def _incomplete(subtotal: _Subtotal) -> str | None:
    """What stands in place of a subtotal that cannot be stated; None where it can be, or has no rows."""
    if not subtotal.rows or subtotal.money is not None:
        return None
    items = formats.counted(len(subtotal.rows), f"{subtotal.period} item")
    return f"incomplete: {len(subtotal.unpriced)} of {items} unpriced"


def engine_block(line: EngineLine, answers: EngineBudget, said: Said, tokens: int | None) -> Context:
    """Line E. `tokens` are the output tokens a year that its unit cost is spread over; None if not given."""
    cost = engine_unit_cost(line, tokens)
    return _block(line, answers, said) | {
        "unit_cost": None if cost is None else cost.text(),
        "tokens": None if tokens is None else formats.number(tokens),
    }


def runtime_block(line: RuntimeLine, answers: RuntimeBudget, said: Said, tokens: int | None, rate: Rate) -> Context:
    """Line R. `rate` is what its serving capacity was measured to deliver; without it there is no unit cost."""
    costs = runtime_unit_costs(hourly_r1(line), rate.tok_s, tokens)
    idle = idle_memo(line, rate.tok_s, tokens)
    table = None
    if costs is not None:
        table = Table(
            ("U", "Price −20 %", "Price as quoted", "Price +20 %", "Source"),
            tuple(
                (
                    f"{formats.number(row.utilisation, 3)}, from the volume of 2.3"
                    if row.from_volume
                    else formats.number(row.utilisation),
                    row.low.text(),
                    row.quoted.text(),
                    row.high.text(),
                    "derived F-10",
                )
                for row in costs.rows
            ),
        )
    context = _block(line, answers, said)
    if idle is not None:
        share, money = idle
        words = f"R3 idle part of R1 at U = {formats.number(share, 3)}, {money.text()} a year (derived F-10)"
        context["memo"] = [words, *_texts(context["memo"])]
    return (
        context
        | owned_block(line, answers, said)
        | {
            "costs": table,
            "costs_why": _no_costs(line, rate, tokens),
            "overloaded": costs is not None and costs.utilisation > 1,
            "rate": None if rate.tok_s is None else formats.number(rate.tok_s, 0),
            "run": rate.run,
        }
    )


def _texts(found: object) -> list[str]:
    return [str(text) for text in found] if isinstance(found, list) else []


def _no_costs(line: RuntimeLine, rate: Rate, tokens: int | None) -> str:
    if rate.tok_s is None:
        return rate.why
    if tokens is None:
        return "the volume of 2.3 is not given"
    return "R1 has no recurring price" if hourly_r1(line) is None else ""


def _block(line: _Line, answers: _Answers, said: Said) -> Context:
    return {
        "currency": line.currency,
        "amounts": _amounts(line, said),
        "unpriced": [_lacking(row) for row in line.rows if row.id in line.unpriced],
        "unpriced_ids": list(dict.fromkeys(line.unpriced)),
        "so_far": priced_so_far(line),
        "not_needed": [f"{row.id}, {row.reason or 'no reason given'}" for row in line.not_needed_rows],
        "memo": [_memo(row) for row in line.memo_rows],
        "contingency": _contingency_words(line, answers),
        "rates": rates_table(answers, line, said),
        "tax": tax_words(answers.items),
        "unfirm": unfirm_words(answers.items),
        **other_options(line, answers, said),
        "basis": _basis(line, answers.items),
        "owner": _owner(answers, said, f"budget.{'engine' if line.line == 'E' else 'runtime'}"),
    }


def priced_so_far(line: _Line) -> str | None:
    """What is priced of each period that cannot be stated, said not to be its subtotal; None where there is none."""
    said = []
    for subtotal, often in ((line.one_time, "one-time"), (line.recurring, "per year")):
        money = line.priced_so_far(subtotal.period)
        if money is not None:
            without = formats.listed(list(dict.fromkeys(subtotal.unpriced)))
            said.append(f"without {without}: {money.text()} {often}")
    return f"Priced so far, not a subtotal, {'; '.join(said)}." if said else None


def _amounts(line: _Line, said: Said) -> Table | None:
    if not line.added_rows:
        return None
    rows = [_amount_row(row, line, said) for row in line.added_rows]
    rows += [_subtotal_row(line, subtotal) for subtotal in (line.one_time, line.recurring) if subtotal.rows]
    rows += [
        (
            line.line,
            "Contingency, not in the subtotal",
            _PERIODS[part.period],
            f"{formats.number(part.percent)} % of the {part.period} subtotal",
            "not applicable",
            NOT_GIVEN if part.money is None else part.money.text(),
            f"derived F-7, {said(f'budget.{_table(line)}.contingency_percent')}",
        )
        for part in line.contingency
    ]
    return Table(AMOUNTS, tuple(rows))


def _table(line: _Line) -> str:
    return "engine" if line.line == "E" else "runtime"


def _price(row: _Row) -> str:
    """The price as it was quoted, with the rate that makes it the line's currency: USD 3.99 × 0.86."""
    if row.unit_price is None:
        return NOT_GIVEN
    return row.unit_price.exact_text() + (f" × {formats.number(row.rate)}" if row.rate is not None else "")


def _no_amount(row: _Row, line: _Line) -> str:
    return f"{NOT_GIVEN} in {line.currency}" if "rate" in row.missing else NOT_GIVEN


def _amount_row(row: _Row, line: _Line, said: Said) -> tuple[str, ...]:
    quantity_and_unit = _quantity(row)
    title = row.title if row.cause is None else f"{row.title}, caused by {row.cause}"
    price = _price(row)
    if row.included_in is not None:
        price, amount = "bundled", f"included in {row.included_in}"
        quantity_and_unit = quantity_and_unit if row.quantity is not None else "not priced apart"
        word = said(f"{row.key}.basis", f"{row.key}.included_in")
    elif row.amount is None:
        amount, word = _no_amount(row, line), "missing, default" if row.usual_frequency else "missing"
    else:
        amount = _shown_amount(row)
        keys = [f"{row.key}.quantity", *([] if row.owned_part else [f"{row.key}.unit_price"])]
        word = f"derived F-1, {'derived F-16, ' if row.owned_part else ''}{said(*keys)}"
    return (
        row.id,
        title,
        _often(row),
        quantity_and_unit,
        price,
        amount,
        word,
    )


def _often(row: _Row) -> str:
    if row.frequency is None:
        return NOT_GIVEN
    return f"{_FREQUENCIES[row.frequency]}{', as this item usually is' if row.usual_frequency else ''}"


def _quantity(row: _Row) -> str:
    if row.quantity is None:
        return f"not given, in {row.unit}" if row.unit else NOT_GIVEN
    return f"{formats.number(row.quantity)} {row.unit or 'units not named'}"


def _shown_amount(row: _Row) -> str:
    money: EngineMoney | RuntimeMoney | None = row.amount if row.yearly is None else row.yearly
    return NOT_GIVEN if money is None else money.text()


def _subtotal_row(line: _Line, subtotal: _Subtotal) -> tuple[str, ...]:
    amount = _incomplete(subtotal) or ("none" if subtotal.money is None else subtotal.money.text())
    return (
        line.line,
        "Subtotal",
        _PERIODS[subtotal.period],
        ", ".join(subtotal.rows),
        "not applicable",
        amount,
        "missing" if subtotal.money is None else "derived F-1",
    )


def _lacking(row: _Row) -> str:
    lacks = [_LACKS.get(name, name) for name in row.missing]
    if row.owned_part and "unit_price" in row.missing:
        lacks[lacks.index("unit price")] = f"inputs of its {row.owned_part}"
    said = f"{row.id} lacks {formats.listed(lacks)}" if lacks else f"{row.id} is stated as not given"
    return f"{said} ({row.reason})" if row.reason else said


def _memo(row: _Row) -> str:
    if row.amount is None or row.quantity is None or row.unit_price is None:
        return f"{row.id} {row.title}, not given"
    often = "" if row.frequency == "one-time" or row.frequency is None else " a year"
    quantity = f"{formats.number(row.quantity)} {row.unit or 'units not named'}"
    return f"{row.id} {row.title}, {quantity} at {_price(row)}, {_shown_amount(row)}{often}"


def _contingency_words(line: _Line, answers: Line) -> str | None:
    if not line.contingency:
        return None
    return (
        f"{answers.contingency_basis or 'basis not given'}; released by "
        f"{answers.contingency_releaser or 'a person not given'}"
    )


def _basis(line: _Line, items: Sequence[Item]) -> Table | None:
    """Where prices come from; ids with the same facts share a row."""
    shared: dict[tuple[str, ...], list[str]] = {}
    by_key = {f"budget.{_table(line)}.items[{index}]": item for index, item in enumerate(items)}
    for row in line.rows:
        if row.state != "not_needed" and row.key in by_key:
            shared.setdefault(_basis_cells(by_key[row.key], row), []).append(row.id)
    if not shared:
        return None
    return Table(BASIS, tuple((", ".join(ids), *cells) for cells, ids in shared.items()))


def _basis_cells(item: Item, row: _Row) -> tuple[str, ...]:
    if row.owned_part:
        none = "not applicable"
        return ("worked out", "inputs of owned hardware below", none, none, none, item.assumption or NOT_GIVEN)
    pricing: str = item.pricing or "pricing not given"
    if item.term_months:
        pricing = f"{pricing} {formats.counted(item.term_months, 'month')}"
    tax = {None: "tax not given", "none": "no tax", "unknown": "tax unknown"}.get(item.tax, f"tax {item.tax}")
    reference = "; ".join(_named(item)) or NOT_GIVEN
    if row.included_in is not None:
        reference = f"in the price of {row.included_in}" if reference == NOT_GIVEN else reference
    return (
        item.basis or NOT_GIVEN,
        reference,
        formats.day(item.observed_on),
        formats.day(item.valid_until),
        f"{pricing}; {tax}",
        item.assumption or NOT_GIVEN,
    )


def _named(item: Item) -> list[str]:
    """Who offers, makes and invoices what, where, and in which words; what nobody gave is left out."""
    parts = (
        item.provider,
        item.publisher and f"published by {item.publisher}",
        item.invoice_issuer and f"invoiced by {item.invoice_issuer}",
        item.product,
        item.region,
        item.min_gpus and f"sold from {formats.counted(item.min_gpus, 'GPU')} on",
        item.source_ref,
        item.quoted_text and f"in its words: {item.quoted_text}",
    )
    return [part for part in parts if part]


def _owner(answers: Line, said: Said, table: str) -> Table:
    fields: tuple[tuple[str, str, object], ...] = (
        ("Owner", "owner", answers.owner),
        ("Cost centre", "cost_centre", answers.cost_centre),
        ("Approval route", "approval_route", answers.approval_route),
        ("Contract end and renewal", "contract_until", answers.contract_until),
        ("Period from", "period_from", answers.period_from),
        ("Horizon in months", "horizon_months", answers.horizon_months),
        ("View: cash or amortised", "view", answers.view),
    )
    return Table(
        ("Field", "Value", "Source"),
        tuple((name, formats.value(found), said(f"{table}.{key}")) for name, key, found in fields),
    )
