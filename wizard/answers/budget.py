"""Answers about the two budget lines. They have the same shape and never share a table."""

import datetime
from typing import ClassVar, Literal

from pydantic import Field

from wizard.answers.field import Amount, Count, Currency, Percent, Table, Text, ask, rows

Frequency = Literal["one-time", "monthly", "yearly", "usage-yearly"]
PriceBasis = Literal["list", "quote", "contract", "estimate", "open-source", "bundled"]
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
    frequency: Frequency | None = ask("Frequency", "One-time and recurring amounts are never added.")
    basis: PriceBasis | None = ask("Price basis", "Finance weighs a quote differently from an estimate.")
    included_in: Text | None = ask(
        "Included in",
        "The item whose price already holds this one, so that it is not paid twice.",
        advanced=True,
    )
    provider: Text | None = ask("Provider or publisher", "Who is paid.", advanced=True)
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
    contingency_basis: Text | None = ask("Basis of the contingency", "What the contingency is for.", advanced=True)
    migration: MigrationDays = Field(default_factory=MigrationDays)
    contingency_releaser: Text | None = ask(
        "Who releases it", "A contingency that anybody may spend is a subtotal.", advanced=True
    )


class EngineBudget(Line):
    """Line E: what remains to be paid when the same design moves to other hardware."""

    section: ClassVar[str] = "budget line E"

    items: tuple[Item, ...] = rows("Items of line E", "Licences, support, engineering days: E1 to E10.")


class RuntimeBudget(Line):
    """Line R: what remains to be paid when another engine runs on the same hardware."""

    section: ClassVar[str] = "budget line R"

    items: tuple[Item, ...] = rows("Items of line R", "GPU capacity, redundancy, operations: R1 to R13.")


class Budget(Table):
    """Two lines, side by side. There is no place for a figure of both."""

    engine: EngineBudget = Field(default_factory=EngineBudget)
    runtime: RuntimeBudget = Field(default_factory=RuntimeBudget)
