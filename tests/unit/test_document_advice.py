"""What the document says of support and of typed flags, from what each vLLM version answered."""

from typing import Any

import pytest

from tests.unit.selections import FACTS, good_selection
from wizard.document.context.strategies import architecture, configuration


def _support(name: str, **changes: Any) -> tuple[str, str]:
    selection = good_selection(**changes).model_copy(update={"smoke": None})
    cells = architecture(selection, FACTS.model_copy(update={"architecture": name}), "engine.models[0]", 0)
    return cells[3], cells[4].split(",")[0]


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("LlamaForCausalLM", {}, "yes, in the list of vLLM 0.33.0"),
        ("LlamaForCausalLM", {"runtime.version": "0.32.0+cpu"}, "yes, in the list of vLLM 0.32.0"),
        ("UnheardOfForCausalLM", {}, "not in the list of vLLM 0.33.0"),
        (
            "LlamaForCausalLM",
            {"engine.chosen": "SGLang"},
            "not checked: its list of architectures is not in the catalogue",
        ),
    ],
)
def test_support_is_what_the_version_lists(name: str, changes: dict[str, Any], words: str) -> None:
    assert _support(name, **changes)[0] == words


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({"runtime.settings.extra_flags": ["--x"], "runtime.version": "9.9.9"}, "9.9.9"),
        ({"runtime.settings.extra_flags": ["--x"]}, None),
        ({"runtime.version": "9.9.9"}, None),
    ],
)
def test_typed_flags_of_a_version_without_a_list_are_said_to_be_unchecked(
    changes: dict[str, Any], version: str | None
) -> None:
    assert configuration(good_selection(**changes))["unlisted"] == version
