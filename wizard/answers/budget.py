"""Answers about the two budget lines. They have the same shape and never share a table."""

import datetime
from typing import ClassVar, Literal

from pydantic import Field

from wizard.answers.field import Amount, Count, Currency, ExchangeRate, Percent, Table, Text, ask, rows

Frequency = Literal["one-time", "monthly", "yearly", "usage-yearly"]
PriceBasis = Literal["list", "quote", "contract", "estimate", "open-source", "bundled"]
OwnedName = Literal[
    "purchase_price",
    "residual_value",
    "life_years",
    "gpus",
    "average_kw",
    "pue",
    "price_kwh",
    "space_kw",
    "space_kw_month",
    "maintenance_percent",
    "insurance_year",
    "staff_year",
]
OwnedPart = Literal["depreciation", "energy", "space", "maintenance", "insurance", "staff"]
ItemState = Literal["priced", "not_given", "not_needed"]


class Item(Table):
    """One row of a budget line: what is paid, how much of it, and where the price comes from."""

    id: Text | None = ask("Item id", "The id fixes the line: an item cannot be moved to the other one.")
    item: Text | None = ask("Item", "What is paid for.")
    state: ItemState | None = ask("State", "Not given voids the subtotal of the line; not needed wants a reason.")
    reason: Text | None = ask("Reason", "Why the item is not needed, or has no price yet.")
    quantity: Amount | None = ask("Quantity", "Per month or year for a recurring item, in all for a one-time item.")
    unit: Text | None = ask("Unit", "What the quantity counts, in the plural: GPU-Hours, Person-Days.")
    unit_price: Amount | None = ask("Unit price", "Without it the line has no subtotal; a missing price is never 0.")
    currency: Currency | None = ask(
        "Currency of the price",
        "Only where it is quoted in another one than the line's; then the line needs a dated exchange rate.",
        advanced=True,
    )
    frequency: Frequency | None = ask("Frequency", "One-time and recurring amounts are never added.")
    basis: PriceBasis | None = ask("Price basis", "Finance weighs a quote differently from an estimate.")
    included_in: Text | None = ask(
        "Included in",
        "The item whose price already holds this one, so that it is not paid twice.",
        advanced=True,
    )
    provider: Text | None = ask("Provider", "Who makes it available, and is usually paid.", advanced=True)
    publisher: Text | None = ask(
        "Publisher", "Who makes it, where that is not the provider: what it is decides the line.", advanced=True
    )
    invoice_issuer: Text | None = ask(
        "Invoice from", "Who sends the invoice, where that is not the provider; it decides no line.", advanced=True
    )
    product: Text | None = ask(
        "Product as priced", "Exact product of the price: an H100 is sold as SXM, PCIe and NVL.", advanced=True
    )
    region: Text | None = ask("Region of the price", "The same product has another price elsewhere.", advanced=True)
    min_gpus: Count | None = ask(
        "Least GPUs", "The fewest GPUs that this price is sold for.", unit="GPUs", advanced=True
    )
    quoted_text: Text | None = ask(
        "Words of the source", "The price as the source says it, to be found there again.", advanced=True
    )
    source_ref: Text | None = ask(
        "Source of the price", "The quote, price page or contract that a reviewer can look up."
    )
    observed_on: datetime.date | None = ask("Observed on", "Prices age; one without a date cannot be checked.")
    valid_until: datetime.date | None = ask("Valid until", "After this day the amount has to be asked for again.")
    pricing: Literal["Standard", "Dynamic", "Committed"] | None = ask(
        "Pricing",
        "A dynamic price may change without notice; a committed one binds the buyer.",
        advanced=True,
    )
    term_months: Count | None = ask("Term", "How long a committed price binds.", unit="months", advanced=True)
    tax: Literal["excluded", "included", "none", "unknown"] | None = ask(
        "Tax", "Rows with and without tax cannot be compared.", advanced=True
    )
    cause: Text | None = ask("Caused by", "The item of line E that causes this use of GPUs.", advanced=True)
    assumption: Text | None = ask("Assumption", "What the quantity rests on.", advanced=True)


class RuntimeItem(Item):
    """A row of line R, which may be a part of what owned hardware costs."""

    owned_part: OwnedPart | None = ask(
        "Part of owned hardware",
        "Its price of a GPU-year is then worked out from the inputs of owned hardware, and none is typed.",
        advanced=True,
    )


class OwnedInput(Table):
    """One figure that the cost of owned hardware is worked out from. An input of 0 is said to be 0, with its source."""

    name: OwnedName | None = ask("Input", "Each stands once; what has none of it is given as 0.")
    value: Amount | None = ask(
        "Value",
        "All GPUs together: prices in the currency of the line, years, kW, kWh, % of the purchase price; staff_year "
        "and insurance_year are amounts a year.",
    )
    currency: Currency | None = ask(
        "Currency of the value", "Only of a price, and only where it differs from the line's.", advanced=True
    )
    source_ref: Text | None = ask("Source of the input", "The quote, contract or measurement that it comes from.")
    observed_on: datetime.date | None = ask("Day of the input", "An input without a day cannot be checked.")


