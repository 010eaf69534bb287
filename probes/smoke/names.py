"""Texts from elsewhere: whether they can be written, and names of models as servers and result files give them."""

from __future__ import annotations

MOST_CHARACTERS = 500


def is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8; half of a surrogate pair, which JSON can hold, cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_usable_name(name: str) -> bool:
    """Whether a name can stand in a command and in a file: encodable, of sensible length, no option."""
    return 1 <= len(name) <= MOST_CHARACTERS and name[0] != "-" and "\0" not in name and is_encodable(name)
