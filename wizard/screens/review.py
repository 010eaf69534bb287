"""The review: what is wrong, what is open, how well founded it is, and the two lines side by side, unadded."""

from pathlib import Path

from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from wizard.comparison_text import comparison_lines
from wizard.printable import printable
from wizard.questions import question_of
from wizard.screens.page import Page
from wizard.views import counted, finding_line, line_block, side_by_side, since_words, smoke_words, sources_line


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
    ]
    DEFAULT_CSS = """
    ReviewScreen #list { height: 1fr; border: none; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    ReviewScreen #count { height: 1; padding: 0 1; text-style: bold; margin-top: 1; }
    ReviewScreen #lines { height: 6; padding: 0 1; margin-top: 1; }
    ReviewScreen #grounds { height: 2; padding: 0 1; color: $text-muted; }
    ReviewScreen #since { height: 1; padding: 0 1; display: none; }
    ReviewScreen #keys { height: 1; padding: 0 1; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[str] = []

    def compose(self) -> ComposeResult:
        """Frame, list, lines, grounds, keys."""
        yield self.frame
        yield Static("checking …", id="count", markup=False)
        yield OptionList(id="list", markup=False, compact=True)
        yield Static("", id="lines", markup=False)
        yield Static("", id="grounds", markup=False)
        yield Static("", id="since", markup=False)
        yield Static("", id="keys", markup=False)
        yield self.keybar

    def on_mount(self) -> None:
        """Check everything again and show it."""
        self.wizard.check_now()
        self.query_one("#list", OptionList).focus()
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
        runtime.append("  The two lines are never added.")
        self.query_one("#lines", Static).update(side_by_side(engine, runtime, max(self.size.width - 2, 60)))
        self.query_one("#grounds", Static).update(f"{sources_line(selection)}\n{smoke_words(selection)}")
        since = since_words(self.wizard.since, Path(session.earlier).name)
        self.query_one("#since", Static).update(since)
        self.query_one("#since", Static).display = bool(since)
        waiting = len(selection.open_answers)
        proposed = f"F4 write it (proposed{f', {waiting} answers open' if waiting else ''})"
        write = proposed if selection.status == "proposed" else "F4 write as draft (something blocks)"
        self.query_one("#keys", Static).update(f"{write}   p preview   c for colleagues")

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
            self.wizard.explain(comparison_lines(self.wizard.since))

    def action_why(self) -> None:
        """Say the whole finding with its remedy."""
        at = self.query_one("#list", OptionList).highlighted
        self.wizard.explain(self.wizard.review_lines(at))

    def _fill(self, entries: list[tuple[str, str]]) -> None:
        listing = self.query_one("#list", OptionList)
        lines = [line for line, _ in entries] or ["nothing is wrong and nothing is open"]
        self._places = [place for _, place in entries]
        if [str(option.prompt) for option in listing.options] == lines:
            return
        at = listing.highlighted or 0
        listing.clear_options()
        listing.add_options([Option(line) for line in lines])
        listing.highlighted = min(at, len(lines) - 1)
