"""Reading answers files: TOML in, merged, checked as a whole, every value knowing the file it came from."""

import datetime
import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wizard.answers import Answers, NumberText
from wizard.asking.provenance import Origin
from wizard.asking.questions import questions
from wizard.asking.tree import Tree as Tree
from wizard.errors import UsageError
from wizard.printable import fitted

#: An answers file is written by people; a larger one is a mistake, such as a log given in its place.
MAX_BYTES = 5_000_000

#: Flags of vLLM that carry a secret, with the variable that is read instead (vLLM 0.33.0 entrypoints and envs).
SECRET_FLAGS = {"--api-key": "VLLM_API_KEY", "--hf-token": "HF_TOKEN"}

#: What makes two rows of a list in two files the same row.
_ROW_IDENTITY = {
    "budget.engine.items": "id",
    "budget.runtime.items": "id",
    "budget.engine.rates": "currency",
    "budget.runtime.rates": "currency",
    "governance.approvals": "role",
    "governance.open_questions": "key",
    "governance.ranges": "key",
    "governance.assumptions": "text",
    "governance.risks": "text",
    "project.drivers": "text",
}
_ROW_IDENTITY_ELSEWHERE = "name"


def row_identity(rows_key: str) -> str:
    """The field by which rows of a list such as `budget.engine.items` are told apart."""
    return _ROW_IDENTITY.get(rows_key, _ROW_IDENTITY_ELSEWHERE)


@dataclass(frozen=True)
class Layer:
    """One answers file: its name as the user gave it, its content, and the colleague who filled it, if it says so."""

    name: str
    tree: Tree
    author: str | None = None


@dataclass(frozen=True)
class Merged:
    """Several layers as one tree, with the origin of every value by its key."""

    tree: Tree
    origins: dict[str, Origin]


@dataclass(frozen=True)
class Problem:
    """One value that cannot be used: its key, the file it stands in, and what is wrong, in plain words."""

    key: str
    file: str
    message: str


