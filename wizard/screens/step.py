"""The one generic screen of questions: fields, lists of rows, and the reason beside them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from wizard.asking.place import Place
from wizard.asking.ranges import RANGES
from wizard.asking.steps import ITEMS, OPTIONS, SHORT_NOTES, STRATEGIES, Step, beside, step_of
from wizard.messages import Answered
from wizard.printable import printable
from wizard.screens.page import Page
from wizard.views.budget_list import item_lines, subtotal_lines
from wizard.views.common import findings_words
from wizard.widgets.field import ChoiceField, QuestionRow, TextField
from wizard.widgets.form import FULL_HINT, MORE_HINT, Form, More
from wizard.widgets.rows import RowsList, row_lines, rows_hint
from wizard.widgets.why import WhyPanel, why_lines

if TYPE_CHECKING:
    from wizard.answers import Answers

#: The steps whose questions move the memory or the floors, and the one whose refining questions do.
SIZED = ("hardware and layout", "workload and ceilings")
SIZED_REFINED = "runtime product"
PANE_WIDTH = 35
WINDOW_WIDTH = 68
#: From so many lines on, other hardware stands beside the questions too; F1 shows it on any screen.
ROOM_FOR_OTHERS = 38
WHAT_IF = "F7  What if: a second column"
WIDE, LONGEST_TITLE, LONGEST_TITLE_BESIDE = 100, 36, 28
#: From so many columns on, titles are whole beside the panel too; below so many, a field keeps room for its value.
ROOMY, TIGHT, LONGEST_TITLE_TIGHT = 112, 72, 28


class StepScreen(Page):
    """One step, or one row of a list. `first` is the key whose field gets the focus."""

    BINDINGS = [
        Binding("f2", "unknown", "I do not know", show=False),
        Binding("f5", "more", "More questions", show=False),
        Binding("f7", "what_if", "What if", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    StepScreen #form { width: 1fr; padding: 0 1; }
    StepScreen #body { height: 1fr; margin-top: 1; }
    StepScreen .list-title { height: 1; margin-top: 1; text-style: bold; text-wrap: nowrap; }
    StepScreen .keys { height: 1; color: $text-muted; }
    StepScreen RowsList { height: auto; max-height: 60vh; text-wrap: nowrap; text-overflow: ellipsis; }
    StepScreen #hint { height: 3; padding: 0 1; color: $text-muted; }
    StepScreen #findings { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StepScreen #beside { width: 38; display: none; }
    StepScreen #beside WhyPanel { height: 1fr; }
    StepScreen #sizing { height: auto; border-left: solid $panel-lighten-2; padding: 0 1; }
    StepScreen #sizing-line { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StepScreen #subtotals { height: 1; text-align: right; text-style: bold; }
    StepScreen #unit { height: auto; text-align: right; }
    StepScreen.-wide #beside { display: block; }
    StepScreen.-wide.-money #beside { display: none; }
    StepScreen.-wide #hint, StepScreen.-wide #sizing-line { display: none; }
    StepScreen.-wide.-money #hint { display: block; }
    """

    def __init__(
        self,
        step: Step,
        where: str,
        *,
        more: bool,
        first: str | None = None,
        is_row: bool = False,
    ) -> None:
        self.DECISION, self.WHERE = step.decision, where
        self.LABELS = {"f3": "Back to the list", "f4": "Done"} if is_row else {}
        super().__init__()
        self.step, self.more, self.first, self.is_row = step, more, first, is_row
        self.focused_key: str | None = None
        self.pane_alone: list[str] = []
        has_items = any(rows.key in ITEMS for rows in step.lists)
        #: The line whose unit cost stands below its items; empty on any other screen.
        self.line = step.decision.removeprefix("LINE ") if has_items else ""
        # A table of amounts needs the whole width; the reason then stands below, as it does on a narrow screen.
        self.set_class(has_items, "-money")
        self.live = not is_row and (step.name in SIZED or (step.name == SIZED_REFINED and more))

    def compose(self) -> ComposeResult:
        """Frame, questions beside their reason, a hint, the findings, the keys."""
        yield self.frame
        refining = self.step.advanced if self.more else beside(self.step, self.first)
        keys = [*self.step.basic, *refining]
        with Horizontal(id="body"):
            with Form(id="form", can_focus=False):
                for key in keys:
                    yield QuestionRow(self._place(key))
                for rows in self.step.lists:
                    if rows.key == RANGES and not self.wizard.session.rows(RANGES):
                        continue  # F2 on a number makes one; an empty list of them would only puzzle
                    title = self.wizard.strategy_list.columns if rows.key == STRATEGIES else rows.title
                    yield Static(title, classes="list-title", markup=False)
                    yield RowsList(rows.key)
                    if rows.key in ITEMS:
                        yield Static("", id="subtotals", markup=False)
                        yield Static("", id="unit", markup=False)
                    yield Static(rows_hint(rows.key), classes="keys", markup=False)
                if text := self._more_words(len(self.step.advanced) - len(refining)):
                    yield More(text)
            with Vertical(id="beside"):
                yield WhyPanel()
                if self.live:
                    yield Static("", id="sizing", markup=False)
        yield Static("", id="hint", markup=False)
        if self.live:
            yield Static("", id="sizing-line", markup=False)
        yield Static("", id="findings", markup=False)
        yield self.keybar

    @property
    def _to_full(self) -> bool:
        """Whether F5 leaves the short way."""
        return self.wizard.session.short and not self.is_row

    def _more_words(self, hidden: int) -> str:
        """What F5 does here; empty where it does nothing."""
        if self._to_full:
            return "▸ The full way (F5): every question; what you answered stays"
        if not self.step.advanced:
            return ""
        return "▾ Fewer questions (F5)" if self.more else f"▸ {hidden} more that refine (F5 shows them; none is needed)"

    def on_mount(self) -> None:
        """Put the focus on the question asked for, else on the first one."""
        self.show()
        wanted = (f"{self.first}.", f"{self.first}[")
        for row in self.query(QuestionRow):
            if row.place.key == self.first or row.place.key.startswith(wanted):
                row.field.focus()
                return
        for listing in self.query(RowsList):
            if self.first and (self.first == listing.rows_key or self.first.startswith(f"{listing.rows_key}[")):
                listing.focus()
                return
        # The first focus came before the sizes; what stands above it is to be seen too.
        self.call_after_refresh(self.query_one(Form).scroll_home, animate=False)

    def on_resize(self) -> None:
        """The titles take what they need, so that none is cut where there is no panel beside them."""
        rows = list(self.query(QuestionRow))
        width = self.size.width
        longest = max((len(row.place.question.title) for row in rows), default=0)
        most = LONGEST_TITLE
        if width < TIGHT:
            most = LONGEST_TITLE_TIGHT
        elif WIDE <= width < ROOMY and not self.has_class("-money"):
            most = LONGEST_TITLE_BESIDE
        for row in rows:
            row.widen(min(longest + 2, most))
            row.set_class(width < TIGHT, "-tight")
        for listing in self.query(RowsList):
            if listing.rows_key in ITEMS:
                listing.say(self._item_lines(listing.rows_key))

    def show(self) -> None:
        """Show what the session holds."""
        super().show()
        session = self.wizard.session
        for row in self.query(QuestionRow):
            row.show(self._place(row.place.key))
        for rows in self.query(RowsList):
            if rows.rows_key == STRATEGIES:
                decided = session.tree.get("engine", {}).get("strategies", {})
                rows.say(self.wizard.strategy_list.lines(decided, self.wizard.checked))
            elif rows.rows_key == OPTIONS:
                from wizard.views.option_list import option_lines  # brings what only this list needs

                rows.say(option_lines(session.rows(OPTIONS), self.wizard.checked))
            elif rows.rows_key in ITEMS:
                rows.say(self._item_lines(rows.rows_key))
                totals = subtotal_lines(rows.rows_key, self.wizard.checked)
                self.query_one("#subtotals", Static).update("   ".join(totals))
            else:
                rows.say(row_lines(rows.rows_key, session.rows(rows.rows_key)))
        here = [] if self.wizard.checked is None else list(self.wizard.checked.findings)
        at = step_of_screen(self)
        places = [step_of(finding.where, short=session.short) for finding in here]
        mine = [f for f, place in zip(here, places, strict=True) if not self.is_row and place == at]
        reached, whole = self.wizard.reached, session.reviewed
        # A question that nobody was shown yet is no mistake of anybody.
        asked = [f for f, place in zip(here, places, strict=True) if whole or (place is not None and place < reached)]
        mine = [finding for finding in mine if finding in asked]
        checking = self.wizard.checking or self.wizard.checked is None
        words = findings_words(mine, asked, self.wizard.check_problem, whole=whole, checking=checking)
        self.query_one("#findings", Static).update(words)
        self._tell()
        if self.live or self.line:  # after the questions are drawn, which need none of it
            self.call_after_refresh(self._show_figures)

    def _item_lines(self, rows_key: str) -> list[str]:
        return item_lines(rows_key, self.wizard.session.rows(rows_key), self.wizard.checked, self.size.width)

    def _show_figures(self) -> None:
        """Show the figures of the answers in force with what is being typed.

        A check that ends meanwhile must not take that away.
        """
        if not self.query("#sizing, #unit"):
            return  # this comes after a refresh, by when the screen may be gone

        from wizard.views.live import answers_with

        session, field = self.wizard.session, self.focused
        typed = isinstance(field, TextField) and field.changed
        answers = answers_with(session, field.key, field.value) if typed else session.in_force  # type: ignore[union-attr]
        if self.live:
            self._show_sizing(answers)
        if self.line:
            self._show_unit_cost(answers)

    def on_input_changed(self) -> None:
        """Show the figures of what is being typed, before anybody has taken it."""
        if self.live or self.line:
            self._show_figures()

    def _show_unit_cost(self, answers: "Answers") -> None:
        """Show what this line costs per million output tokens, and nothing of the other line."""
        from wizard.views.unit_cost import unit_cost_words

        self.query_one("#unit", Static).update(unit_cost_words(self.line, answers, self.wizard.checked))

    def _show_sizing(self, answers: "Answers") -> None:
        """Show the sizing of these answers beside the questions and in one line; a narrow screen shows the line."""
        from wizard.views.live import live_sizing
        from wizard.views.sizing import hardware_lines, sizing_line, sizing_lines

        proposed = live_sizing(answers, self.wizard.session.machine)
        self.pane_alone = sizing_lines(proposed, answers, PANE_WIDTH)
        # Sizing every type takes longer than a key press may: these are of the answers that were checked last.
        others = hardware_lines(self.wizard.checked.sizing if self.wizard.checked else None, PANE_WIDTH)
        shown = [*self.pane_alone, *(others if self.size.height >= ROOM_FOR_OTHERS else ()), WHAT_IF]
        self.query_one("#sizing", Static).update("\n".join(shown))
        self.query_one("#sizing-line", Static).update(sizing_line(proposed, answers))

    def commit(self) -> None:
        """Hand over what is typed and not yet taken."""
        for row in self.query(QuestionRow):
            if isinstance(row.field, TextField) and row.field.changed:
                self.wizard.answer(row.place.key, row.field.value)
                row.field.shown = row.field.value

    def on_answered(self, event: Answered) -> None:
        """Pass on what was typed."""
        event.stop()
        self.wizard.answer(event.key, event.raw)

    def on_question_row_done(self, event: QuestionRow.Done) -> None:
        """Go on from a question that was answered; a second Enter on the last one of the short way leaves the step."""
        event.stop()
        focused = self.focused
        self.action_next_field()
        if self._to_full and not event.taken and self.focused is focused:
            self.action_next()

    def on_question_row_focused(self, event: QuestionRow.Focused) -> None:
        """Show the reason of the question that has the focus."""
        event.stop()
        self.focused_key = event.key
        self._tell()

    def on_descendant_focus(self) -> None:
        """On a list the reason is that of the list, on the line of further questions what it does."""
        if isinstance(self.focused, RowsList | More):
            self.focused_key = None
            self._tell()

    def on_option_list_option_highlighted(self) -> None:
        """The reason follows the row."""
        self._tell()

    def on_rows_list_act(self, event: RowsList.Act) -> None:
        """Pass on what is wanted of a row."""
        event.stop()
        self.wizard.row_action(event.rows_key, event.what, event.index)

    def action_next_field(self) -> None:
        """Go to the next field; after the last one of a row back to its list, and never round to the first."""
        following = self.focus_chain[self.focus_chain.index(self.focused) + 1 :] if self.focused else self.focus_chain
        last = not following or isinstance(following[0], More)
        if last and self.is_row:
            self.action_next()
        elif following and not (last and self._to_full):
            following[0].focus()

    def action_more(self) -> None:
        """Show or hide what refines."""
        self.commit()
        if self._to_full:
            self.wizard.go_full()
        elif self.step.advanced:
            self.wizard.toggle_more()

    def action_what_if(self) -> None:
        """Hold the answers against others."""
        self.commit()
        self.wizard.what_if()

    def action_why(self) -> None:
        """Show the reason in a window of its own, and what stands beside it where there is room."""
        self.wizard.explain([*self._lines(), *self._beside()])

    def _beside(self) -> list[str]:
        if not self.live:
            return []
        from wizard.views.sizing import hardware_lines

        others = hardware_lines(self.wizard.checked.sizing if self.wizard.checked else None, WINDOW_WIDTH)
        return ["", *self.pane_alone, "", *others, WHAT_IF]

    def action_unknown(self) -> None:
        """Offer the ways out of a question that one cannot answer."""
        if self.focused_key is not None:
            self.commit()
            self.wizard.ask_unknown(self.focused_key)

    def action_back(self) -> None:
        """Back to the list, or to the step before."""
        self.commit()
        super().action_back()

    def action_next(self) -> None:
        """On to the next step, or back to the list."""
        self.commit()
        super().action_next()

    def action_review(self) -> None:
        """On to the review."""
        self.commit()
        super().action_review()

    def _place(self, key: str) -> Place:
        place = self.wizard.session.place(key, self.wizard.checked)
        if self.wizard.session.short and not place.note:
            return replace(place, note=SHORT_NOTES.get(key, ""))
        return place

    def _lines(self) -> list[str]:
        if self.focused_key is not None:
            return why_lines(self._place(self.focused_key), self._later(self.focused_key))
        if isinstance(self.focused, RowsList):
            return self.wizard.list_lines(self.focused.rows_key, self.focused.highlighted)
        if isinstance(self.focused, More):
            return [self.step.name, "", FULL_HINT if self._to_full else MORE_HINT]
        return [self.step.name]

    def _later(self, key: str) -> list[str]:
        if self.wizard.checked is None:
            return []  # the first question is there before what a comparison needs is loaded

        from wizard.views.comparison import later_lines

        return later_lines(key)

    def _tell(self) -> None:
        lines = self._lines()
        self.query_one(WhyPanel).say(lines)
        if self.focused_key is None:
            self.query_one("#hint", Static).update("\n".join([*lines[2:3], "F1 says more"]))
            return
        place = self._place(self.focused_key)
        unit = f" [{place.question.unit}]" if place.question.unit else ""
        keys = "F2 I do not know" + ("   ← → choose" if isinstance(self.focused, ChoiceField) else "")
        self.query_one("#hint", Static).update(f"{printable(place.question.why)}{unit}\n{keys}   F1 says more")


def step_of_screen(screen: StepScreen) -> int:
    """The number of the step that a screen shows; -1 for a row."""
    return -1 if screen.is_row else screen.wizard.step_number
