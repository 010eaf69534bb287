"""Each check of `verify`: what differs in one thing differs in that check, and what is not seen is not told."""

from typing import Any

import pytest

from probes.smoke.metrics import Metrics
from probes.smoke.start_log import StartLog
from tests.unit.deliveries import CEILINGS, LABELS, approved, checked, delivery, differing, log, served
from tests.unit.selections import GPU, MODEL, machine, point, smoke
from wizard.verify.check import Check, Delivered
from wizard.verify.report import as_json, as_lines, matches, ordered


def _labels(**changes: str) -> Metrics:
    return Metrics(cache_config=LABELS | changes, engines=1)


def _ceiling(verdict: str) -> Any:
    return smoke(point(ceilings=[CEILINGS[0] | {"verdict": verdict, "over": 30}, *CEILINGS[1:]]))


def test_a_delivery_as_approved_differs_in_nothing() -> None:
    assert differing(delivery()) == []


def test_of_a_full_look_nothing_stays_hidden() -> None:
    hidden = [what for what, check in checked(delivery()).items() if check.verdict == "not_visible"]
    assert hidden == []


def test_without_a_look_everything_is_hidden() -> None:
    assert {check.verdict for check in checked(Delivered()).values()} == {"not_visible"}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"printed_hash": "b" * 64}, "document.content_hash"),
        ({"evidence": (("machine.json", False), ("answers.toml", True))}, "document.evidence"),
        ({"version": "0.32.0"}, "runtime.version"),
        ({"version": None, "log": log(version="0.32.0")}, "runtime.version"),
        ({"served": served(owned_by="sglang")}, "runtime.product"),
        ({"served": served(id="other/Model", root="other/Model")}, "engine.models[0].name"),
        ({"machine": machine(*["NVIDIA L40S"] * 4)}, "runtime.hardware.gpu"),
        ({"machine": machine()}, "runtime.hardware.gpu"),
        ({"machine": machine(GPU)}, "runtime.hardware.gpus_per_replica"),
        ({"metrics": Metrics(cache_config=LABELS, engines=2)}, "runtime.layout.data_parallel"),
        ({"metrics": _labels(enable_prefix_caching="False")}, "engine.strategies.prefix_caching"),
        ({"metrics": _labels(cache_dtype="fp8")}, "runtime.settings.kv_cache_dtype"),
        ({"metrics": _labels(kv_cache_size_tokens="200000")}, "runtime.cache_room"),
        ({"log": log(resolved={"tensor_parallel_size": 1})}, "engine.strategies.tensor_parallel"),
        ({"log": log(resolved={"quantization": None})}, "engine.strategies.weight_quantization"),
        ({"log": log({"max_num_queued_reqs": ...})}, "engine.strategies.admission_control"),
        ({"log": log({"tool_call_parser": "llama3_json"})}, "engine.strategies.tool_reasoning_parsers"),
        ({"log": log({"enforce_eager": True})}, "runtime.settings.extra_flags: --enforce-eager"),
        ({"smoke": _ceiling("contradicted")}, "runtime.ceilings.ttft_ms"),
    ],
)
def test_one_difference_is_one_check(changes: dict[str, Any], what: str) -> None:
    assert what in differing(delivery(**changes))


def test_a_shorter_context_differs_in_the_setting_and_in_the_need() -> None:
    assert differing(delivery(served=served(max_model_len=8192))) == [
        "engine.models[0].context_tokens",
        "runtime.settings.max_model_len",
    ]


