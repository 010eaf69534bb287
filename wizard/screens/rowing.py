"""What the keys on a list of rows do, and what is said beside it."""

from typing import TYPE_CHECKING

from wizard.asking.questions import question_of
from wizard.asking.steps import CRITERIA, ITEMS, OPTIONS, STRATEGIES, about_list, row_of, row_step, summary
from wizard.budget.items import CATALOGUE
from wizard.printable import printable
from wizard.screens.modals import ChoiceScreen, PathScreen
from wizard.screens.step import StepScreen
from wizard.views.budget_list import STATES, about_item
from wizard.views.option_list import about_criteria, about_option, choices, names_of_option
from wizard.widgets.rows import RowsList

if TYPE_CHECKING:
    from wizard.app import WizardApp
    from wizard.decision.selection import Selection

_DECISIONS = {"a": "adopt", "d": "defer", "x": "reject"}


def act_on_row(app: "WizardApp", rows_key: str, what: str, index: int | None) -> None:
    """Do what a key on a list asks for."""
    if rows_key == STRATEGIES:
        _decide(app, what, index)
    elif what == "a" or not app.session.rows(rows_key):
        if what in ("a", "enter"):
            _add(app, rows_key)
    elif index is not None and what == "enter":
        _edit(app, rows_key, index)
    elif index is not None and what in ("delete", "x"):
        _remove(app, rows_key, index)
    elif index is not None and rows_key in ITEMS:
        _without_price(app, f"{rows_key}[{index}]", what)


def _without_price(app: "WizardApp", at: str, what: str) -> None:
    """The three ways out of a price that one does not know."""
    if what == "k":
        app.ask_unknown(f"{at}.unit_price", asking=True)
    elif what in STATES:
        app.answer(f"{at}.state", STATES[what])
        rows_key, index = row_of(at) or ("", 0)
        app.push_screen(row_screen(app.checked, rows_key, index, more=False, first=f"{at}.reason"))


def lines_about(app: "WizardApp", rows_key: str, index: int | None) -> list[str]:
    """What stands beside a list."""
    if rows_key == STRATEGIES and index is not None:
        return app.strategy_list.about(index, app.checked)
    if rows_key == OPTIONS and index is not None and index < len(app.session.rows(rows_key)):
        return about_option(index, app.checked)
    if rows_key == CRITERIA:
        return about_criteria(app.checked)
    if rows_key in ITEMS and index is not None and index < len(app.session.rows(rows_key)):
        return about_item(app.session.rows(rows_key)[index], app.checked)
    count = len(app.session.rows(rows_key))
    title, why = about_list(rows_key)
    return [f"{title} ({count})", "", why, "", "Enter edits a row, a adds one, Delete removes one."]


def review_entry(app: "WizardApp", index: int | None) -> list[str]:
    """One line of the review in full."""
    session, selection = app.session, app.checked
    if index is None:
        return ["Nothing is wrong and nothing is open."]
    for key, rejected in session.rejected.items():
        if index == 0:
            return [key, "", printable(rejected.message), "", f"Typed: {printable(rejected.raw)[:500]}"]
        index -= 1
    for finding in selection.findings if selection else ():
        if index == 0:
            return [
                f"{finding.severity} {finding.rule}",
                "",
                printable(finding.message),
                "",
                printable(finding.remedy),
                "",
                f"At {finding.where}; Enter in the list goes there.",
            ]
        index -= 1
    for item in selection.open_answers if selection else ():
        if index == 0:
            question = question_of(item.key)
            return [item.title, "", question.why if question else item.key, "", "Enter in the list goes there."]
        index -= 1
    return ["Nothing is wrong and nothing is open."]


def _find(app: "WizardApp") -> None:
    def named(text: str | None) -> None:
        app.strategy_list.search = text or ""
        app.refresh_page()

    hint = "part of a name, a question or a group, such as memory"
    app.push_screen(PathScreen("Find a strategy among all of them", hint, app.strategy_list.search), named)


def _decide(app: "WizardApp", what: str, index: int | None) -> None:
    shown = app.strategy_list
    if what == "find":
        _find(app)
        return
    if what == "m" or (what == "enter" and index is not None and index >= len(shown.ids)):
        at = shown.ids[index] if index is not None and index < len(shown.ids) else ""
        shown.everything = not shown.everything and not shown.search
        shown.search = ""
        app.refresh_page()
        _stand_on(app, STRATEGIES, shown.ids.index(at) if at and at in shown.ids else len(shown.ids))
    if what == "m" or index is None or index >= len(shown.ids) or not shown.ids[index]:
        return
    identifier = shown.ids[index]
    key = f"{STRATEGIES}.{identifier}"
    if what in _DECISIONS:
        app.answer(f"{key}.decision", _DECISIONS[what])
    elif what == "delete":
        app.session.take_default(f"{key}.reason")
        app.answer(f"{key}.decision", "")
    else:
        _push_row(app, STRATEGIES, identifier, first=f"{key}.reason")


