"""The looks that the wizard offers, and which one this user chose last."""

import json
from pathlib import Path

from wizard.paths import state_dir

#: What the palette calls a look, and Textual's name of it; the first one is used until another is chosen.
THEMES = {
    "dark": "textual-dark",
    "light": "textual-light",
    "high contrast": "high-contrast",
    "the terminal's own colours": "ansi-dark",
}


def look() -> str:
    """Textual's name of the look that was chosen last; the first one where nothing usable was kept."""
    try:
        name = json.loads(_file().read_text(encoding="utf-8"))["theme"]
    except (OSError, ValueError, KeyError, TypeError):
        name = ""
    return THEMES.get(str(name), next(iter(THEMES.values())))


def keep_look(name: str) -> None:
    """Keep a look of `THEMES` for the next start; raises `OSError` where it cannot be kept."""
    _file().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _file().write_text(json.dumps({"theme": name}) + "\n", encoding="utf-8")


def _file() -> Path:
    return state_dir() / "look.json"
