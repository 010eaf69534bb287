"""Which machine a run is judged against."""

from tests.unit.document_selections import full
from wizard.decision.proof import probed_machine, qualifier
from wizard.machine import planned


def test_a_run_beside_a_plan_is_judged_by_its_own_machine() -> None:
    made = full()
    beside = made.model_copy(update={"machine": planned("L40Sx4"), "measured_on": made.machine})
    assert qualifier(beside) == qualifier(made)


def test_a_plan_alone_is_no_probed_machine() -> None:
    assert probed_machine(full().model_copy(update={"machine": planned("L40Sx4")})) is None
