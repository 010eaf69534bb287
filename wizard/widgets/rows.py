"""A list of rows on a screen: add, edit, remove; for strategies the three decisions on single letters."""

from textual.binding import Binding
from textual.message import Message
from textual.widgets import OptionList

from wizard.asking.answers_file import Tree
from wizard.asking.steps import GATES, ITEMS, STRATEGIES, summary
from wizard.printable import fitted, printable
from wizard.views.budget_list import HINT
from wizard.widgets.listing import Listing


class RowsList(Listing):
    """The rows of one list. Single letters act only while the list has the focus."""

    BINDINGS = [
        Binding("a", "act('a')", "add or adopt", show=False),
        Binding("d", "act('d')", "defer", show=False),
        Binding("x", "act('x')", "remove or reject", show=False),
        Binding("m", "act('m')", "more or fewer", show=False),
        Binding("k", "act('k')", "ask a colleague", show=False),
        Binding("n", "act('n')", "not given", show=False),
        Binding("z", "act('z')", "not needed", show=False),
        Binding("slash", "act('find')", "find", show=False),
        Binding("delete", "act('delete')", "remove", show=False),
    ]

    class Act(Message):
        """A letter was pressed on a row, or Enter; `index` is None on an empty list."""

        def __init__(self, rows_key: str, what: str, index: int | None) -> None:
            super().__init__()
            self.rows_key, self.what, self.index = rows_key, what, index

    def __init__(self, rows_key: str) -> None:
        super().__init__()
        self.rows_key = rows_key

    def action_act(self, what: str) -> None:
        """Tell which letter was pressed."""
        self.post_message(self.Act(self.rows_key, what, self.highlighted))

    def action_cursor_down(self) -> None:
        """The next line; from the last one on to what stands below the list."""
        if self.highlighted in (None, len(self.options) - 1):
            self.screen.focus_next()
        else:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """The line before; from the first one back to what stands above the list."""
        first = next((number for number, option in enumerate(self.options) if not option.disabled), None)
        if self.highlighted in (None, first):
            self.screen.focus_previous()
        else:
            super().action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter edits a row, or adds one to an empty list."""
        event.stop()
        self.post_message(self.Act(self.rows_key, "enter", event.option_index))


def row_lines(rows_key: str, rows: list[Tree]) -> list[str]:
    """One line for each row, or one that says how to add the first."""
    lines = [f"{number:>3}  {_plain_line(rows_key, row)}" for number, row in enumerate(rows, 1)]
    nothing = "none of your own; the standard ones are judged" if rows_key == GATES else "none yet"
    return lines or [f"     {nothing}: Enter adds one"]


def _plain_line(rows_key: str, row: Tree) -> str:
    return fitted(printable(summary(rows_key, row)), 200)


def rows_hint(rows_key: str) -> str:
    """Which keys act on a list."""
    if rows_key == STRATEGIES:
        return "a adopt   d defer   x reject   Enter reason   Delete undo   m others   / find"
    if rows_key in ITEMS:
        return HINT
    return "a add   Enter edit   Delete remove"
