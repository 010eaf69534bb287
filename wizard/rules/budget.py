"""Rules on the two budget lines: which line an item belongs to, and what a price must say."""

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal

from wizard.answers import Item, RuntimeItem
from wizard.budget import EngineRow, catalogue_item
from wizard.budget.items import counts_gpus
from wizard.catalogue import engine_id, engines
from wizard.decision.finding import Finding
from wizard.decision.proof import gpus_in_all
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, listed

#: Units that measure hardware in use; only licences and support may be priced by them in line E.
_HARDWARE_UNITS = {"gpu-hours", "gpu-months", "gpu-years", "gb-months", "kwh", "node-hours"}
#: Each line, and where the price may stand that holds a bundled item of it.
_LINES = {"engine": ("E", "line E or line R"), "runtime": ("R", "line R")}
#: From this age on a price or a rate has to be looked up again.
STALE_DAYS = 90


def no_runtime_cost_in_line_e(selection: Selection) -> list[Finding]:
    """B2: line E holds no cost of hardware or operation."""
    # Keep-test: what stays when another engine runs on the same hardware is line R, whoever invoices it.
    found = []
    for key, item in every_item(selection, "engine"):
        known = catalogue_item(item.id)
        name = f"{item.id} ({item.item or (known.title if known else 'no title')})"
        if item.id is not None and (known is None or known.line != "E"):
            message = f"{name} stands in line E but is no item of line E."
            remedy = "Move it to line R, or give it the id of line E that it is: E1 to E10."
            found.append(finding("B2", "block", message, f"{key}.id", remedy))
        elif known and not known.per_gpu and unit_of(item) in _HARDWARE_UNITS:
            message = f"{name} of line E is counted in {item.unit}: the use of hardware is line R."
            remedy = f"Move it to line R as a row that names {item.id} as its cause."
            found.append(finding("B2", "block", message, f"{key}.unit", remedy))
    return found


def no_engine_cost_in_line_r(selection: Selection) -> list[Finding]:
    """B3: line R holds no licence, support, tuning or evaluation of the engine."""
    # Keep-test: what stays when the same design moves to other hardware is line E, whoever invoices it.
    found = []
    for key, item in every_item(selection, "runtime"):
        known = catalogue_item(item.id)
        if item.id is not None and (known is None or known.line != "R"):
            name = f"{item.id} ({item.item or (known.title if known else 'no title')})"
            message = f"{name} stands in line R but is no item of line R."
            remedy = "Move it to line E, or give it the id of line R that it is: R1 to R13."
            found.append(finding("B3", "block", message, f"{key}.id", remedy))
    return found


def licence_amount_matches_licence(selection: Selection) -> list[Finding]:
    """B4: an open-source engine has no licence fee, a commercial one has."""
    # FOCUS: a purchase names what it buys; a fee for free software buys support or packaging and has to say
    # so.
    engine = selection.answers.engine
    inside = (engine_id(name) for name in (engine.chosen, selection.answers.runtime.product))
    rows = [engines()[identifier] for identifier in inside if identifier is not None]
    packaged = next((row.name for row in rows if row.licence_kind == "commercial"), None)
    kind = "commercial" if packaged else engine.licence_kind or (rows[0].licence_kind if rows else None)
    found = []
    for row in _licence_rows(selection):
        if row.amount is None:
            continue
        paid = row.amount.amount > 0
        if kind == "open-source" and paid and not re.search("support|subscription", row.title, re.IGNORECASE):
            message = f"{row.id} costs {row.amount.text()}, but the engine is open source and has no licence fee."
            remedy = "Name the support or subscription that is paid, or set the price to 0.00 as open-source."
            found.append(finding("B4", "warn", message, f"{row.key}.unit_price", remedy))
        if kind == "commercial" and not paid:
            message = f"{row.id} is 0, but {packaged or 'the engine'} has a commercial licence."
            remedy = "Ask for a quote; until then the item is not given. If it is bundled, say in which item."
            found.append(finding("B4", "warn", message, f"{row.key}.unit_price", remedy))
    return found


