"""The wizard's only state: what was typed, what of it is in force, what cannot be used, and where each value is from.

A screen reads it and says what was typed; nothing else is ever true. The tree of answers is valid at every moment:
text that cannot be used is kept beside it, with the reason, until it is corrected or removed.
"""

import copy
import datetime
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.answers import Answers
from wizard.asking import tree
from wizard.asking.answers_file import Layer, Tree, overlay, parse_layer, problems_of, row_identity, validate
from wizard.asking.answers_file import Merged as MergedAnswers
from wizard.asking.answers_writer import render_answers
from wizard.asking.defaults import answer_at, fill
from wizard.asking.place import Place, Rejected
from wizard.asking.provenance import Origin
from wizard.asking.questions import Question, question_of
from wizard.asking.ranges import RANGES
from wizard.asking.replies import ASKED, as_replied
from wizard.asking.typed import UnusableError, parse, shown, understood
from wizard.sessions import session_json, session_store

if TYPE_CHECKING:
    from probes.machine import Machine
    from wizard.decision.selection import Selection

#: The name under which the wizard's answers stand beside a document, and so in the origin of each value.
LAYER_NAME = "answers.toml"
SMALL_TEAM = "governance.small_team"
ONE_OWNER = Origin(layer="session", detail="one owner of both decisions, said in the short way")