class InvalidAnswersError(UsageError):
    """Some answers cannot be used; all of them are listed at once."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        count = "One value" if len(problems) == 1 else f"{len(problems)} values"
        lines = [f"  {p.key} ({p.file}): {p.message}" for p in problems]
        super().__init__(
            "\n".join([f"{count} in the answers cannot be used.", *lines]),
            "Correct them in the file; `selwiz schema` and `selwiz answers --blank` show what is allowed.",
        )


def read_layer(path: Path) -> Layer:
    """Read one answers file. A file that is absent, unreadable, too large or not TOML raises `UsageError`."""
    try:
        # A device has no size, so reading is bounded too.
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, so it is no answers file.", "Check the path.")
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            f"The answers file {path} does not exist.",
            f"`selwiz answers --example -o {path}` writes one to start from.",
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text.", "Save it as UTF-8; TOML knows no other encoding.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from None
    return parse_layer(text, str(path))


def parse_layer(text: str, name: str) -> Layer:
    """Read answers from text; `name` is shown in errors and kept as the origin of each value."""
    try:
        tree: Tree = _without_blanks(tomllib.loads(text, parse_float=NumberText))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not valid TOML: {error}.", "Text values stand in double quotes.") from None
    version = tree.pop("schema_version", 1)
    if version != 1:
        raise UsageError(
            f"{name} has schema_version {version!r}; this selwiz reads version 1.",
            "Use the selwiz that wrote the file.",
        )
    author = tree.pop("answered_by", None)
    return Layer(name=name, tree=tree, author=author if isinstance(author, str) and author else None)


def merge(layers: list[Layer]) -> Merged:
    """Merge answers files. The same key with different values in two files is an error that names both."""
    merged = Merged(tree={}, origins={})
    problems: list[Problem] = []
    for layer in layers:
        _merge_table(merged.tree, layer.tree, "", "", layer, merged.origins, problems)
    if problems:
        raise InvalidAnswersError(problems)
    return merged


def overlay(layers: list[Layer]) -> Merged:
    """Merge answers files of which a later one wins; rows keep the places that the first file gave them.

    A row that no earlier one has the name of belongs to the first earlier row that has no name yet.
    """
    merged = Merged(tree={}, origins={})
    for layer in layers:
        _merge_table(merged.tree, layer.tree, "", "", layer, merged.origins, None)
    return merged


def problems_of(tree: Tree) -> list[Problem]:
    """Every value of the tree that cannot be used; an empty list for answers that are good."""
    try:
        validate(Merged(tree=tree, origins={}))
    except InvalidAnswersError as error:
        return error.problems
    return []


def validate(merged: Merged) -> Answers:
    """Check all answers at once; raises `InvalidAnswersError` with every value that cannot be used."""
    problems = [*_reserved_names(merged), *_migration_names(merged), *_secrets(merged), *_ranges(merged)]
    try:
        answers = Answers.model_validate(merged.tree)
    except ValidationError as error:
        problems += [_problem(item, merged.origins) for item in error.errors(include_url=False)]
    if problems:
        raise InvalidAnswersError(problems)
    return answers


def _without_blanks(value: Any) -> Any:
    """Drop what a blank answers file holds: empty texts, and rows that are nothing but empty texts."""
    if isinstance(value, dict):
        inner = {key: _without_blanks(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item not in ("", {}, [])}
    if isinstance(value, list):
        return [item for item in (_without_blanks(item) for item in value) if item not in ("", {})]
    return value


def _merge_table(
    into: Tree,
    tree: Tree,
    path: str,
    at: str,
    layer: Layer,
    origins: dict[str, Origin],
    problems: list[Problem] | None,
) -> None:
    """Merge `tree` into `into`. `path` is the place without row numbers, `at` the same place with them.

    A value that stands already is a problem, or gives way where `problems` is None.
    """
    for name, value in tree.items():
        here, there = _join(path, name), _join(at, name)
        if isinstance(value, dict):
            mine = into.setdefault(name, {})
            if isinstance(mine, dict):
                _merge_table(mine, value, here, there, layer, origins, problems)
                continue
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            mine = into.setdefault(name, [])
            if isinstance(mine, list):
                _merge_rows(mine, value, here, there, layer, origins, problems)
                continue
        if name not in into or problems is None:
            into[name] = value
            origins[there] = Origin(layer="answers", detail=layer.name, author=layer.author, raw=_raw(value))
        elif into[name] != value or type(into[name]) is not type(value):
            first = origins[there].detail if there in origins else "another file"
            problems.append(Problem(there, layer.name, f"says {_shown(value)}, but {first} says {_shown(into[name])}"))


def _merge_rows(
    into: list[Tree],
    rows: list[Tree],
    path: str,
    at: str,
    layer: Layer,
    origins: dict[str, Origin],
    problems: list[Problem] | None,
) -> None:
    identity = row_identity(path)
    earlier = {row[identity]: index for index, row in enumerate(into) if isinstance(row.get(identity), str)}
    nameless = [n for n, row in enumerate(into) if not isinstance(row.get(identity), str)] if problems is None else []
    here: set[str] = set()
    for row in rows:
        name = row.get(identity)
        if isinstance(name, str) and identity == "id":
            if name in here and problems is not None:
                problems.append(
                    Problem(f"{at}.{identity}", layer.name, f"{name} stands twice; give each row its own id")
                )
            here.add(name)
        index = earlier.get(row[identity]) if isinstance(name, str) else None
        if index is None and nameless:
            index = nameless.pop(0)
        if index is None:
            index = len(into)
            into.append({})
        _merge_table(into[index], row, path, f"{at}[{index}]", layer, origins, problems)


def _reserved_names(merged: Merged) -> Iterator[Problem]:
    """Strategies are known by their ids; a mistyped one would silently be a strategy that no rule knows."""
    table = merged.tree.get("engine", {})
    given = table.get("strategies", {}) if isinstance(table, dict) else {}
    if not given or not isinstance(given, dict):
        return
    from wizard.catalogue.loader import strategies

    known = list(strategies())
    for name in given:
        if name not in known:
            key = f"engine.strategies.{name}"
            words = f"is not a known strategy{_nearest(name, known)}; known are {', '.join(known)}"
            yield Problem(key, _file_of(key, merged.origins), words)


def _migration_names(merged: Merged) -> Iterator[Problem]:
    """Work of a change is known by its id, and each id belongs to one line."""
    budget = merged.tree.get("budget", {})
    for name, letter in (("engine", "E"), ("runtime", "R")):
        given: Any = budget
        for part in (name, "migration", "days"):
            given = given.get(part, {}) if isinstance(given, dict) else {}
        if not isinstance(given, dict) or not given:
            continue
        from wizard.catalogue.loader import migrations

        known = [row.id for row in migrations().values() if row.line == letter]
        for work in given:
            if work not in known:
                key = f"budget.{name}.migration.days.{work}"
                words = f"is not work of line {letter}{_nearest(work, known)}; known are {', '.join(known)}"
                yield Problem(key, _file_of(key, merged.origins), words)


def _secrets(merged: Merged) -> Iterator[Problem]:
    """A key typed among the flags would go into the selection file and the evidence, which are mailed around."""
    runtime = merged.tree.get("runtime", {})
    settings = runtime.get("settings", {}) if isinstance(runtime, dict) else {}
    flags = settings.get("extra_flags", ()) if isinstance(settings, dict) else ()
    for flag in flags if isinstance(flags, list) else ():
        name = str(flag).split()[0].split("=")[0] if str(flag).split() else ""
        if name in SECRET_FLAGS:
            key = "runtime.settings.extra_flags"
            message = f"holds {name}, a secret; leave it out and set {SECRET_FLAGS[name]} where the runtime is started"
            yield Problem(key, _file_of(key, merged.origins), message)


def _ranges(merged: Merged) -> Iterator[Problem]:
    """A range is of a number that is asked, its ends are in order, and both could be the answer."""
    governance = merged.tree.get("governance", {})
    if not isinstance(governance, dict) or not governance.get("ranges"):
        return
    from wizard.asking.ranges import range_ends, range_problems

    for place, words in range_problems(merged.tree):
        yield Problem(place, _file_of(place, merged.origins), words)
    for place, key, tried in range_ends(merged.tree):
        try:
            Answers.model_validate(tried)
        except ValidationError as error:
            found = (_problem(item, merged.origins) for item in error.errors(include_url=False))
            yield from (Problem(place, _file_of(place, merged.origins), p.message) for p in found if p.key == key)


def _problem(error: Any, origins: dict[str, Origin]) -> Problem:
    key = ""
    for part in error["loc"]:
        key = f"{key}[{part}]" if isinstance(part, int) else _join(key, str(part))
    return Problem(key or "answers", _file_of(key, origins), _plain(error, key))


def _plain(error: Any, key: str) -> str:
    """What pydantic found, in words for somebody who has never heard of it."""
    kind, context, given = error["type"], error.get("ctx", {}), error.get("input")
    if kind == "extra_forbidden":
        return f"is not a known key{_nearest(_generic(key), _known_keys())}"
    message = {
        "greater_than_equal": f"must be {context.get('ge')} or more",
        "greater_than": f"must be more than {context.get('gt')}",
        "less_than_equal": f"must be {context.get('le')} or less",
        "literal_error": f"must be one of {str(context.get('expected', '')).replace(' or ', ', ')}",
        "string_too_long": f"is longer than {context.get('max_length', 0):,} characters",
        "too_long": f"is longer than {context.get('max_length', 0):,} characters",
        "string_type": "must be text in quotes",
        "tuple_type": "must be a list",
        "model_type": "must be a table",
        "model_attributes_type": "must be a table",
        "dict_type": "must be a table",
        "value_error": str(context.get("error", error["msg"])),
    }.get(kind)
    if message is None:
        stem = kind.split("_")[0]
        message = {
            "int": "must be a whole number",
            "float": "must be a number",
            "finite": "must be a finite number",
            "decimal": "must be a plain number such as 1250 or 3.99",
            "bool": "must be true or false",
            "date": "must be a date such as 2027-01-31",
        }.get(stem, error["msg"])
    return message if kind in ("model_type", "string_too_long", "too_long") else f"{message} (given: {_shown(given)})"


def _known_keys() -> list[str]:
    keys = {question.key for question in questions()}
    for key in list(keys):
        while "." in key:
            key = key.rsplit(".", 1)[0]
            keys.add(key)
    return sorted(keys)


def _nearest(name: str, known: list[str]) -> str:
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; the nearest one is {matches[0].replace('[]', '')}" if matches else ""


def _generic(key: str) -> str:
    return ".".join(part.split("[")[0] + "[]" if "[" in part else part for part in key.split("."))


def _file_of(key: str, origins: dict[str, Origin]) -> str:
    if key in origins:
        return origins[key].detail
    below = [origin.detail for place, origin in origins.items() if place.startswith((f"{key}.", f"{key}["))]
    above = [origin.detail for place, origin in origins.items() if key.startswith((f"{place}.", f"{place}["))]
    return (below or above or ["answers"])[0]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _raw(value: Any) -> str | None:
    return str(value) if isinstance(value, NumberText) else None


def _shown(value: Any, limit: int = 60) -> str:
    text = value.isoformat() if isinstance(value, datetime.date) else str(value)
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return fitted(text, limit)