def _licence_rows(selection: Selection) -> list[EngineRow]:
    rows = selection.engine_line.rows
    return [row for row in rows if (known := catalogue_item(row.id)) is not None and known.id == "E1"]


def per_gpu_quantity_matches(selection: Selection) -> list[Finding]:
    """B5: what line E buys per GPU is bought for all GPUs, the spare ones too."""
    # NVIDIA AI Enterprise licensing guide: one licence for each GPU; vendors of support count the same way.
    gpus = gpus_in_all(selection)
    found = []
    for key, item in needed_items(selection, "engine"):
        if gpus is None or item.quantity is None or not is_priced(item) or not counts_gpus(item.unit):
            continue
        if item.quantity != Decimal(gpus):
            message = (
                f"{item.id or item.item or 'An item'} of line E counts {item.quantity:f} {item.unit}, "
                f"section 2 has {gpus} GPUs with the spare ones."
            )
            remedy = f"Set the quantity to {gpus}, or correct replicas and GPUs per replica."
            found.append(finding("B5", "block", message, f"{key}.quantity", remedy))
    return found


def bundled_item_is_in_a_priced_one(selection: Selection) -> list[Finding]:
    """B6: an item that is bundled names the item whose price holds it, so that it is counted once and not never."""
    # Keep-test: a bundle is split with a stated basis, or stands whole in one row that exists. A managed offer that
    # prices engine and hardware at one rate stands whole in line R; hardware never hides in a price of line E.
    found = []
    priced = {table: {item.id for _, item in needed_items(selection, table) if is_paid(item)} for table in _LINES}
    for table, (line, words) in _LINES.items():
        holders = priced[table] | (priced["runtime"] if table == "engine" else set())
        for key, item in needed_items(selection, table):
            if item.basis != "bundled":
                continue
            named = re.findall(r"\b[ER]\d+[a-z]?\b", item.included_in or "")
            if named and set(named) <= holders:
                continue
            where = item.included_in or "no item"
            message = f"{item.id or item.item} is bundled in {where}, which is no item of {words} with a price."
            remedy = f"Name the item whose price holds it, or give it a price of its own in line {line}."
            found.append(finding("B6", "block", message, f"{key}.included_in", remedy))
    return found


def prices_say_what_they_are(selection: Selection) -> list[Finding]:
    """B7: a price has a currency, a quantity, a unit, a frequency, a basis and a date, and is not out of date."""
    # FOCUS: a unit price has a pricing unit and a currency; GAO cost guide: well documented, traceable to
    # its source.
    found = []
    for table, currency in (
        ("engine", selection.answers.budget.engine.currency),
        ("runtime", selection.answers.budget.runtime.currency),
    ):
        priced = [(key, item) for key, item in needed_items(selection, table) if is_priced(item)]
        if priced and currency is None:
            line = "E" if table == "engine" else "R"
            message = f"Line {line} has prices but no currency."
            found.append(finding("B7", "block", message, f"budget.{table}.currency", "Give the currency code."))
        for key, item in priced:
            found += _price(key, item, selection.prepared_on)
    return found


