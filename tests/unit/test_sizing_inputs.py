"""Bad input: each its own sentence, with what to do about it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from probes.errors import ProbeError
from probes.models import configuration_of, read_configuration, read_weights
from tests.unit.document_selections import full
from wizard.decision.selection import Selection, to_json
from wizard.errors import UsageError
from wizard.sizing.compute import compute
from wizard.sizing.request import SizeRequest
from wizard.sizing.source import find_model

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "hidden_size": 768,
    "intermediate_size": 2048,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
}


def nested(levels: int) -> dict[str, Any]:
    config: dict[str, Any] = LLAMA
    for _ in range(levels):
        config = {"text_config": config}
    return config


def sized(config: dict[str, Any], **asked: Any) -> Any:
    return compute(configuration_of("m", "m/config.json", config), SizeRequest(**asked))


def test_a_config_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ProbeError, match="is not JSON"):
        find_model(str(tmp_path))


def test_forty_levels_of_nesting(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(nested(40)))
    with pytest.raises(ProbeError, match="more than 8 levels"):
        read_configuration(tmp_path)


@pytest.mark.parametrize("value", [-1, 0, 10**10, "many", True])
def test_an_impossible_count(value: object) -> None:
    with pytest.raises(ProbeError, match="no possible count"):
        sized({**LLAMA, "num_hidden_layers": value})


def test_heads_that_do_not_divide() -> None:
    with pytest.raises(ProbeError, match="do not divide"):
        sized({**LLAMA, "hidden_size": 770})


def test_layer_types_of_another_length() -> None:
    with pytest.raises(ProbeError, match="names 1"):
        sized({**LLAMA, "layer_types": ["full_attention"]})


def test_a_missing_count_is_named() -> None:
    with pytest.raises(ProbeError, match='"intermediate_size"'):
        sized({key: value for key, value in LLAMA.items() if key != "intermediate_size"})


def test_an_unknown_architecture_has_no_figures() -> None:
    sizing = sized({**LLAMA, "architectures": ["NewForCausalLM"]})
    assert (sizing.parameters, sizing.kv_bytes_per_request, sizing.fits) == (None, None, None)


def test_an_unknown_architecture_is_said() -> None:
    sizing = sized({**LLAMA, "architectures": ["NewForCausalLM"]})
    assert any("NewForCausalLM" in line for line in sizing.not_modelled)


def test_tensor_parallelism_that_does_not_divide_names_the_divisors() -> None:
    with pytest.raises(UsageError) as caught:
        sized(LLAMA, tensor_parallel=8)
    assert "1, 2, 4, 12" in caught.value.remedy


def test_a_context_beyond_the_limit() -> None:
    with pytest.raises(UsageError, match="beyond the model's limit of 4096"):
        sized(LLAMA, context=4097)


@pytest.mark.parametrize(("kind", "longest"), [("linear", 16384), ("dynamic", 16384), ("yarn", 4096)])
def test_positions_are_scaled_as_vllm_scales_them(kind: str, longest: int) -> None:
    # vLLM 0.32.0 config/model.py, asked with these configurations: YaRN's positions are stated as scaled ones
    scaled = {**LLAMA, "rope_scaling": {"rope_type": kind, "factor": 4, "original_max_position_embeddings": 4096}}
    assert sized(scaled).context == longest


def test_gpus_that_are_not_the_product() -> None:
    with pytest.raises(UsageError, match="3 GPUs are not"):
        sized(LLAMA, gpus=3, tensor_parallel=2)


def test_an_unknown_cache_type() -> None:
    with pytest.raises(UsageError, match="fp7"):
        sized(LLAMA, kv_cache_dtype="fp7")


def test_a_block_that_no_kernel_takes() -> None:
    with pytest.raises(UsageError, match="no multiple of 16"):
        sized(LLAMA, block_size=24)


def test_more_stages_than_layers() -> None:
    with pytest.raises(UsageError, match="5 pipeline stages"):
        sized(LLAMA, pipeline_parallel=5)


def test_an_unknown_weight_format_has_no_bytes() -> None:
    sizing = sized({**LLAMA, "quantization_config": {"quant_method": "strange"}})
    assert (sizing.weight_bytes, sizing.parameters) == (None, sized(LLAMA).parameters)


def test_a_model_that_is_nowhere() -> None:
    with pytest.raises(UsageError, match="no folder here"):
        find_model("nobody/nothing")


def test_an_index_that_names_missing_files(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-00001.safetensors", "b": "model-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ProbeError, match="names 2 of 2 files that are missing"):
        read_weights(tmp_path)


def test_an_index_that_leaves_its_folder(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "../other.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ProbeError, match="outside its folder"):
        read_weights(tmp_path)


def safetensors(file: Path, header: object) -> None:
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(64))


def test_weights_are_counted_by_their_headers(tmp_path: Path) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "BF16", "shape": [2, 4], "data_offsets": [0, 16]},
        "b": {"dtype": "F8_E4M3", "shape": [16], "data_offsets": [16, 32]},
    }
    safetensors(tmp_path / "model.safetensors", header)
    found = read_weights(tmp_path)
    assert found is not None
    assert (found.bytes_by_dtype, found.total_bytes) == ({"BF16": 16, "F8_E4M3": 16}, 32)


def test_a_folder_without_weights_has_none(tmp_path: Path) -> None:
    assert read_weights(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"12345678", b"\xff" * 16, b"\x04" + bytes(7) + b"nope"])
def test_a_damaged_header(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ProbeError, match="no readable safetensors header"):
        read_weights(tmp_path)


def test_offsets_beyond_the_file(tmp_path: Path) -> None:
    safetensors(tmp_path / "model.safetensors", {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 10**9]}})
    with pytest.raises(ProbeError, match="no readable safetensors header"):
        read_weights(tmp_path)


def test_headers_size_a_model_that_the_formula_does_not_cover(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "architectures": ["NewForCausalLM"]}))
    safetensors(tmp_path / "model.safetensors", {"a": {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}})
    configuration, weights = find_model(str(tmp_path))
    assert compute(configuration, SizeRequest(), weights).weight_bytes == 16


def test_the_hub_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match="needs huggingface_hub") as caught:
        find_model("nobody/nothing", allow_download=True)
    assert "selwiz[hub]" in caught.value.remedy


def test_a_selection_with_its_sizing_is_read_again() -> None:
    selection = full()
    assert selection.sizing is not None
    assert Selection.model_validate_json(to_json(selection)).sizing == selection.sizing


def test_more_layers_than_any_model_has() -> None:
    with pytest.raises(ProbeError, match="no possible count"):
        sized({**LLAMA, "num_hidden_layers": 1_000_000})


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), -4, 0, True, "4"])
def test_a_scaling_that_is_none_scales_nothing(factor: object) -> None:
    scaling = {"rope_type": "linear", "factor": factor}
    assert sized({**LLAMA, "rope_scaling": scaling}).context == 4096