def _add(app: "WizardApp", rows_key: str) -> None:
    if rows_key == OPTIONS:
        _add_option(app)
        return
    if rows_key not in ITEMS:
        _edit_new(app, rows_key, app.session.add_row(rows_key))
        return
    line = "E" if rows_key.startswith("budget.engine") else "R"
    offered = [item for item in CATALOGUE if item.line == line]
    used = {row.get("id") for row in app.session.rows(rows_key)}
    choices = [
        f"{item.id:<4}{item.title}: {item.what}"[:70] + (" (has a row)" if item.id in used else "") for item in offered
    ]

    def chosen(number: int | None) -> None:
        if number is None:
            return
        item = offered[number]
        identifier = item.id
        for letter in "abcdefgh":
            if identifier not in used:
                break
            identifier = f"{item.id}{letter}"
        _edit_new(app, rows_key, app.session.add_row(rows_key, id=identifier, item=item.title))

    app.push_screen(ChoiceScreen(f"Which cost of line {line}?", choices), chosen)


def _add_option(app: "WizardApp") -> None:
    """Offer the engines of the catalogue, doing without one, and an engine of the person's own."""
    used = {str(row.get("name", "")).casefold() for row in app.session.rows(OPTIONS)}
    offered = [row for row in choices() if row.name.casefold() not in used]

    def chosen(number: int | None) -> None:
        if number is not None:
            choice = offered[number]
            fields = {"name": choice.name, "kind": choice.kind} if choice.name else {"kind": choice.kind}
            _edit_new(app, OPTIONS, app.session.add_row(OPTIONS, **fields))

    app.push_screen(ChoiceScreen("Which option?", [row.words for row in offered]), chosen)


def offer_chosen(app: "WizardApp", key: str) -> bool:
    """Offer to add the chosen engine to the options, where it is none of them; says whether there was such an offer."""
    from wizard.rules.governance import chosen_option

    engine = app.session.given.engine
    chosen = engine.chosen
    if key != "engine.chosen" or not chosen or not engine.options or chosen_option(app.session.given) is not None:
        return False

    def answered(number: int | None) -> None:
        if number == 0:
            app.session.add_row(OPTIONS, name=chosen)
            app.changed()
            app.check_now()
        elif number == 1:
            app.go_to(key)

    offer = [f"Add {printable(chosen)} to the options", "Choose another engine"]
    app.push_screen(ChoiceScreen(f"{printable(chosen)} is none of the options", offer), answered)
    return True


def _edit_new(app: "WizardApp", rows_key: str, index: int) -> None:
    """Open a row that was added just now; behind it, the list is left standing on it."""
    app.changed()
    _stand_on(app, rows_key, index)
    # The id of an item is known by now.
    _push_row(app, rows_key, index, first=f"{rows_key}[{index}].quantity" if rows_key in ITEMS else None)


def _stand_on(app: "WizardApp", rows_key: str, index: int) -> None:
    for rows in app.screen.query(RowsList):
        if rows.rows_key == rows_key:
            rows.highlighted = index


def _edit(app: "WizardApp", rows_key: str, index: int) -> None:
    _push_row(app, rows_key, index)


def _push_row(app: "WizardApp", rows_key: str, index: int | str, first: str | None = None) -> None:
    app.push_screen(row_screen(app.checked, rows_key, index, more=False, first=first))


def row_screen(
    checked: "Selection | None", rows_key: str, index: int | str, *, more: bool, first: str | None
) -> StepScreen:
    """The screen of one row; gates and criteria of an option are asked one by one."""
    names = names_of_option(index, checked) if rows_key == OPTIONS and isinstance(index, int) else {}
    step = row_step(rows_key, index, names)
    return StepScreen(step, step.name, more=more, first=first, is_row=True)


def _remove(app: "WizardApp", rows_key: str, index: int) -> None:
    row = app.session.rows(rows_key)[index]

    def answered(choice: int | None) -> None:
        if choice == 1:
            app.session.remove_row(rows_key, index)
            app.autosave()
            app.check_soon()
            app.refresh_page()

    if row == {}:
        answered(1)
        return
    text = printable(summary(rows_key, row))
    app.push_screen(ChoiceScreen("Remove this row?", ["Keep it", "Remove it"], text=text), answered)
