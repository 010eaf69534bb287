"""A session as JSON and back: numbers keep the text they were typed as, dates stay dates, and a secret is left out."""

import datetime
from typing import TYPE_CHECKING, Any

from wizard.answers import NumberText
from wizard.asking.answers_file import SECRET_FLAGS
from wizard.asking.place import Rejected
from wizard.asking.provenance import Origin

if TYPE_CHECKING:
    from wizard.sessions.session import Session

_TEXTS = ("step", "target", "saved_at", "smoke_dir", "earlier", "where")


def data_of(session: "Session") -> dict[str, Any]:
    """Everything of a session that its file keeps. Text that cannot be used and holds a secret is not kept."""
    kept = {key: value for key, value in session.rejected.items() if not _secret(value.raw)}
    return {
        "about": {"title": session.title, "answered": session.answered},
        **{name: getattr(session, name) for name in _TEXTS},
        "short": session.short,
        "reviewed": session.reviewed,
        "tree": encoded(session.tree),
        "origins": {key: origin.model_dump(exclude_none=True) for key, origin in session.origins.items()},
        "rejected": {key: {"raw": value.raw, "message": value.message} for key, value in kept.items()},
        "left_open": sorted(session.left_open),
    }


def fill(session: "Session", data: dict[str, Any]) -> None:
    """Put into a session what a file holds; what has another shape than ours is left out."""
    loaded = decoded(data.get("tree"))
    session.tree = loaded if isinstance(loaded, dict) else {}
    session.origins = _origins(data.get("origins"))
    rejected = data.get("rejected")
    for key, value in rejected.items() if isinstance(rejected, dict) else ():
        if isinstance(value, dict):
            session.rejected[str(key)] = Rejected(str(value.get("raw", "")), str(value.get("message", "")))
    left_open = data.get("left_open")
    session.left_open = {str(key) for key in left_open} if isinstance(left_open, list) else set()
    session.short = data.get("short") is True
    session.reviewed = data.get("reviewed") is True
    for name in _TEXTS:
        setattr(session, name, str(data.get(name) or ""))


def encoded(value: Any) -> Any:
    """The tree in JSON's types."""
    if isinstance(value, dict):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, NumberText):
        return {"$number": str(value)}
    if isinstance(value, datetime.date):
        return {"$date": value.isoformat()}
    return value


def decoded(value: Any) -> Any:
    """The tree as it was; what is no date or number of ours stays text."""
    if isinstance(value, dict):
        if set(value) == {"$number"}:
            return NumberText(value["$number"])
        if set(value) == {"$date"}:
            try:
                return datetime.date.fromisoformat(str(value["$date"]))
            except ValueError:
                return str(value["$date"])
        return {key: decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decoded(item) for item in value]
    return value


def _secret(text: str) -> bool:
    return any(flag in text for flag in SECRET_FLAGS)


def _origins(data: Any) -> dict[str, Origin]:
    found = {}
    for key, value in data.items() if isinstance(data, dict) else ():
        try:
            origin = Origin.model_validate(value)
        except ValueError:
            continue
        found[str(key)] = origin
    return found
