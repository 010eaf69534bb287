"""What owned hardware costs a year, part by part, from inputs that a person gave with source and day.

owned hardware a year = (purchase price - residual value) / life + average kW x PUE x 8,760 x price of a kWh
+ price of a kW and month x kW of space x 12 + maintenance % x purchase price + insurance and spares + staff,
and per delivered GPU-hour = that / (GPUs x 8,760 x U). No input is assumed: without one, its part is not given.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple, get_args

from wizard.answers.budget import OwnedInput, OwnedName, OwnedPart, RuntimeBudget, RuntimeItem
from wizard.budget.money import ARITHMETIC, RuntimeMoney
from wizard.budget.rates import UsableRate, foreign_currency, usable_rates
from wizard.currencies import minor_digits

HOURS_PER_YEAR = 8760
#: The unit of a row that is a part of owned hardware: GPUs times years.
UNIT = "GPU-Years"
NAMES: tuple[OwnedName, ...] = get_args(OwnedName)
#: What each part is worked out from.
INPUTS: dict[OwnedPart, tuple[OwnedName, ...]] = {
    "depreciation": ("purchase_price", "residual_value", "life_years"),
    "energy": ("average_kw", "pue", "price_kwh"),
    "space": ("space_kw_month", "space_kw"),
    "maintenance": ("maintenance_percent", "purchase_price"),
    "insurance": ("insurance_year",),
    "staff": ("staff_year",),
}
#: The inputs that are amounts of money; the others are numbers of their own unit.
MONEY: frozenset[OwnedName] = frozenset(
    {"purchase_price", "residual_value", "price_kwh", "space_kw_month", "insurance_year", "staff_year"}
)
#: Digits after the point of the worked-out price of a GPU-year.
_PRICE_DIGITS = 6


class OwnedYear(NamedTuple):
    """The cost of owned hardware a year. `parts` and `all_parts` are exact; None where an input is not usable.

    `unusable` says of every input that cannot be used why; `gpus` is how many GPUs the inputs are of.
    """

    currency: str | None
    values: Mapping[OwnedName, Decimal]
    unusable: Mapping[OwnedName, str]
    parts: Mapping[OwnedPart, RuntimeMoney | None]
    all_parts: RuntimeMoney | None

    @property
    def gpus(self) -> Decimal | None:
        """How many GPUs the inputs are of."""
        return self.values.get("gpus")

    def missing(self, part: OwnedPart) -> tuple[OwnedName, ...]:
        """The inputs without which the price of a GPU-year of this part cannot be worked out."""
        return tuple(name for name in (*INPUTS[part], "gpus") if name not in self.values)

    def price(self, part: OwnedPart) -> Decimal | None:
        """The part per GPU and year, rounded once to six digits after the point, without needless zeros."""
        money, gpus = self.parts[part], self.gpus
        if money is None or gpus is None:
            return None
        exact = money.over(gpus).amount.quantize(Decimal(1).scaleb(-_PRICE_DIGITS), context=ARITHMETIC)
        return _at_least(exact.normalize(ARITHMETIC), Decimal(1).scaleb(-minor_digits(money.currency)))

    def per_delivered_hour(self, utilisation: Decimal) -> RuntimeMoney | None:
        """F-17: all parts / (GPUs x 8,760 x U); None where they are not known."""
        if self.all_parts is None or self.gpus is None:
            return None
        return self.all_parts.over(ARITHMETIC.multiply(self.gpus * HOURS_PER_YEAR, utilisation))


def _at_least(value: Decimal, least: Decimal) -> Decimal:
    """`value` with as many digits as `least` has after the point, or more where it has more."""
    exponent, wanted = value.as_tuple().exponent, least.as_tuple().exponent
    if isinstance(exponent, int) and isinstance(wanted, int) and exponent > wanted:
        return value.quantize(least, context=ARITHMETIC)
    return value


def owned_year(answers: RuntimeBudget) -> OwnedYear | None:
    """F-16 on the answers of `[[budget.runtime.owned]]`; None where nothing is said of owned hardware."""
    if not answers.owned:
        return None
    rates = usable_rates(answers.rates)
    values: dict[OwnedName, Decimal] = {}
    unusable: dict[OwnedName, str] = {}
    for name in NAMES:
        found = [row for row in answers.owned if row.name == name]
        value, why = _value(found, name, answers.currency, rates)
        if value is None:
            unusable[name] = why
        else:
            values[name] = value
    if "residual_value" in values and values["residual_value"] > values.get("purchase_price", values["residual_value"]):
        unusable["residual_value"] = "is more than the purchase price"
        del values["residual_value"]
    parts = {part: _part(part, values, answers.currency) for part in INPUTS}
    return OwnedYear(answers.currency, values, unusable, parts, _sum(parts))


def _value(
    found: list[OwnedInput], name: OwnedName, currency: str | None, rates: Mapping[str, UsableRate]
) -> tuple[Decimal | None, str]:
    """The value of an input in the currency of the line, or why there is none that may be used."""
    if len(found) != 1:
        return None, "is not given" if not found else f"is given {len(found)} times"
    row = found[0]
    problem = _problem(row, name)
    if row.value is None or problem:
        return None, problem or "has no value"
    if name not in MONEY:
        return row.value, ""
    if currency is None:
        return None, "has no currency, as the line has none"
    foreign = foreign_currency(row.currency, currency)
    if foreign is None:
        return row.value, ""
    if foreign not in rates:
        return None, f"is in {foreign}, for which the line has no dated rate"
    return ARITHMETIC.multiply(row.value, rates[foreign].rate), ""


def _problem(row: OwnedInput, name: OwnedName) -> str:
    """What is wrong with an input by itself; empty where nothing is."""
    if row.value is None:
        return "has no value"
    if row.source_ref is None or row.observed_on is None:
        return "has no source" if row.source_ref is None else "has no day"
    if name == "life_years" and row.value == 0:
        return "is 0, and nothing is written off in no time"
    if name == "gpus" and (row.value == 0 or row.value != row.value.to_integral_value()):
        return "is no number of GPUs"
    if name == "pue" and row.value < 1:
        return "is below 1, and a data centre takes no less than its computers"
    return ""


def _part(part: OwnedPart, values: Mapping[OwnedName, Decimal], currency: str | None) -> RuntimeMoney | None:
    """F-16, one part, exact."""
    if currency is None or any(name not in values for name in INPUTS[part]):
        return None
    if part == "depreciation":
        bound = RuntimeMoney(amount=values["purchase_price"] - values["residual_value"], currency=currency)
        return bound.over(values["life_years"])
    first, *others = (values[name] for name in INPUTS[part])
    amount = RuntimeMoney(amount=first, currency=currency)
    for factor in others:
        amount = amount.times(factor)
    if part == "energy":
        return amount.times(HOURS_PER_YEAR)
    if part == "space":
        return amount.times(12)
    return amount.over(100) if part == "maintenance" else amount


def _sum(parts: Mapping[OwnedPart, RuntimeMoney | None]) -> RuntimeMoney | None:
    """The parts, each rounded once, added as shown; None while one is not known."""
    found: RuntimeMoney | None = None
    for money in parts.values():
        if money is None:
            return None
        found = money.rounded() if found is None else found + money.rounded()
    return found


def with_owned_price(item: RuntimeItem, owned: OwnedYear | None) -> RuntimeItem:
    """The item with the price that its part of owned hardware has; as it is where it is no such part, or not needed."""
    if item.owned_part is None or item.state in ("not_needed", "not_given"):
        return item
    price = None if owned is None else owned.price(item.owned_part)
    worked_out = {"unit_price": price, "unit": UNIT, "currency": None, "frequency": item.frequency or "yearly"}
    return item.model_copy(update=worked_out)
