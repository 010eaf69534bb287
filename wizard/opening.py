"""Opening answers files: as a project of their own, or as a colleague's reply merged into the open one."""

from pathlib import Path
from typing import TYPE_CHECKING

from wizard.answers_file import read_layer
from wizard.screens.modals import ChoiceScreen, PathScreen
from wizard.session import Session
from wizard.session_store import listed

if TYPE_CHECKING:
    from wizard.app import WizardApp


def session_with_files(paths: list[Path], *, resumed: bool, short: bool) -> Session:
    """A session with these files; `resumed` merges them into the one saved last. Raises `UsageError`."""
    saved = [found for found in listed() if not found.problem]
    session = Session.resume(saved[0].path) if resumed and saved else Session(short=short)
    for path in paths:
        session.open_layer(read_layer(path))
    return session


def ask_file(app: "WizardApp") -> None:
    """Ask for the path, and where there is a project already, what the file is to it."""

    def named(path: str | None) -> None:
        if not path:
            return
        paths = [Path(path).expanduser()]
        saved = [found for found in listed() if not found.problem]
        if not saved:
            app.open_files(paths, resumed=False)
            return

        def chosen(choice: int | None) -> None:
            if choice is not None:
                app.open_files(paths, resumed=choice == 1)

        ways = ["A project of its own", f'A reply, merged into "{saved[0].title[:40]}"']
        app.push_screen(ChoiceScreen("What is this file?", ways), chosen)

    app.push_screen(PathScreen("Open which answers file?", "path, such as project.toml"), named)
