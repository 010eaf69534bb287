"""Places in a tree of answers: reading, setting and removing the value behind a key such as `engine.models[0].name`."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]

_PART = re.compile(r'"([^"]*)"|([^.\[\]"]+)|\[(\d+)\]')


def named(table_key: str, name: str) -> str:
    """The key of one name in a table of names; a name with marks of a key in it stands in quotes."""
    return f'{table_key}."{name}"' if re.search(r"[.\[\]]", name) else f"{table_key}.{name}"


def path_of(key: str) -> list[str | int]:
    """Split a key into names and row numbers."""
    return [int(number) if number else quoted or name for quoted, name, number in _PART.findall(key)]


def get(tree: Tree, key: str) -> Any:
    """Return the value at the key; None where there is none."""
    value: Any = tree
    for part in path_of(key):
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def put(tree: Tree, key: str, value: Any) -> None:
    """Set the value at the key; tables and rows on the way are made."""
    path = path_of(key)
    at: Any = tree
    for part, following in itertools.pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(part, int):
            _lengthen(at, part)
            at = at[part]
        else:
            at = at.setdefault(part, empty)
    last = path[-1]
    if isinstance(last, int):
        _lengthen(at, last)
    at[last] = value


def drop(tree: Tree, key: str) -> Any:
    """Remove the value at the key and return it; tables that become empty go too, rows stay."""
    path = path_of(key)
    stack: list[tuple[Any, str | int]] = []
    at: Any = tree
    for part in path:
        inside = (
            part < len(at) if isinstance(part, int) and isinstance(at, list) else isinstance(at, dict) and part in at
        )
        if not inside:
            return None
        stack.append((at, part))
        at = at[part]
    holder, name = stack.pop()
    value = holder.pop(name)
    while stack and holder == {}:
        holder, name = stack.pop()
        if isinstance(holder, list):
            break
        holder.pop(name)
    return value


def shifted(key: str, rows: str, removed: int) -> str | None:
    """Return the key after row `removed` of the list `rows` has gone; None where it stood in that row."""
    if not key.startswith(f"{rows}["):
        return key
    number, _, rest = key[len(rows) + 1 :].partition("]")
    if int(number) == removed:
        return None
    return f"{rows}[{int(number) - 1}]{rest}" if int(number) > removed else key


def scalars(value: Any, at: str = "") -> Iterator[str]:
    """The keys of all values of a tree; a list of texts and a table of a row's own names count as one value."""
    for name, item in value.items():
        key = f"{at}.{name}" if at else name
        if isinstance(item, dict):
            yield from scalars(item, key)
        elif isinstance(item, list) and item and all(isinstance(row, dict) for row in item):
            for index, row in enumerate(item):
                yield from scalars(row, f"{key}[{index}]")
        elif item not in ({}, []):
            yield key


def _lengthen(rows: Any, index: int) -> None:
    while len(rows) <= index:
        rows.append({})
