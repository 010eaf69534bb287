"""Text of a person, a driver or a log as a terminal may show it. Imports nothing, as the first screen needs it."""

#: A line break inside a value, shown in a field of one line.
LINE_BREAK = "⏎"


def printable(text: str) -> str:
    """Return the text without what would steer a terminal; each such character becomes a visible one."""
    return "".join(char if char.isprintable() else "�" for char in text.replace("\n", LINE_BREAK))
