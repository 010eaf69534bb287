"""The command line as scripts use it: exit codes, what goes where, and nothing written or lost by surprise."""

import datetime
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wizard import __version__
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.cli import run
from wizard.exit_codes import ExitCode

Selwiz = Callable[..., int]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    file = tmp_path / "example.toml"
    file.write_text(render_answers(example_tree(datetime.datetime.now(datetime.UTC).date()), blanks=False))
    return file


def answers(folder: Path, text: str, name: str = "answers.toml") -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def test_version_is_one_line() -> None:
    output = subprocess.run(
        [sys.executable, "-m", "wizard", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert output == f"selwiz {__version__}\n"


@pytest.mark.parametrize("command", ["probe", "check", "smoke", "propose", "answers", "show", "schema", "doctor"])
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([command, "--help"])
    assert ended.value.code == 0
    assert f"example:\n  selwiz {command}" in capsys.readouterr().out


def test_every_exit_code_stands_in_help_and_readme(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["--help"])
    spoken = capsys.readouterr().out.partition("exit codes:")[2]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    table = " ".join(re.findall(r"^\| ([\d, ]+) \|", readme, flags=re.MULTILINE))
    codes = {str(int(code)) for code in ExitCode}
    assert (set(re.findall(r"\b\d+", spoken)), set(re.findall(r"\d+", table))) == (codes, codes)


@pytest.mark.parametrize("argv", [["--nothing"], ["propose"], ["propose", "--answers", "a", "--date", "soon"]])
def test_wrong_usage_is_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(argv)
    assert ended.value.code == 2


def test_propose_writes_document_selection_and_evidence(example: Path, tmp_path: Path) -> None:
    assert run(["propose", "--answers", str(example), "-o", str(tmp_path / "p.md")]) == 0
    made = {path.name for path in tmp_path.iterdir()} - {example.name}
    assert made == {"p.md", "p.brief.md", "p.selection.json", "p.evidence"}


def test_the_example_is_proposed_next_year_too(tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    assert run(["answers", "--example", "--date", "2031-03-01", "-o", str(file)]) == 0
    assert run(["propose", "--answers", str(file), "--date", "2031-03-01", "-o", str(tmp_path / "p.md")]) == 0


def test_an_existing_document_is_not_replaced(example: Path, tmp_path: Path) -> None:
    target = tmp_path / "p.md"
    target.write_text("approved")
    assert run(["propose", "--answers", str(example), "-o", str(target)]) == 7
    assert target.read_text() == "approved"


def test_force_replaces_it(example: Path, tmp_path: Path) -> None:
    target = tmp_path / "p.md"
    target.write_text("old")
    assert run(["propose", "--answers", str(example), "--force", "-o", str(target)]) == 0
    assert target.read_text().startswith("# Technology selection:")


@pytest.mark.parametrize("command", [["propose"], ["answers", "--missing"]])
def test_not_even_force_replaces_the_answers_that_are_read(example: Path, command: list[str]) -> None:
    before = example.read_text()
    assert run([*command, "--answers", str(example), "-o", str(example), "--force"]) == 7
    assert example.read_text() == before


def test_a_folder_that_is_not_there_is_7_and_names_a_remedy(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["propose", "--answers", str(example), "-o", str(tmp_path / "none" / "p.md")]) == 7
    assert "Make the folder first" in capsys.readouterr().err


def test_dry_run_prints_the_document_and_nothing_else(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["propose", "--answers", str(example), "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("# Technology selection:")
    assert list(tmp_path.iterdir()) == [example]


def test_no_title_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["propose", "--answers", answers(tmp_path, "[engine]\nowner = 'x'"), "--dry-run"]) == 2
    assert "project.title" in capsys.readouterr().err


def test_all_invalid_answers_are_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = answers(tmp_path, "[runtime.layout]\ntensor_parallel = 0\nreplicas = 'two'")
    assert run(["check", "--answers", file]) == 2
    said = capsys.readouterr().err
    assert "runtime.layout.tensor_parallel" in said
    assert "runtime.layout.replicas" in said


def test_missing_answers_are_open_and_only_rules_make_a_draft(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = answers(tmp_path, "[project]\ntitle = 'x'")
    assert run(["propose", "--answers", file, "--dry-run"]) == 5
    assert "**Status: draft.**" in capsys.readouterr().out


def test_check_prints_what_the_contract_says(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--answers", str(example), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema_version"], data["blocking"]) == (1, 0)


def test_a_finding_has_the_keys_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--answers", answers(tmp_path, ""), "--json"])
    finding = json.loads(capsys.readouterr().out)["findings"][0]
    assert set(finding) == {"rule", "severity", "message", "where", "remedy"}


def test_an_evidence_folder_that_is_not_one_is_2(example: Path, tmp_path: Path) -> None:
    assert run(["propose", "--answers", str(example), "--evidence", str(tmp_path), "--dry-run"]) == 2


def test_evidence_that_was_cut_off_is_one_sentence(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "smoke.json").write_text('{"schema_version": 1, "run_id"')
    assert run(["propose", "--answers", str(example), "--evidence", str(folder), "--dry-run"]) == 2
    assert "smoke.json is not what this selwiz writes" in capsys.readouterr().err


def test_the_missing_answers_of_one_colleague_come_back_with_the_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "[budget.runtime]\nowner='Finance'\n[[budget.runtime.items]]\nid='R1'\nitem='GPUs'"
    mine = answers(tmp_path, f"[project]\ntitle='x'\n{line}")
    run(["answers", "--missing", "--answers", mine, "--for", "Finance"])
    asked = capsys.readouterr().out
    assert "title" not in asked.split("answered_by")[1]
    theirs = answers(tmp_path, asked.replace('unit_price = ""', 'unit_price = "3.05"'), "theirs.toml")
    run(["show", "--answers", mine, "--answers", theirs])
    shown = capsys.readouterr().out
    assert f"budget.runtime.items[0].unit_price = 3.05  [answers: {theirs}, Finance]" in shown


def test_a_colleague_for_whom_nothing_waits_is_2_and_the_known_ones_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = answers(tmp_path, "[project]\ntitle='x'\n[budget.runtime]\nowner='Finance'")
    assert run(["answers", "--missing", "--answers", mine, "--for", "Fianance"]) == 2
    assert "Name one of: Finance." in capsys.readouterr().err


def test_show_says_where_a_default_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["show", "--answers", answers(tmp_path, "")])
    assert (
        "runtime.settings.gpu_memory_utilization = 0.92  [default: vLLM 0.33.0, config/cache.py]"
        in capsys.readouterr().out
    )


def test_the_schema_knows_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["properties"]) >= {"project", "engine", "runtime", "budget", "governance"}


def test_doctor_names_no_home(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.home() / "state"))
    assert run(["doctor"]) == 0
    assert str(Path.home()) + "/" not in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'wizard', 'answers', '--blank'],"
        " stdout=subprocess.PIPE, stderr=subprocess.PIPE); p.stdout.read(10); p.stdout.close();"
        " print(p.stderr.read().decode()); sys.exit(p.wait())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "")


