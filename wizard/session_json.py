"""A tree of answers as JSON and back, so that numbers keep the text they were typed as and dates stay dates."""

import datetime
from typing import Any

from wizard.answers import NumberText


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
