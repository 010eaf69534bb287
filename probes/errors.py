"""Errors that a person can act on: one sentence and one remedy each."""


class ProbeError(Exception):
    """Something about a machine, a model or a runtime that the user can mend.

    `message` is one plain sentence, `remedy` says what to do about it. Neither holds a stack trace or a secret.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
