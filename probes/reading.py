"""One value read from a machine, with where it came from, or the reason why it is absent."""

from typing import Generic, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, model_validator

T = TypeVar("T")

Why = Literal[
    "not_supported",  # the device or the driver says that it has no such value
    "no_permission",  # the driver knows and does not tell this user or this container
    "lost",  # the device has left the bus
    "unknown",  # the driver, or selwiz, cannot say more
    "driver_too_old",  # the driver does not know the call
    "deprecated",  # the driver knows the call and no longer answers it
    "timeout",  # not answered, or not reached, within the time limit
    "not_asked",  # selwiz did not ask
    "not_in_capture",  # the recorded machine does not hold it
    "single_gpu",  # the question needs two GPUs
    "known_on_delivery",  # a machine that will be bought; no catalogue knows it
]
"""Every reason for which a reading may be absent."""

PLAN = "plan"
"""The source of every reading of a machine that will be bought."""

WHYS: tuple[str, ...] = get_args(Why)


class Reading(BaseModel, Generic[T]):
    """A value and its source, or the reason why there is none and who was asked.

    Exactly one of `value` and `why` is set, so an absent value can never be taken for a zero. `source` is
    `nvml:<call>`, `proc:<path>`, `sys:<path>`, `derived:<formula>`, `recorded`, `plan` or a like word.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: T | None = None
    why: Why | None = None
    source: str

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.value is None) == (self.why is None):
            raise ValueError("a reading has a value or a reason why it is absent, and never both")
        return self

    @classmethod
    def of(cls, value: T, source: str) -> "Reading[T]":
        """Make a reading that holds `value`, read from `source`."""
        return cls(value=value, source=source)

    @classmethod
    def absent(cls, why: Why, source: str) -> "Reading[T]":
        """Make a reading without a value: `source` was asked and `why` is the reason."""
        return cls(why=why, source=source)

    @property
    def known(self) -> bool:
        """Whether there is a value (it may be 0 or false)."""
        return self.value is not None
