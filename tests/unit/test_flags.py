"""Typed flags: known to the version and taken together, or refused in one sentence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.vllm_facts import KnownFlag, VllmFacts, to_text
from wizard.catalogue.vllm import packaged_facts
from wizard.errors import UsageError
from wizard.serving.flags import base_name, check_flags, typed_flags

NOWHERE = Path("/nonexistent")


def _check(*texts: str, version: str | None = "0.33.0") -> None:
    check_flags(tuple(typed_flags(texts, "vllm")), version, None, NOWHERE)


@pytest.mark.parametrize(
    "text",
    [
        "--enable-lora",
        "--block_size=32",
        "-tp 4",
        "-O0",
        "-cc.cudagraph_mode=NONE",
        "--no-enable-prefix-caching",
        "--disable-prefix-caching",
        '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 4}\'',
        "--lora-modules a=b c=d",
        "--scheduling-policy priority",
    ],
)
def test_what_the_version_knows_passes(text: str) -> None:
    _check(text)


@pytest.mark.parametrize(
    ("text", "version", "message"),
    [
        ("--enable-prefx-caching", "0.33.0", "vLLM 0.33.0 has no flag --enable-prefx-caching"),
        ("--disable-prefix-caching", "0.32.0", "vLLM 0.32.0 has no flag --disable-prefix-caching"),
        ("--disable-prefix-caching", "0.32.0+cpu", "vLLM 0.32.0 has no flag"),
        ("--nonsense.key=1", None, "vLLM 0.33.0 has no flag --nonsense.key=1"),
        ("--enable-lora yes", "0.33.0", "takes no value after --enable-lora"),
        ("--block-size", "0.33.0", "wants one value after --block-size, and none is given"),
        ("--block-size 1 2", "0.33.0", "wants one value after --block-size, and 2 are given"),
        ("--scheduling-policy random", "0.33.0", "does not take 'random' for --scheduling-policy"),
    ],
)
def test_what_it_does_not_know_is_one_sentence(text: str, version: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _check(text, version=version)


def test_the_nearest_flag_is_named() -> None:
    with pytest.raises(UsageError) as problem:
        _check("--enable-prefx-caching")
    assert problem.value.remedy == "The nearest one is --enable-prefix-caching."


@pytest.mark.parametrize(
    "text",
    [
        "--grpc --grpc-port 9000",
        "--attention-backend FLASH_ATTN -ac.backend=FLASHINFER",
        '--spec-method ngram --speculative-config \'{"method": "mtp"}\'',
        "--max-cudagraph-capture-size 8 -cc.max_cudagraph_capture_size=16",
        "--enable-prefix-caching --no-enable-prefix-caching",
        "--enable-prefix-caching --disable-prefix-caching",
        "--data-parallel-hybrid-lb --data-parallel-external-lb",
    ],
)
def test_two_flags_that_exclude_each_other_are_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        _check(text)


@pytest.mark.parametrize(
    "text", ["--attention-backend FLASH_ATTN -ac.flash_attn_version=3", "--spec-model x --speculative-config '{}'"]
)
def test_a_setting_of_another_key_excludes_nothing(text: str) -> None:
    _check(text)


def test_a_version_of_which_nothing_is_known_refuses_no_flag() -> None:
    _check("--flag-of-the-future", version="9.9.9")


def test_what_the_installed_vllm_said_wins_over_the_packaged_answers(tmp_path: Path) -> None:
    packaged = packaged_facts("0.33.0")
    assert packaged is not None
    own = packaged.model_copy(update={"flags": (*packaged.flags, KnownFlag(flag="--patched-in", takes="none"))})
    (tmp_path / "vllm-0.33.0.json").write_text(to_text(own), encoding="utf-8")
    check_flags((("--patched-in",),), "0.33.0", None, tmp_path)


def test_kept_answers_that_cannot_be_read_are_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "vllm-0.33.0.json").write_text("{", encoding="utf-8")
    check_flags((("--enable-lora",),), "0.33.0", None, tmp_path)


def test_the_file_of_answers_reads_back_as_it_was_written() -> None:
    facts = packaged_facts("0.32.0")
    assert facts is not None
    assert VllmFacts.model_validate_json(to_text(facts)) == facts


@given(st.sampled_from(sorted(getattr(packaged_facts("0.33.0"), "by_name", {}))))
def test_every_spelling_that_vllm_knows_is_its_own_base(name: str) -> None:
    assert base_name(name) == name
