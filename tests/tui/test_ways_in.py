"""The other ways in, by keyboard alone: another machine, a delivery, a log, an earlier selection."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App

from probes.recorded import recorded_text
from tests.tui.conftest import at, paste, settle, words
from tests.unit.deliveries import log_text
from tests.unit.document_selections import full
from tests.unit.selections import GPU, MODEL, good_selection, machine
from tests.unit.test_explain_command import LOG
from tests.unit.test_smoke_endpoint import Endpoint, serving
from wizard.app import WizardApp
from wizard.cli import run
from wizard.decision.selection import to_json
from wizard.document.render import render
from wizard.machine import planned
from wizard.screens.changes import ChangesScreen
from wizard.screens.delivery import DeliveryScreen
from wizard.screens.elsewhere import ElsewhereScreen
from wizard.screens.modals import FieldsScreen, PathScreen, WhyScreen
from wizard.screens.preview import PreviewScreen
from wizard.screens.review import ReviewScreen
from wizard.screens.smoke import SmokeScreen
from wizard.screens.start import StartScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session
from wizard.sessions.session_store import listed
from wizard.widgets.listing import Listing

NARROW = (80, 24)


def header(app: App[int]) -> str:
    return words(app).splitlines()[0]


async def test_a_type_of_the_catalogue_is_planned_for_with_sim_on_every_screen(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        assert "SIM" not in header(wizard)
        await pilot.press("4")
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await paste(pilot, "L40S")
        await pilot.press("enter", "ctrl+u", "4", "enter")
        await settle(pilot, lambda a: isinstance(a.screen, StartScreen) and wizard.machine is not None)
        assert "a machine that will be bought" in words(wizard)
        headers = [header(wizard)]
        await pilot.press("1")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        await paste(pilot, "Planned")
        for _ in range(len(wizard.steps)):
            headers.append(header(wizard))
            await pilot.press("f4")
            await settle(pilot)
        assert isinstance(wizard.screen, SmokeScreen)
        assert "for another one (SIM)" in words(wizard)
        headers.append(header(wizard))
        await pilot.press("f6")
        await settle(pilot, lambda a: isinstance(a.screen, ReviewScreen) and wizard.checked is not None)
        headers.append(header(wizard))
        await pilot.press("p")
        await settle(pilot, lambda a: isinstance(a.screen, PreviewScreen))
        headers.append(header(wizard))
        assert [line for line in headers if " SIM " not in line] == []
        assert "a machine that will be bought, from the catalogue" in wizard.screen._text  # type: ignore[attr-defined]


async def test_a_session_for_another_machine_goes_on_with_that_machine_until_this_one_is_chosen() -> None:
    earlier = Session()
    earlier.set("project.title", "Planned")
    earlier.where = "plan:L40Sx4"
    earlier.save()
    app = WizardApp(way="resume")
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.machine is not None)
        assert (len(app.machine.gpus), " SIM " in header(app)) == (4, True)  # type: ignore[union-attr]
        app.ask_machine()
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await pilot.press("down", "down", "home", "enter")
        await settle(pilot, lambda _: app.machine is not None and not app.reading_machine)
        assert (len(app.machine.gpus), " SIM " in header(app)) == (2, False)  # type: ignore[union-attr]
    assert Session.resume(listed()[0].path).where == ""


async def test_the_smoke_is_looked_at_again_once_this_machine_is_chosen_again(tmp_path: Path) -> None:
    app = WizardApp(way="new", where="plan:L40Sx4", vllm=tmp_path / "none")
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen) and app.machine is not None)
        app.replace(SmokeScreen())
        await settle(pilot, lambda a: "for another one (SIM)" in words(a))
        assert '"Another machine", then "This machine again"' in words(app)
        app.plan_for("")
        await settle(pilot, lambda _: app.machine is not None and not app.reading_machine)
        await settle(pilot, lambda a: app.smoke.status != "planning" and "SIM" not in words(a))


async def test_a_recorded_machine_is_named_by_its_file(wizard: WizardApp, tmp_path: Path) -> None:
    (tmp_path / "box.json").write_text(recorded_text(machine(GPU)), encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("4")
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await paste(pilot, "box.json")
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, StartScreen) and wizard.machine is not None)
        assert "SIM  box.json: a machine recorded elsewhere" in words(wizard)


async def test_many_gpus_that_are_alike_stand_in_one_line_of_80_columns(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.plan_for("plan:H100 SXM5 80GBx8")
        await settle(pilot, lambda a: "GPU 0-7" in words(a))
        assert "usable" in next(line for line in words(wizard).splitlines() if "GPU 0-7" in line)


async def test_a_number_and_a_name_of_several_types_lead_to_the_list_of_them(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.ask_machine()
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await pilot.press("enter")
        await settle(pilot, lambda a: "Nothing is typed yet" in words(a))
        await paste(pilot, "2 x h200")
        await pilot.press("enter")
        await settle(pilot, lambda a: "h200 stands for several types" in words(a))
        assert "How many GPUs" in words(wizard)
        chosen = next(line for line in words(wizard).splitlines() if "> " in line).split("> ")[1].strip("│ ")
        await pilot.press("enter", "enter")
        await settle(pilot, lambda a: isinstance(a.screen, StartScreen) and wizard.machine is not None)
        assert wizard.where == f"plan:{chosen}x2"


async def test_down_goes_to_the_list_of_types(wizard: WizardApp) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.ask_machine()
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await pilot.press("down")
        assert isinstance(wizard.focused, Listing)


@pytest.mark.parametrize("typed", ["[/", "no such GPU", "a\x1b[2J", "nothing.json"])
async def test_a_machine_that_is_none_is_explained_at_its_field(wizard: WizardApp, typed: str) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("4")
        await settle(pilot, lambda a: isinstance(a.screen, ElsewhereScreen))
        await paste(pilot, typed)
        await pilot.press("enter", "enter")
        await settle(pilot)
        assert isinstance(wizard.screen, ElsewhereScreen)
        assert str(wizard.screen.query_one("#problem").render()) != ""
        assert wizard.where == ""


def test_the_command_line_refuses_a_machine_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["--machine", "plan:nothing"]) == 2
    assert 'There is no GPU "nothing"' in capsys.readouterr().err


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    models = {"data": [{"id": MODEL, "root": MODEL, "owned_by": "vllm", "max_model_len": 8192}]}
    with serving() as made:
        made.answers["/v1/models"] = (200, json.dumps(models))
        made.answers["/version"] = (200, '{"version": "0.31.0"}')
        yield made


async def test_a_delivery_is_checked_and_reported(wizard: WizardApp, tmp_path: Path, endpoint: Endpoint) -> None:
    selection = good_selection()
    (tmp_path / "p.selection.json").write_text(to_json(selection), encoding="utf-8")
    (tmp_path / "p.md").write_text(render(selection), encoding="utf-8")
    (tmp_path / "box.json").write_text(recorded_text(machine(GPU, GPU, GPU, GPU)), encoding="utf-8")
    (tmp_path / "server.log").write_text(log_text(), encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("5")
        await settle(pilot, lambda a: isinstance(a.screen, FieldsScreen))
        for text in ("p.selection.json", endpoint.client.base, "", "box.json", "server.log"):
            if text:
                await paste(pilot, text)
            await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, DeliveryScreen) and "Of " in words(a))
        first = next(line for line in words(wizard).splitlines() if line.startswith(">"))
        assert first.startswith("> different")
        await pilot.press("f1")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen) and "approved" in words(a))
        await pilot.press("escape", "w")
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen))
    assert "0.31.0" in Path("p.acceptance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "said"),
    [("nothing.selection.json", "does not exist"), ("[/\x00", "does not exist")],
    ids=["none", "hostile"],
)
async def test_a_delivery_that_cannot_be_checked_is_explained(wizard: WizardApp, typed: str, said: str) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.ask_delivery()
        await settle(pilot, lambda a: isinstance(a.screen, FieldsScreen))
        await paste(pilot, typed)
        await pilot.press("f4")
        await settle(pilot, lambda a: isinstance(a.screen, DeliveryScreen) and "looking" not in words(a))
        assert said in words(wizard)


async def test_the_log_of_a_vllm_is_explained(wizard: WizardApp) -> None:
    Path("server.log").write_text(LOG + "\x1b[2J [/\n", encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("6")
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await paste(pilot, "server.log")
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen))
        assert "runtime.settings.max_model_len = 8192" in words(wizard)


@pytest.mark.parametrize("name", ["nothing.log", "[/", "a\x1bb"])
async def test_a_log_that_cannot_be_read_is_explained(wizard: WizardApp, name: str) -> None:
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.ask_log()
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await paste(pilot, name)
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, WhyScreen) and "cannot be read" in words(a))


async def test_an_earlier_selection_opens_with_what_changed_the_machine_included(wizard: WizardApp) -> None:
    Path("v1.selection.json").write_text(to_json(full()), encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("3")
        await settle(pilot, lambda a: isinstance(a.screen, PathScreen))
        await paste(pilot, "v1.selection.json")
        await pilot.press("enter")
        await settle(pilot, lambda a: isinstance(a.screen, ChangesScreen) and wizard.since is not None)
        assert "next version of that selection" in words(wizard)
        wizard.plan_for("plan:L40Sx4")
        await settle(pilot, lambda a: "machine.gpus" in words(a))
        await pilot.press("f4")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        await at(pilot, wizard, "runtime.layout.spare_replicas")
        await pilot.press("ctrl+u", "3", "enter", "f6", "d")
        await settle(pilot, lambda a: "runtime.layout.spare_replicas" in words(a))


async def test_an_earlier_selection_for_a_planned_machine_opens_for_that_machine(wizard: WizardApp) -> None:
    selection = full().model_copy(update={"machine": planned("L40Sx2"), "smoke": None})
    Path("v1.selection.json").write_text(to_json(selection), encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.open_files([Path("v1.selection.json")], resumed=False)
        await settle(pilot, lambda a: isinstance(a.screen, ChangesScreen) and wizard.since is not None)
        assert (wizard.where, " SIM " in header(wizard)) == ("plan:NVIDIA L40Sx2", True)


async def test_an_earlier_selection_for_a_recorded_machine_that_is_gone_says_so(wizard: WizardApp) -> None:
    selection = full().model_copy(update={"machine": machine(GPU).model_copy(update={"recorded": True})})
    Path("v1.selection.json").write_text(to_json(selection), encoding="utf-8")
    async with wizard.run_test(size=NARROW) as pilot:
        await settle(pilot)
        wizard.open_files([Path("v1.selection.json")], resumed=False)
        await settle(pilot, lambda a: isinstance(a.screen, ChangesScreen) and wizard.since is not None)
        lines = str(wizard.screen.query_one("#lines").render())
        assert "! v1.selection.json is for a recorded machine" in lines
