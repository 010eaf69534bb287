"""What all full screens have in common: the frame, the keys, and the app they talk to."""

from typing import TYPE_CHECKING, cast

from textual.binding import Binding
from textual.screen import Screen

from wizard.widgets.frame import Frame, KeyBar

if TYPE_CHECKING:
    from wizard.app import WizardApp


class Page(Screen[None]):
    """A full screen. Keys work everywhere; what a screen has no use for does nothing.

    At 80 x 24 the parts give way in this order: the panel with the reason (F1 shows it), the project's title in the
    frame, the moment of saving, the second line of a hint. Questions scroll; frame and keys always stay.
    """

    BINDINGS = [
        Binding("f1", "why", "Why", show=False),
        Binding("f3,escape", "back", "Back", show=False),
        Binding("f4", "next", "Next", show=False),
        Binding("f6", "review", "Review", show=False),
        Binding("f10,ctrl+c,ctrl+q", "app.ask_quit", "Quit", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    DECISION = "PROJECT"
    WHERE = ""
    LABELS: dict[str, str] = {}

    def __init__(self) -> None:
        super().__init__()
        self.frame = Frame(self.DECISION, self.WHERE)
        self.keybar = KeyBar(**self.LABELS)
        #: Whether the parts are there; a message may come before they are.
        self.ready = False

    @property
    def wizard(self) -> "WizardApp":
        """The app, which holds the session."""
        return cast("WizardApp", self.app)

    def on_mount(self) -> None:
        """Show the state as it is."""
        self.ready = True
        self.show()

    def on_screen_resume(self) -> None:
        """Show what changed while another screen was in front."""
        if self.ready:
            self.show()

    def show(self) -> None:
        """Show the state of the app again; a screen with more to show does more."""
        self.frame.say(self.wizard.project_title, self.wizard.saved_words, sim=bool(self.wizard.where))

    def commit(self) -> None:
        """Hand over what is typed and not yet taken; a screen without fields has nothing."""

    def action_why(self) -> None:
        """Say why; nothing to say here."""

    def action_back(self) -> None:
        """Go back."""
        self.wizard.back()

    def action_next(self) -> None:
        """Go on."""
        self.wizard.forward()

    def action_review(self) -> None:
        """Go to the review."""
        self.wizard.review()
