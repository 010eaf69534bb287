"""A reading has a value or a reason, and never both or neither."""

import pytest
from pydantic import ValidationError

from probes.machine import Gpu
from probes.reading import WHYS, Reading, Why


def test_a_value_keeps_its_source() -> None:
    assert Reading.of(5, "nvml:x") == Reading(value=5, source="nvml:x")


def test_zero_is_a_value() -> None:
    assert Reading.of(0, "nvml:x").known


@pytest.mark.parametrize("why", WHYS)
def test_an_absent_reading_keeps_its_reason(why: Why) -> None:
    reading: Reading[int] = Reading.absent(why, "nvml:x")
    assert (reading.known, reading.why) == (False, why)


def test_a_value_with_a_reason_is_refused() -> None:
    with pytest.raises(ValidationError, match="never both"):
        Reading(value=1, why="lost", source="nvml:x")


def test_neither_value_nor_reason_is_refused() -> None:
    with pytest.raises(ValidationError, match="never both"):
        Reading(source="nvml:x")


def test_a_reading_cannot_be_changed() -> None:
    reading = Reading.of(1, "nvml:x")
    with pytest.raises(ValidationError, match="frozen"):
        reading.value = 2  # type: ignore[misc]


def test_a_reading_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        Reading[int].model_validate({"value": "many", "source": "nvml:x"})


def test_a_gpu_of_which_little_is_known_gives_one_reason_for_the_rest() -> None:
    gpu = Gpu.sparse(0, why="known_on_delivery", source="plan", name=Reading.of("NVIDIA H200", "plan"))
    assert (gpu.name.value, gpu.uuid.why, gpu.mig.enabled.why) == (
        "NVIDIA H200",
        "known_on_delivery",
        "known_on_delivery",
    )
