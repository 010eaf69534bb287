"""Why a question is asked: beside it where there is room, in a window of its own where there is not."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from wizard.asking.place import Place
from wizard.printable import printable
from wizard.widgets.field import to_confirm


def why_lines(place: Place, later: Sequence[str] = ()) -> list[str]:
    """What is said about one question, plain lines with an empty one between parts; `later`: what a change costs."""
    question = place.question
    lines = [question.title, "", question.why, ""]
    if question.unit:
        lines.append(f"Unit: {question.unit}")
    if question.choices:
        lines.append(f"One of: {', '.join(question.choices)}")
    if question.kind == "texts":
        lines.append("Several: put ; between them")
    if question.kind == "choices_by_name":
        lines.append("Write name=value; several with ; between them")
    if question.kind == "date":
        lines.append("A day such as 2027-01-31")
    lines += [f"State: {place.state} ({printable(place.source)})" if place.source else f"State: {place.state}"]
    if place.fallback:
        lines.append(f"{'Still in force' if place.problem else 'Without an answer'}: {printable(place.fallback)}")
    if to_confirm(place):
        lines.append("Enter on it makes it your answer")
    if place.problem:
        lines += ["", f"Cannot be used: {printable(place.problem)}"]
    if not question.advanced and not place.raw and not place.fallback:
        lines += ["", "If left open it is listed in the document with its owner."]
    lines += ["", "F2  I do not know: ask someone, take the default, leave open"]
    return [*lines, "", *later] if later else lines


class WhyPanel(VerticalScroll, can_focus=False):
    """The panel beside the questions; it goes first where a screen is narrower than 100 columns."""

    DEFAULT_CSS = """
    WhyPanel { width: 38; border-left: solid $panel-lighten-2; padding: 0 1; }
    WhyPanel { scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    WhyPanel Static { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Hold one text."""
        yield self._text

    def say(self, lines: list[str]) -> None:
        """Show these lines."""
        self._text.update("\n".join(lines))
