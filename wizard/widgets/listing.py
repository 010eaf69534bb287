"""A list of lines of which one is chosen; a sign marks it, so that no colour is needed to see where one is."""

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from wizard.views.heading import Heading

SIGN = "> "


class Listing(OptionList):
    """Lines without markup; the highlighted one has a sign before it while the list has the focus."""

    DEFAULT_CSS = """
    Listing, Listing:focus { border: none; padding: 0; }
    Listing > .option-list--option { padding: 0; }
    Listing > .option-list--option-disabled { color: $foreground; text-style: bold; }
    """

    def __init__(self, *lines: str, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(*map(_option, lines), id=id, markup=False)

    def say(self, lines: list[str]) -> None:
        """Show these lines; the place that is highlighted stays."""
        if [str(option.prompt) for option in self.options] == lines:
            return
        at = self.highlighted or 0
        self.clear_options()
        self.add_options(map(_option, lines))
        at = min(at, len(lines) - 1)
        while 0 <= at < len(lines) - 1 and isinstance(lines[at], Heading):
            at += 1
        self.highlighted = at if lines else None

    def _get_left_gutter_width(self) -> int:
        """Room for the sign; Textual's own lists with a sign before each line take it in the same way."""
        return len(SIGN)

    def render_line(self, y: int) -> Strip:
        """Draw a line behind the sign, or behind its room."""
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        here = self.has_focus and line < len(self._lines) and self._lines[line] == (self.highlighted, 0)
        style = next((segment.style for segment in strip if segment.text), None)
        return Strip([Segment(SIGN if here else " " * len(SIGN), style), *strip])


def _option(line: str) -> Option:
    return Option(line, disabled=isinstance(line, Heading))
