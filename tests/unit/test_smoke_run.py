"""What a failed smoke suggests, as the wizard applies it."""

from probes.smoke.result import Remedy
from wizard.sessions.session import Session
from wizard.smoke.state import apply_remedy


def test_a_value_is_replaced() -> None:
    session = Session()
    session.set("runtime.settings.max_model_len", "40960")
    apply_remedy(session, Remedy(key="runtime.settings.max_model_len", value="8192"))
    assert session.in_force.runtime.settings.max_model_len == 8192


def test_a_flag_is_added_to_those_that_are_there() -> None:
    session = Session()
    session.set("runtime.settings.extra_flags", "--enforce-eager")
    apply_remedy(session, Remedy(key="runtime.settings.extra_flags", value="--dtype half", how="add"))
    assert session.in_force.runtime.settings.extra_flags == ("--enforce-eager", "--dtype half")


def test_a_value_that_is_no_answer_is_told() -> None:
    assert apply_remedy(Session(), Remedy(key="runtime.settings.max_model_len", value="many")) is not None
