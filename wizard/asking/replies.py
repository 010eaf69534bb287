"""Which row a colleague's reply is about, where the colleague was asked for the very name that tells rows apart."""

import copy

from wizard.asking import tree
from wizard.asking.answers_file import Tree, row_identity

ASKED = "governance.open_questions"


def as_replied(answers: Tree, reply: Tree) -> Tree:
    """The answers with the names that were asked for and that the reply changes, so that the row stays the same one."""
    renamed = copy.deepcopy(answers)
    for row in tree.get(answers, ASKED) or ():
        rows_key, bracket, rest = str(row.get("key")).partition("[")
        number, _, name = rest.partition("].")
        mine = tree.get(answers, rows_key) if bracket and number.isdigit() else None
        if not isinstance(mine, list) or name != row_identity(rows_key) or int(number) >= len(mine):
            continue
        theirs = [other[name] for other in tree.get(reply, rows_key) or () if isinstance(other, dict) and name in other]
        new = next((given for given in theirs if given not in [known.get(name) for known in mine]), None)
        if new is not None:
            tree.put(renamed, f"{rows_key}[{number}].{name}", new)
    return renamed
