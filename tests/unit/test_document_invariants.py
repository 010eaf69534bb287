"""Each invariant is broken once in the text of a good document; the document itself breaks none."""

import py_compile
from pathlib import Path

import pytest

import templates
from tests.unit.document_selections import almost_empty, full, machine, smoke
from wizard.decision.selection import Selection
from wizard.document.invariants import Private, violations
from wizard.document.render import render


@pytest.fixture(scope="module")
def selection() -> Selection:
    return full()


@pytest.fixture(scope="module")
def text(selection: Selection) -> str:
    return render(selection)


def rules(text: str, selection: Selection, private: Private | None = None) -> set[str]:
    return {found.rule for found in violations(text, selection, private)}


def test_a_full_document_breaks_nothing(text: str, selection: Selection) -> None:
    assert violations(text, selection) == []


def test_an_almost_empty_document_breaks_nothing() -> None:
    made = almost_empty()
    assert violations(render(made), made) == []


@pytest.mark.parametrize("mode", ["dummy", "endpoint", "tiny"])
def test_a_document_of_every_mode_breaks_nothing(mode: str, selection: Selection) -> None:
    made = selection.model_copy(update={"smoke": smoke().model_copy(update={"mode": mode})})
    assert violations(render(made), made) == []


def test_a_document_of_other_hardware_breaks_nothing(selection: Selection) -> None:
    made = selection.model_copy(update={"machine": machine(gpu="NVIDIA L40S", count=1)})
    assert violations(render(made), made) == []


BROKEN = [
    ("X1", "## Section 2: Runtime deployment", "## Section 3: Runtime deployment"),
    ("X1", "## Split budget", "## Budget of both"),
    ("X1", "### 2.9 Cost of changing the runtime", "### 2.10 Confirmation and expiry"),
    ("X1", "\n# Technology selection", "\n# Another title\n\n# Technology selection"),
    ("X2", "| Document id | EX-SEL-001 | answer |", "| Document id | EX-SEL-001 | somebody |"),
    ("X2", "| measured RUN-1 |\n", "| measured RUN-9 |\n"),
    ("X2", "| derived F-11 |", "| derived F-99 |"),
    ("X2", "| derived F-11 |", "| derived |"),
    ("X2", "| Field | Value | Source |", "| Field | Value | Origin |"),
    ("X3", "| Document id | EX-SEL-001 | answer |", "| Document id |  | answer |"),
    ("X3", "| Document id | EX-SEL-001 | answer |", "| Document id | EX|SEL | answer |"),
    ("B1", "| E | Subtotal | one-time |", "| E and R | Subtotal | one-time |"),
    ("B1", "### What moves which line", "### Combined total"),
    ("B1", "| R | Runtime: GPU capacity", "| E + R | Runtime: GPU capacity"),
    ("B8", "| 16 Person-Days | EUR 740.00 | EUR 11,840.00 |", "| 16 Person-Days | not given | not given |"),
    ("B8", "| 24,130.00 | 21,400.00 |", "| 24,130.01 | 21,400.00 |"),
    ("B12", "| R9 | Platform share", "| R12 | Platform share"),
    ("B16", "| EUR 740.00 | EUR 11,840.00 |", "| EUR 740.00 | EUR 11,840.01 |"),
    ("B16", "| EUR 4.3500 | EUR 76,212.00 a year |", "| EUR 4.3500 | EUR 76,212.01 a year |"),
    ("B16", "| not applicable | EUR 24,130.00 |", "| not applicable | EUR 24,130.01 |"),
    ("M2", "| RUN-1: TTFT, ms | 160 |", "| RUN-1: TTFT, ms | 58 |"),
    (
        "M2",
        "p99 is not claimed: 160 requests; a 95 % one-sided statement needs 299.",
        "p99 of 160 requests: TTFT 9 ms.",
    ),
    ("M10", "It can refute this selection;", "It is guaranteed;"),
    ("M10", "not comparable to published benchmark results", "comparable to MLPerf results"),
    ("G5", "> **Status: proposed.**", "> **Status: accepted.**"),
    ("G5", "| Status | proposed | tool |", "| Status | approved | tool |"),
    ("G5", "| engine, line E |   |   |", "| engine, line E | yes |   |"),
    ("S3", "| Document id | EX-SEL-001 |", "| Document id | hf_abcdefghijklmnopqrst |"),
    ("S3", "| Document id | EX-SEL-001 |", "| Document id | GPU-0f1e2d3c-0000-4000-8000-000000000000 |"),
    ("S3", "| Document id | EX-SEL-001 |", "| Document id | /home/somebody/x |"),
]


@pytest.mark.parametrize(("rule", "good", "bad"), BROKEN)
def test_a_broken_document_names_the_invariant(rule: str, good: str, bad: str, text: str, selection: Selection) -> None:
    broken = f"\n{text}".replace(good, bad, 1)
    assert broken != f"\n{text}"
    assert rule in rules(broken, selection)


@pytest.mark.parametrize(
    "private", [Private(host_name="gpu-box-7"), Private(home="/srv/people/ada"), Private(user="adalovelace")]
)
def test_a_name_of_this_machine_is_found(private: Private, text: str, selection: Selection) -> None:
    name = next(found for found in private if found)
    assert rules(text.replace("EX-SEL-001", name, 1), selection, private) == {"S3"}


def test_a_machine_that_is_called_like_a_word_of_the_document_is_not_taken_for_its_name(
    text: str, selection: Selection
) -> None:
    assert rules(text, selection, Private(host_name="engine", user="runtime")) == set()


def test_a_host_name_that_a_person_typed_stands(text: str, selection: Selection) -> None:
    assert rules(text, selection, Private(host_name="EX-SEL-001")) == set()


def test_python_that_keeps_its_bytecode_beside_the_templates_does_no_harm(text: str, selection: Selection) -> None:
    py_compile.compile(str(Path(templates.__file__)))
    assert violations(text, selection, Private(host_name="gpubox7")) == []
