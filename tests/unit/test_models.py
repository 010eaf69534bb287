"""A model's facts out of configurations in the dialects that model families use."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probes.errors import ProbeError
from probes.models import ModelFacts, has_weights, read_model_folder

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024}


def facts(folder: Path, config: dict[str, Any]) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps(config))
    return read_model_folder(folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("architecture", "LlamaForCausalLM"),
        ("model_type", "llama"),
        ("layers", 32),
        ("attention_heads", 32),
        ("kv_heads", 8),
        ("head_dim", None),
        ("hidden_size", 4096),
        ("vocab_size", 128256),
        ("max_position_embeddings", 131072),
        ("quantization", None),
        ("dtype", "bfloat16"),
        ("is_moe", False),
        ("experts", None),
        ("experts_per_token", None),
    ],
)
def test_field_of_a_plain_model(tmp_path: Path, field: str, value: object) -> None:
    assert getattr(facts(tmp_path, LLAMA), field) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layers", 12),
        ("attention_heads", 12),
        ("hidden_size", 768),
        ("max_position_embeddings", 1024),
        ("kv_heads", None),
    ],
)
def test_field_in_an_older_dialect(tmp_path: Path, field: str, value: object) -> None:
    assert getattr(facts(tmp_path, GPT2), field) == value


def test_the_language_part_of_a_multimodal_model_counts(tmp_path: Path) -> None:
    vision = {"num_hidden_layers": 27, "hidden_size": 1152}
    config = {"architectures": ["XForConditionalGeneration"], "vision_config": vision, "text_config": LLAMA}
    assert facts(tmp_path, config).layers == 32


def test_a_language_part_may_lie_two_levels_down(tmp_path: Path) -> None:
    assert facts(tmp_path, {"thinker_config": {"text_config": LLAMA}}).layers == 32


def test_the_architecture_of_a_multimodal_model_is_the_whole_models(tmp_path: Path) -> None:
    config = {"architectures": ["XForConditionalGeneration"], "text_config": LLAMA}
    assert facts(tmp_path, config).architecture == "XForConditionalGeneration"


@pytest.mark.parametrize(
    ("experts", "per_token"),
    [
        ("num_experts", "num_experts_per_tok"),
        ("n_routed_experts", "num_experts_per_tok"),
        ("num_local_experts", "experts_per_token"),
    ],
)
def test_experts_in_several_dialects(tmp_path: Path, experts: str, per_token: str) -> None:
    found = facts(tmp_path, LLAMA | {experts: 128, per_token: 8})
    assert (found.is_moe, found.experts, found.experts_per_token) == (True, 128, 8)


def test_no_experts_are_no_mixture(tmp_path: Path) -> None:
    assert facts(tmp_path, LLAMA | {"num_experts": 0}).is_moe is False


def test_one_number_a_layer_states_no_single_fact(tmp_path: Path) -> None:
    assert facts(tmp_path, LLAMA | {"num_key_value_heads": [8, 8, 4]}).kv_heads is None


def test_quantization_method(tmp_path: Path) -> None:
    assert facts(tmp_path, LLAMA | {"quantization_config": {"quant_method": "fp8"}}).quantization == "fp8"


def test_quantization_inside_the_language_part(tmp_path: Path) -> None:
    part = LLAMA | {"quantization_config": {"quant_method": "compressed-tensors"}}
    assert facts(tmp_path, {"text_config": part}).quantization == "compressed-tensors"


def test_quantization_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    assert facts(tmp_path, LLAMA).quantization == "modelopt"


def test_a_name_out_of_the_hubs_cache(tmp_path: Path) -> None:
    folder = tmp_path / "models--meta-llama--Llama-3.1-8B/snapshots/0123abcd"
    folder.mkdir(parents=True)
    assert facts(folder, LLAMA).name == "meta-llama/Llama-3.1-8B"


def test_the_source_does_not_show_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "model"
    folder.mkdir()
    assert facts(folder, LLAMA).source == "~/model/config.json"


@pytest.mark.parametrize("name", ["nothing", "x" * 300, "a\0b"], ids=["missing", "too long", "impossible"])
def test_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProbeError, match="no folder"):
        read_model_folder(tmp_path / name)


def test_the_home_of_a_user_that_does_not_exist() -> None:
    with pytest.raises(ProbeError, match="no folder"):
        read_model_folder(Path("~there-is-no-such-user/model"))


def test_a_user_without_a_home_can_read_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert facts(tmp_path, LLAMA).source == str(tmp_path / "config.json")


def test_no_config(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=r"no config\.json"):
        read_model_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1", "not JSON"),
        ("[1, 2]", "not an object"),
        ("[" * 200_000, "not JSON"),
        ("{}", "no language model"),
    ],
    ids=["pointer", "list", "too deep", "empty"],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ProbeError, match=words):
        read_model_folder(tmp_path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ProbeError, match="not JSON"):
        read_model_folder(tmp_path)


@pytest.mark.parametrize("value", [-1, 0, 10**12, 1.5, True, "many"])
def test_an_absurd_count_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(ProbeError, match="no possible count"):
        facts(tmp_path, LLAMA | {"num_hidden_layers": value})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*LLAMA, "text_config", "quantization_config", "num_experts"]), JSON_VALUES))
def test_any_configuration_gives_facts_or_a_plain_error(tmp_path: Path, change: dict[str, Any]) -> None:
    try:
        found = facts(tmp_path, LLAMA | change)
    except ProbeError:
        return
    assert found.layers is None or found.layers > 0


@pytest.mark.parametrize("name", ["model.safetensors", "model-00001-of-00002.safetensors", "pytorch_model.bin"])
def test_weights_are_seen(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert has_weights(tmp_path)


def test_an_empty_file_is_no_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    assert not has_weights(tmp_path)


def test_a_configuration_alone_is_no_weights(tmp_path: Path) -> None:
    facts(tmp_path, LLAMA)
    assert not has_weights(tmp_path)