@pytest.mark.parametrize(
    ("ending", "locale"),
    [
        pytest.param("2>&-", {}, id="nobody hears"),
        pytest.param("2>/dev/full", {}, id="no room for talk"),
        pytest.param("", {"PYTHONUTF8": "0", "PYTHONIOENCODING": "iso-8859-1", "LC_ALL": "C"}, id="another encoding"),
    ],
)
def test_the_document_comes_out_whole(example: Path, ending: str, locale: dict[str, str]) -> None:
    argv = ["propose", "--answers", str(example), "--machine", "plan:H100 SXM5 80GBx4", "--dry-run"]
    command = shlex.join([sys.executable, "-m", "wizard", *argv])

    def document(ending: str, environment: dict[str, str]) -> tuple[int, str]:
        shell = ["sh", "-c", f"{command} {ending}"]
        ended = subprocess.run(shell, stdout=subprocess.PIPE, env=os.environ | environment, check=False)
        return ended.returncode, ended.stdout.decode("utf-8")

    whole = document("", {})
    assert whole[1].startswith("# Technology selection")
    assert document(ending, locale) == whole


def test_a_model_folder_without_config_is_2_and_names_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    file = answers(tmp_path, f"[project]\ntitle='x'\n[[engine.models]]\nname='m'\npath='{folder}'")
    assert run(["check", "--answers", file]) == 2
    assert "config.json" in capsys.readouterr().err


