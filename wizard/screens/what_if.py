"""What if: a second column beside the answers, with other hardware, layout, context, cache or load."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from wizard.printable import printable
from wizard.screens.page import Page
from wizard.serving.known import GPU, gpu_types_like
from wizard.sizing.gpus import common_types
from wizard.views.what_if import GPUS, KEYS, TENSOR, Supposition, keep, shown_now, suppose, tensor_for, title_of

_NAME, _COLUMN = 41, 22
#: So many types of the catalogue stand below the field of the GPU.
_MOST_TYPES = 8


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
    WhatIfScreen .about { height: auto; display: none; padding-left: 2; }
    WhatIfScreen #table { height: auto; margin-top: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    WhatIfScreen #keys { height: auto; max-height: 3; padding: 0 1; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._supposed: Supposition | None = None
        #: The tensor parallel size that stands in its field without anybody having typed it.
        self._tensor = ""
        #: Whether F4 was pressed over names that nobody knows; a second F4 keeps them.
        self._warned = False

    def compose(self) -> ComposeResult:
        """Frame, the questions of the second column, the figures of both, keys."""
        session = self.wizard.session
        self._tensor = shown_now(session, TENSOR)
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
                        suggester=SuggestFromList(names, case_sensitive=False) if key == GPU else None,
                    )
                yield Static("", name=key, classes="about", markup=False)
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
        for line in self.query(".about").results(Static):
            said = _about(line.name or "", texts, supposed)
            line.update(said)
            line.display = bool(said)
        name, column = (_NAME, _COLUMN) if self.size.width >= 100 else (34, 18)
        lines = [f"  {'':<{name}}{'NOW':<{column}}SUPPOSED"]
        for row in supposed.rows:
            sign = "≠" if row.differs else " "
            lines.append(f"{sign} {row.name[: name - 1]:<{name}}{row.now:<{column}}{row.then}")
        self.query_one("#table", Static).update("\n".join(lines))
        self.query_one("#keys", Static).update(_said(supposed, warned=self._warned))

    def on_input_changed(self, event: Input.Changed) -> None:
        """The figures follow the keys, and the tensor parallel size the number of GPUs while nobody typed one."""
        self._warned = False
        tensor = self._field(TENSOR)
        if event.input.name == GPUS and tensor.value == self._tensor:
            self._tensor = tensor_for(self.wizard.session, event.value)
            with self.prevent(Input.Changed):
                tensor.value = self._tensor
        self.show()

    def on_resize(self) -> None:
        """Another width, other columns."""
        if self.ready:
            self.show()

    def action_next(self) -> None:
        """Keep the second column; what cannot be used has to be corrected first, a name that nobody knows confirmed."""
        supposed = self._supposed
        wrong = {**supposed.problems, **supposed.doubts} if supposed else {}
        if supposed is not None and wrong and (supposed.problems or not self._warned):
            self._field(next(iter(wrong))).focus()
            self._warned = not supposed.problems
            self.show()
            return
        if supposed is not None and supposed.changes:
            changed = keep(self.wizard.session, supposed)
            self.notify(f"Kept: {printable(', '.join(changed))}.", markup=False)
            self.wizard.changed()
        self.wizard.back()

    def _field(self, key: str) -> Input:
        return next(field for field in self.query(Input) if field.name == key)

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


def _about(key: str, texts: dict[str, str], supposed: Supposition) -> str:
    """What stands below a field: what is wrong with its text, or the types of the catalogue that it may mean."""
    wrong = supposed.problems.get(key) or supposed.doubts.get(key)
    types = gpu_types_like(texts[key]) if key == GPU and key in supposed.changes and texts[key].strip() else []
    if types and types != [texts[key].strip()]:
        more = ", …" if len(types) > _MOST_TYPES else ""
        return f"{'! Which one?' if wrong else 'Types:'} {', '.join(types[:_MOST_TYPES])}{more}"
    return f"! {printable(wrong)}" if wrong else ""


def _said(supposed: Supposition, *, warned: bool) -> str:
    if supposed.problems:
        return f"! {title_of(next(iter(supposed.problems)))} cannot be used as it stands. Correct it, or F3 goes back."
    if not supposed.changes:
        return "Type another value on the right. F3 goes back, nothing is changed."
    kept = ", ".join(f"{title_of(key)} {printable(text) or 'not given'}" for key, text in supposed.changes.items())
    if not supposed.doubts:
        return f"F4 keeps: {kept}"
    if not warned:
        return f"! Not all of it is known, see above. F4 twice keeps: {kept}"
    names = ", ".join(f"{title_of(key)} {printable(supposed.changes[key])}" for key in supposed.doubts)
    return f"! F4 again keeps it, known or not: {names}"
