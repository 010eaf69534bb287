"""How one answer is declared: its type, its title, why it is asked, and its unit.

The answer models carry the questions with them. `wizard.asking.questions` reads them from here, so that the form, the
answers file, the JSON Schema and the list of what is missing are one list and cannot drift apart.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

#: A plain amount as a person writes it: no sign, exponent, separator or currency symbol. `Decimal` alone would also
#: take "NaN", "1e400", "1_000" and full-width digits.
PLAIN_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
#: A rate between currencies has more digits after the point: one VND is some millionths of a KWD.
PLAIN_RATE = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")


class NumberText(str):
    """The literal text of a number in a TOML file, so that 3.9900 stays 3.9900 and never becomes a binary float."""

    __slots__ = ()


def _text(value: object) -> object:
    if isinstance(value, bool | int | float):
        raise ValueError("is not text: put it in quotes")
    return value


def _amount(value: object) -> object:
    if isinstance(value, bool | float):
        raise ValueError("must be a plain number such as 1250 or 3.99")
    text = str(value).strip()
    if not PLAIN_AMOUNT.fullmatch(text):
        raise ValueError(
            "must be a plain number such as 1250 or 3.99: digits and one point, "
            "at most 12 digits before it and 6 after it"
        )
    return Decimal(text)


def _rate(value: object) -> object:
    if isinstance(value, bool | float) or not PLAIN_RATE.fullmatch(str(value).strip()):
        raise ValueError("must be a plain number such as 0.8612: digits and one point, at most 12 digits after it")
    return Decimal(str(value).strip())


def _currency(value: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", value):
        raise ValueError("must be a three-letter ISO 4217 code such as EUR or USD")
    from wizard.currencies import is_currency, list_date  # only who types a currency needs the list

    if not is_currency(value):
        raise ValueError(f"is no currency of ISO 4217, list of {list_date()}")
    return value


Text = Annotated[str, BeforeValidator(_text), StringConstraints(strip_whitespace=True, max_length=20_000)]
Count = Annotated[int, Field(ge=1, le=10**12)]
CountOrNone = Annotated[int, Field(ge=0, le=10**12)]
Share = Annotated[float, Field(gt=0, le=1)]
Milliseconds = Annotated[float, Field(gt=0, le=10**9)]
Amount = Annotated[Decimal, BeforeValidator(_amount)]
Percent = Annotated[Decimal, BeforeValidator(_amount), Field(ge=0, le=1000)]
ExchangeRate = Annotated[Decimal, BeforeValidator(_rate), Field(gt=0)]
Currency = Annotated[str, AfterValidator(_currency)]


def ask(title: str, why: str, *, unit: str | None = None, advanced: bool = False, default: Any = None) -> Any:
    """Declare an answer that may be left open.

    `title` stands alone as the question; `why` says what changes in the document or the cost when it is answered
    differently; `unit` is the unit of a number. `advanced` questions are not asked in the short way.
    """
    return Field(
        default=default,
        title=title,
        description=why,
        json_schema_extra={"unit": unit, "advanced": advanced},
    )


def rows(title: str, why: str, *, advanced: bool = False) -> Any:
    """Declare a list, such as `[[engine.models]]`; empty means not given, and is open unless it is `advanced`."""
    return Field(default=(), title=title, description=why, json_schema_extra={"unit": None, "advanced": advanced})


class Table(BaseModel):
    """One table of the answers file. Unknown keys are errors; every value may be missing, and missing is None."""

    # The questions are there at once; the validator, which takes longer, is built when a first answer is checked.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    #: The section of the wizard that asks for this table (see `wizard.asking.questions.SECTIONS`).
    section: ClassVar[str] = ""

    @classmethod
    def nothing(cls) -> Self:
        """No answer at all, with no need of the validator."""
        inner: dict[str, Any] = {
            name: table.nothing()
            for name, field in cls.model_fields.items()
            if isinstance(table := field.annotation, type) and issubclass(table, Table)
        }
        return cast("Self", cls.model_construct(_fields_set=set(), **inner))

    @model_validator(mode="before")
    @classmethod
    def _drop_blank(cls, value: object) -> object:
        """An empty text is an answer not given: a blank answers file is full of them."""
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in value.items() if item != ""}
