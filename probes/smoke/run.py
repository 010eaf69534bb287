"""One smoke from begin to end: preflight, start, warm-up, measure, stop; then the evidence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from probes.errors import ProbeError
from probes.smoke.children import Children, port_is_free
from probes.smoke.counting import longest_answer, miscount
from probes.smoke.endpoint import look_at, try_payload
from probes.smoke.evidence import claimed
from probes.smoke.failures import Explanation, log_tail
from probes.smoke.http import Client, HttpError
from probes.smoke.load import LoadFailed, Measured, Watched, look_of, make_point, run_load, without_texts
from probes.smoke.metrics import Metrics, greatest_useful, hit_rate, parse_metrics, preempted
from probes.smoke.observer import Observer
from probes.smoke.owners import is_loopback, owners_of, port_of
from probes.smoke.plan import PlannedRun, SmokePlan, SmokeRequest
from probes.smoke.planning import TINY_MAX, base_url, load_command, search_run
from probes.smoke.points import SavedPoint, SavedPoints, fingerprint, forget_points, load_points, save_points
from probes.smoke.prepare import check_out_dir, prepare
from probes.smoke.prompts import PromptForm, read_forms, shortened
from probes.smoke.report import Report, RunState, utc_now
from probes.smoke.result import Capacity, Failure, Point, Remedy, SmokeResult
from probes.smoke.scrub import Scrubber, secret_values
from probes.smoke.search import Limits, decide
from probes.smoke.server import Server, ServerFailed
from probes.smoke.stopping import Stopper
from probes.smoke.telemetry import window_of
from probes.smoke.tiny_model import write_tiny_model, write_tokenizer
from probes.smoke.traces import write_trace, write_traces
from probes.smoke.trials import try_out
from probes.smoke.watching import Watching, can_watch

WATCH_EVERY_S = 1.0
HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class _Smoke:
    """The steps of one run. Everything that must be undone belongs to `children`."""

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

    def on_stall(self, sentence: str) -> None:
        """Tell that the server is silent."""
        self.observer.on_note(self.scrub(sentence))

    def on_start_phase(self, name: str, _elapsed_s: float) -> None:
        """Pass a phase of the server's start on."""
        self.phase("start", name)

    def go(self) -> None:
        """Run all steps up to the last measurement."""
        self.phase("preflight", f"vLLM {self.plan.tool.version}, mode {self.request.mode}")
        work = self.children.folder
        if self.plan.writes_model:
            write_tiny_model(work / "model", self.plan.tool.interpreter)
        elif self.plan.writes_tokenizer:
            write_tokenizer(work / "tokenizer", self.plan.tool.interpreter)
        if self.request.prompts_file is not None:
            self.forms = self.read_prompts(self.request.prompts_file)
        write_traces(work / "traces", self.plan.runs, self.state.seed, self.forms)
        self.stopper.check()
        if self.request.mode == "endpoint":
            self.state.served = look_at(self.client, self.request.served_model_name)
            try_payload(self.client, self.state.served.name)
            self.look_for_its_gpus()
        else:
            if can_watch(self.plan):
                self.watching.start(work, self.request.devices)
                self.watching.nothing_started_yet()
            self.start_server()
        self.check_lengths()
        self.read_settings()
        for run in self.plan.runs:
            self.take_over_or_measure(run)
        self.try_out()
        if self.request.search:
            self.search()

    def read_prompts(self, path: Path) -> tuple[PromptForm, ...]:
        """Take the form of the user's prompts, cut to what the stand-in model takes."""
        command = self.in_work(self.plan.load_command)
        forms = read_forms(path, command[command.index("--tokenizer") + 1], self.plan.tool.interpreter)
        if self.request.mode == "tiny":
            forms = shortened(forms, TINY_MAX["input_tokens"], TINY_MAX["output_tokens"])
        return forms

    def start_server(self) -> None:
        """Start our own server and wait until it answers."""
        self.phase("start", "starting the server")
        command = self.in_work(self.plan.serve_command or ())
        self.state.serve_command = command
        server = Server(self.children, self.plan, command, self.children.folder / "server.log")
        if self.plan.port is not None and not port_is_free(self.plan.port):
            said = f"port {self.plan.port} was taken since the plan was made"
            raise ServerFailed(Explanation("port_in_use", said, "run it again; another free port is picked", None))
        self.state.server = server
        self.client = replace(server.client, stopper=self.stopper, until=self.deadline)
        server.start()
        server.wait_ready(self.stopper, self.deadline, self.on_line, self.on_start_phase, self.on_stall)
        self.phase("start", f"ready after {server.ready_s:.0f} s")
        self.state.served = look_at(self.client, self.plan.served_model_name)

    def look_for_its_gpus(self) -> None:
        """Find the GPUs of this machine that the endpoint's processes use; only those are watched."""
        if not can_watch(self.plan) or not is_loopback(self.client.base):
            return
        self.watching.start(self.children.folder, ())
        owners = owners_of(port_of(self.client.base))
        self.state.endpoint_gpus = self.watching.keep_only(owners.serves)
        if not self.state.endpoint_gpus:
            self.state.notes.append(
                "No process on the GPUs of this machine could be matched with the endpoint: "
                "which GPUs serve it is not visible, and no power or memory is claimed."
            )

    def in_work(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Put the private folder where a command names it."""
        return tuple(word.replace("$WORK", str(self.children.folder)) for word in command)

    def check_lengths(self) -> None:
        """Stop before sending requests that the served context cannot hold."""
        served, load = self.state.served, self.plan.workload
        longest = load.longest_request
        if self.forms:
            longest = max(form.tokens + (form.output_tokens or load.output_tokens) for form in self.forms)
        if served and served.max_model_len and longest > served.max_model_len:
            raise LoadFailed(
                "context_too_long",
                f"prompt and answer need {longest} tokens, the server's context is {served.max_model_len}",
                "raise runtime.settings.max_model_len, or ask for shorter prompts",
            )

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

    def read_settings(self) -> None:
        """Ask our own child for its resolved settings; a foreign server is not asked."""
        if self.state.server is None:
            return
        try:
            answer = self.client.get_json("/server_info?config_format=json", timeout_s=30)
            config = answer["vllm_config"]
        except (HttpError, KeyError, TypeError):
            self.state.notes.append("The server did not tell its settings.")
            return
        if isinstance(config, dict):
            config.get("model_config", {}).pop("hf_token", None)
            self.state.config = config

    def try_out(self) -> None:
        """Try adopted strategies that no metric shows with one real request each."""
        name = self.state.served.name if self.state.served else ""
        for wanted in self.request.strategies:
            if wanted.decision == "adopt":
                found = try_out(wanted.id, self.client, name, self.request.mode)
                if found is not None:
                    self.state.trials[wanted.id] = found

    def stop(self) -> None:
        """End the server in order and prove that nothing is left; mode endpoint has nothing to end."""
        server = self.state.server
        if server is None:
            return
        self.observer.on_phase("stop", "stopping the server", time.monotonic() - self.begin)
        server.stop()
        left = list(self.children.end())
        if self.plan.port is not None and not port_is_free(self.plan.port):
            left.append(f"port {self.plan.port} is still in use")
        self.state.clean_stop = not left and not self.children.alive()
        self.watching.everything_ended()
        self.state.notes += left

    def fail(
        self, kind: str, message: str, advice: str, lines: tuple[str, ...] = (), remedy: Remedy | None = None
    ) -> None:
        """Note why the run failed; the first reason counts. An address that no file may hold is told all the same."""
        if self.state.failure is None:
            told = self.scrub.without_keys(f"{message}; {advice}")
            if self.request.mode == "endpoint" and self.scrub(told) != told:
                self.observer.on_note(told)
            tail = tuple(self.scrub(line) for line in lines)
            self.state.failure = Failure(
                phase=self.state.phase,
                kind=kind,
                message=self.scrub(message),
                advice=advice,
                log_tail=tail,
                remedy=remedy,
            )


def run_smoke(
    request: SmokeRequest,
    observer: Observer,
    *,
    plan: SmokePlan | None = None,
    stopper: Stopper | None = None,
) -> SmokeResult:
    """Run one smoke, write its evidence into `request.out_dir`, and return the result.

    `plan` is what was shown and confirmed; without it one is made and told. A failure of the server or the load is
    in the result's `failure`, and the evidence is written all the same. Raises `Stopped` when `stopper` was
    set, after all children are ended and with nothing written; `ProbeError` when the machine cannot run it
    at all (no vLLM, no model), and `CannotWriteEvidence` when the evidence cannot be written.
    """
    if plan is None:
        plan = prepare(request)
        observer.on_plan(plan)
    stopper = stopper or Stopper()
    with claimed(request.out_dir):
        check_out_dir(request)  # it may have been filled since the plan was made
        return _run_claimed(plan, observer, stopper)


def _run_claimed(plan: SmokePlan, observer: Observer, stopper: Stopper) -> SmokeResult:
    with Children(plan.request.state_dir) as children:
        smoke = _Smoke(plan, observer, stopper, children)
        try:
            smoke.go()
        except ServerFailed as problem:
            why = problem.explanation
            lines = smoke.state.server.log.lines if smoke.state.server else []
            smoke.fail(why.kind, why.cause, why.advice, log_tail(problem.lines or lines), why.remedy)
        except LoadFailed as problem:
            lines = smoke.state.server.log.lines if smoke.state.server else []
            smoke.fail(problem.kind, problem.message, problem.advice, problem.lines or log_tail(lines))
        except ProbeError as problem:
            smoke.fail("unknown", problem.message, problem.remedy)
        finally:
            try:
                smoke.stop()
            finally:
                smoke.state.notes += smoke.watching.close()
        stopper.check()
        report = Report(plan, smoke.state, children, smoke.scrub)
        report.collect_files()
        children.close()
        result = report.result()
    result = report.write(result, can_resume=smoke.can_resume)
    if result.failure is None:
        forget_points(plan)
    return result
