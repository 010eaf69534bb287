"""Opening files: answers of a project, a reply of a colleague, an earlier selection as the next version of it."""

import functools
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.answers import NumberText
from wizard.asking.answers_file import Layer, Tree, read_layer
from wizard.asking.questions import leaves
from wizard.asking.tree import put
from wizard.decision.selection import Selection
from wizard.decision.selection_file import read_selection
from wizard.document.evidence import MACHINE
from wizard.document.write import outputs
from wizard.errors import UsageError
from wizard.machine import plan_of
from wizard.printable import printable
from wizard.screens.modals import ChoiceScreen, PathScreen
from wizard.sessions.session import Session
from wizard.sessions.session_store import listed
from wizard.views.log_words import log_words, read_log

if TYPE_CHECKING:
    from wizard.app import WizardApp
    from wizard.decision.compare import Comparison


def session_with_files(paths: list[Path], *, resumed: bool, short: bool) -> Session:
    """A session with these files; `resumed` merges them into the one saved last. Raises `UsageError`.

    An earlier selection brings the machine that it was planned for; merged into a session it leaves that one's.
    """
    saved = [found for found in listed() if not found.problem]
    session = Session.resume(saved[0].path) if resumed and saved else Session(short=short)
    for path in paths:
        if path.suffix == ".json":
            selection = read_selection(path)
            where, gone = ("", "") if session.saved_at else _machine_of(selection, path)
            session.where = session.where or where
            session.open_layer(_layer_of(selection, path.name, hardware=bool(gone)))
            session.notices += [gone] if gone else []
            session.earlier = str(path.resolve())
        else:
            session.open_layer(read_layer(path))
    return session


def _machine_of(selection: Selection, path: Path) -> tuple[str, str]:
    """The machine of an earlier selection as `--machine` names it, and a sentence where it cannot be had again.

    Both are empty for a selection that was made on the machine it is for: that one is read again.
    """
    machine = selection.machine
    if machine is None or not (machine.planned or machine.recorded):
        return "", ""
    if machine.planned:
        return plan_of(machine), ""
    name = path.name.removesuffix(".json").removesuffix(".selection")
    recorded = outputs(path.with_name(f"{name}.md")).evidence / MACHINE
    if recorded.is_file():
        return str(recorded.resolve()), ""
    lost = f"{path.name} is for a recorded machine, and {recorded.parent.name}/{recorded.name} is not there"
    return "", f"{lost}: this machine is read instead, and the GPUs of the selection stay."


def _layer_of(selection: Selection, name: str, *, hardware: bool) -> Layer:
    """What people answered in an earlier selection; its defaults and readings are made anew.

    With `hardware` the GPUs that were read from its machine are answers too: that machine is not there any more.
    """
    given: Tree = {}
    for leaf in leaves(selection.answers):
        value = leaf.value
        if isinstance(value, dict):  # a table of values may hold defaults beside answers
            value = {n: v for n, v in value.items() if selection.origin(f"{leaf.key}.{n}").word != "default"}
        word = selection.origin(leaf.key).word
        kept = word == "answer" or (hardware and word == "probe" and leaf.key.startswith("runtime.hardware."))
        if value not in (None, (), {}) and kept:
            put(given, leaf.key, _typed(value))
    return Layer(name=name, tree=given)


def _typed(value: Any) -> Any:
    if isinstance(value, Decimal | float):
        return NumberText(format(value, "f") if isinstance(value, Decimal) else repr(value))
    return list(value) if isinstance(value, tuple) else value


@functools.lru_cache(maxsize=4)
def _earlier(path: str) -> Selection:
    return read_selection(Path(path))


def changes_since(earlier: str, selection: Selection) -> "Comparison | None":
    """What changed since an earlier selection; None where there is none, or its file has gone."""
    if not earlier:
        return None
    from wizard.decision.compare import compare

    try:
        return compare(_earlier(earlier), selection)
    except UsageError:
        return None


def ask_log(app: "WizardApp") -> None:
    """Ask for the log of a vLLM and say why it did not start."""

    def named(name: str | None) -> None:
        if not name:
            return
        try:
            app.explain([printable(line) for line in log_words(read_log(Path(name).expanduser()), name)])
        except UsageError as error:
            app.explain([printable(error.message), "", error.remedy])

    app.push_screen(PathScreen("Explain which log of a vLLM that did not start?", "path, such as server.log"), named)


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

    app.push_screen(PathScreen("Open which answers file, or NAME.selection.json?", "path, such as project.toml"), named)
