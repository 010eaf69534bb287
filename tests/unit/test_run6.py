"""What a short run may and must not say, claim by claim, on the document of a stand-in (mode tiny) and of a real run.

The claims are those of a smoke: medians with their interval, ceilings with enough requests, rates over a stated window,
memory as seen; never capacity beyond what was run, production, percentiles of too few requests, or others' numbers.
"""

import re
from functools import cache

import pytest

from probes.smoke.result import Mode
from tests.unit.document_selections import DAY, machine, point, select, smoke
from tests.unit.test_document import part
from wizard.asking.example import example_tree
from wizard.document.reader import Part
from wizard.document.render import render

SECTION = "2.5 Measurement"


@cache
def section(mode: Mode, n: int) -> Part:
    """2.5 of a run of `n` requests in a mode, with a capacity search."""
    run = smoke()
    points = (point("asked_shared", n=n, over=(0, n)), *run.points[2:])
    made = run.model_copy(update={"mode": mode, "scaled_down": mode == "tiny", "points": points})
    return part(render(select(example_tree(DAY), on=machine(), run=made)), SECTION)


def said(mode: Mode, n: int = 160) -> str:
    """Prose and cells of the section as one text."""
    found = section(mode, n)
    cells = [cell for table in found.tables for row in table.rows for cell in row]
    return "\n".join([*found.prose, *cells])


BOTH: tuple[Mode, ...] = ("tiny", "local")

#: Claim of the table, mode, requests, and what must stand there.
MAY: list[tuple[str, Mode, int, str]] = [
    ("it starts, loads and answers here", "tiny", 160, "evidence that the chain works on this machine"),
    ("start time measured", "local", 160, "148 s: weights 71"),
    ("medians with a rank interval", "tiny", 160, "241 (232 to 253)"),
    ("no median without an interval from few", "local", 40, "241 (232 to 253)"),
    ("t of n over a ceiling", "local", 160, "160 of 160 requests exceeded 40 ms"),
    ("a confidence where n is enough", "local", 59, "At 95 % confidence this contradicts p95 ≤ 40 ms"),
    ("no confidence where n is too small", "local", 58, "58 requests; a 95 % one-sided statement needs 59"),
    ("a rate over a stated window", "tiny", 160, "tokens/s with all calls in flight"),
    ("a rate over the whole run", "tiny", 160, "tokens/s over the whole run"),
    ("a contradiction", "local", 160, "It can refute this selection"),
    ("a stand-in refutes nothing", "tiny", 160, "it can neither refute this selection nor prove anything of its speed"),
    ("memory as seen", "local", 160, "GPU memory in use by all processes"),
    ("errors as an upper bound", "local", 160, "error rate at most 1.9 % at 95 % confidence"),
    ("the search of a stand-in is no capacity of the selection", "tiny", 160, "Capacity of the stand-in"),
]


@pytest.mark.parametrize(("claim", "mode", "n", "words"), MAY)
def test_what_may_be_said(claim: str, mode: Mode, n: int, words: str) -> None:
    assert words in said(mode, n), claim


#: Claim of the table that must not be made, and what would make it.
NEVER: list[tuple[str, Mode, int, str]] = [
    *(("users beyond the tested concurrency", mode, 160, r"[Ss]upports? \d+ (users|callers)") for mode in BOTH),
    *(("p99 of too few", mode, 160, r"p99 of \d+ requests") for mode in BOTH),
    ("p95 of too few", "local", 58, r"\(upper bound"),
    *(("availability", mode, 160, r"SLA|availab|uptime") for mode in BOTH),
    *(("no errors", mode, 160, r"no errors|error rate (of )?0|error rate at most 0") for mode in BOTH),
    *(("production", mode, 160, r"meets .* in production|production[- ]ready") for mode in BOTH),
    *(("greatest throughput", mode, 160, r"[Mm]ax(imum|imal)? throughput|peak throughput") for mode in BOTH),
    *(("better than others", mode, 160, r"faster than|outperforms|better than") for mode in BOTH),
    *(("others' benchmarks", mode, 160, r"MLPerf|InferenceX|MLCommons") for mode in BOTH),
    ("a verdict of a stand-in", "tiny", 160, r"(?<!never )(?<!not )\b(supports|contradicts) p\d|exceeded"),
    ("a grade of a stand-in", "tiny", 160, r"^(supported|contradicted|not supported)"),
    ("capacity of a stand-in", "tiny", 160, r"Capacity of one replica"),
    ("a refutation by a stand-in", "tiny", 160, r"can refute"),
]


@pytest.mark.parametrize(("claim", "mode", "n", "pattern"), NEVER)
def test_what_is_never_said(claim: str, mode: Mode, n: int, pattern: str) -> None:
    assert not re.search(pattern, said(mode, n), re.MULTILINE), claim


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize(
    "words",
    [
        "quality after quantisation",
        "real prompts",
        "not comparable to published benchmark results",
        "not an arrival-rate test",
        "true intervals are wider",
    ],
)
def test_what_was_not_shown_is_said(mode: Mode, words: str) -> None:
    assert words in said(mode)
