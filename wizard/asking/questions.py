"""The questions, read from the answer models: one list for form, answers file, JSON Schema and review."""

import dataclasses
import datetime
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from wizard.answers import Answers, Table
from wizard.catalogue import engine_id, engines

#: The sections of the wizard, in order. Engine and runtime questions never share one, nor do the two budget lines.
SECTIONS = (
    "project",
    "engine need",
    "engine strategies",
    "engine options",
    "runtime product",
    "hardware and layout",
    "workload and ceilings",
    "security and operations",
    "budget line E",
    "budget line R",
    "governance",
)

Kind = Literal["text", "integer", "number", "amount", "date", "yes_no", "choice", "texts", "choices_by_name"]


@dataclass(frozen=True)
class Question:
    """One thing that is asked.

    `key` is its place in the answers file; `[]` stands for any row of a list of tables and `<id>` for any name of a
    table of tables (`engine.models[].name`, `engine.strategies.<id>.decision`). `unit` is the unit of a number.
    `advanced` questions are left out of the short way.
    """

    key: str
    section: str
    title: str
    why: str
    kind: Kind
    choices: tuple[str, ...]
    unit: str | None
    advanced: bool

    @property
    def repeated(self) -> bool:
        """Whether the question is asked once for each row of a list or name of a table."""
        return "[]" in self.key or "<id>" in self.key


@cache
def questions() -> tuple[Question, ...]:
    """All questions in the order of the sections, and within a section in the order of the answer models."""
    found = tuple(_walk(Answers, "", ""))
    return tuple(sorted(found, key=lambda question: SECTIONS.index(question.section)))


@cache
def by_key() -> dict[str, Question]:
    """The questions by their key."""
    return {question.key: question for question in questions()}


def question_of(key: str) -> Question | None:
    """The question behind the key of one answer, such as `engine.models[0].name`; None where nothing is asked."""
    return _asked(key) or _named_question(key)


def _asked(key: str) -> Question | None:
    parts = [part.split("[")[0] + "[]" if "[" in part else part for part in key.split(".")]
    pattern = ".".join(parts)
    if pattern.startswith("engine.strategies.") and len(parts) > 3:
        pattern = ".".join([*parts[:2], "<id>", *parts[3:]])
    return by_key().get(pattern)


def _named_question(key: str) -> Question | None:
    """The question of one name in a table of names (`engine.options[0].gates."TTFT < 2.0 s"`): one value of its own."""
    at = key.find(".")
    while (at := key.find(".", at + 1)) > 0:
        table = _asked(key[:at])
        if table is not None and table.kind == "choices_by_name":
            name = key[at + 1 :].strip('"')
            kind: Kind = "choice" if table.choices else "amount" if table.unit == "days" else "integer"
            return dataclasses.replace(table, key=key, title=name, kind=kind)
    return None


@dataclass(frozen=True)
class Leaf:
    """One place in the answers where a value stands or could stand.

    `key` has row numbers (`engine.models[0].name`); `row` is the row of a list that the place belongs to, if any.
    """

    key: str
    question: Question
    value: Any
    row: Table | None


def leaves(answers: Answers) -> Iterator[Leaf]:
    """Every place of these answers, in the order of the answer models; rows that exist, and no others."""
    yield from _leaves(answers, "", "", None)


def _leaves(table: Table, at: str, pattern: str, row: Table | None) -> Iterator[Leaf]:
    for name in type(table).model_fields:
        if not at and name in ("schema_version", "answered_by"):
            continue
        value = getattr(table, name)
        key, generic = (f"{prefix}.{name}" if prefix else name for prefix in (at, pattern))
        if isinstance(value, Table):
            yield from _leaves(value, key, generic, row)
        elif row_type(type(table).model_fields[name].annotation) is not None:
            for index, item in enumerate(value):
                yield from _leaves(item, f"{key}[{index}]", f"{generic}[]", item)
        elif generic in by_key():
            yield Leaf(key, by_key()[generic], value, row)
        else:
            for identifier, item in value.items():
                yield from _leaves(item, f"{key}.{identifier}", f"{generic}.<id>", item)


def applies(leaf: Leaf, answers: Answers) -> bool:
    """Whether the question has a meaning at this place: the unit price of an item that is not needed has none."""
    rule = _APPLIES.get(".".join(leaf.question.key.split(".")[-2:]))
    return rule is None or (leaf.row is None and leaf.question.repeated) or rule(leaf.row, answers)


def _is_bought(row: Any, _: Answers) -> bool:
    return bool(row.state != "not_needed")


