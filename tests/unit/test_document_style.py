"""The golden documents obey the common rules of Markdown style, as pymarkdown checks them."""

from pathlib import Path

import pytest
from pymarkdown.api import PyMarkdownApi

GOLDEN = Path(__file__).parents[1] / "golden"
#: Not asked for: a width of lines (a table row is one line), and padded tables (one long cell would widen every row).
_NOT_ASKED = ("md013", "md060")


@pytest.mark.parametrize(
    "name",
    [
        "full.brief",
        "almost_empty.brief",
        "almost_empty",
        pytest.param("full", marks=pytest.mark.soak),
        pytest.param("two_nodes", marks=pytest.mark.soak),
    ],
)
def test_a_golden_document_has_no_fault_of_style(name: str) -> None:
    api = PyMarkdownApi().enable_extension_by_identifier("markdown-tables")
    for rule in _NOT_ASKED:
        api = api.disable_rule_by_identifier(rule)
    found = api.scan_path(str(GOLDEN / f"{name}.md"))
    assert [(fault.line_number, fault.rule_id, fault.rule_description) for fault in found.scan_failures] == []