def test_a_smoke_without_vllm_is_4(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert run(["smoke", "--answers", str(example), "--yes", "--out", str(tmp_path / "out")]) == 4
    assert "vLLM" in capsys.readouterr().err


def test_a_smoke_that_is_not_confirmed_starts_nothing(example: Path, tmp_path: Path) -> None:
    code = run(["smoke", "--answers", str(example), "--out", str(tmp_path / "out")])
    assert code in (2, 4)  # 4 where no vLLM is installed
    assert not (tmp_path / "out").exists()


def test_a_recorded_machine_is_marked_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "machine.json")
    assert run(["probe", "--record", file]) == 0
    capsys.readouterr()
    run(["probe", "--machine", file])
    assert capsys.readouterr().out.startswith("Machine   RECORDED on ")


def test_an_existing_file_is_not_recorded_over(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text("mine")
    assert (run(["probe", "--record", str(file)]), file.read_text()) == (7, "mine")


@pytest.mark.parametrize("where", ["nothing.json", "plan:", "plan:no such GPUx8", "plan:H100x8"])
@pytest.mark.parametrize("command", ["probe", "show", "check", "propose"])
def test_a_machine_that_cannot_be_used_is_wrong_usage(example: Path, command: str, where: str) -> None:
    rest = {"probe": [], "propose": ["--answers", str(example), "--dry-run"]}.get(command, ["--answers", str(example)])
    assert run([command, *rest, "--machine", where]) == 2


def test_a_planned_machine_fills_what_is_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["show", "--answers", answers(tmp_path, "schema_version = 1\n"), "--machine", "plan:L40Sx4"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("runtime.hardware.gpu ="))
    assert ("NVIDIA L40S" in line, "will be bought" in line) == (True, True)


def test_a_value_of_a_planned_machine_is_the_catalogues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = answers(tmp_path, "[project]\ntitle = 'Desk'\n")
    run(["propose", "--answers", file, "--machine", "plan:L40Sx4", "--dry-run"])
    words = {cell for line in capsys.readouterr().out.splitlines() for cell in re.split(r"[|,] ?", line)}
    assert ("catalogue" in {word.strip() for word in words}, "probe" in {word.strip() for word in words}) == (
        True,
        False,
    )


def test_the_document_of_a_planned_machine_prints_the_confidence(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["propose", "--answers", str(example), "--machine", "plan:L40Sx4", "--dry-run"])
    assert "864 GB/s (catalogue, confidence: read)" in capsys.readouterr().out


def test_the_document_of_a_recorded_machine_says_so(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["probe", "--record", str(tmp_path / "machine.json")])
    capsys.readouterr()
    run(["propose", "--answers", str(example), "--machine", str(tmp_path / "machine.json"), "--dry-run"])
    assert "recorded machine of" in capsys.readouterr().out


def test_a_measurement_is_not_shown_beside_another_recorded_machine(example: Path, tmp_path: Path) -> None:
    run(["probe", "--record", str(tmp_path / "machine.json")])
    arguments = ["propose", "--answers", str(example), "--machine", str(tmp_path / "machine.json"), "--smoke"]
    assert run([*arguments, "-o", str(tmp_path / "p.md")]) == 2


def test_a_result_that_is_there_is_not_replaced_by_a_smoke(example: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "server.log").write_text("mine")
    assert run(["smoke", "--answers", str(example), "--yes", "--out", str(tmp_path / "out")]) == 7
    assert (tmp_path / "out" / "server.log").read_text() == "mine"


def test_a_password_in_the_endpoint_is_refused_and_not_repeated(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "http://user:s3cretpw@127.0.0.1:9/v1"
    command = ["smoke", "--answers", str(example), "--yes", "--out", str(tmp_path / "out"), "--endpoint", url]
    assert run(command) == 2
    assert "s3cretpw" not in capsys.readouterr().err


def test_what_steers_a_terminal_is_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = answers(tmp_path, '[project]\ntitle = "x"\nauthor = "a\\u001b[2Jb\\u202ec"')
    run(["show", "--answers", file])
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(shown)


def test_a_link_is_not_replaced_even_with_force(example: Path, tmp_path: Path) -> None:
    (tmp_path / "p.md").symlink_to("/dev/null")
    assert run(["propose", "--answers", str(example), "--force", "-o", str(tmp_path / "p.md")]) == 7
    assert (tmp_path / "p.md").is_symlink()


@pytest.mark.parametrize("name", [".", "/", "n" * 250 + ".md"])
def test_a_name_that_cannot_be_a_file_is_7(name: str, example: Path, tmp_path: Path) -> None:
    target = name if name in (".", "/") else str(tmp_path / name)
    assert run(["propose", "--answers", str(example), "-o", target]) == 7