def _has_own_price(row: Any, answers: Answers) -> bool:
    return _is_bought(row, answers) and row.basis != "bundled" and not _is_worked_out(row)


def _is_worked_out(row: Any) -> bool:
    """Whether the price of a row follows from the inputs of owned hardware."""
    return getattr(row, "owned_part", None) is not None


def _has_a_basis(row: Any, answers: Answers) -> bool:
    return _is_bought(row, answers) and not _is_worked_out(row)


def _is_carried_here(row: Any, _: Answers) -> bool:
    return bool(row.carried_here)


def _names_no_engine(_: Any, answers: Answers) -> bool:
    """Whether the product is one whose name does not say which engine is inside."""
    row = engines().get(engine_id(answers.runtime.product) or "")
    return row is not None and row.needs_inner


def _never(*_: Any) -> bool:
    """For what only exceptions have to say: where it is not said, nothing is missing."""
    return False


#: Where a question of a row has a meaning only for some rows; by the last two parts of its key.
_APPLIES: dict[str, Callable[[Any, Answers], bool]] = {
    "ceilings.e2e_from": _never,
    "items[].state": _never,  # an item with a price is priced; only the other two states have to be said
    "items[].currency": _never,
    "items[].publisher": _never,
    "items[].invoice_issuer": _never,
    "items[].product": _never,
    "items[].region": _never,
    "items[].min_gpus": _never,
    "items[].quoted_text": _never,
    "items[].owned_part": _never,
    "owned[].currency": _never,
    "alternatives[].currency": _never,
    "items[].reason": lambda row, _: row.state in ("not_needed", "not_given"),
    "items[].quantity": lambda row, _: row.state != "not_needed" and row.basis != "bundled",
    "items[].unit": _has_own_price,
    "items[].unit_price": _has_own_price,
    "items[].frequency": _has_a_basis,
    "items[].basis": _has_a_basis,
    "items[].included_in": lambda row, _: row.basis == "bundled",
    "items[].source_ref": _has_own_price,
    "items[].observed_on": _has_own_price,
    "items[].valid_until": lambda row, _: row.basis in ("quote", "contract"),
    "runtime.inner_engine": _names_no_engine,
    "runtime.inner_version": _names_no_engine,
    "models[].context_tokens": _is_carried_here,
    "models[].licence": _is_carried_here,
    "options[].rejected_because": lambda row, answers: row.name is None or row.name != answers.engine.chosen,
}


def _walk(table: type[Table], prefix: str, section: str) -> Iterator[Question]:
    section = table.section or section
    for name, field in table.model_fields.items():
        if name in ("schema_version", "answered_by"):
            continue
        key = f"{prefix}{name}"
        annotation = field.annotation
        if (inner := table_type(annotation)) is not None:
            yield from _walk(inner, f"{key}.", section)
        elif (row := row_type(annotation)) is not None:
            yield from _walk(row, f"{key}[].", section)
        elif get_origin(annotation) is dict and (inner := table_type(get_args(annotation)[1])) is not None:
            yield from _walk(inner, f"{key}.<id>.", section)
        else:
            yield _question(section, key, field, _without_none(annotation))


def _question(section: str, key: str, field: FieldInfo, annotation: Any) -> Question:
    extra = field.json_schema_extra
    if not isinstance(extra, dict) or field.title is None or field.description is None:
        raise TypeError(f"{key} is not declared with ask() or rows()")
    kind, choices = _kind(annotation)
    unit = extra["unit"]
    return Question(
        key=key,
        section=section,
        title=field.title,
        why=field.description,
        kind=kind,
        choices=choices,
        unit=str(unit) if unit is not None else None,
        advanced=bool(extra["advanced"]),
    )


def _kind(annotation: Any) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return "choice", tuple(str(choice) for choice in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "texts", ()
    if get_origin(annotation) is dict:
        return "choices_by_name", _kind(get_args(annotation)[1])[1]
    kinds: dict[Any, Kind] = {
        bool: "yes_no",
        str: "text",
        int: "integer",
        float: "number",
        Decimal: "amount",
        datetime.date: "date",
    }
    return kinds[annotation], ()


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        (inner,) = [item for item in get_args(annotation) if item is not type(None)]
        return inner
    return annotation


def table_type(annotation: Any) -> type[Table] | None:
    """The table that a field holds, or None where it holds something else."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, Table) else None


def row_type(annotation: Any) -> type[Table] | None:
    """The table that each row of a list field is, or None where the field is no list of tables."""
    return table_type(get_args(annotation)[0]) if get_origin(annotation) is tuple else None
