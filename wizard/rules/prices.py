"""Rules on what a price says: how firm it is, its hardware, its state, and the contingency of the line."""

import re
from collections.abc import Iterator

from wizard.answers import Item
from wizard.answers.budget import Line
from wizard.catalogue import gpus, gpus_named
from wizard.decision.finding import Finding
from wizard.decision.selection import Selection
from wizard.rules.budget import every_item, is_owned, is_paid, needed_items
from wizard.rules.rule import Rule, finding, listed

_LINES = (("engine", "E"), ("runtime", "R"))
_POOLED = re.compile(
    r"\bpooled\b|\bboth (?:budget )?lines\b|\bshared (?:by|between|with|reserve)\b|\bacross (?:the|both) lines\b",
    re.IGNORECASE,
)
_CAUTIOUS = re.compile(r"\bP(?:8\d|9\d)\b")
_FORM = re.compile(r"\b(SXM|PCIe|NVL)(?=\d?\b)", re.IGNORECASE)
_CHIP = re.compile(r"\b(?:GH|GB|[ABHLTV])\d{1,3}S?\b")


def prices_are_firm(selection: Selection) -> list[Finding]:
    """B9: what must answer in time hangs on no spot price; a commitment says its term and what leaving costs."""
    # FOCUS 1.2, PricingCategory: Dynamic prices may change without notice, Committed ones bind the buyer.
    found, answers = [], selection.answers
    items = list(needed_items(selection, "runtime"))
    capacity = [(key, item) for key, item in items if (item.id or "").startswith(("R1", "R2")) and _is_capacity(item)]
    spot = [(key, item) for key, item in capacity if item.pricing == "Dynamic"]
    firm = [item for _, item in capacity if item.pricing not in (None, "Dynamic")]
    ceilings = answers.runtime.ceilings
    is_bound = (
        any((ceilings.ttft_ms, ceilings.tpot_ms, ceilings.e2e_ms)) and answers.runtime.workload.profile != "batch"
    )
    if spot and is_bound and not firm:
        names = listed([item.id or "an item" for _, item in spot])
        message = f"Capacity under latency ceilings hangs on a dynamic price ({names}) with nothing to fall back on."
        remedy = "Price at least one replica firmly, or lift the ceilings."
        found.append(finding("B9", "warn", message, f"{spot[0][0]}.pricing", remedy))
    for table, _ in _LINES:
        for key, item in needed_items(selection, table):
            if item.pricing == "Committed" and item.term_months is None:
                message = f"{item.id or item.item} is committed, but not for how long."
                found.append(finding("B9", "warn", message, f"{key}.term_months", "Give the term in months."))
    committed = [(key, item) for key, item in items if item.pricing == "Committed" and not _is(item, "R12")]
    if committed and not any(_is(item, "R12") for _, item in every_item(selection, "runtime")):
        names = listed([item.id or "an item" for _, item in committed])
        are = "is" if len(committed) == 1 else "are"
        message = f"{names} of line R {are} committed, and no row says what leaving early costs."
        remedy = "Add R12 with the cost of an early end, or mark it not needed with the reason."
        found.append(finding("B9", "warn", message, "budget.runtime.items", remedy))
    return found


def _is_capacity(item: Item) -> bool:
    return _is(item, "R1") or _is(item, "R2")


def _is(item: Item, base: str) -> bool:
    return re.fullmatch(rf"{base}[a-z]?", item.id or "") is not None


def contingency_is_its_own(selection: Selection) -> list[Finding]:
    """B13: each line has a contingency with percent, basis and releaser, not pooled, and not on cautious figures."""
    # HM Treasury optimism bias; NZ Treasury: on a P80 estimate a further contingency counts twice.
    found = []
    budget = selection.answers.budget
    lines: tuple[tuple[str, str, Line], ...] = (("engine", "E", budget.engine), ("runtime", "R", budget.runtime))
    for table, line, facts in lines:
        priced = [(key, item) for key, item in needed_items(selection, table) if is_paid(item)]
        if priced:
            found += _contingency(f"budget.{table}", line, facts, priced)
    return found


def _contingency(at: str, line: str, facts: Line, priced: list[tuple[str, Item]]) -> list[Finding]:
    percent = facts.contingency_percent
    if percent is None:
        message = f"Line {line} has no contingency, not even one of 0 %."
        return [
            finding("B13", "warn", message, f"{at}.contingency_percent", "Give a percentage with its basis; 0 is one.")
        ]
    if percent == 0:
        return []
    if percent > 100:
        message = f"The contingency of line {line} is {percent:f} % and so more than the line itself."
        return [finding("B13", "warn", message, f"{at}.contingency_percent", "Estimate the items, not the reserve.")]
    missing = [
        (field, word)
        for field, word, value in (
            ("contingency_basis", "basis", facts.contingency_basis),
            ("contingency_releaser", "person who may release it", facts.contingency_releaser),
        )
        if value is None
    ]
    if missing:
        message = f"The contingency of line {line} has no {listed([word for _, word in missing])}."
        return [finding("B13", "warn", message, f"{at}.{missing[0][0]}", "Say what it is for and who may release it.")]
    pooled = next(
        (text for text in (facts.contingency_basis, facts.contingency_releaser) if text and _POOLED.search(text)), None
    )
    if pooled:
        message = f"The contingency of line {line} is shared with the other line, which merges the two."
        return [finding("B13", "warn", message, f"{at}.contingency_basis", "Give each line its own contingency.")]
    cautious = [(key, item) for key, item in priced if _CAUTIOUS.search(item.assumption or "")]
    if cautious:
        key, item = cautious[0]
        message = (
            f"{item.id or item.item} of line {line} is a cautious figure already, and the contingency comes on top."
        )
        return [
            finding(
                "B13", "warn", message, f"{key}.assumption", "Use a median figure, or leave it out of the contingency."
            )
        ]
    return []


