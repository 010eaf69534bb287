"""A line of a list that only names what follows: the face draws it apart and never puts the focus on it."""


class Heading(str):
    """The text of such a line."""

    __slots__ = ()
