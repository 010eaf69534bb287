"""What the app does beside the screens: reading the machine, checking, planning and running the smoke."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work
from textual.timer import Timer

from wizard.errors import SelwizError
from wizard.messages import Checked, MachineRead, SmokeEnded, SmokePlanned, SmokeTold
from wizard.ordered_keys import OrderedKeys
from wizard.probing import Probing
from wizard.smoke.state import SmokeChoices, SmokeRun, TellingObserver, apply_remedy

if TYPE_CHECKING:
    from probes.machine import Machine
    from wizard.decision.compare import Comparison
    from wizard.decision.selection import Selection
    from wizard.sessions.session import Session
    from wizard.sessions.snapshot import Snapshot

#: Why nothing is measured for a selection that is for another machine; `propose --smoke` refuses it likewise.
SIM_SMOKE = (
    "A smoke measures this machine, and this selection is for another one (SIM).\n"
    "Run `selwiz smoke` on that machine. Or come back to this one: Ctrl+P or the\n"
    'first screen, "Another machine", then "This machine again".'
)
#: A pause in typing after which the rules are run again.
CHECK_AFTER_S = 0.4


class Working(OrderedKeys):
    """The workers of the app, each in a group of its own. Their results come back as messages."""

    _session: "Session | None"

    def __init__(self, vllm: Path | None, where: str = "") -> None:
        super().__init__()
        self.vllm = vllm
        #: The machine whose readings are shown, as `--machine` names it; empty for this one. Any other is a SIM.
        self.where = where
        self.machine: Machine | None = None
        self.reading_machine = False
        self.machine_words = "MACHINE  being read …"
        self.machine_table = self.machine_words
        self.checked: Selection | None = None
        self.since: Comparison | None = None
        self.check_problem = ""
        self.smoke = SmokeRun()
        self.smoke_choices = SmokeChoices()
        self._smoke_began = 0.0
        self._stopper: Any = None
        self._probing = Probing(vllm, where)
        self._check_timer: Timer | None = None
        self._check_serial = self._checked_serial = 0

    def refresh_page(self) -> None:
        """Show the state again on the screens that are there."""
        for screen in self.screen_stack:
            if getattr(screen, "ready", False) and screen.is_running:
                screen.show()  # type: ignore[attr-defined]

    @property
    def smoke_elapsed_s(self) -> float:
        """Seconds since the smoke was started."""
        return time.monotonic() - self._smoke_began if self._smoke_began else 0.0

    # ---------------------------------------------------------------- machine

    def use_machine_at(self, where: str) -> None:
        """Take the readings of another machine, or again of this one, where `where` is empty."""
        if where == self.where:
            return
        self.where, self.machine = where, None
        if self._smoke_is_looked_at:
            self.smoke = SmokeRun(status="planning")
        if self._session is not None:
            self._session.where = where
            self._session.use_machine(None)
            self.autosave()
        self.read_machine()

    @work(group="probe", exclusive=True, exit_on_error=False)
    async def read_machine(self) -> None:
        """Read this machine, or the one that was named, in a child."""
        self.machine_words, self.reading_machine = "MACHINE  being read …", True
        self.refresh_page()
        began = time.monotonic()
        self._probing.end()
        self._probing = Probing(self.vllm, self.where)
        text, problem = await self._probing.read()
        machine = None
        if text:
            from probes.machine import Machine

            try:
                machine = Machine.model_validate_json(text)
            except ValueError:
                problem = "The probe said something that is no machine."
        self.post_message(MachineRead(machine, time.monotonic() - began, problem))

    def on_machine_read(self, event: MachineRead) -> None:
        """Take the machine over."""
        from probes.report import machine_table
        from wizard.views.common import machine_lines, machine_summary, sim_words

        self.machine, self.reading_machine = event.machine, False
        if event.machine is None:
            self.machine_words = f"MACHINE  not read: {event.problem}\nEvery question still works."
            self.machine_table = self.machine_words
        else:
            self.machine_table = machine_lines(machine_table(event.machine))
            if self.where:
                self.machine_table = f"{sim_words(self.where)}\n\n{self.machine_table}"
            self.machine_words = machine_summary(event.machine, event.seconds, self.where)
        if self._session is not None:
            self._session.use_machine(self.machine)
            self.check_soon()
        if self._smoke_is_looked_at:  # what would be started depends on the machine
            self.plan_smoke()
        self.refresh_page()

    # ---------------------------------------------------------------- rules

    def check_soon(self) -> None:
        """Run the rules once nothing was answered for a moment."""
        if self._check_timer is not None:
            self._check_timer.stop()
        self._check_timer = self.set_timer(CHECK_AFTER_S, self.check_now)

    @property
    def checking(self) -> bool:
        """Whether the rules are at work on newer answers than those that are shown."""
        return self._checked_serial != self._check_serial

    def check_now(self) -> None:
        """Run the rules on the answers as they are."""
        if self._session is not None:
            from wizard.sessions.snapshot import Snapshot

            self._check_serial += 1
            self._check(self._check_serial, Snapshot.of(self._session), self.machine)

    @work(thread=True, group="check", exclusive=True, exit_on_error=False)
    def _check(self, serial: int, snapshot: "Snapshot", machine: "Machine | None") -> None:
        from wizard.screens.opening import changes_since
        from wizard.sessions.writing import selection_of

        try:
            selection = selection_of(snapshot, machine)
            self.post_message(Checked(serial, selection, since=changes_since(snapshot.earlier, selection)))
        except SelwizError as error:
            self.post_message(Checked(serial, None, f"{error.message} {error.remedy}"))
        except Exception as error:
            self.post_message(Checked(serial, None, f"a fault of selwiz itself: {type(error).__name__}: {error}"))

    def on_checked(self, event: Checked) -> None:
        """Show what the rules said; the last good outcome stays beside a problem."""
        if event.serial != self._check_serial:
            return
        self.check_problem, self._checked_serial = event.problem, event.serial
        if event.selection is not None:
            self.checked, self.since = event.selection, event.since
        self.refresh_page()

    # ---------------------------------------------------------------- smoke

    @property
    def _smoke_is_looked_at(self) -> bool:
        """Whether it was found out what a smoke would start, and none was started since."""
        return self.smoke.status in ("planning", "planned", "cannot")

    def plan_smoke(self) -> None:
        """Find out what a smoke would start; starts nothing."""
        if self._session is None or self.smoke.active:
            return
        if self.where:
            self.smoke = SmokeRun(status="cannot", problem=SIM_SMOKE)
            self.refresh_page()
            return
        from wizard.sessions.snapshot import Snapshot

        self.smoke = SmokeRun(status="planning")
        self._plan(Snapshot.of(self._session), self.machine, self.smoke_choices)
        self.refresh_page()

    @work(thread=True, group="plan", exclusive=True, exit_on_error=False)
    def _plan(self, snapshot: "Snapshot", machine: "Machine | None", choices: SmokeChoices) -> None:
        from probes.errors import ProbeError
        from probes.smoke.points import load_points
        from probes.smoke.prepare import prepare
        from probes.smoke.processes import leftovers
        from wizard.paths import state_dir
        from wizard.sessions.writing import smoke_request_of

        try:
            plan = prepare(smoke_request_of(snapshot, machine, self.vllm, choices))
            count = sum(len(run.pids) for run in leftovers(state_dir()))
            saved = load_points(plan)
            kept = tuple(point.name for point in saved.points) if saved else ()
            self.post_message(SmokePlanned(plan, leftovers=count, kept=kept))
        except (SelwizError, ProbeError) as error:
            self.post_message(SmokePlanned(None, f"{error.message}\n{error.remedy}"))
        except Exception as error:
            self.post_message(SmokePlanned(None, f"a fault of selwiz itself: {type(error).__name__}: {error}"))

    def on_smoke_planned(self, event: SmokePlanned) -> None:
        """Show the plan, or why there is none; a plan for this machine may come after another one was chosen."""
        if self.where and event.plan is not None:
            return
        self.smoke.plan, self.smoke.problem = event.plan, event.problem
        self.smoke.leftovers, self.smoke.kept = event.leftovers, event.kept
        self.smoke.status = "planned" if event.plan is not None else "cannot"
        self.refresh_page()

    def choose_smoke(self, **changes: Any) -> None:
        """Change what the next smoke does beside the answers, and plan it anew."""
        if not self.smoke.active:
            self.smoke_choices = replace(self.smoke_choices, **changes)
            self.plan_smoke()

    def import_smoke(self, file: str) -> None:
        """Take over what somebody else's load tool measured; nothing is started."""
        if self._session is not None and not self.smoke.active:
            from wizard.sessions.snapshot import Snapshot

            self.smoke = SmokeRun(status="planning")
            self._import(Snapshot.of(self._session), self.machine, Path(file).expanduser())
            self.refresh_page()

    @work(thread=True, group="plan", exclusive=True, exit_on_error=False)
    def _import(self, snapshot: "Snapshot", machine: "Machine | None", file: Path) -> None:
        from probes.errors import ProbeError
        from wizard.sessions.writing import import_smoke

        try:
            result, folder = import_smoke(snapshot, machine, file)
            self.post_message(SmokeEnded(result, folder=str(folder)))
        except (SelwizError, ProbeError) as error:
            self.post_message(SmokePlanned(None, f"{error.message}\n{error.remedy}"))
        except Exception as error:
            self.post_message(SmokePlanned(None, f"a fault of selwiz itself: {type(error).__name__}: {error}"))

    def start_or_plan_smoke(self) -> None:
        """One key: first the plan is made, then what was shown is started."""
        if self.smoke.active or self.smoke.status == "planning":
            return
        if self.smoke.status == "planned" and self.smoke.plan is not None:
            from probes.smoke.stopping import Stopper

            self._stopper = Stopper()
            self.smoke.status = "running"
            self._smoke_began = time.monotonic()
            self.run_smoke()
        else:
            self.plan_smoke()
        self.refresh_page()

    @work(thread=True, group="smoke", exclusive=True, exit_on_error=False)
    def run_smoke(self) -> None:
        """Run what was shown and confirmed."""
        from probes.errors import ProbeError
        from probes.smoke.run import run_smoke
        from probes.smoke.stopping import Stopped

        plan = self.smoke.plan
        if plan is None:
            return
        observer = TellingObserver(lambda what, given: self.post_message(SmokeTold(what, given)))
        try:
            result = run_smoke(plan.request, observer, plan=plan, stopper=self._stopper)
            self.post_message(SmokeEnded(result, folder=str(plan.request.out_dir)))
        except Stopped:
            self.post_message(SmokeEnded(None))
        except ProbeError as error:
            self.post_message(SmokeEnded(None, f"{error.message}\n{error.remedy}"))
        except Exception as error:
            self.post_message(SmokeEnded(None, f"a fault of selwiz itself: {type(error).__name__}: {error}"))

    def on_smoke_told(self, event: SmokeTold) -> None:
        """Take one event of the running smoke; its screen draws at its own pace, however fast a log is."""
        self.smoke.take(event.what, event.given)

    def on_smoke_ended(self, event: SmokeEnded) -> None:
        """Keep the result, so that the document can use it."""
        run = self.smoke
        if event.result is not None and self._session is not None:
            from wizard.sessions.writing import keep_machine

            keep_machine(Path(event.folder), self.machine)
            self._session.smoke_dir = event.folder
            run.points, run.strategies = list(event.result.points), event.result.strategies
            self.autosave()
            failure = event.result.failure
            run.status = "failed" if failure else "done"
            run.problem = f"{failure.message}\n{failure.advice}" if failure else ""
        else:
            run.status, run.problem = ("failed" if event.problem else "stopped"), event.problem
        run.result = event.result
        self.notify(f"The smoke ended: {run.status}.", markup=False)
        self.check_soon()
        self.refresh_page()

    def stop_smoke(self) -> None:
        """Ask the smoke to end its children; it says when it has."""
        if self.smoke.status == "running" and self._stopper is not None:
            self._stopper.stop()
            self.smoke.status = "stopping"
            self.refresh_page()

    def forget_smoke(self) -> None:
        """Leave the measurement out of the document; its files stay where they are."""
        if self.smoke.active or self._session is None:
            return
        self._session.smoke_dir = ""
        self.smoke = SmokeRun()
        self.autosave()
        self.check_soon()
        self.refresh_page()

    def apply_remedy(self) -> None:
        """Change the answer that the failed run named, after the person pressed the key for it; then plan again."""
        remedy = self.smoke.remedy
        if self.smoke.active or remedy is None or self._session is None:
            return
        problem = apply_remedy(self._session, remedy)
        self.notify(problem or f"{remedy.key} is changed.", markup=False)
        self.autosave()
        self.check_soon()
        if problem is None:
            self.plan_smoke()

    def end_leftovers(self) -> None:
        """End the processes that an earlier run left, after the person pressed the key for it."""
        if not self.smoke.leftovers:
            return
        from probes.smoke.processes import end_leftovers, leftovers
        from wizard.paths import state_dir

        for sentence in end_leftovers(leftovers(state_dir())):
            self.notify(sentence, markup=False)
        self.smoke.leftovers = 0
        self.refresh_page()

    def end_children(self, signal_number: int | None = None) -> None:
        """Ask everything that was started to end; Textual waits for the workers before it leaves."""
        self._probing.end()
        if self._stopper is not None and self.smoke.active:
            self._stopper.stop(signal_number)

    def autosave(self) -> None:
        """Save the session; the app that has one says how."""
