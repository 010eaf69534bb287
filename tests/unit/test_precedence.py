"""Flag before answers file before session before probe before built-in default: each wins over the next."""

import json
from pathlib import Path

import pytest

from tests.unit.document_selections import DAY, machine
from wizard.answers import Answers
from wizard.asking.answers_file import parse_layer
from wizard.asking.answers_writer import render_answers
from wizard.asking.defaults import DEFAULTS, fill
from wizard.asking.example import example_tree
from wizard.asking.provenance import PRECEDENCE
from wizard.cli import run
from wizard.sessions.session import Session

GPU, GPU_HERE = "runtime.hardware.gpu", "NVIDIA H100 80GB HBM3"


def test_the_order_is_the_one_that_is_documented() -> None:
    assert PRECEDENCE == ("flag", "answers", "session", "probe", "catalogue", "derived", "default", "missing")


def test_a_flag_wins_over_the_answers_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(render_answers(example_tree(DAY), blanks=False), encoding="utf-8")
    contexts = []
    for flags in ([], ["--context", "4096"]):
        run(["size", "--answers", str(file), *flags, "--json"])
        contexts.append(json.loads(capsys.readouterr().out)["context"])
    assert contexts == [16384, 4096]


def test_an_answers_file_wins_over_the_session() -> None:
    session = Session()
    session.set(GPU, "typed")
    session.open_layer(parse_layer('[runtime.hardware]\ngpu = "in the file"\n', "answers.toml"))
    assert session.in_force.runtime.hardware.gpu == "in the file"


def test_the_session_wins_over_the_probe() -> None:
    session = Session(machine=machine())
    read = session.in_force.runtime.hardware.gpu
    session.set(GPU, "typed")
    assert (read, session.in_force.runtime.hardware.gpu) == (GPU_HERE, "typed")


def test_what_is_read_and_what_is_built_in_never_compete() -> None:
    assert len({default.key for default in DEFAULTS}) == len(DEFAULTS)


def test_each_value_keeps_the_source_that_won() -> None:
    _, origins = fill(Answers(), {}, machine())
    assert (origins[GPU].layer, origins["runtime.product"].layer) == ("probe", "default")
