"""The launch command from the answers, and the trace from a strategy to what puts it in force."""

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.selections import FACTS, MODEL, good_answers
from wizard.errors import UsageError
from wizard.serving.launch import Launch, launch
from wizard.serving.trace import realised

_EXTRA = "runtime.settings.extra_flags"


def _launch(**changes: Any) -> Launch:
    return launch(good_answers(**changes))


def test_the_printed_command() -> None:
    assert _launch().shell() == (
        "HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 vllm serve Example/Dense-32B-FP8 --revision 4f1c9e0 "
        "--host 127.0.0.1 \\\n"
        "  --port 8000 --tensor-parallel-size 2 --max-model-len 16384 --kv-cache-dtype auto "
        "--max-num-queued-reqs 48 \\\n"
        "  --tool-call-parser hermes --enable-prefix-caching --enable-auto-tool-choice"
    )


def test_the_smoke_gets_the_same_flags_without_model_host_and_port() -> None:
    printed = shlex.split((_launch().shell() or "").replace("\\\n", " "))
    assert tuple(printed[printed.index("8000") + 1 :]) == _launch().serve_flags()


def test_a_model_known_only_by_its_folder_is_printed_as_a_variable() -> None:
    shell = _launch(**{"engine.models[0].name": ..., "engine.models[0].path": "/home/somebody/model"}).shell()
    assert 'vllm serve "$MODEL_DIR"' in (shell or "")


def test_a_pinned_revision_is_printed() -> None:
    assert "--revision 4f1c9e0" in (_launch(**{"engine.models[0].revision": "4f1c9e0"}).shell() or "")


def test_a_remark_in_place_of_a_revision_is_not() -> None:
    assert "--revision" not in (_launch(**{"engine.models[0].revision": "not pinned yet"}).shell() or "")


def test_the_model_of_another_selection_is_not_started() -> None:
    assert _launch(**{"engine.models[0].carried_by": "TS-9", "engine.models[1].carried_by": "this"}).model != MODEL


def test_a_rejected_strategy_that_is_on_by_default_gets_its_off_switch() -> None:
    assert (
        "--no-enable-prefix-caching" in _launch(**{"engine.strategies.prefix_caching.decision": "reject"}).serve_flags()
    )


def test_a_deferred_strategy_gets_no_switch() -> None:
    flags = _launch(**{"engine.strategies.prefix_caching.decision": "defer"}).serve_flags()
    assert not any("prefix-caching" in flag for flag in flags)


def test_a_strategy_may_be_a_variable_of_the_environment() -> None:
    adopted = {"engine.strategies.deterministic": {"decision": "adopt", "reason": "audit"}}
    assert (_launch().serve_environment(), _launch(**adopted).serve_environment()) == (
        (),
        (("VLLM_BATCH_INVARIANT", "1"),),
    )


def test_what_the_environment_switches_on_is_in_force() -> None:
    adopted = {"engine.strategies.deterministic": {"decision": "adopt", "reason": "audit"}}
    found = realised("deterministic", _launch(**adopted))
    assert (found.in_force, found.flags) == (True, ("VLLM_BATCH_INVARIANT",))


def test_a_size_that_serves_two_strategies_belongs_to_the_one_that_was_decided() -> None:
    setting = _launch(
        **{
            "runtime.layout.data_parallel": 2,
            "engine.strategies.data_parallel": {"decision": "adopt", "reason": "copies"},
        }
    ).find("--data-parallel-size")
    assert setting is not None
    assert setting.strategy == "data_parallel"


def test_sizes_of_one_are_not_written() -> None:
    assert "--pipeline-parallel-size" not in _launch().serve_flags()


def test_a_size_above_one_is_written() -> None:
    assert _launch(**{"runtime.layout.pipeline_parallel": 2}).find("--pipeline-parallel-size") is not None


def test_a_flag_names_its_strategy_and_the_answer_it_came_from() -> None:
    setting = _launch().find("--max-num-queued-reqs")
    assert setting is not None
    assert (setting.strategy, setting.source_keys) == ("admission_control", ("runtime.settings.max_num_queued_reqs",))


