from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from probes.smoke.plan import Ceiling, ModelFacts, SmokePlan, SmokeRequest, VllmTool, Workload
from probes.smoke.planning import base_url, flag_value, make_plan, plan_runs, scale_down

TOOL = VllmTool(executable=("/x/bin/vllm",), interpreter=Path("/x/bin/python"), version="0.32.0+cpu", build="cpu")
LOCAL = ModelFacts(folder=Path("/models/m"), has_tokenizer=True, weights_bytes=10**9, is_local=True)
BARE = ModelFacts(folder=Path("/models/m"), has_tokenizer=False, weights_bytes=None, is_local=True)
NONE = ModelFacts(folder=None, has_tokenizer=False, weights_bytes=None, is_local=True)
AGENT = Workload(concurrency=24, input_tokens=7168, output_tokens=224, shared_prefix_tokens=6144)


def plan_of(mode: str, facts: ModelFacts, *, tool: VllmTool = TOOL, **more: object) -> SmokePlan:
    values: dict[str, object] = {
        "mode": mode,
        "model": "/models/m" if mode in ("local", "dummy") else None,
        "workload": AGENT,
        "out_dir": Path("/out"),
        "state_dir": Path("/state"),
        **more,
    }
    request = SmokeRequest.model_validate(values)
    return make_plan(request, tool, facts, None if mode == "endpoint" else 8123)


def serve(plan: SmokePlan) -> str:
    return " ".join(plan.serve_command or ())


def test_tiny_sends_a_load_that_two_cores_carry() -> None:
    plan = plan_of("tiny", NONE)
    assert (plan.scaled_down, plan.workload.concurrency, plan.workload.input_tokens) == (True, 4, 512)


def test_tiny_says_that_it_is_scaled_down() -> None:
    assert any("4 callers instead of 24" in note for note in plan_of("tiny", NONE).notes)


def test_tiny_leaves_out_flags_of_the_proposed_model_and_says_so() -> None:
    plan = plan_of("tiny", NONE, serve_flags=("--tensor-parallel-size", "8", "--enable-prefix-caching"))
    assert ("--tensor-parallel-size" in serve(plan), "--enable-prefix-caching" in serve(plan)) == (
        False,
        True,
    )


@pytest.mark.parametrize(
    ("mode", "model", "expected"),
    [("local", LOCAL, False), ("dummy", LOCAL, False), ("dummy", BARE, True), ("tiny", NONE, True)],
)
def test_a_tokenizer_is_written_where_none_is(mode: str, model: ModelFacts, expected: bool) -> None:
    assert plan_of(mode, model).writes_tokenizer is expected


def test_dummy_loads_no_weights() -> None:
    assert "--load-format dummy" in serve(plan_of("dummy", LOCAL))


def test_local_keeps_the_proposed_flags() -> None:
    assert "--max-model-len 8192" in serve(plan_of("local", LOCAL, serve_flags=("--max-model-len", "8192")))


@pytest.mark.parametrize("mode", ["local", "dummy", "tiny"])
def test_the_server_listens_on_loopback_only(mode: str) -> None:
    assert "--host 127.0.0.1 --port 8123" in serve(plan_of(mode, NONE if mode == "tiny" else LOCAL))


def test_an_endpoint_is_neither_started_nor_given_an_environment() -> None:
    plan = plan_of("endpoint", NONE, endpoint_url="http://127.0.0.1:9/v1/")
    assert (plan.serve_command, plan.serve_environment, plan.port) == (None, (), None)


def test_the_load_warms_up_by_a_run_of_its_own() -> None:
    command = plan_of("local", LOCAL).load_command
    assert command[command.index("--num-warmups") + 1] == "0"


def test_devices_become_visible_devices() -> None:
    cuda = TOOL.model_copy(update={"build": "cuda"})
    plan = plan_of("local", LOCAL, tool=cuda, devices=("0", "2"))
    assert ("CUDA_VISIBLE_DEVICES", "0,2") in plan.serve_environment


def test_the_description_shows_the_command_the_port_and_the_time_limit() -> None:
    text = "\n".join(plan_of("local", LOCAL, time_limit_s=900).description)
    parts = ("/x/bin/vllm serve /models/m", "port 8123", "at most 15 minutes", "Downloads: nothing")
    assert all(part in text for part in parts)


def test_a_download_is_named() -> None:
    remote = ModelFacts(folder=None, has_tokenizer=True, weights_bytes=None, is_local=False)
    plan = plan_of("local", remote, model="org/name", allow_download=True)
    assert plan.downloads is not None


def test_at_most_three_load_runs() -> None:
    assert [run.name for run in plan_runs(AGENT, ())] == ["warmup", "unshared", "shared"]


def test_no_shared_run_where_nothing_is_shared() -> None:
    single = Workload(concurrency=2, input_tokens=100, output_tokens=10)
    assert [run.name for run in plan_runs(single, ())] == ["warmup", "unshared"]


def test_a_p99_ceiling_needs_more_requests() -> None:
    ceiling = Ceiling(metric="ttft_ms", percentile=99, limit_ms=1)
    assert plan_runs(Workload(concurrency=2, input_tokens=9, output_tokens=9), (ceiling,))[1].requests == 299


@given(st.integers(1, 500), st.integers(2, 200_000), st.integers(1, 9000), st.data())
def test_scaling_down_never_enlarges(concurrency: int, tokens: int, output: int, data: st.DataObject) -> None:
    prefix = data.draw(st.integers(0, tokens - 1))
    asked = Workload(concurrency=concurrency, input_tokens=tokens, output_tokens=output, shared_prefix_tokens=prefix)
    sent = scale_down(asked)
    assert (sent.concurrency <= concurrency and sent.input_tokens <= tokens and sent.output_tokens <= output) is True


def test_the_prefix_must_be_shorter_than_the_prompt() -> None:
    with pytest.raises(ValidationError, match="shorter than the prompt"):
        Workload(concurrency=1, input_tokens=10, output_tokens=1, shared_prefix_tokens=10)


@pytest.mark.parametrize(("mode", "missing"), [("local", "model"), ("dummy", "model"), ("endpoint", "URL")])
def test_a_request_is_complete(mode: str, missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        SmokeRequest.model_validate({"mode": mode, "workload": AGENT, "out_dir": Path("/o"), "state_dir": Path("/s")})


@pytest.mark.parametrize("url", ["http://h:8", "http://h:8/", "http://h:8/v1", "http://h:8/v1/"])
def test_an_endpoint_may_be_given_with_or_without_v1(url: str) -> None:
    assert base_url(url) == "http://h:8"


@pytest.mark.parametrize(
    ("flags", "value"),
    [(("--a", "1"), "1"), (("--a=1",), "1"), (("--a", "1", "--a", "2"), "2"), (("--b", "1"), None)],
)
def test_flag_values(flags: tuple[str, ...], value: str | None) -> None:
    assert flag_value(flags, "--a") == value
