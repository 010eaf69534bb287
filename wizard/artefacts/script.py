"""`launch.sh`: the command of section 2 for a POSIX shell."""

import re
import shlex

from wizard.artefacts.facts import heading, secrets
from wizard.artefacts.text import comment
from wizard.document.redact import redacted
from wizard.launch import MODEL_DIR, SECRET_VARIABLES
from wizard.selection import Selection

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def script(selection: Selection) -> str:
    """The text of the script. What a person typed stands in single quotes; secrets and folders come from outside."""
    launch = selection.launch
    lines = []
    needed = {MODEL_DIR.removeprefix("$"): "the folder of the model"} if launch.model == MODEL_DIR else {}
    needed |= dict.fromkeys(secrets(selection), "a secret of the runtime")
    lines += [f': "${{{name}:?name {words} in this variable}}"' for name, words in needed.items()]
    for name, value in launch.environment:
        if _VARIABLE.fullmatch(name):
            lines.append(f"export {name}={shlex.quote(redacted(value))}")
    groups = [" ".join(_word(word) for word in group) for group in launch.command()]
    lines.append(" \\\n  ".join([f"exec {groups[0]}", *groups[1:]]))
    return "#!/bin/sh\n" + comment(heading(selection, "Start of the runtime")) + "set -eu\n" + "\n".join(lines) + "\n"


def _word(word: str) -> str:
    if word == MODEL_DIR or word in SECRET_VARIABLES:
        return f'"{word}"'
    return shlex.quote(redacted(word).replace("\0", ""))  # no word of a command line can hold that character
