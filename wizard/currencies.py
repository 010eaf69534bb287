"""The currencies of ISO 4217: the codes that amounts can be paid in, and the minor unit of each."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _list() -> dict[str, Any]:
    return tomllib.loads((files("wizard.catalogue") / "currencies.toml").read_text(encoding="utf-8"))


@cache
def _digits() -> dict[str, int]:
    return {code: int(digits) for digits, codes in _list()["minor_digits"].items() for code in codes}


def is_currency(code: str) -> bool:
    """Whether amounts can be paid in `code` at the day of the list; a code that was withdrawn is none."""
    return code in _digits()


def minor_digits(currency: str) -> int:
    """Digits after the point of `currency`: JPY 0, KWD 3, most 2; 2 for a code that the list does not have."""
    return _digits().get(currency, 2)


def list_date() -> str:
    """The day of the list, as ISO date: what is newer is not known here."""
    return str(_list()["list_date"])
