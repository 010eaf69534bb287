"""What is predicted of the smoke's own server, by mode and machine."""

from typing import Any

import pytest

from tests.unit.document_selections import machine
from tests.unit.selections import good_answers
from wizard.catalogue.configurations import known_configuration
from wizard.serving.launch import launch
from wizard.sizing.run import predicted_memory

MODEL = known_configuration("Qwen/Qwen3-32B-FP8")


def predicted(mode: Any, *, on: Any = None, model: Any = MODEL, **changes: Any) -> dict[str, int | None]:
    answers = good_answers(**changes)
    found = predicted_memory(mode, answers, launch(answers), on, model)
    return {row.term: row.bytes_per_gpu for row in found}


def test_nothing_of_an_endpoint() -> None:
    assert predicted("endpoint", on=machine()) == {}


def test_the_weights_of_our_own_tiny_model() -> None:
    assert predicted("tiny") == {"weights": 3_672_320}


@pytest.mark.parametrize("mode", ["local", "dummy"])
def test_every_term_of_a_run_on_a_gpu(mode: str) -> None:
    assert set(predicted(mode, on=machine())) == {"weights", "graphs", "activations", "other", "kv_room"}


def test_terms_add_to_what_is_reserved() -> None:
    sizes = [size for size in predicted("local", on=machine()).values() if size is not None]
    reserved = -(-85_520_809_984 * 92 // 100)
    assert abs(sum(sizes) - reserved) <= 1


def test_the_gpu_of_the_machine_counts_and_not_the_proposed_one() -> None:
    changes: dict[str, Any] = {"runtime.hardware.gpu": "NVIDIA L4"}
    assert predicted("local", on=machine(), **changes) == predicted("local", on=machine())


def test_weights_only_without_a_machine() -> None:
    assert set(predicted("local")) == {"weights"}


def test_nothing_of_a_model_that_is_not_known() -> None:
    assert predicted("local", on=machine(), model=None) == {}
