"""What a line costs per million output tokens, below its prices: a figure, or what it waits for."""

import datetime

from wizard.asking.example import example_tree
from wizard.sessions.session import Session
from wizard.views.live import answers_with
from wizard.views.unit_cost import unit_cost_words


def lines(line: str, key: str = "", raw: str = "") -> str:
    session = Session(tree=example_tree(datetime.date(2026, 11, 30)))
    answers = answers_with(session, key, raw) if key else session.in_force
    return unit_cost_words(line, answers, None)


def test_line_e_has_its_recurring_part_over_the_tokens_of_a_year() -> None:
    assert "EUR 13.93" in lines("E")  # 21,400 EUR over 1,536 million tokens


def test_line_e_follows_what_is_typed() -> None:
    assert "EUR 6.97" in lines("E", "runtime.workload.output_tokens", "512")


def test_a_line_without_a_volume_says_what_it_waits_for() -> None:
    assert "waits for the calls a year" in lines("E", "runtime.workload.output_tokens", "")


def test_line_r_has_no_figure_without_a_measurement() -> None:
    assert "waits for a measured rate" in lines("R")