@dataclass
class Session:
    """One selection in the making. `path` is its file; `smoke_dir` the folder of its measurement, if there is one.

    `reviewed`: a review was shown, so that what no step has asked yet counts too.
    `earlier` is the selection file that it began from, if it is a new version of one; `where` is the machine that it
    is for, as `--machine` names it, and empty for this one.
    """

    path: Path = field(default_factory=session_store.new_path)
    tree: Tree = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    rejected: dict[str, Rejected] = field(default_factory=dict)
    left_open: set[str] = field(default_factory=set)
    step: str = ""
    short: bool = False
    reviewed: bool = False
    target: str = ""
    saved_at: str = ""
    smoke_dir: str = ""
    earlier: str = ""
    where: str = ""
    machine: "Machine | None" = None
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._given = Answers.nothing()
        self._in_force: Answers | None = None
        self._filled: dict[str, Origin] = {}
        if self.tree:
            self._settle()

    @property
    def given(self) -> Answers:
        """The answers that people gave, without any default."""
        return self._given

    @property
    def in_force(self) -> Answers:
        """The answers with what the probe, other answers and defaults fill in."""
        if self._in_force is None:
            self._in_force, self._filled = fill(self._given, self.origins, self.machine)
        return self._in_force

    def use_machine(self, machine: "Machine | None") -> None:
        """Take the readings of a machine as the source of what nobody answered."""
        self.machine = machine
        self._in_force = None

    def raw(self, key: str) -> str:
        """The text of a question as a field shows it."""
        return self.rejected[key].raw if key in self.rejected else shown(tree.get(self.tree, key))

    def place(self, key: str, checked: "Selection | None" = None) -> Place:
        """Everything that the screen shows of one question.

        `checked` has the defaults that rest on the facts of the model, which a session does not know.
        """
        question = question_of(key)
        if question is None:
            raise KeyError(key)
        value = answer_at(self.in_force, key)
        given = tree.get(self.tree, key) is not None
        origin = self._filled.get(key)
        if value is None and checked is not None:
            origin = checked.origins.get(key.replace('"', ""))
            value = answer_at(checked.answers, key) if origin and origin.layer == "default" else None
        rejected = self.rejected.get(key)
        asked = self.asked(key)
        if rejected is not None:
            state, source = "cannot be used", "you"
        elif given:
            state, source = _given_by(self.origins.get(key))
        elif asked is not None:
            state, source = f"asked {asked}", "waits for a colleague"
        elif key in self.left_open:
            state, source = "left open", "you"
        elif value is not None and origin is not None:
            state, source = origin.layer, origin.detail
        else:
            state, source = "not given", "nobody yet"
        fallback = "" if given or rejected or key in self.left_open else shown(value)
        if rejected and given:
            fallback = shown(tree.get(self.tree, key))
        return Place(
            key=key,
            question=question,
            raw=self.raw(key),
            fallback=fallback,
            state=state,
            source=source,
            problem=rejected.message if rejected else None,
            note=self._note(key, question) if given and not rejected else "",
        )

    def _note(self, key: str, question: Question) -> str:
        typed = self.origins[key].raw if key in self.origins else None
        words = understood(question, typed) if typed else ""
        return f"{typed}: {words}" if words else ""

    def asked(self, key: str) -> str | None:
        """The colleague whom this question waits for; None where nobody was asked."""
        for row in self.tree.get("governance", {}).get("open_questions", []):
            if row.get("key") == key:
                return str(row.get("owner") or "somebody")
        return None

    def set(self, key: str, raw: str) -> str | None:
        """Take what was typed. Returns None if it is in force, else why it cannot be used; the text is kept then."""
        question = question_of(key)
        if question is None:
            return "is not a question"
        if raw == self.raw(key):
            return self.rejected[key].message if key in self.rejected else None
        try:
            value = parse(question, raw)
            message = self._try(key, value, typed=raw if understood(question, raw) else None)
        except UnusableError as error:
            message = str(error)
        self.left_open.discard(key)
        if message is None:
            self.rejected.pop(key, None)
            if self.short and key in ("engine.owner", "runtime.owner"):
                self._note_small_team()
        else:
            self.rejected[key] = Rejected(raw, message)
        return message

    def leave_open(self, key: str) -> None:
        """Note that nobody here answers this: it is listed as open, and no default fills the field's place."""
        self.take_default(key)
        self.left_open.add(key)

    def take_default(self, key: str) -> None:
        """Forget what was typed, a range as well; the probe or the default holds again."""
        self._clear(key)
        for index in reversed(range(len(self.rows(RANGES)))):
            if self.rows(RANGES)[index].get("key") == key:
                self.remove_row(RANGES, index)

    def ask_someone(self, key: str, name: str, due: str = "") -> str | None:
        """Note that a colleague is asked; returns why the name or the day cannot be used, or None."""
        question = question_of(key)
        row: Tree = {"key": key, "text": question.title if question else key, "owner": name.strip()}
        if not row["owner"]:
            return "a name is needed"
        if due.strip():
            try:
                row["due"] = datetime.date.fromisoformat(due.strip())
            except ValueError:
                return "the day must be written like 2027-01-31"
        return self.put_row(ASKED, row)

    def put_row(self, rows_key: str, row: Tree) -> str | None:
        """Put a row in place of the one with its identity, or behind the others; returns why it cannot be, or None."""
        identity = row_identity(rows_key)
        rows = self.rows(rows_key)
        index = next((n for n, other in enumerate(rows) if other.get(identity) == row[identity]), len(rows))
        new = copy.deepcopy(self.tree)
        tree.put(new, f"{rows_key}[{index}]", row)
        if problems := problems_of(new):
            return problems[0].message
        self.tree = new
        self.origins |= {f"{rows_key}[{index}].{name}": _typed() for name in row}
        self._settle()
        return None

    def rows(self, rows_key: str) -> list[Tree]:
        """The rows of a list, as they were given."""
        found = tree.get(self.tree, rows_key)
        return found if isinstance(found, list) else []

    def add_row(self, rows_key: str, **values: Any) -> int:
        """Add a row to a list and return its number."""
        index = len(self.rows(rows_key))
        tree.put(self.tree, f"{rows_key}[{index}]", dict(values))
        for name in values:
            self.origins[f"{rows_key}[{index}].{name}"] = _typed()
        self._settle()
        return index

    def remove_row(self, rows_key: str, index: int) -> None:
        """Remove a row with everything typed into it; later rows move up, and what is known of them moves along."""
        del self.rows(rows_key)[index]
        if not self.rows(rows_key):
            tree.drop(self.tree, rows_key)

        def moved(key: str) -> str | None:
            return tree.shifted(key, rows_key, index)

        self.origins = {new: value for key, value in self.origins.items() if (new := moved(key)) is not None}
        self.rejected = {new: value for key, value in self.rejected.items() if (new := moved(key)) is not None}
        self.left_open = {new for key in self.left_open if (new := moved(key)) is not None}
        for about in {ASKED, RANGES} - {rows_key}:
            for row in [row for row in self.rows(about) if isinstance(row.get("key"), str)]:
                row["key"] = moved(row["key"])
                if row["key"] is None:  # it was about the removed row
                    row.clear()
        self._settle()

    def drop_empty_rows(self) -> None:
        """Remove rows into which nothing was typed, as an answers file would."""
        for rows_key in list(_lists(self.tree)):
            for index in reversed(range(len(self.rows(rows_key)))):
                started = any(key.startswith(f"{rows_key}[{index}]") for key in self.rejected)
                if self.rows(rows_key)[index] == {} and not started:
                    self.remove_row(rows_key, index)

    def open_layer(self, layer: Layer) -> None:
        """Take over an answers file or a colleague's reply: it wins over what the session has.

        What a colleague was asked is no open question any more once the reply has it.
        """
        mine = Layer(name="session", tree=as_replied(self.tree, layer.tree) if layer.author else self.tree)
        merged = overlay([mine, layer])
        self.tree = merged.tree
        taken = {key: origin for key, origin in merged.origins.items() if origin.detail != "session"}
        self.origins |= taken
        self.rejected = {key: value for key, value in self.rejected.items() if key not in taken}
        self.left_open -= set(taken)
        for index in reversed(range(len(self.rows(ASKED)) if layer.author else 0)):
            if self.rows(ASKED)[index].get("key") in taken:
                self.remove_row(ASKED, index)
        self._sanitise()
        self._settle()

    def to_layer(self) -> Layer:
        """The answers as a file that was just read: so the wizard and `propose` go the same way from here."""
        return parse_layer(self.to_toml(), LAYER_NAME)

    def to_toml(self, *, comments: bool = False) -> str:
        """The answers file of this session."""
        return render_answers(self.tree, comments=comments, blanks=False)

    @property
    def title(self) -> str:
        """The project's title; an empty text where it has none yet."""
        return self._given.project.title or ""

    @property
    def answered(self) -> int:
        """How many values people gave."""
        return sum(1 for _ in tree.scalars(self.tree))

    def save(self) -> None:
        """Write the session's file; raises `CannotWriteError`. Text that holds a secret is not written."""
        self.saved_at = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        session_store.save(self.path, session_json.data_of(self))

    @classmethod
    def resume(cls, path: Path) -> "Session":
        """Read a session's file; raises `UsageError` for one that cannot be read.

        A value that no longer fits is kept as text and said in `notices`.
        """
        session = cls(path=path)
        session_json.fill(session, session_store.load(path))
        session._sanitise()
        session._settle()
        return session

    def _note_small_team(self) -> None:
        """The short way says below the question that one owner for both decisions means one small team."""
        from wizard.decision.proof import same_name  # only who names owners needs it

        owners = [self.raw("engine.owner").strip(), self.raw("runtime.owner").strip()]
        origin = self.origins.get(SMALL_TEAM)
        if same_name(*owners) and all(owners) and origin is None:
            self._try(SMALL_TEAM, True)
            self.origins[SMALL_TEAM] = ONE_OWNER
        elif origin == ONE_OWNER and not same_name(*owners):
            self._try(SMALL_TEAM, None)

    def _try(self, key: str, value: Any, *, typed: str | None = None) -> str | None:
        """Put a value in force; returns why it cannot be."""
        new = copy.deepcopy(self.tree)
        if value is None:
            tree.drop(new, key)
        else:
            tree.put(new, key, value)
        problems = problems_of(new)
        if problems:
            return problems[0].message
        self.tree = new
        if value is None:
            self.origins.pop(key, None)
        else:
            self.origins[key] = _typed(typed)
        self._settle()
        return None

    def _clear(self, key: str) -> None:
        self.rejected.pop(key, None)
        self.left_open.discard(key)
        self._try(key, None)

    def _sanitise(self) -> None:
        """Move every value that cannot be used out of the tree, with its text and the reason."""
        while problems := problems_of(self.tree):
            moved = False
            for problem in problems:
                key = problem.key
                value = tree.drop(self.tree, key)
                while value is None and "." in key:
                    key = key.rpartition(".")[0]
                    value = tree.drop(self.tree, key)
                if value is not None:
                    moved = True
                    self.rejected[problem.key] = Rejected(shown(value), problem.message)
                    self.notices.append(f"{problem.key} {problem.message}; the text is kept and not used.")
            if not moved:
                self.notices.append("The answers could not be read; they are left out.")
                self.tree = {}
        for key in self.rejected:
            rows, bracket, rest = key.partition("[")
            if bracket and question_of(key) is not None:
                number = int(rest.partition("]")[0])
                while len(self.rows(rows)) <= number:
                    self.add_row(rows)

    def _settle(self) -> None:
        self._given = validate(MergedAnswers(tree=self.tree, origins=self.origins))
        self._in_force = None


def _typed(raw: str | None = None) -> Origin:
    return Origin(layer="session", detail="typed in the wizard", raw=raw)


def _given_by(origin: Origin | None) -> tuple[str, str]:
    if origin is None or origin.layer == "session":
        return "answered", "you"
    return "from file", f"{origin.detail}, {origin.author}" if origin.author else origin.detail


def _lists(table: Tree, at: str = "") -> list[str]:
    found = []
    for name, value in table.items():
        key = f"{at}.{name}" if at else name
        if isinstance(value, dict):
            found += _lists(value, key)
        elif isinstance(value, list) and any(isinstance(row, dict) for row in value):
            found.append(key)
    return found
