"""The currencies of ISO 4217, as its maintenance agency publishes them: the codes, and the minor unit of each."""

from functools import cache


@cache
def _digits() -> dict[str, int]:
    """Digits after the point by code. Metals, test codes and units of account have no minor unit and are left out."""
    from iso4217 import Currency  # reads its table when it is loaded, which only a check or a document needs

    return {currency.code: currency.exponent for currency in Currency if currency.exponent is not None}


def is_currency(code: str) -> bool:
    """Whether amounts can be paid in `code` today; a code that was withdrawn is none."""
    return code in _digits()


def minor_digits(currency: str) -> int:
    """Digits after the point of `currency`: JPY 0, KWD 3, most 2; 2 for a code that the list no longer has."""
    return _digits().get(currency, 2)


def list_date() -> str:
    """The day of the list, as ISO date: what is newer is not known here."""
    from iso4217 import __published__

    return __published__.isoformat()