def price_is_for_this_hardware(selection: Selection) -> list[Finding]:
    """B15: a price of GPU capacity is for the proposed chip and its form factor."""
    # NVIDIA data sheets: an H100 is sold as SXM, PCIe and NVL, which differ in memory, links and price.
    found = list(_sold_in_bundles(selection))
    proposed = selection.answers.runtime.hardware.gpu
    rows = gpus_named(proposed)
    if proposed is None or not rows:
        return found
    own = " ".join([proposed, *(row.name for row in rows)])
    forms, chips = _forms(own), set(_CHIP.findall(own))
    known = {chip for row in gpus() for chip in _CHIP.findall(row.name)}
    for key, item in needed_items(selection, "runtime"):
        if not _is_capacity(item) and not _is(item, "R12"):
            continue
        for field in ("product", "item", "source_ref", "assumption"):
            text = getattr(item, field) or ""
            others = [chip for chip in _CHIP.findall(text) if chip in known and chip not in chips]
            if forms:
                others += sorted(_forms(text) - forms)
            if others:
                message = (
                    f"The price of {item.id} is for {listed(list(dict.fromkeys(others)))}, proposed is {proposed}."
                )
                remedy = "Ask for the price of the proposed GPU in its form factor."
                found.append(finding("B15", "warn", message, f"{key}.{field}", remedy))
                break
    return found


def _sold_in_bundles(selection: Selection) -> Iterator[Finding]:
    """A price that is sold from a number of GPUs on does not hold for fewer."""
    # FOCUS 1.2, SkuPriceDetails has GpuCount: a price belongs to the bundle that it is sold in.
    gpus_each = selection.answers.runtime.hardware.gpus_per_replica
    for key, item in needed_items(selection, "runtime"):
        if gpus_each is None or item.min_gpus is None or not _is_capacity(item) or item.min_gpus <= gpus_each:
            continue
        message = f"The price of {item.id} is sold from {item.min_gpus} GPUs on, a replica has {gpus_each}."
        remedy = "Ask for the price of the size that is needed, or say that replicas share the bundle."
        yield finding("B15", "warn", message, f"{key}.min_gpus", remedy)


def _forms(text: str) -> set[str]:
    words = {word.upper() for word in _FORM.findall(text)}
    return {"PCIe" if word == "PCIE" else word for word in words}


def state_and_price_agree(selection: Selection) -> list[Finding]:
    """B20: an item that is not needed, not given or bundled has no price, and one that is not needed has a reason."""
    # FOCUS 1.2: a missing amount is null and never a number; what is dropped is dropped with a reason.
    found = []
    words = {"not_needed": "not needed", "not_given": "not given"}
    for table, line in _LINES:
        for key, item in every_item(selection, table):
            name = item.id or item.item or "An item"
            if item.state in ("not_needed", "not_given") and item.unit_price is not None:
                message = (
                    f"{name} of line {line} is marked {words[item.state]} but has a price, which is in no subtotal."
                )
                remedy = "Take the price out, or mark the item as priced."
                found.append(finding("B20", "block", message, f"{key}.state", remedy))
            elif item.basis == "bundled" and item.unit_price is not None:
                message = (
                    f"{name} of line {line} is bundled in {item.included_in or 'another item'} but has a price of its "
                    "own, which is in no subtotal."
                )
                remedy = "Take the price out, or give the price another basis than bundled."
                found.append(finding("B20", "block", message, f"{key}.basis", remedy))
            elif item.state == "not_needed" and item.reason is None:
                message = f"{name} of line {line} is marked not needed without a reason."
                found.append(finding("B20", "warn", message, f"{key}.reason", "Say why it is not needed."))
            elif item.state == "priced" and item.unit_price is None and item.basis != "bundled" and not is_owned(item):
                message = f"{name} of line {line} is marked priced but has no price."
                remedy = "Give the price, or mark the item as not given."
                found.append(finding("B20", "block", message, f"{key}.unit_price", remedy))
    return found


RULES = (
    Rule(
        "B9",
        "Prices of capacity are firm, and a commitment says its term and its way out",
        ("warn",),
        "FOCUS 1.2, PricingCategory: Standard, Dynamic, Committed",
        prices_are_firm,
        "Price at least one replica firmly; give each commitment its term, and line R its row R12.",
    ),
    Rule(
        "B13",
        "Each line has its own contingency with a basis",
        ("warn",),
        "HM Treasury, optimism bias; GAO-20-195G, credible",
        contingency_is_its_own,
        "Give each line its percentage, what it is for and who may release it; never pool the two.",
    ),
    Rule(
        "B15",
        "A price of capacity is for the proposed GPU and form factor",
        ("warn",),
        "NVIDIA data sheets: SXM, PCIe and NVL are different products",
        price_is_for_this_hardware,
        "Ask for the price of exactly the proposed GPU.",
    ),
    Rule(
        "B20",
        "The state of an item and its price agree",
        ("block", "warn"),
        "FOCUS 1.2, null handling: a missing amount is no number",
        state_and_price_agree,
        "Take the price out of an item that is not needed, not given or bundled, and say why it is not needed.",
    ),
)
