"""Two types of money that look alike and never mix.

Money of line E and money of line R are different types: adding one to the other raises `TypeError`, so that
a figure of both lines cannot be computed anywhere, `sum` included.
"""

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Self

from pydantic import BaseModel, ConfigDict, field_serializer, field_validator

from wizard.currencies import minor_digits

#: Enough digits for the product of two greatest amounts of an answers file (18 digits each), with room to
#: divide.
ARITHMETIC = Context(prec=60, rounding=ROUND_HALF_UP)


def _plain(value: Decimal) -> str:
    return format(value, "f")


class _Money(BaseModel):
    """An amount in one currency, at full precision until `rounded`; only its two heirs are used."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    amount: Decimal
    currency: str

    @field_validator("amount")
    @classmethod
    def _finite(cls, value: Decimal) -> Decimal:
        if not value.is_finite():
            raise ValueError("must be a finite amount")
        return value

    @field_serializer("amount")
    def _as_plain(self, value: Decimal) -> str:
        return _plain(value)

    def _same(self, other: object) -> Decimal:
        """Return the amount of `other`, which must be of this very type and currency.

        Raises `TypeError` for anything else, the other line's money above all, and `ValueError` for another
        currency.
        """
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__} cannot be added to {type(other).__name__}")
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} cannot be added to {other.currency} without a dated rate")
        return other.amount

    def __add__(self, other: Self) -> Self:
        return self.with_amount(ARITHMETIC.add(self.amount, self._same(other)))

    def __radd__(self, other: int) -> Self:
        # `sum` starts from 0; every other left side is an error.
        if type(other) is int and other == 0:
            return self
        raise TypeError(f"{type(self).__name__} cannot be added to {type(other).__name__}")

    def with_amount(self, amount: Decimal) -> Self:
        """Make another amount of the same type and currency."""
        return type(self)(amount=amount, currency=self.currency)

    def times(self, factor: Decimal | int) -> Self:
        """Multiply by a plain number, not rounded."""
        return self.with_amount(ARITHMETIC.multiply(self.amount, Decimal(factor)))

    def over(self, divisor: Decimal | int) -> Self:
        """Divide by a plain number, not rounded; raises `ZeroDivisionError` for 0."""
        return self.with_amount(ARITHMETIC.divide(self.amount, Decimal(divisor)))

    def rounded(self, digits: int | None = None) -> Self:
        """Round half up to the currency's minor unit, or to `digits` after the point."""
        places = minor_digits(self.currency) if digits is None else digits
        return self.with_amount(self.amount.quantize(Decimal(1).scaleb(-places), context=ARITHMETIC))

    def plain(self) -> str:
        """Write the amount as a plain decimal at the minor unit, as JSON carries it: 12345.67."""
        return _plain(self.rounded().amount)

    def number(self, digits: int | None = None) -> str:
        """Write the amount with separators, without the currency: 12,345.67."""
        return f"{self.rounded(digits).amount:,f}"

    def text(self, digits: int | None = None) -> str:
        """Write it as the document does: EUR 12,345.67."""
        return f"{self.currency} {self.number(digits)}"

    def exact_text(self) -> str:
        """Write every digit that was given, at least the minor unit: EUR 3.1700 stays as quoted."""
        exponent = self.amount.as_tuple().exponent
        given = -exponent if isinstance(exponent, int) else 0
        return self.text(max(given, minor_digits(self.currency)))

    def __str__(self) -> str:
        return self.text()


class EngineMoney(_Money):
    """Money of line E."""


class RuntimeMoney(_Money):
    """Money of line R."""
