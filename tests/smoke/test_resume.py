"""A run that is stopped keeps its finished points, and the next one measures only the rest."""

from pathlib import Path

import pytest

from probes.smoke.plan import VllmTool, Workload
from probes.smoke.prepare import prepare
from probes.smoke.result import SmokeResult
from probes.smoke.run import run_smoke
from probes.smoke.stopping import Stopped, Stopper
from tests.smoke.conftest import Watching, request_for

pytestmark = [pytest.mark.vllm, pytest.mark.soak]

SHARED = Workload(concurrency=2, input_tokens=400, output_tokens=8, shared_prefix_tokens=256)


class StopsAtTheSecondPoint(Watching):
    """Asks for a stop as soon as the second measurement begins."""

    def __init__(self, stopper: Stopper) -> None:
        super().__init__()
        self.stopper = stopper

    def on_phase(self, phase: str, detail: str, elapsed_s: float) -> None:
        super().on_phase(phase, detail, elapsed_s)
        if phase == "measure" and detail.startswith("shared"):
            self.stopper.stop()


@pytest.fixture(scope="module")
def resumed(vllm: VllmTool, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...], SmokeResult]:
    folder, stopper = tmp_path_factory.mktemp("resume"), Stopper()
    first = request_for("tiny", vllm, folder, workload=SHARED)
    with pytest.raises(Stopped):
        run_smoke(first, StopsAtTheSecondPoint(stopper), stopper=stopper)
    offered = prepare(first).description
    return folder, offered, run_smoke(first.model_copy(update={"resume": True}), Watching())


def test_the_next_start_offers_the_rest(resumed: tuple[Path, tuple[str, ...], SmokeResult]) -> None:
    assert any("has measured unshared; --resume measures only the rest" in line for line in resumed[1])


def test_the_finished_point_is_taken_over_and_said(resumed: tuple[Path, tuple[str, ...], SmokeResult]) -> None:
    result = resumed[2]
    assert [point.kind for point in result.points] == ["asked_unshared", "asked_shared"]
    assert any("unshared was measured by an earlier run" in note for note in result.notes)


def test_nothing_is_kept_after_the_end(resumed: tuple[Path, tuple[str, ...], SmokeResult]) -> None:
    assert list((resumed[0] / "state").iterdir()) == []
