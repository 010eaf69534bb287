"""The document before it is written: its source, made on demand, with the tables as they will stand in the file."""

from textual.app import ComposeResult
from textual.widgets import Static, TextArea

from wizard.screens.page import Page


class PreviewScreen(Page):
    """The text of the document, read only."""

    DECISION = "REVIEW"
    WHERE = "Preview"
    LABELS = {"f1": "", "f4": "Write", "f6": ""}
    DEFAULT_CSS = """
    PreviewScreen TextArea, PreviewScreen TextArea:focus { border: none; height: 1fr; }
    PreviewScreen #say { height: 1; padding: 0 1; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Frame, text, keys."""
        yield self.frame
        yield TextArea(self._text, read_only=True, soft_wrap=True, show_line_numbers=False)
        yield Static(f"{len(self._text.splitlines()):,} lines; arrows and PageDown move", id="say", markup=False)
        yield self.keybar

    def action_next(self) -> None:
        """Write what is shown."""
        self.wizard.write()
