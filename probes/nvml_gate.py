"""The one door to NVML: how a question is put, and what becomes of it. Runs in the child; standard library only."""

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

# Return codes, as in nvml.h.
INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, TIMEOUT = 2, 3, 4, 6, 10
FUNCTION_NOT_FOUND, GPU_IS_LOST, VERSION_MISMATCH, DEPRECATED = 13, 15, 25, 26

WHY_BY_CODE = {
    NOT_SUPPORTED: "not_supported",
    NO_PERMISSION: "no_permission",
    TIMEOUT: "timeout",
    FUNCTION_NOT_FOUND: "driver_too_old",
    GPU_IS_LOST: "lost",
    VERSION_MISMATCH: "driver_too_old",
    DEPRECATED: "deprecated",
}
_ASK_OLDER_CALL = ("driver_too_old", "deprecated")

Answer = dict[str, Any]
"""What became of one question: `value` or `why`, `source`, and NVML's `code`."""


class Ask(NamedTuple):
    """One question: a `pynvml` function or ours, what follows the handle, what to make of the answer.

    `or_when` are reasons besides an old driver for which the next question is put.
    """

    call: str
    args: tuple[Any, ...] = ()
    convert: Callable[[Any], Any] = lambda value: value
    function: Callable[..., Any] | None = None
    or_when: tuple[str, ...] = ()


class Gate:
    """Announces every call and turns every way in which it fails into an `Answer`."""

    def __init__(self, pynvml: Any, emit: Callable[[Answer], None]) -> None:
        self.pynvml = pynvml
        self.emit = emit
        # NVMLLibraryMismatchError and the others are no subclasses of NVMLError.
        self.caught = (
            pynvml.NVMLError,
            getattr(pynvml, "NVMLLibraryMismatchError", pynvml.NVMLError),
            UnicodeDecodeError,
            AttributeError,
            ctypes.ArgumentError,
        )

    def ask(self, gpu: int | None, asks: Iterable[Ask], *before: Any) -> Answer:
        """Put the first of `asks`, the next only where the driver does not know the former."""
        answer: Answer = {}
        for ask in asks:
            answer = self._put(gpu, ask, *before)
            if answer["why"] not in (*_ASK_OLDER_CALL, *ask.or_when):
                break
        return answer

    def _put(self, gpu: int | None, ask: Ask, *before: Any) -> Answer:
        self.emit({"event": "at", "gpu": gpu, "call": ask.call})
        answer: Answer = {"value": None, "why": None, "source": f"nvml:{ask.call}"}
        try:
            function = ask.function or getattr(self.pynvml, ask.call)
            value = ask.convert(function(*before, *ask.args))
            if value is None:
                return answer | {"why": "not_supported"}
            return answer | {"value": value.decode(errors="replace") if isinstance(value, bytes) else value}
        except self.caught as error:
            return answer | self._reason(error)

    def _reason(self, error: BaseException) -> Answer:
        if isinstance(error, UnicodeDecodeError):
            return {"value": error.object.decode(errors="replace"), "corrupt": True}
        if isinstance(error, self.pynvml.NVMLError):
            # Objects of NVMLError are unhashable and cannot be compared with others: only the number counts.
            code = getattr(error, "value", None)
            return {"why": WHY_BY_CODE.get(code, "unknown") if code is not None else "unknown", "code": code}
        if isinstance(error, self.caught[1]):
            return {"why": "driver_too_old"}
        return {"why": "unknown"}  # the binding lacks the function, or was given the wrong type
