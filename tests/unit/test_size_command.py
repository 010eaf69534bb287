"""`selwiz size` as a user runs it: the contract's shape, and what it says."""

import json
from pathlib import Path
from typing import Any

import pytest

from wizard.catalogue.configurations import known_models
from wizard.cli import run
from wizard.sizing.buy import candidates
from wizard.sizing.floors import Ceilings
from wizard.sizing.request import SizeRequest
from wizard.sizing.source import find_model

H100 = "NVIDIA H100 80GB HBM3"
KEYS = {
    "schema_version": int,
    "model": str,
    "architecture": str,
    "method": str,
    "parameters": int,
    "weight_bytes": int,
    "weight_bytes_per_gpu": int,
    "kv_bytes_per_request": int,
    "kv_bytes_per_request_per_gpu": int,
    "state_bytes_per_request": int,
    "block_size": int,
    "assumptions": dict,
    "required_bytes_per_gpu": int,
    "reserved_bytes_per_gpu": int,
    "kv_room_bytes_per_gpu": int,
    "max_concurrency": float,
    "fits": bool,
    "floor": dict,
    "terms": list,
    "not_modelled": list,
}


def asked(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert run(["size", *options, "--json", "--method", "formula"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize(("key", "kind"), KEYS.items())
def test_key_of_the_contract(capsys: pytest.CaptureFixture[str], key: str, kind: type) -> None:
    answer = asked(capsys, "--model", "Qwen/Qwen3-8B", "--context", "32768", "--concurrency", "4", "--gpu", H100)
    assert isinstance(answer[key], kind)


@pytest.mark.parametrize("key", ["method_note", "free_bytes_per_gpu", "max_concurrency_at_workload"])
def test_key_of_the_contract_that_may_be_null(capsys: pytest.CaptureFixture[str], key: str) -> None:
    assert asked(capsys, "--model", "Qwen/Qwen3-8B", "--gpu", H100)[key] is None


@pytest.mark.parametrize("name", known_models())
def test_every_known_model_is_answered(capsys: pytest.CaptureFixture[str], name: str) -> None:
    context = "8192" if "56B" in name else "32768"
    options = ("--context", context, "--concurrency", "32", "--gpu", H100, "--gpus", "2", "--tp", "2")
    answer = asked(capsys, "--model", name, *options)
    assert (answer["kv_bytes_per_request"] is None) == any("KV cache" in line for line in answer["not_modelled"])


def test_the_inputs_of_the_cuda_planner(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "--model", "openai/gpt-oss-20b", "--context", "32768")
    assert answer["assumptions"] == {
        "max_num_batched_tokens": 8192,
        "batches_in_flight": 2,
        "sliding_block_size": 16,
    }


def test_the_inputs_of_the_cpu_planner(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--planner", "cpu", "--block-size", "16")
    answer = asked(capsys, "--model", "openai/gpt-oss-20b", "--context", "32768", *options)
    assert answer["assumptions"]["sliding_block_size"] == 32


def test_required_reserved_and_room_are_kept_apart(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "--model", "Qwen/Qwen3-8B", "--context", "32768", "--gpu", H100)
    beside = sum(term["bytes"] for term in answer["terms"] if term["name"] != "KV cache")
    assert answer["kv_room_bytes_per_gpu"] == answer["reserved_bytes_per_gpu"] - beside


def test_reserved_is_the_share_of_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--gpu-memory-gib", "100", "--gpu-memory-utilization", "0.5")
    assert asked(capsys, "--model", "Qwen/Qwen3-8B", *options)["reserved_bytes_per_gpu"] == 50 * 1024**3


def test_what_does_not_fit_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--context", "32768", "--gpu", H100, "--gpus", "2", "--tp", "2")
    assert asked(capsys, "--model", "deepseek-ai/DeepSeek-V3", *options)["fits"] is False


def test_without_a_gpu_nothing_is_said_of_memory(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "--model", "Qwen/Qwen3-8B", "--context", "32768")
    assert (answer["reserved_bytes_per_gpu"], answer["fits"]) == (None, None)


def test_fp8_halves_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    plain = asked(capsys, "--model", "Qwen/Qwen3-8B", "--context", "32768")
    half = asked(capsys, "--model", "Qwen/Qwen3-8B", "--context", "32768", "--kv-cache-dtype", "fp8")
    assert 2 * half["kv_bytes_per_request"] == plain["kv_bytes_per_request"]


def test_the_latent_cache_is_whole_on_every_rank(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--context", "32768", "--gpus", "8", "--tp", "8")
    answer = asked(capsys, "--model", "deepseek-ai/DeepSeek-V3", *options)
    assert answer["kv_bytes_per_request_per_gpu"] == answer["kv_bytes_per_request"] == 2_302_672_896


def test_kv_heads_are_repeated_beyond_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--context", "32768", "--gpus", "16", "--tp", "16")
    answer = asked(capsys, "--model", "Qwen/Qwen3-235B-A22B", *options)
    assert 4 * answer["kv_bytes_per_request_per_gpu"] == answer["kv_bytes_per_request"]


def test_wrong_usage_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["size", "--model", "Qwen/Qwen3-8B", "--tp", "3"]) == 2
    assert "Sizes that work: 1, 2, 4, 8, 16, 32" in capsys.readouterr().err


def test_the_table_names_every_term(capsys: pytest.CaptureFixture[str]) -> None:
    run(["size", "--model", "Qwen/Qwen3-8B", "--context", "32768", "--gpu", H100, "--method", "formula"])
    text = capsys.readouterr().out
    assert all(term in text for term in ("weights", "activations", "CUDA graphs", "KV cache", "required", "reserved"))


def test_the_example_answers_are_sized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "example.toml"
    run(["answers", "--example", "-o", str(file)])
    capsys.readouterr()
    assert asked(capsys, "--answers", str(file))["max_concurrency_at_workload"] > 16


def test_a_dry_build_without_vllm_falls_back_and_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probes.runtimes.find_runtimes", lambda _=None: ())
    run(["size", "--model", "Qwen/Qwen3-8B", "--context", "1024", "--method", "dry-build", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["method"], "No vLLM was found" in answer["method_note"]) == ("formula", True)


def test_a_smaller_gpu_needs_more_of_them() -> None:
    model, _ = find_model("Qwen/Qwen3-32B")
    found = {item.gpu: item.gpus for item in candidates(model, SizeRequest(context=8192), Ceilings())}
    least, most = found["H200 SXM 141GB"], found["RTX 4090"]
    assert least is not None
    assert most is not None
    assert least < most


def test_a_ceiling_below_every_floor_leaves_no_candidate() -> None:
    model, _ = find_model("Qwen/Qwen3-32B")
    found = candidates(model, SizeRequest(context=8192), Ceilings(tpot_ms=0.01))
    assert all(item.gpus is None for item in found)


def test_a_candidate_has_room_left() -> None:
    model, _ = find_model("Qwen/Qwen3-32B")
    found = candidates(model, SizeRequest(context=8192, concurrency=8), Ceilings())
    assert all(item.room_bytes is not None and item.room_bytes >= 0 for item in found if item.gpus)
