"""Options of a smoke that do not go together."""

from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.machine import Machine
from probes.smoke.prepare import prepare
from tests.unit.document_selections import machine
from tests.unit.test_smoke_prepare import request_for
from wizard.errors import UsageError
from wizard.smoke.option_checks import check_options
from wizard.smoke.request import SmokeOptions

URL = "http://127.0.0.1:1"
GPUS = machine()
NO_GPU = machine().model_copy(update={"gpus": ()})


def check(on: Machine | None, **given: object) -> None:
    """Check options that are given together."""
    check_options(SmokeOptions(out_dir=Path("o"), state_dir=Path("s"), **given), on)  # type: ignore[arg-type]  # checked there


@pytest.mark.parametrize(
    ("given", "on", "said"),
    [
        ({"mode": "tiny", "endpoint": URL}, NO_GPU, "--mode tiny"),
        ({"endpoint": ""}, NO_GPU, "--endpoint is empty"),
        ({"endpoint": "  ", "mode": "tiny"}, NO_GPU, "--endpoint is empty"),
        ({"mode": "endpoint"}, NO_GPU, "none is named"),
        ({"api_key_env": "X"}, NO_GPU, "--api-key-env"),
        ({"ca": Path("x")}, NO_GPU, "--ca"),
        ({"allow_remote_load": True}, NO_GPU, "--allow-remote-load"),
        ({"endpoint": URL, "devices": ("0",)}, GPUS, "--devices"),
        ({"devices": ("abc",)}, GPUS, "'abc' is no GPU"),
        ({"devices": ("-1",)}, GPUS, "'-1' is no GPU"),
        ({"devices": ("",)}, GPUS, "'' is no GPU"),
        ({"devices": ("0", "99")}, GPUS, "no GPU 99"),
        ({"devices": ("0",)}, NO_GPU, "has none"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(given: dict[str, object], on: Machine, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check(on, **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"endpoint": URL, "mode": "endpoint", "api_key_env": "X"},
        {"devices": ("0",)},
        {"devices": ("GPU-12345678-1234-1234-1234-123456789abc",)},
    ],
)
def test_what_goes_together_is_accepted(given: dict[str, object]) -> None:
    check(GPUS, **given)


def test_a_key_that_is_no_longer_than_a_word_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "token")
    with pytest.raises(ProbeError, match="fewer than 8 characters"):
        prepare(request_for(tmp_path, mode="endpoint", endpoint_url=URL, api_key_env="MY_KEY"))
