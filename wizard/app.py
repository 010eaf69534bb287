"""The wizard: one session, screens made fresh from it, and the ways between them."""

import asyncio
import contextlib
import signal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding

from wizard.app_ways import Ways
from wizard.errors import SelwizError
from wizard.exit_codes import ExitCode
from wizard.screens.start import StartScreen
from wizard.themes import look

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.command import Provider

    from wizard.sessions.session import Session
    from wizard.sessions.session_store import Saved
    from wizard.views.strategy_list import StrategyList


def _places() -> "type[Provider]":
    from wizard.screens.palette import Places

    return Places


class WizardApp(Ways):
    """Holds the session and moves between screens. `return_code` is the exit code of the contract."""

    CSS_PATH = "app.tcss"
    TITLE = "selwiz"
    COMMANDS = {_places}
    BINDINGS = [
        Binding("f10,ctrl+q", "ask_quit", "Quit", show=False, priority=True),
        Binding("question_mark", "keys", "Keys", show=False),
    ]

    def __init__(
        self,
        *,
        answers: list[Path] | None = None,
        vllm: Path | None = None,
        way: str = "",
        short: bool = False,
        where: str = "",
    ) -> None:
        super().__init__(vllm, where)
        #: Whether the machine was named by hand for what is opened next; a session that is resumed has its own.
        self._where_chosen = bool(where)
        self._answers, self._way, self._short = answers or [], way, short
        self.written: Path | None = None
        self.save_problem = ""
        self._ending = False

    # ---------------------------------------------------------------- state that screens show

    @property
    def has_session(self) -> bool:
        """Whether a session is open that holds something."""
        return self._session is not None and bool(self._session.saved_at)

    @property
    def in_session(self) -> bool:
        """Whether a selection is being made, empty as it may be."""
        return self._session is not None

    @property
    def project_title(self) -> str:
        """The project's title for the frame."""
        from wizard.printable import printable

        return "" if self._session is None else printable(self._session.title)

    @property
    def saved_words(self) -> str:
        """When the session was saved, or that it could not be."""
        if self.save_problem:
            return "NOT SAVED"
        saved = self._session.saved_at if self._session else ""
        return f"saved {saved[11:16]}" if saved else "not saved yet"

    @cached_property
    def strategy_list(self) -> "StrategyList":
        """The strategies as the screen shows them."""
        from wizard.views.strategy_list import StrategyList

        return StrategyList()

    # ---------------------------------------------------------------- begin and end

    def on_mount(self) -> None:
        """Show the first screen, or the first question where the command line asks for it; then read the machine."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.leave, 128 + number)
        if (theme := look()) != self.theme:
            from wizard.screens.palette import wear

            wear(self, theme)
        if self._way == "new" and not self._answers:
            self._start_new(short=self._short)
        else:
            self.push_screen(StartScreen())
        self.call_after_refresh(self._after_first_frame)

    def _after_first_frame(self) -> None:
        self.read_machine()
        self._open_way()

    def _open_way(self) -> None:
        from wizard.sessions.session_store import listed

        saved = listed()
        if self._answers:
            self.open_files(self._answers, resumed=self._way == "resume")
        elif self._way == "resume" and saved:
            self.resume(saved[0])
        elif self._way == "resume":
            self.notify("There is no session to resume; choose one of these.", markup=False)

    def action_ask_quit(self) -> None:
        """Ask before leaving; a second time leaves at once."""
        from wizard.screens.modals import ChoiceScreen

        self.commit()
        if self._session is None and not self.smoke.active:
            self.leave(ExitCode.INTERRUPTED)
            return
        if isinstance(self.screen, ChoiceScreen) and self.screen.id == "quit":
            self.leave(self._code())
            return
        earlier = self._session.target if self._session else ""
        since = f"since {earlier}" if earlier else "yet"
        written = (
            f"{self.written} is written." if self.written else f"Nothing was written {since}; the session is kept."
        )
        running = " The smoke is stopped and its GPUs are freed." if self.smoke.active else ""
        screen = ChoiceScreen(
            "Leave selwiz?", ["Stay", "Leave"], text=f"{written}{running}", first=1 if self.written else 0
        )
        screen.id = "quit"

        def answered(choice: int | None) -> None:
            if choice == 1:
                self.leave(self._code())

        self.push_screen(screen, answered)

    async def action_quit(self) -> None:
        """Textual's own way out asks too."""
        self.action_ask_quit()

    def _code(self) -> int:
        return ExitCode.DONE if self.written else ExitCode.INTERRUPTED

    def leave(self, code: int) -> None:
        """Save, end the children and go; by a signal as well."""
        if self._ending:
            return
        self._ending = True
        self.commit()
        self.autosave()
        self.end_children(code - 128 if code > 128 else None)
        self.exit(code, return_code=code)

    def commit(self) -> None:
        """Take what is typed on the screens that are there."""
        for screen in self.screen_stack:
            commit = getattr(screen, "commit", None)
            if commit is not None and getattr(screen, "ready", False):
                commit()

    def autosave(self) -> None:
        """Save the session; where that fails it is said, and the wizard goes on."""
        if self._session is None or (not self._session.tree and not self._session.rejected):
            return
        try:
            self._session.save()
            self.save_problem = ""
        except SelwizError as error:
            if not self.save_problem:
                self.notify(f"{error.message} {error.remedy}", severity="error", markup=False)
            self.save_problem = error.message

    # ---------------------------------------------------------------- ways in

    def _open(self, make: "Callable[[], Session]") -> bool:
        """Open a session at its step; says whether it could be opened."""
        try:
            self._session = make()
        except SelwizError as error:
            self.explain([error.message, "", error.remedy])
            return False
        self._take_machine(self._session)
        names = [step.name for step in self.steps]
        self.step_number = names.index(self._session.step) if self._session.step in names else 0
        self.reached = self.step_number
        self._session.reviewed |= bool(self._answers or self._session.earlier)
        if self._session.notices:
            self.notify("\n".join(self._session.notices[:3]), severity="warning", markup=False)
        self.autosave()
        self.check_soon()
        self.show_step()
        return True

    def _take_machine(self, session: "Session") -> None:
        """A machine named by hand counts; else the session's own, or for a new one without any the one shown."""
        if self._where_chosen or not (session.saved_at or session.where):
            session.where = self.where
        self._where_chosen = False
        self.use_machine_at(session.where)
        session.use_machine(self.machine)

    def plan_for(self, where: str) -> None:
        """Go on with another machine, or with this one again where `where` is empty; the first screen shows it."""
        self._where_chosen = True
        self.use_machine_at(where)

    def show_changes(self) -> None:
        """What changed since the selection that this one began from."""
        from wizard.screens.changes import ChangesScreen

        self.replace(ChangesScreen(self.session.earlier))

    def ask_machine(self) -> None:
        """Ask for another machine, or choose this one again."""
        from wizard.screens.elsewhere import ask_machine

        ask_machine(self)

    def ask_delivery(self) -> None:
        """Hold what was delivered against an approved selection."""
        from wizard.screens.delivery import ask_delivery

        ask_delivery(self)

    def ask_log(self) -> None:
        """Ask for the log of a vLLM and say why it did not start."""
        from wizard.screens.opening import ask_log

        ask_log(self)

    def new_short(self) -> None:
        """A new selection, the short way."""
        self._start_new(short=True)

    def new_full(self) -> None:
        """A new selection, every question."""
        self._start_new(short=False)

    def _start_new(self, *, short: bool) -> None:
        from wizard.sessions.session import Session

        self._open(lambda: Session(short=short))

    def resume(self, saved: "Saved") -> None:
        """Go on with a session."""
        from wizard.sessions.session import Session

        self._open(lambda: Session.resume(saved.path))

    def open_files(self, paths: list[Path], *, resumed: bool) -> None:
        """Open answers files as a new project, or merged into the session saved last."""
        from wizard.screens.opening import session_with_files

        opened = self._open(lambda: session_with_files(paths, resumed=resumed, short=self._short))
        if opened and any(path.suffix == ".json" for path in paths):
            self.show_changes()

    def open_file(self) -> None:
        """Ask for an answers file and open it."""
        from wizard.screens.opening import ask_file

        ask_file(self)

    def show_machine(self) -> None:
        """Show everything that was read of this machine."""
        from wizard.screens.machine import MachineScreen

        self.push_screen(MachineScreen())

    # ---------------------------------------------------------------- answers

    def answer(self, key: str, raw: str) -> None:
        """Take what was typed, save, and check."""
        self.session.set(key, raw)
        self.changed()

    def changed(self) -> None:
        """Save, check and show after the session changed."""
        self.autosave()
        self.check_soon()
        self.refresh_page()

    def mend(self, key: str) -> None:
        """Go to what a finding is about, or offer to mend it here where one key press does."""
        from wizard.screens.rowing import offer_chosen

        if not offer_chosen(self, key):
            self.go_to(key)

    def ask_unknown(self, key: str, *, asking: bool = False) -> None:
        """Offer the ways out of a question; `asking`: a colleague is asked, whose name comes next."""
        from wizard.screens.unknowns import ask_unknown

        ask_unknown(self, key, asking=asking)

    def row_action(self, rows_key: str, what: str, index: int | None) -> None:
        """Add, edit or remove a row of a list; for strategies, decide."""
        from wizard.screens.rowing import act_on_row

        act_on_row(self, rows_key, what, index)

    def list_lines(self, rows_key: str, index: int | None) -> list[str]:
        """What stands beside a list: for strategies what the highlighted one helps, hurts and needs."""
        from wizard.screens.rowing import lines_about

        return lines_about(self, rows_key, index)

    def review_lines(self, index: int | None) -> list[str]:
        """What the review says of one of its lines, in full."""
        from wizard.screens.rowing import review_entry

        return review_entry(self, index)

    # ---------------------------------------------------------------- windows

    def action_command_palette(self) -> None:
        """Ask where to go."""
        from wizard.screens.palette import open_palette

        open_palette(self)

    def action_keys(self) -> None:
        """Show what each key does."""
        from wizard.screens.palette import show_keys

        show_keys(self)

    # ---------------------------------------------------------------- writing

    def preview(self) -> None:
        """Render the document and show it."""
        from wizard.screens.saving import preview

        preview(self)

    def write(self) -> None:
        """Ask where to write, show what would change there, and write."""
        from wizard.screens.saving import ask_target

        ask_target(self)

    def write_questions(self) -> None:
        """Write one small file for each colleague who was asked."""
        from wizard.screens.saving import write_questions

        write_questions(self)
