"""What if: a second column beside the answers, with other hardware, layout, context, cache or load."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from wizard.printable import printable
from wizard.screens.page import Page
from wizard.sizing.gpus import common_types
from wizard.views.what_if import KEYS, Supposition, keep, shown_now, suppose, title_of

_NAME, _COLUMN = 41, 22


class WhatIfScreen(Page):
    """What holds now on the left, what is supposed on the right; what differs has a sign and a word."""

    DECISION = "RUNTIME"
    WHERE = "What if"
    LABELS = {"f4": "Keep these", "f6": ""}
    BINDINGS = [
        Binding("down,enter", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    WhatIfScreen VerticalScroll { height: 1fr; padding: 0 1; margin-top: 1; }
    WhatIfScreen Horizontal { height: 1; }
    WhatIfScreen Horizontal Static { width: 52; text-wrap: nowrap; text-overflow: ellipsis; }
    WhatIfScreen.-narrow Horizontal Static { width: 44; }
    WhatIfScreen Input { width: 1fr; }
    WhatIfScreen #table { height: auto; margin-top: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    WhatIfScreen #keys { height: 1; padding: 0 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._supposed: Supposition | None = None

    def compose(self) -> ComposeResult:
        """Frame, the questions of the second column, the figures of both, keys."""
        session = self.wizard.session
        yield self.frame
        with VerticalScroll(can_focus=False):
            for key in KEYS:
                now = shown_now(session, key)
                names = [row.name for row in common_types()]
                with Horizontal():
                    yield Static(f"{title_of(key):<24.24} {printable(now) or '-'}", markup=False)
                    yield Input(
                        now,
                        compact=True,
                        name=key,
                        suggester=SuggestFromList(names, case_sensitive=False)
                        if key.endswith("hardware.gpu")
                        else None,
                    )
            yield Static("", id="table", markup=False)
        yield Static("", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Show both columns, still alike."""
        self.ready = True
        self.show()

    def show(self) -> None:
        """Show the two columns of figures."""
        super().show()
        if not self.ready:
            return
        texts = {field.name: field.value for field in self.query(Input) if field.name}
        supposed = self._supposed = suppose(self.wizard.session, texts)
        name, column = (_NAME, _COLUMN) if self.size.width >= 100 else (34, 18)
        lines = [f"  {'':<{name}}{'NOW':<{column}}SUPPOSED"]
        for row in supposed.rows:
            sign = "≠" if row.differs else " "
            lines.append(f"{sign} {row.name[: name - 1]:<{name}}{row.now:<{column}}{row.then}")
        self.query_one("#table", Static).update("\n".join(lines))
        self.query_one("#keys", Static).update(_said(supposed))

    def on_input_changed(self) -> None:
        """The figures follow the keys."""
        self.show()

    def on_resize(self) -> None:
        """Another width, other columns."""
        if self.ready:
            self.show()

    def action_next(self) -> None:
        """Keep the second column."""
        if self._supposed is not None and self._supposed.changes:
            changed = keep(self.wizard.session, self._supposed)
            self.notify(f"Kept: {', '.join(changed)}.", markup=False)
            self.wizard.changed()
        self.wizard.back()

    def action_review(self) -> None:
        """First keep or leave what is supposed."""

    def action_why(self) -> None:
        """Say what the columns are."""
        self.wizard.explain(
            [
                "What if",
                "",
                "Left is what the answers say, right what you suppose. Nothing changes until F4 keeps the right side;",
                "F3 leaves everything as it was. ≠ marks each figure that would be another one.",
                "",
                "Another number of GPUs takes the tensor parallel size with it, unless you change that too.",
                "Memory and least times are computed, no speed is predicted. Not modelled: network, quality.",
            ]
        )


def _said(supposed: Supposition) -> str:
    if supposed.problems:
        key, message = next(iter(supposed.problems.items()))
        return f"! {title_of(key)}: {printable(message)}"
    if not supposed.changes:
        return "Type another value on the right. F3 goes back, nothing is changed."
    kept = ", ".join(f"{title_of(key)} {printable(text) or 'not given'}" for key, text in supposed.changes.items())
    return f"F4 keeps: {kept}"
