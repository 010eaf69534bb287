"""One smoke from begin to end: preflight, start, warm-up, measure, stop; then the evidence."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from probes.errors import ProbeError
from probes.smoke.children import Children, port_is_free
from probes.smoke.endpoint import look_at, try_payload
from probes.smoke.evidence import claimed
from probes.smoke.failures import Explanation, log_tail
from probes.smoke.http import HttpError
from probes.smoke.load import LoadFailed
from probes.smoke.measuring import Measuring
from probes.smoke.observer import Observer
from probes.smoke.owners import is_loopback, owners_of, port_of
from probes.smoke.plan import SmokePlan, SmokeRequest
from probes.smoke.planning import TINY_MAX
from probes.smoke.points import forget_points
from probes.smoke.prepare import check_out_dir, prepare
from probes.smoke.prompts import PromptForm, read_forms, shortened
from probes.smoke.report import Report
from probes.smoke.result import Failure, Remedy, SmokeResult
from probes.smoke.server import Server, ServerFailed
from probes.smoke.stopping import Stopper
from probes.smoke.tiny_model import write_tiny_model, write_tokenizer
from probes.smoke.traces import write_traces
from probes.smoke.trials import try_out
from probes.smoke.watching import can_watch


class _Smoke(Measuring):
    """The steps of one run around its loads: the server before them, its settings and trials, the end."""

    def on_stall(self, sentence: str) -> None:
        """Tell that the server is silent."""
        self.observer.on_note(self.scrub(sentence))

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
