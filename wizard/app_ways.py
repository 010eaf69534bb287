"""The ways between the screens: each is made fresh from the session, and leaving one loses nothing."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.app_work import Working
from wizard.screens.start import StartScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from wizard.asking.steps import Step
    from wizard.sessions.session import Session


class Ways(Working):
    """Which screen comes next, which came before, and the windows that open from any."""

    def __init__(self, vllm: Path | None, where: str = "") -> None:
        super().__init__(vllm, where)
        self._session: Session | None = None
        self.step_number = 0
        self.more: set[str] = set()
        #: How many steps were shown so far: what later ones ask has not been asked yet, until a review shows all of it.
        self.reached = 0
        self._return: Callable[[], None] = self.show_step

    @property
    def session(self) -> "Session":
        """The session; screens that need one are only opened when there is one."""
        if self._session is None:
            raise RuntimeError("no session is open")
        return self._session

    @property
    def steps(self) -> tuple["Step", ...]:
        """The steps of this session."""
        from wizard.asking.steps import steps

        return steps(short=self.session.short)

    def show_step(self, first: str | None = None) -> None:
        """Show the present step, made fresh from the session."""
        from wizard.screens.step import StepScreen

        step = self.steps[self.step_number]
        self.reached = max(self.reached, self.step_number)
        self.session.step = step.name
        where = f"[{self.step_number + 1}/{len(self.steps)}] {step.name[:1].upper()}{step.name[1:]}"
        self.replace(StepScreen(step, where, more=step.name in self.more, first=first))

    def replace(self, screen: object) -> None:
        """Show a screen in the place of the one that is in front."""
        # The start screen stays at the bottom of the stack, where there is one: leaving the first step goes back to it.
        steps_at = 1 + any(isinstance(below, StartScreen) for below in self.screen_stack[1:2])
        while len(self.screen_stack) > steps_at + 1:
            self.pop_screen()
        if len(self.screen_stack) == steps_at:
            self.push_screen(screen)  # type: ignore[call-overload]
        else:
            self.switch_screen(screen)  # type: ignore[arg-type]

    def forward(self) -> None:
        """The next step; after the last one the smoke, then the review."""
        from wizard.screens.smoke import SmokeScreen
        from wizard.screens.step import StepScreen

        screen = self.screen
        if isinstance(screen, StepScreen) and screen.is_row:
            self.back()
        elif isinstance(screen, StepScreen) and self.step_number + 1 < len(self.steps):
            self.step_number += 1
            self.show_step()
        elif isinstance(screen, StepScreen):
            self.replace(SmokeScreen())
        elif isinstance(screen, SmokeScreen):
            self.review()

    def back(self) -> None:
        """The screen before; nothing is lost."""
        from wizard.screens.review import ReviewScreen
        from wizard.screens.smoke import SmokeScreen
        from wizard.screens.step import StepScreen

        screen = self.screen
        if isinstance(screen, StepScreen) and not screen.is_row and self.step_number > 0:
            self.step_number -= 1
            self.show_step()
        elif isinstance(screen, ReviewScreen):
            self._return()
        elif isinstance(screen, SmokeScreen):
            self.show_step()
        elif len(self.screen_stack) > 2:
            if isinstance(screen, StepScreen) and screen.is_row:
                self.session.drop_empty_rows()
            self.pop_screen()
            if isinstance(self.screen, StartScreen):
                self.switch_screen(StartScreen())
        else:
            self.switch_screen(StartScreen())

    def review(self) -> None:
        """The review, from any screen."""
        from wizard.screens.review import ReviewScreen

        if self._session is not None and not isinstance(self.screen, ReviewScreen):
            self._return = self._here()
            self.session.reviewed = True
            self.session.drop_empty_rows()
            self.autosave()
            self.replace(ReviewScreen())

    def _here(self) -> "Callable[[], None]":
        """The way back to the place that is shown."""
        from wizard.screens.smoke import SmokeScreen
        from wizard.screens.step import StepScreen

        screen = self.screen
        if isinstance(screen, StepScreen):
            key = screen.focused_key or (screen.step.basic[0] if screen.is_row else "")
            return functools.partial(self.go_to, key) if key else self.show_step
        return lambda: self.replace(SmokeScreen())

    def go_to(self, key: str) -> None:
        """The question behind a key: its step, its row if it has one, and the focus on its field."""
        from wizard.asking.questions import question_of
        from wizard.asking.steps import row_of, step_of
        from wizard.screens.rowing import row_screen

        number = step_of(key, short=self.session.short)
        if number is None and self.session.short:
            # The short way does not ask this; from here on the person goes the full way.
            self.session.short = False
            number = step_of(key, short=False)
        self.step_number = number or 0
        step = self.steps[self.step_number]
        self.show_step(first=key)
        row = row_of(key)
        whole_row = not key.rpartition("]")[2]  # a finding may be of a row and none of its fields
        if row is not None and (whole_row or question_of(key) is not None) and key not in step.basic:
            self.push_screen(row_screen(self.checked, *row, more=False, first=key))

    def what_if(self) -> None:
        """Hold the answers against others, beside each other."""
        from wizard.screens.what_if import WhatIfScreen

        if self._session is not None and not isinstance(self.screen, WhatIfScreen):
            self.push_screen(WhatIfScreen())

    def explain(self, lines: list[str]) -> None:
        """Show some lines in a window."""
        from wizard.screens.modals import WhyScreen

        self.push_screen(WhyScreen(lines))

    def go_full(self) -> None:
        """Leave the short way at the section that is shown; what was answered stays."""
        name = self.steps[self.step_number].name
        self.session.short = False
        self.step_number = next(number for number, step in enumerate(self.steps) if step.name == name)
        self.autosave()
        self.check_soon()
        self.show_step()

    def toggle_more(self) -> None:
        """Show or hide the questions that refine."""
        from wizard.screens.step import StepScreen

        screen = self.screen
        if not isinstance(screen, StepScreen):
            return
        if screen.is_row:
            first = screen.focused_key or (screen.step.advanced[0] if not screen.more else None)
            self.switch_screen(StepScreen(screen.step, screen.WHERE, more=not screen.more, first=first, is_row=True))
        else:
            self.more ^= {screen.step.name}
            opened = screen.step.name in self.more and screen.step.advanced
            self.show_step(first=screen.focused_key or (screen.step.advanced[0] if opened else None))
