"""One `vllm serve` as our child: start, phases, readiness, and an orderly end.

Stopping follows what was seen of vLLM 0.32: SIGTERM to the API server stops it in order within its shutdown
timeout once it is ready, is sometimes swallowed during start-up, and SIGKILL of the API server alone
orphans the engine. So the process group follows, and then whatever of the run still lives.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from probes.smoke.children import Children, quiet_environment
from probes.smoke.failures import Explanation, strip_prefix
from probes.smoke.http import Client, HttpError
from probes.smoke.logs import LogTail
from probes.smoke.plan import SHUTDOWN_TIMEOUT_S, SmokePlan
from probes.smoke.processes import read_process
from probes.smoke.result import Phase
from probes.smoke.spanning import JOIN_ADVICE, Others
from probes.smoke.stopping import Stopper
from probes.smoke.workers import Workers, why_it_ended

POLL_S = 0.2
LOOK_S = 1.0
"""How often the connections of other nodes are looked at."""
STARTING_GRACE_S = 3.0
STALL_S = 60.0
"""A silence of the log that is worth a word; compiling and loading from a slow disk are silent for longer."""
GROUP_GRACE_S = 3.0

PHASES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("import vLLM", re.compile(r"^")),
    ("configuration", re.compile(r"non-default args|Resolved architecture")),
    ("engine process", re.compile(r"Initializing a V1 LLM engine")),
    ("ranks join", re.compile(r"world_size=\d+ rank=0 .*distributed_init_method=tcp")),
    ("weights", re.compile(r"Starting to load model")),
    ("memory profile", re.compile(r"Model loading took|Loading weights took")),
    ("compilation", re.compile(r"Dynamo bytecode transform|Compiling a graph|Start compiling")),
    ("cache and kernels", re.compile(r"KV cache size:|Available KV cache memory|for KV cache on node")),
    ("graphs", re.compile(r"Capturing CUDA graphs")),
    ("web server", re.compile(r"init engine \(profile|Starting vLLM server on")),
)
"""Begin of each phase of a start, as log lines of vLLM 0.32 and 0.33 show it."""

_BACKEND = re.compile(r"Using (\S+) attention backend|Using (\S+) backend\.")
_WEIGHTS = re.compile(r"Model loading took ([\d.]+) GiB")
_ROOM = re.compile(r"Available KV cache memory: ([\d.]+) GiB|Explicitly set \(([\d.]+)/[\d.]+\) GiB for KV cache")
_GRAPHS = re.compile(r"Graph capturing finished in .*took (-?[\d.]+) GiB")
_SIZE = re.compile(r"(?:GPU|CPU|XPU)(?: \+ host)? KV cache size: ([\d,]+) tokens")
_CONCURRENCY = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")
GIB = 1024**3


class ServerFailed(Exception):  # noqa: N818 - the word that the result uses
    """The server did not start or died; `explanation` says why in plain words."""

    def __init__(self, explanation: Explanation, lines: list[str] | None = None) -> None:
        super().__init__(explanation.cause)
        self.explanation = explanation
        self.lines = lines
        """The log of the process that failed; None: that of the server."""


class PhaseClock:
    """Turns log lines into phases with their lengths."""

    def __init__(self, started: float) -> None:
        self._marks: list[tuple[str, float]] = [(PHASES[0][0], started)]
        self._at = 0

    def see(self, line: str, now: float) -> str | None:
        """Return the name of the phase that this line begins, if it begins one. Phases never go back."""
        for number in range(len(PHASES) - 1, self._at, -1):
            name, pattern = PHASES[number]
            if pattern.search(line):
                self._at = number
                self._marks.append((name, now))
                return name
        return None

    def phases(self, ended: float) -> tuple[Phase, ...]:
        """Return all phases so far; the last one ends at `ended`."""
        ends = [at for _, at in self._marks[1:]] + [ended]
        return tuple(
            Phase(name=name, s=round(max(0.0, end - at), 2)) for (name, at), end in zip(self._marks, ends, strict=True)
        )


def _last(lines: list[str], pattern: re.Pattern[str]) -> str | None:
    for line in reversed(lines):
        match = pattern.search(line)
        if match:
            return next((group for group in match.groups() if group), None)
    return None


def _gib_to_bytes(text: str | None) -> int | None:
    return None if text is None else int(float(text) * GIB)


def logged_facts(lines: list[str]) -> dict[str, float | int | str | None]:
    """Return what a start-up log says of memory, cache and attention; None for what it does not say."""
    size, concurrency = _last(lines, _SIZE), _last(lines, _CONCURRENCY)
    return {
        "weights_bytes": _gib_to_bytes(_last(lines, _WEIGHTS)),
        "kv_room_bytes": _gib_to_bytes(_last(lines, _ROOM)),
        "graphs_bytes": _gib_to_bytes(_last(lines, _GRAPHS)),
        "kv_cache_size_tokens": int(size.replace(",", "")) if size else None,
        "kv_cache_max_concurrency": float(concurrency) if concurrency else None,
        "attention_backend": _last(lines, _BACKEND),
    }


class Server:
    """The served child. `start` returns at once, `wait_ready` when it answers, `stop` when it is gone.

    Of a replica over several nodes it is the head; headless processes on this machine stand and fall with it.
    """

    def __init__(self, children: Children, plan: SmokePlan, command: tuple[str, ...], log: Path) -> None:
        self._children = children
        self._plan = plan
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._started = 0.0
        self._clock = PhaseClock(0.0)
        self.log = LogTail(log)
        self._log_path = log
        self.client = Client(f"http://127.0.0.1:{plan.port}")
        self.ready_s: float | None = None
        self._workers = Workers(children, plan)
        nodes = plan.request.nodes
        self._others = Others(nodes) if nodes is not None and not nodes.all_here else None
        self._looked = 0.0

    def start(self) -> None:
        """Start the child. Raises `ServerFailed` when it cannot be executed at all."""
        environment = quiet_environment(self._children.folder, self._children.run_id)
        environment |= dict(self._plan.serve_environment)
        self._started = time.monotonic()
        self._clock = PhaseClock(self._started)
        try:
            self._child = self._children.spawn(self._command, environment, self._log_path)
            self._workers.start()
        except OSError as problem:
            raise ServerFailed(
                Explanation(
                    "no_module",
                    f"vLLM cannot be executed: {problem.strerror or problem}",
                    "name the vllm command or its interpreter with --vllm",
                    None,
                )
            ) from None

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases so far."""
        end = self._started + self.ready_s if self.ready_s is not None else time.monotonic()
        return self._clock.phases(end) if self._child is not None else ()

    def read_log(self, on_line: Callable[[str], None], on_phase: Callable[[str, float], None]) -> None:
        """Take in new log lines and tell phases that begin."""
        for line in self.log.read():
            on_line(line)
            now = time.monotonic()
            name = None if self._ready else self._clock.see(line, now)
            if name is not None:
                on_phase(name, now - self._started)

    def check_alive(self) -> None:
        """Raise `ServerFailed` with the reason when a process of the replica has ended, or one of its nodes is gone."""
        ended = why_it_ended(self._child, self.log, self._workers)
        if ended is not None:
            raise ServerFailed(*ended)
        if self._others is not None and time.monotonic() - self._looked >= LOOK_S:
            self._looked = time.monotonic()
            gone = self._others.look()
            if gone is not None:
                raise ServerFailed(gone)

    def wait_ready(
        self,
        stopper: Stopper,
        deadline: float,
        on_line: Callable[[str], None],
        on_phase: Callable[[str, float], None],
        on_stall: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """Wait until /health answers 200. Raises `ServerFailed` when the child ends or the time is up.

        `on_stall` is told, once for each silence, when the log has had no new line for `STALL_S`.
        """
        seen, since, told, ticks, joined = -1, time.monotonic(), False, 0, 0
        while True:
            self.read_log(on_line, on_phase)
            if self.log.count != seen:
                seen, since, told = self.log.count, time.monotonic(), False
                ticks = self._cpu_ticks()
            elif not told and time.monotonic() - since > STALL_S:
                on_stall(self._stall(computes=self._cpu_ticks() - ticks > STALL_S))
                told = True
            self._children.note_segments()
            self.check_alive()
            if self._others is not None and self._others.joined != joined:
                joined = self._others.joined
                on_phase(self._others.words, time.monotonic() - self._started)
            try:
                self.client.request("/health", timeout_s=1.0)
                break
            except HttpError:
                pass
            if time.monotonic() > deadline:
                raise ServerFailed(self._too_late())
            stopper.wait(POLL_S)
        self.ready_s = time.monotonic() - self._started
        self._ready = True
        self.read_log(on_line, on_phase)
        self._check_it_is_ours()

    def _too_late(self) -> Explanation:
        if self._others is not None and self._others.missing:
            return Explanation("nodes_missing", f"only {self._others.words} within the time limit", JOIN_ADVICE, None)
        return Explanation(
            "time_limit",
            "the server was not ready within the time limit",
            "give it more time with --time-limit, or see in server.log what it waits for",
            None,
        )

    def _cpu_ticks(self) -> int:
        """Return the processor time that the living processes of the run have used, in clock ticks."""
        known = [read_process(pid) for pid in self._children.alive()]
        return sum(process.cpu_ticks for process in known if process is not None)

    def _stall(self, *, computes: bool) -> str:
        """Say what the server was doing when its log fell silent, and whether it still works."""
        phase = self._clock.phases(time.monotonic())[-1]
        last = next((strip_prefix(line) for line in reversed(self.log.lines) if line.strip()), "")
        return (
            f"No new line in the server's log for {STALL_S:.0f} s, {phase.s:.0f} s in the phase {phase.name}; "
            f"its processes {'compute' if computes else 'hardly compute'}."
            + (f" Last line: {last[:200]}" if last else "")
        )

    def _check_it_is_ours(self) -> None:
        """Another program may have taken the port between our choice and vLLM's."""
        try:
            models = self.client.get_json("/v1/models")
            names = [str(entry["id"]) for entry in models["data"]]
        except (HttpError, KeyError, TypeError):
            names = []
        if self._plan.served_model_name not in names:
            raise ServerFailed(
                Explanation(
                    "foreign_server",
                    f"port {self._plan.port} is answered by a server that is not ours",
                    "run it again; another free port is picked",
                    None,
                )
            )

    def logged(self) -> dict[str, float | int | str | None]:
        """Return what the start-up log says of memory, cache and attention; None for what it does not say."""
        return logged_facts(self.log.lines)

    def stop(self) -> None:
        """End the server in order, then by force; `Children.end` proves that nothing is left."""
        child = self._child
        if child is None:
            return
        # With a rank gone the head would wait for it in vain.
        grace_s = SHUTDOWN_TIMEOUT_S + 5 if self._ready and self._workers.all_live else STARTING_GRACE_S
        self._children.note_segments()
        for whom, number, wait_s in (
            (child.pid, signal.SIGTERM, grace_s),
            (-child.pid, signal.SIGTERM, GROUP_GRACE_S),
            (-child.pid, signal.SIGKILL, GROUP_GRACE_S),
        ):
            if child.poll() is not None:
                break
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(whom, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=wait_s)
        self._workers.stop()
        self.log.read()
