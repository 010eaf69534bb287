"""`launch.sh`: the command of section 2 for a POSIX shell."""

import re
import shlex

from wizard.artefacts.facts import heading, secrets
from wizard.artefacts.text import comment
from wizard.decision.selection import Selection
from wizard.document.redact import redacted
from wizard.serving.launch import HEAD_ADDRESS, MODEL_DIR, NODE_RANK, RAY_PORT, is_variable

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
    if launch.nodes == 1:
        lines.append(_exec(launch.command()))
    else:
        lines += _by_node(selection)
    return "#!/bin/sh\n" + comment(heading(selection, "Start of the runtime")) + "set -eu\n" + "\n".join(lines) + "\n"


def _by_node(selection: Selection) -> list[str]:
    """One script for all nodes of a replica: the rank says which part of it a node plays."""
    launch = selection.launch
    rank = NODE_RANK.removeprefix("$")
    head, ray = HEAD_ADDRESS.removeprefix("$"), launch.launcher == "ray"
    lines = [f': "${{{rank}:?0 on the head node, {launch.worker_ranks} on the others, in this variable}}"']
    lines.append(f': "${{{head}:?name the address of the head node on the closed network in this variable}}"')
    first = [f"  ray start --head --port={RAY_PORT}"] if ray else []
    return [*lines, f'if [ "{NODE_RANK}" = 0 ]; then', *first, f"  {_exec(launch.head_command())}", "fi",
            _exec(launch.worker_command())]  # fmt: skip


def _exec(command: tuple[tuple[str, ...], ...]) -> str:
    groups = [" ".join(_word(word) for word in group) for group in command]
    return " \\\n  ".join([f"exec {groups[0]}", *groups[1:]])


def _word(word: str) -> str:
    if is_variable(word):
        return f'"{word}"'
    return shlex.quote(redacted(word).replace("\0", ""))  # no word of a command line can hold that character
