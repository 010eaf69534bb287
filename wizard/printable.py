"""Text of a person, a driver or a log as a terminal may show it. Imports nothing, as the first screen needs it."""

#: A line break inside a value, shown in a field of one line.
LINE_BREAK = "⏎"


def printable(text: str) -> str:
    """Return the text without what would steer a terminal; each such character becomes a visible one."""
    return "".join(char if char.isprintable() else "�" for char in text.replace("\n", LINE_BREAK))


def fitted(text: str, width: int) -> str:
    """Cut a text to a number of characters, with a sign that it was cut."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…" if width > 0 else ""
