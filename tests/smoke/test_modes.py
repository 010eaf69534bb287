"""One real server per mode; each mode is run once and looked at from several sides."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.smoke.children import Children, port_is_free
from probes.smoke.plan import VllmTool, Workload
from probes.smoke.prepare import prepare
from probes.smoke.result import Point, SmokeResult
from probes.smoke.run import run_smoke
from probes.smoke.server import Server
from probes.smoke.stopping import Stopper
from tests.smoke.conftest import LIGHT, Watching, request_for

pytestmark = pytest.mark.vllm

AGENT = Workload(concurrency=24, input_tokens=7168, output_tokens=224, shared_prefix_tokens=6144)
SERVE_FLAGS = ("--max-model-len", "1024", "--enforce-eager")


class Ran:
    """One finished run, its folder and what was told on the way."""

    def __init__(self, result: SmokeResult, folder: Path, told: Watching) -> None:
        self.result, self.folder, self.told = result, folder, told

    def point(self, kind: str) -> Point:
        """The point of a kind."""
        return next(point for point in self.result.points if point.kind == kind)


@pytest.fixture(scope="module")
def tiny(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, told = tmp_path_factory.mktemp("tiny"), Watching()
    flags = ("--tensor-parallel-size", "8", "--enable-prefix-caching")
    request = request_for("tiny", vllm, folder, workload=AGENT, serve_flags=flags)
    return Ran(run_smoke(request, told), folder, told)


def test_tiny_works(tiny: Ran) -> None:
    assert tiny.result.failure is None


def test_tiny_leaves_nothing_behind(tiny: Ran) -> None:
    state = list((tiny.folder / "state").iterdir())
    assert (tiny.result.clean_stop, tiny.result.left_behind, state) == (True, (), [])


def test_the_phases_come_in_order(tiny: Ran) -> None:
    seen = list(dict.fromkeys(tiny.told.phases))
    assert seen == ["preflight", "start", "warm-up", "measure", "stop"]


def test_unshared_prompts_never_hit_the_cache(tiny: Ran) -> None:
    assert tiny.point("asked_unshared").prefix_hit_rate == 0


def test_shared_prompts_hit_the_cache_by_exactly_the_shared_part(tiny: Ran) -> None:
    point = tiny.point("asked_shared")
    every = point.requests * point.shared_prefix_tokens
    # The first callers start together, before any of them has filled the cache.
    least = (point.requests - point.concurrency) * point.shared_prefix_tokens
    assert least <= round((point.prefix_hit_rate or 0) * point.input_tokens) <= every


def test_lengths_are_exact(tiny: Ran) -> None:
    points = [(point.input_len, point.output_len) for point in tiny.result.points]
    assert [(one and (one.min, one.max), two and (two.min, two.max)) for one, two in points] == [
        ((512, 512), (16, 16))
    ] * 2


def test_all_requests_are_answered(tiny: Ran) -> None:
    assert [(point.completed, point.failed, point.excluded) for point in tiny.result.points] == [(72, 0, 0)] * 2


def test_a_stand_in_claims_no_ceiling_and_counts_what_was_over(tiny: Ran) -> None:
    found = [(ceiling.verdict, ceiling.over > 0) for ceiling in tiny.result.points[0].ceilings]
    assert found == [("not_claimed", False), ("not_claimed", True), ("not_claimed", False)]


def test_strategies_are_looked_for_in_the_running_server(tiny: Ran) -> None:
    seen = {row.id: row.seen for row in tiny.result.strategies}
    assert seen == {
        "prefix_caching": "in_force",
        "chunked_prefill": "in_force",
        "tensor_parallel": "not_in_force",
        "disaggregated_pd": "not_visible",
        "structured_output": "in_force",
        "tool_reasoning_parsers": "not_visible",
    }


def test_the_server_tells_its_cache_room(tiny: Ran) -> None:
    server = tiny.result.server
    assert (server.kv_cache_size_tokens, server.kv_cache_max_concurrency, server.max_model_len) == (524288, 512.0, 1024)


def test_the_phases_of_the_start_add_up(tiny: Ran) -> None:
    server = tiny.result.server
    assert sum(phase.s for phase in server.phases) == pytest.approx(server.ready_s, abs=0.5)


def test_the_load_process_s_cpu_share_is_known(tiny: Ran) -> None:
    assert tiny.result.load.cpu_core_share is not None


def test_the_written_result_is_the_returned_one(tiny: Ran) -> None:
    written = (tiny.folder / "out" / "smoke.json").read_text(encoding="utf-8")
    assert SmokeResult.model_validate_json(written) == tiny.result


def test_a_result_without_failure_has_no_such_key(tiny: Ran) -> None:
    assert "failure" not in json.loads((tiny.folder / "out" / "smoke.json").read_text(encoding="utf-8"))


def test_every_file_has_its_hash(tiny: Ran) -> None:
    out = tiny.folder / "out"
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}
    del found["smoke.json"]
    assert found == {file.name: file.sha256 for file in tiny.result.files}


def test_no_generated_text_is_kept(tiny: Ran) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (tiny.folder / "out").glob("bench-*.json")]
    assert ["generated_texts" in text for text in texts] == [False, False]


def test_no_private_path_is_kept(tiny: Ran) -> None:
    kept = "".join(path.read_text(encoding="utf-8") for path in (tiny.folder / "out").iterdir())
    assert (str(Path.home()) + "/" in kept, "/tmp/selwiz-" in kept) == (False, False)


def test_the_kept_command_is_that_of_the_contract(tiny: Ran) -> None:
    assert (tiny.result.runtime.command or ())[:3] == ("vllm", "serve", "$WORK/model")


@pytest.fixture(scope="module")
def dummy(vllm: VllmTool, config_only: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, told = tmp_path_factory.mktemp("dummy"), Watching()
    request = request_for("dummy", vllm, folder, model=str(config_only), serve_flags=SERVE_FLAGS)
    return Ran(run_smoke(request, told), folder, told)


@pytest.mark.soak
def test_dummy_works_from_a_folder_with_a_config_only(dummy: Ran) -> None:
    assert (dummy.result.failure, dummy.result.clean_stop) == (None, True)


@pytest.mark.soak
def test_dummy_writes_nothing_into_the_model_s_folder(dummy: Ran, config_only: Path) -> None:
    assert dummy.result.model == "$MODEL_DIR"
    assert [path.name for path in config_only.iterdir()] == ["config.json"]


@pytest.mark.soak
def test_the_model_s_folder_is_not_named(dummy: Ran, config_only: Path) -> None:
    kept = "".join(path.read_text(encoding="utf-8") for path in (dummy.folder / "out").iterdir())
    assert str(config_only) not in kept


@pytest.mark.soak
def test_dummy_sends_the_asked_load(dummy: Ran) -> None:
    assert (dummy.result.scaled_down, [point.kind for point in dummy.result.points]) == (False, ["asked_unshared"])


@pytest.fixture(scope="module")
def served(vllm: VllmTool, real_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that somebody else runs, as far as the smoke can tell."""
    folder = tmp_path_factory.mktemp("served")
    plan = prepare(request_for("local", vllm, folder, model=str(real_weights), serve_flags=SERVE_FLAGS))
    with Children(folder / "state") as children:
        server = Server(children, plan, plan.serve_command or (), children.folder / "server.log")
        server.start()
        server.wait_ready(Stopper(), time.monotonic() + 180, lambda _line: None, lambda _name, _s: None)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def endpoint(served: Server, vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, told = tmp_path_factory.mktemp("endpoint"), Watching()
    shared = LIGHT.model_copy(update={"input_tokens": 400, "shared_prefix_tokens": 256, "turns": 2})
    request = request_for("endpoint", vllm, folder, endpoint_url=served.client.base + "/v1/", workload=shared)
    return Ran(run_smoke(request, told), folder, told)


def test_local_serves_weights_from_disk(served: Server) -> None:
    assert served.ready_s is not None


def test_endpoint_works(endpoint: Ran) -> None:
    assert (endpoint.result.failure, endpoint.result.clean_stop) == (None, None)


def test_endpoint_leaves_the_server_running(endpoint: Ran, served: Server) -> None:
    del endpoint
    served.check_alive()


def test_endpoint_starts_nothing(endpoint: Ran) -> None:
    assert (endpoint.result.runtime.command, "start" in endpoint.told.phases) == (None, False)


def test_endpoint_s_settings_are_not_visible_but_its_cache_is(endpoint: Ran) -> None:
    seen = {row.id: row.seen for row in endpoint.result.strategies}
    assert (seen["prefix_caching"], seen["chunked_prefill"], seen["tensor_parallel"]) == (
        "in_force",
        "not_visible",
        "not_visible",
    )


def test_endpoint_s_unshared_prompts_are_new_to_its_cache(endpoint: Ran) -> None:
    assert endpoint.point("asked_unshared").prefix_hit_rate == 0


def test_turns_repeat_what_was_sent(endpoint: Ran) -> None:
    assert (endpoint.point("asked_shared").prefix_hit_rate or 0) > 0.5


def test_a_context_that_is_too_short_is_told_before_the_load(served: Server, vllm: VllmTool, tmp_path: Path) -> None:
    long = Workload(concurrency=1, input_tokens=1020, output_tokens=50)
    request = request_for("endpoint", vllm, tmp_path, endpoint_url=served.client.base, workload=long)
    failure = run_smoke(request, Watching()).failure
    assert failure is not None
    assert (failure.kind, "1070" in failure.message, "1024" in failure.message) == ("context_too_long", True, True)


def test_the_port_is_free_after_the_run(tiny: Ran) -> None:
    command = tiny.result.runtime.command or ()
    assert port_is_free(int(command[command.index("--port") + 1]))
