"""What makes the amounts of one line addable: its exchange rates, and what its prices say of tax."""

from collections.abc import Callable, Sequence

from wizard.answers import EngineBudget, Item, RuntimeBudget
from wizard.budget import EngineLine, RuntimeLine
from wizard.document import formats
from wizard.document.markdown import NOT_GIVEN, Table

RATES = ("Exchange rate", "Value", "Reference", "Observed on", "Used by", "Source")
_TAX = (
    ("excluded", "excluded in {}"),
    ("included", "included in {}"),
    ("none", "none due on {}"),
    ("unknown", "unknown for {}"),
    (None, "not given for {}"),
)


def rates_table(
    answers: EngineBudget | RuntimeBudget, line: EngineLine | RuntimeLine, said: Callable[..., str]
) -> Table | None:
    """The rates of the line with their day and source, and the rows that each converts; None without a rate."""
    if not answers.rates:
        return None
    at = f"budget.{'engine' if line.line == 'E' else 'runtime'}.rates"
    rows = []
    for index, rate in enumerate(answers.rates):
        used = [row.id for row in line.rows if row.rate is not None and _currency(row.unit_price) == rate.currency]
        keys = [f"{at}[{index}].{name}" for name in ("currency", "rate", "source_ref", "observed_on")]
        rows.append(
            (
                f"1 {rate.currency or 'unit of a currency that is not given'} in {line.currency or NOT_GIVEN}",
                NOT_GIVEN if rate.rate is None else formats.number(rate.rate),
                rate.source_ref or NOT_GIVEN,
                formats.day(rate.observed_on),
                ", ".join(used) or "no row",
                said(*keys),
            )
        )
    return Table(RATES, tuple(rows))


def _currency(money: object) -> object:
    return getattr(money, "currency", None)


def unfirm_words(items: Sequence[Item]) -> str:
    """Which prices may change without notice; empty where none may."""
    return ", ".join(
        item.id or item.item or "an item" for item in items if item.pricing == "Dynamic" and _is_priced(item)
    )


def _is_priced(item: Item) -> bool:
    return item.unit_price is not None and item.state in (None, "priced") and item.basis != "bundled"


def tax_words(items: Sequence[Item]) -> str:
    """Which items have their price with tax and which without; empty where nothing is priced."""
    priced = [item for item in items if _is_priced(item)]
    said = []
    for tax, words in _TAX:
        names = [item.id or item.item or "an item" for item in priced if item.tax == tax]
        if names:
            said.append(words.format(", ".join(names)))
    return "; ".join(said)