class Alternative(Table):
    """One price under another option: the line is then shown with it in place of the items that it replaces."""

    name: Text | None = ask("What is priced", "One price of the option, such as the tokens of a managed API.")
    option: Text | None = ask(
        "Option", "Managed API, rent, own, another GPU: prices with the same option are one alternative."
    )
    replaces: tuple[Text, ...] = rows(
        "Items it replaces", "Their ids; every other item stays as it is in this line.", advanced=True
    )
    quantity: Amount | None = ask("Quantity under the option", "Per month or year, or in all for a one-time price.")
    unit: Text | None = ask("Unit under the option", "What the quantity counts, in the plural.")
    unit_price: Amount | None = ask("Unit price under the option", "Without a price the option is not shown.")
    currency: Currency | None = ask(
        "Currency of the option's price",
        "Only where it differs from the line's; a dated rate converts it.",
        advanced=True,
    )
    frequency: Frequency | None = ask("Frequency under the option", "One-time and recurring amounts are never added.")
    basis: PriceBasis | None = ask("Basis of the option's price", "A quote is compared with an estimate with care.")
    source_ref: Text | None = ask("Source of the option's price", "What a reviewer can look up.")
    observed_on: datetime.date | None = ask("Option's price observed on", "Prices age on both sides of a comparison.")
    valid_until: datetime.date | None = ask(
        "Option's price valid until", "After this day it has to be asked for again.", advanced=True
    )


class Rate(Table):
    """What one unit of another currency is in the currency of the line, on one day. Each line has its own."""

    currency: Currency | None = ask("Currency of the quote", "The currency that prices of the line are quoted in.")
    rate: ExchangeRate | None = ask(
        "Exchange rate", "What one unit of it is in the currency of the line; no rate is ever assumed."
    )
    source_ref: Text | None = ask("Source of the rate", "Where a reviewer can look it up.")
    observed_on: datetime.date | None = ask("Day of the rate", "A rate without a day cannot be checked.")


class MigrationDays(Table):
    """What a change of engine or hardware would cost this line, in a person's own days and rate."""

    day_rate: Amount | None = ask(
        "Day rate of a change", "No source knows what a change costs here; the days and the rate do.", advanced=True
    )
    days: dict[str, Amount] = Field(
        default_factory=dict,
        title="Days of a change",
        description="Person-days for each piece of work of the table What moves which line, by its name.",
        json_schema_extra={"unit": "days", "advanced": True},
    )


class Line(Table):
    """The facts that both lines have, each for itself."""

    owner: Text | None = ask(
        "Owner of the line", "The person who answers for the amount; without one it stays a draft."
    )
    currency: Currency | None = ask("Currency", "One currency per line; the two lines need not match.")
    purpose: Text | None = ask("Purpose of the line", "One phrase for the funding request.", advanced=True)
    cost_centre: Text | None = ask("Cost centre", "Where the amount is booked.", advanced=True)
    approval_route: Text | None = ask("Approval route", "The two lines are approved by different people.")
    period_from: datetime.date | None = ask(
        "Period from", "The first day that recurring amounts pay for.", advanced=True
    )
    horizon_months: Count | None = ask("Horizon", "How long the request runs.", unit="months", advanced=True)
    view: Literal["cash", "amortised"] | None = ask(
        "View", "Cash and amortised amounts are never mixed in one line.", advanced=True
    )
    contract_until: Text | None = ask(
        "Contract end and renewal", "A contract that renews itself is a commitment.", advanced=True
    )
    contingency_percent: Percent | None = ask(
        "Contingency",
        "Its own row, in no subtotal; it never covers an unpriced item.",
        unit="% of the subtotal",
        advanced=True,
    )
    contingency_of: Literal["one-time", "recurring", "both"] | None = ask(
        "Contingency is of", "Which subtotal of the line it is a part of; each is worked out for itself.", advanced=True
    )
    contingency_basis: Text | None = ask("Basis of the contingency", "What the contingency is for.", advanced=True)
    migration: MigrationDays = Field(default_factory=MigrationDays)
    contingency_releaser: Text | None = ask(
        "Who releases it", "A contingency that anybody may spend is a subtotal.", advanced=True
    )


class EngineBudget(Line):
    """Line E: what remains to be paid when the same design moves to other hardware."""

    section: ClassVar[str] = "budget line E"

    items: tuple[Item, ...] = rows("Items of line E", "Licences, support, engineering days: E1 to E10.")
    rates: tuple[Rate, ...] = rows(
        "Exchange rates of line E", "For prices that are quoted in another currency than the line's.", advanced=True
    )
    alternatives: tuple[Alternative, ...] = rows(
        "Line E under other options", "Prices that the other options would have; the line beside them.", advanced=True
    )


class RuntimeBudget(Line):
    """Line R: what remains to be paid when another engine runs on the same hardware."""

    section: ClassVar[str] = "budget line R"

    items: tuple[RuntimeItem, ...] = rows("Items of line R", "GPU capacity, redundancy, operations: R1 to R13.")
    rates: tuple[Rate, ...] = rows(
        "Exchange rates of line R", "For prices that are quoted in another currency than the line's.", advanced=True
    )
    owned: tuple[OwnedInput, ...] = rows(
        "Owned hardware", "Inputs that depreciation, energy and the like are worked out from.", advanced=True
    )
    alternatives: tuple[Alternative, ...] = rows(
        "Line R under other options", "Prices that the other options would have; the line beside them.", advanced=True
    )


class Budget(Table):
    """Two lines, side by side. There is no place for a figure of both."""

    engine: EngineBudget = Field(default_factory=EngineBudget)
    runtime: RuntimeBudget = Field(default_factory=RuntimeBudget)
