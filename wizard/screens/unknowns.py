"""The ways out of a question that one cannot answer: ask someone, a range, working it out, the default, leaving it."""

from typing import TYPE_CHECKING

from wizard.asking.place import Place
from wizard.asking.ranges import ranged
from wizard.asking.working_out import workings
from wizard.screens.modals import UnknownScreen, WayOut
from wizard.screens.workout import RangeScreen, WorkOutScreen

if TYPE_CHECKING:
    from wizard.app import WizardApp
    from wizard.asking.working_out import Working


def ask_unknown(app: "WizardApp", key: str, *, asking: bool = False) -> None:
    """Offer the ways out of a question, and go the one that is chosen; `asking`: a colleague's name is typed first."""
    place = app.session.place(key, app.checked)

    def answered(way: WayOut | None) -> None:
        if way is None:
            return
        if way.what == "work":
            _work_out(app, workings(key)["wv".index(way.letter)])
            return
        if way.what == "range":
            app.push_screen(RangeScreen(key, place.question.title, place.question.unit or ""), done)
            return
        if way.what == "default":
            app.session.take_default(key)
        elif way.what == "open":
            app.session.leave_open(key)
        elif problem := app.session.ask_someone(key, way.name, way.due):
            app.notify(problem, severity="error", markup=False)
        done(True)

    def done(gone: bool | None) -> None:
        app.changed()
        if gone and hasattr(app.screen, "action_next_field"):
            app.screen.action_next_field()

    name = app.session.asked(key) or ""
    app.push_screen(UnknownScreen(place.question.title, _ways(place), name, asking=asking), answered)


def _ways(place: Place) -> list[WayOut]:
    """What may be done instead of answering this question."""
    key = place.key
    consequence = "it is listed in the document as open"
    if place.question.kind == "amount" and key.startswith("budget"):
        consequence = "the line then has no subtotal"
    ways = [WayOut("ask", "k", "Ask someone: puts the question into a small file for them")]
    ways += [WayOut("work", letter, working.title) for letter, working in zip("wv", workings(key), strict=False)]
    if ranged(key):
        ways.append(WayOut("range", "g", "Give a range: both ends are stated, the middle is used"))
    if place.fallback:
        ways.append(WayOut("default", "d", f"Take the default: {place.fallback}"))
    return [*ways, WayOut("open", "n", f"Leave it open: {consequence}")]


def _work_out(app: "WizardApp", working: "Working") -> None:
    def taken(take: bool | None) -> None:
        if take:
            app.session.take_default(working.key)
            if working.chosen:
                app.session.set(*working.chosen)
        app.changed()

    app.push_screen(WorkOutScreen(working), taken)
