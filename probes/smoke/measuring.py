"""The loads of one run: each is sent, watched, made a point, and kept where a later start finds it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from probes.smoke.children import Children
from probes.smoke.counting import longest_answer, miscount
from probes.smoke.http import Client, HttpError
from probes.smoke.load import Measured, Watched, look_of, make_point, run_load, without_texts
from probes.smoke.metrics import Metrics, greatest_useful, hit_rate, parse_metrics, preempted
from probes.smoke.observer import Observer
from probes.smoke.plan import PlannedRun, SmokePlan
from probes.smoke.planning import base_url, load_command, search_run
from probes.smoke.points import SavedPoint, SavedPoints, fingerprint, load_points, save_points
from probes.smoke.prompts import PromptForm
from probes.smoke.report import Report, RunState, utc_now
from probes.smoke.result import Capacity, Point
from probes.smoke.scrub import Scrubber, secret_values
from probes.smoke.search import Limits, decide
from probes.smoke.stopping import Stopper
from probes.smoke.telemetry import window_of
from probes.smoke.traces import write_trace
from probes.smoke.watching import Watching

WATCH_EVERY_S = 1.0
HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class Measuring:
    """What a run has in hand, and how it measures one load after the other.

    Everything that must be undone belongs to `children`.
    """

    def __init__(self, plan: SmokePlan, observer: Observer, stopper: Stopper, children: Children) -> None:
        self.plan, self.request = plan, plan.request
        self.observer, self.stopper, self.children = observer, stopper, children
        self.begin = time.monotonic()
        self.deadline = self.begin + self.request.time_limit_s
        self.watching = Watching(stopper)
        self.state = RunState(notes=list(plan.notes), watched=self.watching.watched, began=self.begin)
        self.api_key = os.environ.get(self.request.api_key_env) if self.request.api_key_env else None
        paths = [(str(children.folder), "$WORK")]
        if self.request.model and self.request.model.startswith(("/", "~", ".")):
            paths.append((self.request.model, "$MODEL_DIR"))
        model_folder = plan.serve_command[len(plan.tool.executable) + 1] if plan.serve_command else ""
        if model_folder.startswith("/"):
            paths.append((model_folder, "$MODEL_DIR"))
        if self.request.nodes is not None and not self.request.nodes.all_here:
            paths.append((self.request.nodes.head_address, "$HEAD_ADDRESS"))
        self.scrub = Scrubber(paths, [*([self.api_key] if self.api_key else []), *secret_values(os.environ)])
        address = base_url(self.request.endpoint_url or "")
        self.client = Client(address, self.api_key, self.request.ca_file, stopper, self.deadline)
        earlier = load_points(plan) if self.request.resume else None
        self.earlier = {point.name: point for point in earlier.points} if earlier else {}
        self.saved: list[SavedPoint] = []
        self.can_resume = False
        self.forms: tuple[PromptForm, ...] = ()
        # On a foreign server an earlier run may have left its prompts in the cache, so every run brings new
        # ones.
        own = self.request.mode != "endpoint"
        self.state.seed = self.request.seed if own else int(children.run_id[:6], 16)

    def phase(self, name: str, detail: str) -> None:
        """Enter a phase and tell it."""
        self.state.phase = name
        self.observer.on_phase(name, detail, time.monotonic() - self.begin)

    def on_line(self, line: str) -> None:
        """Pass a log line on without its private parts."""
        self.observer.on_log(self.scrub(line))

    def on_start_phase(self, name: str, _elapsed_s: float) -> None:
        """Pass a phase of the server's start on."""
        self.phase("start", name)

    def in_work(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Put the private folder where a command names it."""
        return tuple(word.replace("$WORK", str(self.children.folder)) for word in command)

    def read_metrics(self) -> Metrics:
        """Read /metrics; an empty reading where a server has none."""
        try:
            self.state.metrics_text = self.client.request("/metrics")
        except HttpError:
            return Metrics()
        metrics = parse_metrics(self.state.metrics_text)
        if metrics.impossible:
            self.note(f"/metrics shows values that cannot be, which are left out: {', '.join(metrics.impossible)}.")
        return metrics

    def note(self, sentence: str) -> None:
        """Keep a sentence for the result, once."""
        if sentence not in self.state.notes:
            self.state.notes.append(sentence)

    def measure(self, run: PlannedRun) -> None:
        """Run one load; the warm-up's result is thrown away."""
        warmup = run.kind == "warmup"
        words = f"{run.requests} requests, {run.workload.concurrency} at a time"
        phase = {"warmup": "warm-up", "search": "search"}.get(run.kind, "measure")
        self.phase(phase, words if warmup else f"{run.name}, {words}")
        if self.state.server is not None and not warmup:
            try:
                self.client.request("/reset_prefix_cache", method="POST", timeout_s=10)
            except HttpError:
                self.state.notes.append("The prefix cache could not be reset between the runs.")
        before = self.read_metrics()
        peaks: list[float] = []
        last = [0.0]

        def tick() -> None:
            now = time.monotonic()
            if now - last[0] < WATCH_EVERY_S:
                return
            last[0] = now
            self.children.note_segments()
            if self.state.server is not None:
                self.state.server.read_log(self.on_line, self.on_start_phase)
                self.state.server.check_alive()
            metrics = self.read_metrics()
            if metrics.kv_usage is not None:
                peaks.append(metrics.kv_usage)
            live = self.watching.second(run.name, metrics)
            self.observer.on_live(live)

        measured = self.send(run, tick)
        after = self.read_metrics()
        self.watching.load_is_over()
        watched = Watched(
            hit_rate(before, after),
            max(peaks, default=None),
            preempted(before, after),
            measured.cpu_core_share,
        )
        kind = "asked_unshared" if run.kind == "warmup" else run.kind
        # The warm-up goes through the same check, so that a load that cannot work fails early.
        asked = longest_answer(run, self.forms)
        point = make_point(
            run,
            kind,
            measured.raw,
            self.request.ceilings,
            self.plan.warmups,
            watched,
            judged=self.request.mode != "tiny",
            asked_tokens=asked,
        )
        wrong = miscount(point, asked)
        if wrong is not None:
            self.note(wrong)
        if warmup:
            return
        if measured.cpu_core_share is not None:
            self.state.cpu_shares.append(measured.cpu_core_share)
        window = window_of(measured.raw, point.output_tokens)
        self.watching.watched.windows += [window] if window else []
        self.keep(run.name, point, measured.raw, measured.wall_s)

    def keep(self, name: str, point: Point, raw: dict[str, Any], seconds: float) -> None:
        """Take a finished point into the result, and write it where a later start finds it."""
        self.state.raw[name], self.state.seconds[name] = raw, seconds
        self.state.points.append(point)
        self.saved.append(SavedPoint(name=name, point=point, raw=raw, seconds=seconds))
        mark = fingerprint(self.plan)
        run_id = self.children.run_id
        kept = SavedPoints(fingerprint=mark, run_id=run_id, saved_at=utc_now(), points=tuple(self.saved))
        try:
            save_points(self.plan, kept)
            self.can_resume = True
        except OSError:
            self.state.notes.append("Finished points could not be kept for a later start.")
        self.observer.on_point(point)
        report = Report(self.plan, self.state, self.children, self.scrub)
        self.observer.on_strategies(report.strategies(parse_metrics(self.state.metrics_text)))

    def take_over_or_measure(self, run: PlannedRun) -> None:
        """Use the point of an unfinished run if there is one, else measure."""
        known = self.earlier.get(run.name)
        if known is None or known.point.concurrency != run.workload.concurrency:
            self.measure(run)
            return
        self.state.notes.append(
            f"The point {run.name} was measured by an earlier run that was stopped, on another server."
        )
        self.keep(run.name, known.point, known.raw, known.seconds)

    def search(self) -> None:
        """Look for the greatest concurrency at which every ceiling holds, from the asked load on."""
        asked = self.plan.runs[-1]
        if not self.request.ceilings:
            self.state.notes.append("No ceiling is set, so there is no capacity to search for.")
            return
        if miscount(self.state.points[-1], longest_answer(asked, self.forms)) is not None:
            self.note("No capacity is searched for on an endpoint that does not count its tokens.")
            return
        looks = [look_of(self.state.points[-1], self.state.raw[asked.name], self.state.seconds[asked.name])]
        greatest, because = greatest_useful(self.state.config, self.read_metrics(), asked.workload)
        while True:
            limits = Limits(greatest, because, self.deadline - time.monotonic())
            decision = decide(looks, limits)
            if isinstance(decision, Capacity):
                self.state.capacity = decision
                return
            number = len(looks)
            run = search_run(number, asked.workload, decision, self.request.ceilings)
            traces = self.children.folder / "traces"
            place = len(self.plan.runs) + number
            write_trace(traces, run, seed=self.state.seed, number=place, forms=self.forms)
            self.take_over_or_measure(run)
            looks.append(look_of(self.state.points[-1], self.state.raw[run.name], self.state.seconds[run.name]))

    def send(self, run: PlannedRun, tick: Callable[[], None]) -> Measured:
        """Start the load tool for one run."""
        served = self.state.served
        tokenizer = (
            "$WORK/model"
            if self.plan.writes_model
            else self.plan.load_command[self.plan.load_command.index("--tokenizer") + 1]
        )
        command = load_command(
            self.plan.tool.executable,
            self.client.base,
            served.name if served else "",
            tokenizer,
            run,
            work=str(self.children.folder),
        )
        command = self.in_work(command)
        self.state.load_command = command
        if self.request.allow_download:  # of the tokenizer, whose Hub may want to know the caller
            environment = {name: os.environ[name] for name in HUB_TOKENS if name in os.environ}
        else:
            environment = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        if self.api_key:
            environment["OPENAI_API_KEY"] = self.api_key
        if self.request.ca_file is not None:
            environment["SSL_CERT_FILE"] = str(self.request.ca_file)

        def progress(done: int, total: int | None) -> None:
            self.observer.on_progress(run.name, done, total)

        measured = run_load(self.children, command, run.name, environment, self.stopper, self.deadline, progress, tick)
        # What an endpoint wrote into an error goes no further with the key in it, into no point that is kept either.
        return replace(measured, raw=self.scrub.tree(without_texts(measured.raw)))
