"""What a blank answers file explains beside the questions: known ids, the form of tables in a row, what is needed."""

from collections.abc import Iterator
from typing import Literal

from wizard.advice.options import STANDARD_GATES
from wizard.budget.items import CATALOGUE
from wizard.catalogue import engines, migrations, strategies

HEAD = (
    "An answers file of selwiz. An empty text is an answer not given: every question may stay open, and is then listed "
    "in the document with its owner. Questions that begin with (needed) are those that the document asks for; the "
    "others refine it or have a default. A list in double brackets may stand as often as there are rows. "
    "`selwiz check --answers FILE` says what is wrong, `selwiz answers --missing --answers FILE` what is still open."
)


def notes_of(pattern: str) -> tuple[str, ...]:
    """What is to be explained before the answer of this key (`budget.engine.items[].id`); empty for most."""
    match pattern:
        case "engine.strategies":
            return tuple(_strategies())
        case "engine.gates[].name":
            return (f"Known gates, which the facts answer by themselves: {', '.join(STANDARD_GATES)}.",)
        case "engine.options[].name":
            names = ", ".join(row.name for row in engines().values())
            return (f"Engines of the catalogue: {names}. Another one brings its own facts below.",)
        case "engine.options[].gates":
            return (
                'Form: gates = { "Licence policy" = "pass", "Weight format" = "fail" }; results are pass, fail, '
                "not applicable and not known.",
            )
        case "engine.options[].scores":
            return ('Form: scores = { "Skills in the team" = 4 }; the names are those of engine.criteria.',)
        case "budget.engine.items[].id":
            return tuple(_items("E"))
        case "budget.runtime.items[].id":
            return tuple(_items("R"))
        case "budget.engine.migration.days":
            return tuple(_work("E"))
        case "budget.runtime.migration.days":
            return tuple(_work("R"))
        case _:
            return ()


def _strategies() -> Iterator[str]:
    yield (
        "Strategies. One table for each that is decided; one that is left out gets a default with its reason where it "
        "matters for model, machine and workload. Form, without the # in front:"
    )
    yield "[engine.strategies.prefix_caching]"
    yield 'decision = "adopt" # or defer, reject'
    yield 'reason = "the system prompt is the same in every call"'
    groups: dict[str, list[str]] = {}
    for row in strategies().values():
        groups.setdefault(row.group, []).append(row.id)
    for group, names in groups.items():
        yield f"Known in the group {group}: {', '.join(names)}."


def _items(line: Literal["E", "R"]) -> Iterator[str]:
    yield f"Ids of line {line}; a letter may follow, as in {line}1a, where one id needs several rows:"
    yield from (f"{item.id} {item.title}: {item.what}" for item in CATALOGUE if item.line == line)


def _work(line: Literal["E", "R"]) -> Iterator[str]:
    rows = [row for row in migrations().values() if row.line == line]
    yield f"Form: days = {{ {rows[0].id} = 3 }}. Known work of line {line}:"
    yield from (f"{row.id}, a change of {row.change}: {row.what}" for row in rows)
