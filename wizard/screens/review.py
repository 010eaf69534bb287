"""The review: what is wrong, what is open, how well founded it is, and the two lines side by side, unadded."""

import contextlib
from collections import Counter
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import OptionList, Static

from wizard.asking.provenance import SourceWord
from wizard.asking.questions import question_of
from wizard.decision.selection import Selection
from wizard.errors import SelwizError
from wizard.messages import Counted
from wizard.printable import printable
from wizard.screens.changes import ChangesScreen
from wizard.screens.page import Page
from wizard.views.common import counted, finding_line, line_block, side_by_side, since_words, smoke_words
from wizard.views.grounds import ground_lines, source_counts, sources_line
from wizard.widgets.listing import Listing


def _title(key: str) -> str:
    question = question_of(key)
    return question.title if question else key


class ReviewScreen(Page):
    """Findings, rejected texts and open answers in one list: Enter goes to the question."""

    DECISION = "REVIEW"
    WHERE = "Before writing"
    LABELS = {"f4": "Write", "f6": ""}
    BINDINGS = [
        Binding("p", "preview", "preview", show=False),
        Binding("w", "next", "write", show=False),
        Binding("c", "colleagues", "questions for colleagues", show=False),
        Binding("d", "differences", "what changed", show=False),
        Binding("g", "grounds", "how well founded", show=False),
    ]
    DEFAULT_CSS = """
    ReviewScreen #body { height: 1fr; min-height: 3; }
    ReviewScreen #list { width: 1fr; height: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ReviewScreen #beside { width: 46; padding: 0 1; border-left: solid $panel-lighten-2; display: none; }
    ReviewScreen.-wide #beside { display: block; }
    ReviewScreen #all-grounds { height: auto; }
    ReviewScreen.-wide #grounds { height: 1; }
    ReviewScreen #count { height: 1; padding: 0 1; text-style: bold; margin-top: 1; }
    ReviewScreen #count { text-wrap: nowrap; text-overflow: ellipsis; }
    ReviewScreen #lines { height: 6; padding: 0 1; margin-top: 1; }
    ReviewScreen #grounds { height: 2; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    ReviewScreen #since { height: 1; padding: 0 1; display: none; }
    ReviewScreen #keys { height: auto; padding: 0 1; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[str] = []
        self._counts: Counter[SourceWord] | None = None
        self._counted: Selection | None = None

    def compose(self) -> ComposeResult:
        """Frame, list, lines, grounds, keys."""
        yield self.frame
        yield Static("checking …", id="count", markup=False)
        with Horizontal(id="body"):
            yield Listing(id="list")
            with VerticalScroll(id="beside", can_focus=False):
                yield Static("", id="all-grounds", markup=False)
        yield Static("", id="lines", markup=False)
        yield Static("", id="grounds", markup=False)
        yield Static("", id="since", markup=False)
        yield Static("", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Check everything again and show it."""
        self.wizard.check_now()
        self.query_one(Listing).focus()
        self.show()

    def show(self) -> None:
        """Show what the rules said last."""
        super().show()
        session, selection = self.wizard.session, self.wizard.checked
        entries = [
            (f"text  {_title(key)}: {printable(rejected.message)}; kept, not used", key)
            for key, rejected in session.rejected.items()
        ]
        if selection is not None:
            entries += [(finding_line(finding), finding.where) for finding in selection.findings]
            for item in selection.open_answers:
                waits = f", waits for {printable(item.owner)}" if item.owner else ""
                due = f", due {item.due.isoformat()}" if item.due else ""
                entries.append((f"open  {item.title} ({item.key}){waits}{due}", item.key))
        self._fill(entries)
        if self.wizard.check_problem:
            self.query_one("#count", Static).update(f"Cannot be checked: {printable(self.wizard.check_problem)}")
        if selection is None:
            return
        count = len(session.rejected)
        unused = f"{count} {'text' if count == 1 else 'texts'} not used; " if count else ""
        self.query_one("#count", Static).update(
            "CHECKING AGAIN … the list below is that of the answers before"
            if self.wizard.checking
            else f"FINDINGS {counted(selection.findings)}; {unused}{len(selection.open_answers)} open; "
            "Enter goes to the question"
        )
        budget = selection.answers.budget
        engine = line_block(selection.engine_line, budget.engine.owner, budget.engine.approval_route)
        runtime = line_block(selection.runtime_line, budget.runtime.owner, budget.runtime.approval_route)
        runtime.append("  never added to line E")
        self.query_one("#lines", Static).update(side_by_side(engine, runtime, self.size.width - 2))
        self._show_grounds(selection)
        since = since_words(self.wizard.since, Path(session.earlier).name)
        self.query_one("#since", Static).update(since)
        self.query_one("#since", Static).display = bool(since)
        waiting = len(selection.open_answers)
        proposed = f"F4 write it (proposed{f', {waiting} answers open' if waiting else ''})"
        write = proposed if selection.status == "proposed" else "F4 write as draft (something blocks)"
        self.query_one("#keys", Static).update(f"{write}   p preview   g grounds   c for colleagues")

    def _show_grounds(self, selection: Selection) -> None:
        """Show how well founded it is; the document that the sources are counted in is rendered in a thread."""
        if selection is not self._counted:
            self._counted = selection
            self._count(selection)
        counted_line = sources_line(self._counts) if self._counts else "Sources: being counted …"
        lines = [smoke_words(selection)] if self.has_class("-wide") else [counted_line, smoke_words(selection)]
        self.query_one("#grounds", Static).update("\n".join(lines))
        self.query_one("#all-grounds", Static).update("\n".join(self._ground_lines(selection)))

    def _ground_lines(self, selection: Selection) -> list[str]:
        return list(ground_lines(selection, self._counts, self.wizard.since, Path(self.wizard.session.earlier).name))

    @work(thread=True, group="count", exclusive=True, exit_on_error=False)
    def _count(self, selection: Selection) -> None:
        # What cannot be rendered is said by the preview; here it only leaves the count away.
        with contextlib.suppress(SelwizError):
            self.post_message(Counted(selection, source_counts(selection)))

    def on_counted(self, event: Counted) -> None:
        """Take the counts over, unless a newer selection is being counted."""
        event.stop()
        if event.selection is self._counted:
            self._counts = event.counts
            self.show()

    def on_resize(self) -> None:
        """Another width, other halves."""
        if self.ready:
            self.show()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the question."""
        event.stop()
        if event.option_index < len(self._places):
            self.wizard.mend(self._places[event.option_index])

    def action_next(self) -> None:
        """Write; there is no screen after this one."""
        self.wizard.write()

    def action_preview(self) -> None:
        """Render the document on demand."""
        self.wizard.preview()

    def action_colleagues(self) -> None:
        """Write the questions that wait for others."""
        self.wizard.write_questions()

    def action_differences(self) -> None:
        """Show what changed since the selection that this one began from."""
        if self.wizard.since is not None:
            self.wizard.push_screen(ChangesScreen(self.wizard.session.earlier))

    def action_grounds(self) -> None:
        """Say how well founded it is, where there is no room beside the findings."""
        if self.wizard.checked is not None:
            self.wizard.explain(self._ground_lines(self.wizard.checked))

    def action_why(self) -> None:
        """Say the whole finding with its remedy."""
        at = self.query_one(Listing).highlighted
        self.wizard.explain(self.wizard.review_lines(at))

    def _fill(self, entries: list[tuple[str, str]]) -> None:
        self._places = [place for _, place in entries]
        self.query_one(Listing).say([line for line, _ in entries] or ["nothing is wrong and nothing is open"])