def test_a_longer_context_still_meets_the_need() -> None:
    assert differing(delivery(served=served(max_model_len=32768))) == ["runtime.settings.max_model_len"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"printed_hash": None}, "document.content_hash"),
        ({"served": served(id="prod", root="/srv/model")}, "engine.models[0].name"),
        ({"served": served(owned_by=None), "log": None}, "runtime.product"),
        ({"machine": None}, "runtime.hardware.gpu"),
        ({"machine": machine(), "machine_is_here": True}, "runtime.hardware.gpu"),
        ({"machine": machine(GPU, GPU)}, "runtime.layout.replicas"),
        ({"smoke": None}, "runtime.ceilings.ttft_ms"),
        ({"smoke": _ceiling("not_supported")}, "runtime.ceilings.ttft_ms"),
        ({"log": None}, "engine.strategies.tensor_parallel"),
        ({"metrics": None, "log": None}, "engine.strategies.prefix_caching"),
        ({"metrics": None, "log": None}, "runtime.cache_room"),
    ],
)
def test_what_cannot_be_seen_is_not_guessed(changes: dict[str, Any], what: str) -> None:
    assert checked(delivery(**changes))[what].verdict == "not_visible"


@pytest.mark.parametrize("folder", [f"/srv/models/{MODEL.split('/')[1]}", "models--Example--Dense-32B-FP8"])
def test_a_folder_with_the_model_s_name_is_the_model(folder: str) -> None:
    assert checked(delivery(served=served(root=folder)))["engine.models[0].name"].verdict == "same"


def test_a_build_counts_only_where_one_was_approved() -> None:
    assert checked(delivery(version="0.33.0+cu130"))["runtime.version"].verdict == "same"


def test_an_approved_build_must_be_that_build() -> None:
    selection = approved({"runtime.version": "0.33.0+cu130"})
    assert "runtime.version" in differing(delivery(version="0.33.0+cpu"), selection)


def test_a_rejected_strategy_that_runs_differs() -> None:
    selection = approved({"engine.strategies.prefix_caching.decision": "reject"})
    assert "engine.strategies.prefix_caching" in differing(delivery(), selection)


def test_more_room_for_the_cache_is_no_fault() -> None:
    assert differing(delivery(metrics=_labels(kv_cache_size_tokens="900000"))) == []


def test_a_revision_that_was_pinned_must_be_served() -> None:
    selection = approved({"engine.models[0].revision": "4e1c2a0"})
    assert "engine.models[0].revision" in differing(delivery(), selection)


def test_an_older_driver_branch_differs() -> None:
    selection = approved({"runtime.hardware.driver": "branch 590 or later"})
    assert "runtime.hardware.driver" in differing(delivery(), selection)


def test_a_served_name_that_was_approved_must_be_there() -> None:
    selection = approved({"runtime.settings.extra_flags": ["--served-model-name desk"]})
    assert "runtime.settings: --served-model-name" in differing(delivery(), selection)


def test_nothing_approved_is_nothing_to_check() -> None:
    assert "runtime.version" not in checked(delivery(), approved({"runtime.version": ...}))


def test_every_check_names_the_section_it_touches() -> None:
    assert all(check.touches[0].isdigit() or "document" in check.touches for check in checked(delivery()).values())


@pytest.mark.parametrize(("strict", "expected"), [(False, True), (True, False)])
def test_what_is_hidden_counts_only_when_strict(strict: bool, expected: bool) -> None:
    assert matches([Check("a", "1", None, "not_visible")], strict=strict) is expected


def test_differences_come_first() -> None:
    checks = [Check("a", "1", "1", "same"), Check("b", "1", None, "not_visible"), Check("c", "1", "2", "different")]
    assert [check.what for check in ordered(checks)] == ["c", "b", "a"]


def test_the_json_has_the_contract_s_keys() -> None:
    data = as_json(list(checked(delivery()).values()), strict=False)
    assert list(data) == ["schema_version", "matches", "not_visible", "document_hash", "checks"]


def test_a_home_folder_is_not_shown() -> None:
    lines = as_lines(list(checked(delivery(served=served(root="/home/somebody/m"))).values()))
    assert not any("somebody" in line for line in lines)


def test_a_log_keeps_no_key() -> None:
    assert "api_key" not in (log({"api_key": ["s3cret"]}).arguments or {})


@pytest.mark.parametrize("text", ["", "nothing of a start", "non-default args: {'a': "])
def test_a_log_without_a_start_tells_nothing(text: str) -> None:
    from probes.smoke.start_log import parse_start_log

    assert parse_start_log(text) == StartLog()
