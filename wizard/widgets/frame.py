"""The frame that every screen has: where one is, and which keys go on."""

from textual.content import Content
from textual.widget import Widget

from wizard.printable import fitted

#: Each decision has its word and its colour; the word alone is enough.
COLOURS = {
    "PROJECT": "bold black on white",
    "ENGINE": "bold white on blue",
    "RUNTIME": "bold white on darkgreen",
    "LINE E": "bold black on cyan",
    "LINE R": "bold black on yellow",
    "REVIEW": "bold white on purple",
}
KEYS = (("F1", "Why", "why"), ("F3", "Back", "back"), ("F4", "Next", "next"), ("F6", "Review", "review"))
#: Stands on every screen while the readings are those of another machine than this one.
SIM = " SIM "
QUIT = ("F10", "Quit", "app.ask_quit")


def frame_line(width: int, decision: str, where: str, title: str, saved: str, *, sim: bool = False) -> Content:
    """The first line of a screen. Where it is narrow, the title gives way first, then `saved`; never the place.

    `sim` puts the word SIM behind the decision: the readings are not of this machine.
    """
    word, badge = f" {decision} ", SIM if sim else ""
    left = len(word) + len(badge) + 1 + len(where)
    saved = saved if left + len(saved) + 3 <= width else ""
    room = width - left - len(saved) - 5
    shown = fitted(title, room) if room >= min(len(title), 12) else ""
    gap = max(1, width - left - len(shown) - len(saved) - (2 if shown and saved else 0) - 1)
    end = f"{shown}  {saved}" if shown and saved else f"{shown}{saved}"
    return Content.assemble(
        (word, COLOURS.get(decision, "bold reverse")), (badge, "bold black on yellow"), f" {where}{' ' * gap}{end}"
    )


class Frame(Widget):
    """The first line: decision, position, project, and when it was saved."""

    DEFAULT_CSS = "Frame { height: 1; width: 100%; }"

    def __init__(self, decision: str, where: str) -> None:
        super().__init__()
        self.decision, self.where, self.title, self.saved = decision, where, "", ""
        self.sim = False

    def say(self, title: str, saved: str, where: str | None = None, *, sim: bool = False) -> None:
        """Show another title or another moment of saving; `sim`: the readings are not of this machine."""
        self.sim = sim
        self.title, self.saved, self.where = title, saved, self.where if where is None else where
        self.refresh()

    def render(self) -> Content:
        """Draw the line for the width that there is."""
        return frame_line(self.size.width, self.decision, self.where, self.title, self.saved, sim=self.sim)


class KeyBar(Widget):
    """The last line: at most five keys, each of which can be clicked too."""

    DEFAULT_CSS = "KeyBar { height: 1; width: 100%; background: $panel; }"

    def __init__(self, **labels: str) -> None:
        super().__init__()
        self._labels = labels

    def render(self) -> Content:
        """Draw the keys; a label that is empty is a key that does nothing here."""
        keys = [*KEYS, QUIT]
        shown = [(key, self._labels.get(key.lower(), label), action) for key, label, action in keys]
        cells = []
        for key, label, action in shown:
            if label:
                target = action if "." in action else f"screen.{action}"
                cells.append(Content.from_markup(f"[@click={target}][b]{key}[/b] $label[/]", label=label))
        return Content(" ") + Content("   ").join(cells)
