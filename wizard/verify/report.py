"""The checks as a table for a terminal, as JSON, and as a short Markdown report for an acceptance."""

import datetime
import re
from collections.abc import Sequence
from typing import Any

from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.markdown import Table, code, environment
from wizard.document.redact import redacted
from wizard.printable import fitted, printable
from wizard.verify.check import Check, Delivered, Verdict

_ORDER: tuple[Verdict, ...] = ("different", "not_visible", "same")
_LONGEST_CELL = 46
NOTHING_SEEN = "nothing seen"


def ordered(checks: Sequence[Check]) -> list[Check]:
    """Differences first, then what was not visible; else in the order of the document."""
    return sorted(checks, key=lambda check: _ORDER.index(check.verdict))


def matches(checks: Sequence[Check], *, strict: bool) -> bool:
    """Whether nothing differs; `strict`: whether everything was seen to be the same."""
    return all(check.verdict == "same" or (check.verdict == "not_visible" and not strict) for check in checks)


def as_json(checks: Sequence[Check], *, strict: bool) -> dict[str, Any]:
    """The result as `selwiz verify --json` prints it."""
    document = next((check.verdict for check in checks if check.what == "document.content_hash"), "not_visible")
    return {
        "schema_version": 1,
        "matches": matches(checks, strict=strict),
        "not_visible": _count(checks, "not_visible"),
        "document_hash": None if document == "not_visible" else document,
        "checks": [
            {
                "what": check.what,
                "approved": redacted(check.approved),
                "found": None if check.found is None else redacted(check.found),
                "verdict": check.verdict,
            }
            for check in checks
        ],
    }


def _count(checks: Sequence[Check], verdict: Verdict) -> int:
    return sum(check.verdict == verdict for check in checks)


def summary(checks: Sequence[Check]) -> str:
    """How many checks came out how, in one sentence."""
    different, hidden = _count(checks, "different"), _count(checks, "not_visible")
    words = "nothing differs" if not different else f"{different} differ{'s' if different == 1 else ''}"
    return f"Of {formats.counted(len(checks), 'check')} {words}, {hidden} could not be seen."


def as_lines(checks: Sequence[Check]) -> list[str]:
    """One aligned table, differences first."""
    rows = [("verdict", "what", "approved", "found", "touches")]
    rows += [
        (
            check.verdict.replace("_", " "),
            check.what,
            check.approved,
            (check.found or "") + (f" ({check.seen_in})" if check.seen_in else ""),
            check.touches,
        )
        for check in ordered(checks)
    ]
    shown = [tuple(_short(redacted(text)) for text in row) for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in shown] + [
        "",
        summary(checks),
    ]


def _short(text: str) -> str:
    return fitted(printable(" ".join(text.split())), _LONGEST_CELL)


def as_markdown(
    selection: Selection, delivered: Delivered, checks: Sequence[Check], moment: datetime.datetime, version: str
) -> str:
    """The report; `moment` is when the delivery was looked at, in UTC, `version` selwiz's own."""
    project = selection.answers.project
    context = {
        "title": project.title,
        "facts": Table(
            ("Item", "Value"),
            (
                ("Document id", formats.value(project.document_id)),
                ("Version of the document", formats.value(project.version)),
                ("Prepared on", formats.day(selection.prepared_on)),
                ("SHA-256 of the selection file", delivered.selection_hash),
                ("Looked at (UTC)", moment.strftime("%Y-%m-%d %H:%M")),
                ("Looked at what", formats.listed(delivered.looked_at) if delivered.looked_at else "nothing"),
                ("Made with", f"selwiz {version}"),
            ),
        ),
        "summary": summary(checks),
        "matches": matches(checks, strict=False),
        "different": _table(checks, "different"),
        "same": _table(checks, "same"),
        "hidden": _hidden(checks),
        "acceptance": Table(
            ("Accepted by", "Decision", "Date"), (("Owner of the runtime", " ", " "),), blank=("Decision", "Date")
        ),
    }
    text = environment().get_template("verify.md.j2").render(context)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _table(checks: Sequence[Check], verdict: Verdict) -> Table | None:
    rows = tuple(
        (code(check.what), check.approved, check.found or NOTHING_SEEN, check.seen_in or "nowhere", check.touches)
        for check in checks
        if check.verdict == verdict
    )
    return Table(("What", "Approved", "Found", "Seen in", "Touches"), rows) if rows else None


def _hidden(checks: Sequence[Check]) -> Table | None:
    rows = tuple(
        (code(check.what), check.approved, check.found or NOTHING_SEEN, check.would_show or "not known")
        for check in checks
        if check.verdict == "not_visible"
    )
    return Table(("What", "Approved", "Found", "What would show it"), rows) if rows else None
