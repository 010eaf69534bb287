"""The command palette (Ctrl+P): any question by its title, any screen, the keys, the look."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.theme import Theme

from wizard.themes import THEMES, keep_look

if TYPE_CHECKING:
    from textual.app import App

    from wizard.app import WizardApp

HIGH_CONTRAST = Theme(
    name="high-contrast",
    primary="#ffff00",
    secondary="#00ffff",
    warning="#ffff00",
    error="#ff8080",
    success="#80ff80",
    accent="#00ffff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#303030",
    dark=True,
    variables={"text-muted": "#ffffff", "border": "#ffffff"},
)

KEYS = """\
EVERYWHERE
F1  why this is asked              F6      review: findings, the two lines
F3  back (Esc too)                 F10     quit; the session is kept
F4  next                           Ctrl+P  go to any question or screen

ON A QUESTION
F2  I do not know: ask someone, take the default, leave it open
F5  more questions of this step, or fewer
F7  what if: a second column with other hardware, context or load
Enter  takes what stands there     Left, Right  another choice
Tab, Up, Down  another question    Delete       no answer

ON A LIST
a  add a row, adopt a strategy     Enter   open the row
d  defer a strategy                x       remove a row, reject a strategy
m  more or fewer of the list

ON THE SMOKE                       ON THE REVIEW
s  start      x  stop              Enter  go to the question
n  write without a measurement     p  preview      w  write
a  take the remedy                 c  questions for colleagues
e  end what an earlier run left    d  what changed
                                   g  how well founded it is"""


def open_palette(wizard: "WizardApp") -> None:
    """Ask where to go."""
    if not CommandPalette.is_open(cast("App[object]", wizard)):
        wizard.push_screen(CommandPalette(placeholder="A question, a screen, the keys, a look …"))


def show_keys(wizard: "WizardApp") -> None:
    """Show what each key does."""
    wizard.explain(KEYS.split("\n"))


def wear(wizard: "WizardApp", theme: str) -> None:
    """Show the colours of a theme, by Textual's name."""
    if theme == HIGH_CONTRAST.name:
        wizard.register_theme(HIGH_CONTRAST)
    wizard.theme = theme


def _choose(wizard: "WizardApp", name: str) -> None:
    wear(wizard, THEMES[name])
    with contextlib.suppress(OSError):  # a look that is not kept is no reason to stop
        keep_look(name)


def _jump(wizard: "WizardApp", key: str) -> None:
    wizard.commit()
    wizard.go_to(key)


def _jump_to_step(wizard: "WizardApp", number: int) -> None:
    wizard.commit()
    wizard.step_number = number
    wizard.show_step()


def _show_smoke(wizard: "WizardApp") -> None:
    from wizard.screens.smoke import SmokeScreen

    wizard.commit()
    if not isinstance(wizard.screen, SmokeScreen):
        wizard.replace(SmokeScreen())


@dataclass(frozen=True)
class Place:
    """One entry: what it is called, where it is, and how one gets there."""

    title: str
    about: str
    go: Callable[[], None]


class Places(Provider):
    """What the palette of the wizard offers."""

    @property
    def wizard(self) -> "WizardApp":
        """The app, which knows the ways."""
        return cast("WizardApp", self.app)

    async def discover(self) -> Hits:
        """Before anything is typed: the screens, the keys and the look."""
        for place in self._screens():
            yield DiscoveryHit(place.title, place.go, help=place.about)

    async def search(self, query: str) -> Hits:
        """Everything whose title or key has the typed letters in this order."""
        matcher = self.matcher(query)
        for place in (*self._screens(), *self._questions()):
            score = max(matcher.match(place.title), matcher.match(place.about) / 2)
            if score > 0:
                yield Hit(score, matcher.highlight(place.title), place.go, help=place.about)

    def _screens(self) -> Iterator[Place]:
        wizard = self.wizard
        if wizard.in_session:
            yield Place("Review", "findings, the two lines, what is open", wizard.review)
            yield Place("Preview", "the document as it stands", wizard.preview)
            yield Place("What if", "a second column: other hardware, layout, context, cache, load", wizard.what_if)
            yield Place("Smoke", "measure with the real vLLM", partial(_show_smoke, wizard))
            for number, step in enumerate(wizard.steps):
                yield Place(
                    f"Step {number + 1}: {step.name}",
                    "a step of this selection",
                    partial(_jump_to_step, wizard, number),
                )
        yield Place("Another machine", "plan for one that is not here (SIM), or this one again", wizard.ask_machine)
        yield Place("Check a delivery", "an approved selection against what runs", wizard.ask_delivery)
        yield Place("Explain a vLLM log", "why did it not start, in plain words", wizard.ask_log)
        yield Place("This machine", "everything that was read of it", wizard.show_machine)
        yield Place("Keys", "what each key does", partial(show_keys, wizard))
        for name in THEMES:
            yield Place(f"Look: {name}", "colours, kept for the next start", partial(_choose, wizard, name))
        yield Place("Quit", "the session is kept", wizard.action_ask_quit)

    def _questions(self) -> Iterator[Place]:
        if not self.wizard.in_session:
            return
        from wizard.asking.questions import applies, leaves

        answers = self.wizard.session.in_force
        for leaf in leaves(answers):
            if applies(leaf, answers):
                yield Place(leaf.question.title, leaf.key, partial(_jump, self.wizard, leaf.key))
