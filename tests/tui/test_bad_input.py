"""Text that no form expects: nothing crashes, it is shown as text, and the field explains it."""

import json

import pytest

from tests.tui.conftest import at, paste, settle, words
from wizard.app import WizardApp
from wizard.screens.modals import UnknownScreen
from wizard.screens.step import StepScreen
from wizard.sessions.session import Session

HOSTILE = ["[/", "[b]x[/b]", "a\x1b[2J\x07\x00", "مرحبا שלום", "👩‍💻🚀", "two\nlines"]
KEYS = {
    "a number": "runtime.workload.concurrency",
    "several texts": "runtime.settings.extra_flags",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
async def test_text_that_no_form_expects_is_kept_shown_and_explained(new: WizardApp, key: str) -> None:
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        for text in HOSTILE:
            await pilot.press("ctrl+u")
            await paste(pilot, text)
            await pilot.press("enter")
            await settle(pilot)
            assert new.session.raw(key) != ""
            explained = key in new.session.rejected or new.session.place(key).state == "answered"
            assert explained
            assert "\x1b" not in words(new)
            new.go_to(key)
            await settle(pilot, lambda a: getattr(a.focused, "key", "") == key)
        await pilot.press("f6", "f1")
        await settle(pilot)


async def test_a_pasted_page_of_digits_is_kept_and_explained(new: WizardApp) -> None:
    key = "budget.runtime.items[0].unit_price"
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, key)
        await paste(pilot, "9" * 100_000)
        await pilot.press("enter")
        await settle(pilot, lambda a: "must be a number" in words(a))
        assert len(new.session.raw(key)) == 100_000


@pytest.mark.parametrize("text", ["[/", "[b]", "مرحبا", "👩‍💻", "a\x1b[2J"])
async def test_a_colleague_may_have_any_name(new: WizardApp, text: str) -> None:
    async with new.run_test(size=(80, 24)) as pilot:
        await at(pilot, new, "runtime.owner")
        await pilot.press("f2", "k")
        await settle(pilot, lambda a: isinstance(a.screen, UnknownScreen))
        await paste(pilot, text)
        await pilot.press("enter", "enter")
        await settle(pilot, lambda a: isinstance(a.screen, StepScreen))
        assert "asked" in words(new)


async def test_choices_of_another_version_are_shown_as_text_and_explained() -> None:
    earlier = Session()
    earlier.set("project.title", "Desk")
    earlier.set("runtime.workload.profile", "agent")
    earlier.set("engine.options[0].name", "vLLM")
    earlier.set("engine.options[0].gates.Licence policy", "pass")
    earlier.save()
    data = json.loads(earlier.path.read_text(encoding="utf-8"))
    text = json.dumps(data).replace('"agent"', '"[/swarm"').replace('"pass"', '"perhaps"')
    earlier.path.write_text(text, encoding="utf-8")
    app = WizardApp(way="resume")
    async with app.run_test(size=(80, 24)) as pilot:
        gate = "engine.options[0].gates.Licence policy"
        for key, raw in (("runtime.workload.profile", "[/swarm"), (gate, "perhaps")):
            await at(pilot, app, key)
            shown = words(app)
            assert raw in shown
            assert "must be one of" in shown
