"""The column that holds the questions of a screen, and the line at its end that offers more of them."""

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

MORE_HINT = "Enter or F5 shows more questions of this screen; F4 goes on without them. Letters do nothing here."
FULL_HINT = "Enter or F5 goes on with every question of this section; F4 stays on the short way."


class More(Widget, can_focus=True):
    """The line that shows or hides what is not asked of everybody."""

    DEFAULT_CSS = "More { height: 1; margin-top: 1; color: $text-accent; } More:focus { text-style: reverse; }"
    BINDINGS = [Binding("enter,space", "screen.more", "more", show=False)]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def render(self) -> Content:
        """Draw the line."""
        return Content(self.text)

    async def on_click(self) -> None:
        """A click is as good as Enter."""
        await self.screen.run_action("screen.more")


class Form(VerticalScroll, inherit_bindings=False):
    """The questions. The arrows move the focus, which scrolls it into view; they never scroll it out of sight."""

    BINDINGS = [
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
    ]
