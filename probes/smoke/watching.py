"""Watches the server and the GPUs of one run once a second, and never waits for either while a load runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from probes.gpu_watch import GpuWatch
from probes.smoke.metrics import Metrics
from probes.smoke.plan import SmokePlan
from probes.smoke.stopping import Stopper
from probes.smoke.telemetry import GpuSample, Live, Watched, power_now, server_sample

FIRST_WAIT_S = 3.0
"""How long the first and the last look at the GPUs may take; without them memory before and after is not known."""
_LOOK_S = 0.05
_NEWEST = 32


def can_watch(plan: SmokePlan) -> bool:
    """Whether the run uses GPUs of this machine, as far as its probe tells; a recorded machine is another one."""
    machine = plan.request.machine
    own = plan.request.mode == "endpoint" or plan.tool.build != "cpu"
    return own and machine is not None and bool(machine.gpus) and not machine.recorded


class Watching:
    """The samples of one run."""

    def __init__(self, stopper: Stopper) -> None:
        self.watched = Watched()
        self._stopper = stopper
        self._watch: GpuWatch | None = None
        self._only: Collection[int] | None = None
        self._last: tuple[float, Metrics] | None = None

    def start(self, folder: Path, devices: tuple[str, ...]) -> None:
        """Begin to watch GPUs, all where none is named, and wait shortly for the first look at each."""
        self._watch = GpuWatch(folder, devices)
        self._watch.start()
        self._wait_for_all(time.monotonic())

    def keep_only(self, serves: Callable[[int], bool]) -> tuple[int, ...]:
        """Keep the GPUs that a process with a pid that `serves` uses, and name them; without one, end the watch."""
        samples = self.watched.gpu
        self._only = {sample.gpu for sample in samples if any(serves(pid) for pid in sample.pids or ())}
        self.watched.gpu = [sample for sample in samples if sample.gpu in self._only]
        if not self._only:
            self.close()
        return tuple(sorted(self._only))

    def _wait_for_all(self, since: float) -> float | None:
        """Wait until each GPU was looked at after `since`; return when that was, None where it did not come."""
        end = time.monotonic() + FIRST_WAIT_S
        while self._watch is not None and self._watch.watching and time.monotonic() < end:
            self._drain()
            seen = {sample.gpu for sample in self.watched.gpu if sample.at > since}
            if seen and seen >= set(self._watch.uuids if self._only is None else self._only):
                return max(sample.at for sample in self.watched.gpu)
            self._stopper.wait(_LOOK_S)
        return None

    def _drain(self) -> None:
        if self._watch is None:
            return
        found = (GpuSample.model_validate(sample) for sample in self._watch.read())
        self.watched.gpu += [sample for sample in found if self._only is None or sample.gpu in self._only]

    def nothing_started_yet(self) -> None:
        """Note that what the GPUs hold until now is not ours."""
        if self.watched.gpu:
            self.watched.before_until = max(sample.at for sample in self.watched.gpu)

    def second(self, run: str, metrics: Metrics) -> Live:
        """Take one reading of /metrics, and what came from the GPUs since the last."""
        now = time.monotonic()
        self._drain()
        sample = server_sample(now, run, self._last, metrics)
        self._last = (now, metrics)
        self.watched.server.append(sample)
        power, gpus = power_now(self.watched.gpu[-_NEWEST:])
        return Live(sample, power, gpus)

    def load_is_over(self) -> None:
        """Wait for a look after the last answer, so that the energy until then is known."""
        if self._watch is not None:
            self._wait_for_all(time.monotonic())
        self._last = None

    def everything_ended(self) -> None:
        """Look at the GPUs once more: what they hold now is not ours."""
        if self._stopper.is_set:  # nobody will read it
            return
        now = time.monotonic()
        if self._wait_for_all(now) is not None:
            self.watched.after_from = now

    def close(self) -> list[str]:
        """End the watch. Return what went wrong with it, one sentence each."""
        if self._watch is None:
            return []
        watch, self._watch = self._watch, None
        watch.close()
        return watch.problems