def _price(key: str, item: Item, today: datetime.date) -> list[Finding]:
    name = item.id or item.item or "An item"
    missing = [
        (field, word)
        for field, word in (
            ("quantity", "quantity"),
            ("unit", "unit"),
            ("frequency", "frequency"),
            ("basis", "price basis"),
            ("observed_on", "date of observation"),
        )
        if getattr(item, field) is None
    ]
    if missing:
        message = f"The price of {name} has no {listed([word for _, word in missing])}."
        remedy = "Complete the price, or mark the item as not given."
        return [finding("B7", "block", message, f"{key}.{missing[0][0]}", remedy)]
    if item.observed_on is not None and item.observed_on > today:
        message = (
            f"The price of {name} is said to have been observed on {item.observed_on.isoformat()}, which is to come."
        )
        return [finding("B7", "warn", message, f"{key}.observed_on", "Give the day on which somebody saw the price.")]
    if item.valid_until is not None and item.valid_until < today:
        message = f"The price of {name} was valid until {item.valid_until.isoformat()}."
        return [finding("B7", "warn", message, f"{key}.valid_until", "Ask for the price again.")]
    if item.observed_on is not None and (today - item.observed_on).days > STALE_DAYS:
        age = (today - item.observed_on).days
        message = f"The price of {name} was observed {age} days ago, on {item.observed_on.isoformat()}."
        return [finding("B7", "warn", message, f"{key}.observed_on", "Confirm the price, with the new date.")]
    return []


def every_item(selection: Selection, table: str) -> Iterator[tuple[str, Item]]:
    """Yield the items of one line (`engine` or `runtime`) with their keys."""
    budget = selection.answers.budget
    items = budget.engine.items if table == "engine" else budget.runtime.items
    for index, item in enumerate(items):
        yield f"budget.{table}.items[{index}]", item


def needed_items(selection: Selection, table: str) -> Iterator[tuple[str, Item]]:
    """Yield the items of one line with their keys, those that are not needed left out."""
    return ((key, item) for key, item in every_item(selection, table) if item.state != "not_needed")


def is_priced(item: Item) -> bool:
    """Whether an item has a price of its own that counts."""
    is_given = item.unit_price is not None and item.state in (None, "priced")
    return is_given and item.basis != "bundled" and not is_owned(item)


def is_paid(item: Item) -> bool:
    """Whether an item adds an amount to its line: a price of its own, or a part of owned hardware."""
    return is_priced(item) or is_owned(item)


def is_owned(item: Item) -> bool:
    """Whether the price of an item is worked out from the inputs of owned hardware."""
    return isinstance(item, RuntimeItem) and item.owned_part is not None and item.state in (None, "priced")


def unit_of(item: Item) -> str:
    """The unit of an item, as it is compared."""
    return (item.unit or "").strip().casefold()


RULES = (
    Rule(
        "B2",
        "No cost of hardware or operation in line E",
        ("block",),
        "keep-test of the two lines; FOCUS 1.2, publisher and provider",
        no_runtime_cost_in_line_e,
        "Move the item to line R, or give it the id of line E that it is.",
    ),
    Rule(
        "B3",
        "No cost of the engine in line R",
        ("block",),
        "keep-test of the two lines; FOCUS 1.2, publisher and provider",
        no_engine_cost_in_line_r,
        "Move the item to line E, or give it the id of line R that it is.",
    ),
    Rule(
        "B4",
        "The licence amount matches the licence",
        ("warn",),
        "licences of the catalogue of engines",
        licence_amount_matches_licence,
        "Name the support that is paid, or correct the price to what the licence asks.",
    ),
    Rule(
        "B5",
        "What is bought per GPU is bought for all GPUs",
        ("block",),
        "NVIDIA AI Enterprise licensing guide: per GPU",
        per_gpu_quantity_matches,
        "Buy for all GPUs of section 2, the spare ones too.",
    ),
    Rule(
        "B6",
        "A bundled item is part of an item that has a price: of its own line, or of line R for one of line E",
        ("block",),
        "keep-test: what is paid once is counted once",
        bundled_item_is_in_a_priced_one,
        "Name the priced item that holds it, or price it by itself; a price of line E holds nothing of line R.",
    ),
    Rule(
        "B7",
        "A price has currency, quantity, unit, frequency, basis and date, and is not out of date",
        ("block", "warn"),
        "FOCUS 1.2, pricing columns; GAO-20-195G, well documented",
        prices_say_what_they_are,
        "Complete the price with currency, quantity, unit, frequency, basis and date, or ask for it again.",
    ),
)