def test_a_typed_flag_wins_over_the_answer() -> None:
    flags = _launch(**{_EXTRA: ["--max-model-len=8192"]}).serve_flags()
    assert [flags[i + 1] for i, flag in enumerate(flags) if flag == "--max-model-len"] == ["8192"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--enable-lora", ("--enable-lora",)),
        ("--block_size 32", ("--block-size", "32")),
        ("--block-size=32", ("--block-size", "32")),
        ("--lora-modules a=b c=d", ("--lora-modules", "a=b", "c=d")),
        ("-tp 4", ("--tensor-parallel-size", "4")),
        ("-cc.mode=3", ("-cc.mode=3",)),
        ("--seed -1", ("--seed", "-1")),
        ('--kv-transfer-config \'{"a": "b c"}\'', ("--kv-transfer-config", '{"a": "b c"}')),
    ],
)
def test_typed_flags_are_split_as_a_shell_would(typed: str, words: tuple[str, ...]) -> None:
    assert _launch(**{_EXTRA: [typed]}).settings[-1].words() == words


@pytest.mark.parametrize("typed", ["8192", "--chat-template 'open"])
def test_what_is_no_flag_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match=r"runtime\.settings\.extra_flags"):
        _launch(**{_EXTRA: [typed]})


def test_a_secret_is_kept_nowhere() -> None:
    assert "sk-123" not in _launch(**{_EXTRA: ["--api-key sk-123"]}).model_dump_json()


def test_a_secret_is_printed_as_a_variable() -> None:
    assert '--api-key "$VLLM_API_KEY"' in (_launch(**{_EXTRA: ["--api-key=sk-123"]}).shell() or "")


def test_a_secret_is_not_given_to_the_smoke() -> None:
    assert "--api-key" not in _launch(**{_EXTRA: ["--api-key sk-123"]}).serve_flags()


def test_another_address_takes_the_place_of_loopback() -> None:
    shell = _launch(**{_EXTRA: ["--host 10.0.0.1"]}).shell() or ""
    assert ("127.0.0.1" in shell, "--host 10.0.0.1" in shell) == (False, True)


def test_another_product_has_switches_and_no_command() -> None:
    other = _launch(**{"runtime.product": "SGLang"})
    assert (other.shell(), "--tp-size" in other.serve_flags()) == (None, True)


def test_an_unknown_product_has_no_derived_flags() -> None:
    other = _launch(**{"runtime.product": "Homegrown"})
    assert (other.runtime, other.settings) == (None, ())


def test_strategies_are_numbered_in_the_order_of_the_answers() -> None:
    assert _launch().strategy_number("weight_quantization") == "ST-2"


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\x00"), min_size=1), max_size=5))
def test_the_printed_command_is_one_command_for_any_value(values: list[str]) -> None:
    settings = _launch(**{_EXTRA: [f"--x{i} {shlex.quote('v' + v)}" for i, v in enumerate(values)]})
    printed = shlex.split((settings.shell() or "").replace("\\\n  ", " "))
    expected = [word for s in settings.settings[-len(values) :] for word in s.words()] if values else []
    assert printed[len(printed) - len(expected) :] == expected


# ---------------------------------------------------------------- trace


@pytest.mark.parametrize(
    ("strategy", "changes", "expected"),
    [
        ("prefix_caching", {}, (True, "flags", ("--enable-prefix-caching",))),
        ("cuda_graphs", {}, (True, "default", ())),
        ("cuda_graphs", {_EXTRA: ["--enforce-eager"]}, (False, "off_switch", ("--enforce-eager",))),
        ("weight_quantization", {}, (True, "checkpoint", ())),
        ("spec_eagle3", {}, (False, "nothing", ())),
        ("kv_quantization", {}, (False, "nothing", ())),
        ("kv_quantization", {"runtime.settings.kv_cache_dtype": "fp8"}, (True, "flags", ("--kv-cache-dtype",))),
        ("tensor_parallel", {"runtime.layout.tensor_parallel": 1}, (False, "nothing", ())),
        ("structured_output", {}, (True, "default", ())),
        ("not_a_strategy", {}, (None, "unknown", ())),
    ],
)
def test_what_puts_a_strategy_in_force(strategy: str, changes: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = realised(strategy, _launch(**changes), FACTS)
    assert (found.in_force, found.by, found.flags) == expected


def test_the_later_of_two_opposite_flags_counts() -> None:
    rejected = {"engine.strategies.prefix_caching.decision": "reject", _EXTRA: ["--enable-prefix-caching"]}
    assert realised("prefix_caching", _launch(**rejected)).in_force is True


def test_the_format_of_an_unknown_checkpoint_is_unknown() -> None:
    assert realised("weight_quantization", _launch(), None).in_force is None
