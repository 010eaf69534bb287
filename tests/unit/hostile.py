"""Text that tries to be more than text, and the example with it in every place where a person may type."""

import random
import tomllib
from collections.abc import Callable
from typing import Any

from tests.unit.document_selections import DAY, EVIDENCE, full, machine, select, smoke
from tests.unit.rule_mutations.budget import owned_inputs
from wizard.asking.answers_writer import render_answers
from wizard.asking.example import example_tree
from wizard.decision.selection import Selection
from wizard.document.markdown import plain

NASTY = [
    "a|b",
    "a\\|b\\",
    "x\\\\|y",
    "`a|b`",
    "line one\nline two\r\n\nline three",
    "# heading",
    "## Section 3: more",
    "- item\n- item",
    "1. item",
    "---",
    "===",
    "| a | b |\n|---|---|\n| c | d |",
    "```\nfence",
    "<img src=x onerror=alert(1)>",
    "<!-- comment",
    "[x](javascript:alert(1))",
    "[^1]: note",
    "![x](http://example.com/x.png)",
    "$x^2$ and $$y$$",
    "*bold* _it_ __b__ ~~s~~",
    "@somebody #12 owner/repo#3",
    "http://example.com www.example.com a@example.com",
    "{{ 7*7 }} {% raw %}",
    "&amp; &#124; &nbsp;",
    "a\u202eb\u200bc\u2028d\u0000e\u001b[31m",
    "\ud800",
    ":smile: :100:",
    "> quote",
    ": definition",
    "    code",
    "\t",
    "",
    "~~~",
    "é" * 3000,
    "+ plus",
    "12) twelve",
]

#: Parts of which the generated texts are put together: first what stands between spaces, then what holds some.
_TOKENS = r"""
| || \| \ ` `` ``` ~~~ * ** _ __ ~~ # ###### - + = > < --- === ]( [ ] ( ) ! % / ' " ... -- ^^ == ::: $ $$ \( & ; \n
<b> </td> </table> <script>alert(1)</script> <!-- --> <?php <![CDATA[ <details> <br/> <http://x.org>
[x](y) [x][y] [x]: [^1] [^1]: [x] ![x](y) javascript:alert(1) data:text/html,x {.class} {{7*7}} {{ }} {% %} {#c#}
http://example.com/a_b https://x.org www.example.com ftp://x a@example.com xmpp:a@b.c @name #12 o/r#3 :smile: $x$
&amp; &#124; &lt; &nbsp; 1. 1) 999999999. |---| |:-:| |a|b| word 0.5 é 中文 C:\x
"""
_SPACED = (
    *("\n", "\r\n", "\n\n", "\t", "    ", " ", "\n# ", "\n- ", "\n> ", "\n    ", "\n```\n", "\n---\n", "\n|---|\n"),
    *("\x00", "\x0b", "\x0c", "\x1b[31m", "\u00a0", "\u200b", "\u200f", "\u2028", "\u202e", "\ufeff", "\ufffd", ": x"),
    *("<img src=x onerror=y>", "<a href='x'>", "[x]: y", "- [ ] x", "* * *", "| a | b |", "e\u0301"),
)  # fmt: skip
_PARTS = (*_TOKENS.split(), *_SPACED)


def _generated(count: int) -> list[str]:
    chosen = random.Random(20261130)
    return ["".join(chosen.choices(_PARTS, k=chosen.randint(1, 6))) for _ in range(count)]


def _usable(texts: list[str]) -> tuple[str, ...]:
    """Each of them once, as a reader sees it; what is nothing to see, or no Unicode, is left out."""
    seen = {plain(text): text for text in texts if "\ud800" not in text}
    return tuple(text for line, text in seen.items() if line)


#: 1,500 texts, those chosen by hand first.
HOSTILE = _usable([*NASTY, *_generated(2000)])[:1500]
#: Those that every run of the tests uses.
SAMPLE = HOSTILE[:60]

#: Answers that are words from a list, dates, amounts, or names that other answers refer to.
_FIXED = frozenset(
    [
        "kind",
        "decision",
        "state",
        "frequency",
        "basis",
        "tax",
        "pricing",
        "view",
        "profile",
        "ownership",
        "licence_kind",
        "id",
        "carried_by",
        "included_in",
        "currency",
        "key",
        "gpu",
        "chosen",
        "product",
        "version",
        "name",
        "quantity",
        "contingency_of",
        "value",
        "rate",
        "unit_price",
    ]
)


def _fill(value: Any, text: Callable[[], str], path: str = "") -> Any:
    """The same answers with a text in every place where a person may type freely."""
    if isinstance(value, dict):
        return {key: _fill(item, text, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, text, path) for item in value]
    name = path.rpartition(".")[2]
    free = isinstance(value, str) and name not in _FIXED and ".scores" not in path and ".gates." not in path
    return text() if free else value


def whole_answers() -> dict[str, Any]:
    """The example as a tree, through the answers file, so that every text is the one a person would type."""
    tree = example_tree(DAY)
    rate = {"currency": "USD", "rate": "0.86", "source_ref": "x", "observed_on": DAY}
    tree["budget"]["engine"]["rates"] = [rate]
    tree["budget"]["runtime"] |= {"rates": [rate], "owned": owned_inputs()}
    return tomllib.loads(render_answers(tree, blanks=False), parse_float=str)


def filled(text: Callable[[], str]) -> Selection:
    """The example with `text()` in every answer and finding; which findings there are does not depend on it."""
    selection = select(_fill(whole_answers(), text), on=machine(), run=smoke(), evidence=EVIDENCE)
    findings = tuple(found.model_copy(update={"message": text(), "remedy": text()}) for found in full().findings)
    return selection.model_copy(update={"findings": findings})
