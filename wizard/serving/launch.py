"""The launch settings of the runtime: derived in one place from the answers and the catalogue.

The smoke starts what is proposed, the document prints it, and the launch artefacts carry it, because all
three take their flags from here.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from wizard.answers import Answers
from wizard.catalogue import Flag, Switch, engine_id, plain_settings, strategies
from wizard.serving.flags import EXTRA_FLAGS, typed_flags
from wizard.serving.spread import spread

_WIDTH = 110
#: What is printed for a model that is known only by its folder: no path of this machine enters the document.
MODEL_DIR = "$MODEL_DIR"
#: Values of these flags are secrets: the printed command reads them from the environment, nothing keeps them.
_SECRETS = {"--api-key": "$VLLM_API_KEY", "--hf-token": "$HF_TOKEN"}
#: What stands in the command in the place of a secret.
SECRET_VARIABLES = tuple(_SECRETS.values())
#: What differs from node to node, or is known only where they stand; no host name enters the document.
HEAD_ADDRESS, NODE_RANK = "$HEAD_ADDRESS", "$NODE_RANK"
#: The port that Ray's own guide uses for the head of a cluster.
RAY_PORT = 6379
_LOOPBACK = ("--host", "127.0.0.1"), ("--port", "8000")
#: Hub access and usage statistics are on unless switched off (vLLM 0.33.0 usage/usage_lib.py).
_QUIET = (("HF_HUB_OFFLINE", "1"), ("VLLM_NO_USAGE_STATS", "1"))
#: A branch, tag or commit; a remark in its place ("not pinned") is no revision and stays out of the command.
_REVISION = re.compile(r"[\w.][\w./-]*")
_LAYOUT = "runtime.layout."
#: Flags that say how a replica spans nodes; a server of the smoke stands on one.
_BETWEEN_NODES = frozenset(
    {"--nnodes", "--node-rank", "--master-addr", "--master-port", "--headless"}
    | {"--distributed-executor-backend", "--data-parallel-backend"}
)
#: Flags of the API server, which only the head node has (vLLM 0.32.0 entrypoints/cli/serve.py, run_headless).
_OF_HEAD = frozenset({"--host", "--port", "--uds", "--api-server-count", *_SECRETS})
__all__ = ["EXTRA_FLAGS", "MODEL_DIR", "Launch", "Setting", "answer_at", "launch", "switch_of"]


class Setting(BaseModel):
    """One flag of the runtime.

    `value` is None for a switch, `more` holds the further words of a flag that takes several. `strategy` is
    the id of the answered strategy that the flag serves or switches off, `source_keys` the answers it was
    made from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    flag: str
    value: str | None = None
    more: tuple[str, ...] = ()
    strategy: str | None = None
    source_keys: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """Give the flag and its values as words of a command line."""
        return (self.flag, *(() if self.value is None else (self.value,)), *self.more)

    def matches(self, flag: Flag) -> bool:
        """Whether this setting is the catalogue's `flag`, with a value that switches it on."""
        if self.flag != flag.flag or (flag.value is not None and self.value != flag.value):
            return False
        if self.value in flag.off:
            return False
        return not flag.contains or any(word in " ".join(self.words()[1:]) for word in flag.contains)


class Launch(BaseModel):
    """How the proposed runtime is started.

    `runtime` is the catalogue id of the product (`vllm`), None if it is not in the catalogue. `model` is the
    model's name, or `$MODEL_DIR` if only a folder is known. `environment` holds pairs of name and value.
    `strategies` are the ids of the strategies in the order of the answers: the first is ST-1 in the document.
    `nodes` are those of one replica, which `launcher` starts where they are several.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    runtime: str | None
    model: str
    revision: str | None = None
    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    strategies: tuple[str, ...] = ()
    nodes: int = 1
    launcher: Literal["vllm", "ray"] = "vllm"

    @property
    def pinned_revision(self) -> str | None:
        """The revision of the model as the command names it; None for a remark in its place."""
        return self.revision if self.revision and _REVISION.fullmatch(self.revision) else None

    def strategy_number(self, strategy: str) -> str:
        """Return the document's id of a strategy (ST-1); raises `ValueError` if it was not answered."""
        return f"ST-{self.strategies.index(strategy) + 1}"

    def find(self, flag: str) -> Setting | None:
        """Return the setting of `flag`; where it was written twice the last one, which counts."""
        return next((setting for setting in reversed(self.settings) if setting.flag == flag), None)

    def serve_flags(self) -> tuple[str, ...]:
        """List the words after the model for a server of the smoke: no model, host, port or secret."""
        own = {"--host", "--port", "--uds", *_SECRETS, *_BETWEEN_NODES}
        return tuple(word for s in self.settings if s.flag not in own for word in s.words())

    @property
    def host(self) -> str:
        """The address that it listens on: loopback unless a further flag says otherwise."""
        found = self.find("--host")
        return (found.value if found else None) or _LOOPBACK[0][1]

    @property
    def port(self) -> int | None:
        """The port that it listens on; None where it listens on a socket file, or no port was understood."""
        found = self.find("--port")
        text = (found.value if found else None) or _LOOPBACK[1][1]
        usable = text.isascii() and text.isdigit() and 0 < int(text[:6]) < 2**16
        return int(text) if usable and not self.find("--uds") else None

    def command(self) -> tuple[tuple[str, ...], ...]:
        """List the words of the command: `vllm serve MODEL`, then each flag with its values.

        It listens on loopback unless the further flags say otherwise. A secret is the name of its variable.
        """
        groups: list[tuple[str, ...]] = [("vllm", "serve", self.model)]
        if self.pinned_revision:
            groups.append(("--revision", self.pinned_revision))
        if not self.find("--uds"):
            groups += [pair for pair in _LOOPBACK if not self.find(pair[0])]
        return (*groups, *(setting.words() for setting in self.settings))

    def head_command(self) -> tuple[tuple[str, ...], ...]:
        """The command of a replica's head node, which answers callers; that of the replica where it has one node."""
        if self.nodes == 1 or self.launcher == "ray":
            return self.command()
        return (*self.command(), ("--node-rank", "0"), ("--master-addr", HEAD_ADDRESS))

    @property
    def worker_ranks(self) -> str:
        """The ranks of a replica's further nodes in words: "1", or "1 to 3"."""
        return "1" if self.nodes == 2 else f"1 to {self.nodes - 1}"

    def worker_command(self) -> tuple[tuple[str, ...], ...]:
        """The command of every further node of a replica; none where it has one node.

        It names the node by its rank, from 1 on, and the head by its address: both are variables.
        """
        if self.nodes == 1:
            return ()
        if self.launcher == "ray":
            return (("ray", "start", f"--address={HEAD_ADDRESS}:{RAY_PORT}", "--block"),)
        same = tuple(group for group in self.command() if group[0] not in _OF_HEAD)
        return (*same, ("--node-rank", NODE_RANK), ("--master-addr", HEAD_ADDRESS), ("--headless",))

    def serve_environment(self) -> tuple[tuple[str, str], ...]:
        """List the variables that strategies set; what keeps the runtime quiet is the smoke's own matter."""
        return tuple(pair for pair in self.environment if pair not in _QUIET)

    def shell(self) -> str | None:
        """Write the command as the document prints it; None for another product than vLLM.

        It goes on after a backslash where a line would pass 110 columns.
        """
        if self.runtime != "vllm":
            return None
        head = self._shell(self.head_command())
        if self.nodes == 1:
            return head
        first = [f"ray start --head --port={RAY_PORT}"] if self.launcher == "ray" else []
        others = "the other node" if self.nodes == 2 else f"each of the other {self.nodes - 1} nodes"
        rank = (
            f", {NODE_RANK[1:]} from 1 to {self.nodes - 1}" if self.launcher == "vllm" else ", before the head serves"
        )
        worker = self._shell(self.worker_command(), with_environment=self.launcher == "vllm")
        return "\n".join(["# on the head node", *first, head, "", f"# on {others}{rank}", worker])

    def _shell(self, command: tuple[tuple[str, ...], ...], *, with_environment: bool = True) -> str:
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment if with_environment]
        first, *others = command
        return _wrapped(
            [" ".join([*variables, *map(_quoted, first)]), *(" ".join(map(_quoted, words)) for words in others)]
        )


def launch(answers: Answers) -> Launch:
    """Derive how the proposed runtime is started.

    In order: the layout, the settings, the switches of adopted strategies, the off-switches of rejected ones
    that are on by default, and the further flags as they were typed. A flag that was typed wins over the same
    flag from an answer, as it would in the runtime. Raises `UsageError` for further flags that are no flags.
    """
    runtime = engine_id(answers.runtime.product)
    carried = answers.engine.carried_model
    # No model's name begins like a flag, and vLLM would read one that does as a flag.
    name = carried.name if carried and not (carried.name or "").startswith("-") else None
    typed = tuple(_typed(answers.runtime.settings.extra_flags, runtime))
    derived = () if runtime is None else (*_from_answers(answers, runtime), *_switches(answers, runtime))
    if runtime == "vllm":
        derived += tuple(_across_nodes(answers))
    written = {setting.flag for setting in typed}
    settings = {setting.flag: setting for setting in derived if setting.flag not in written}
    answered = answers.engine.strategies
    return Launch(
        runtime=runtime,
        model=name or MODEL_DIR,
        revision=carried.revision if carried else None,
        settings=(*settings.values(), *(_owned(setting, answers, runtime) for setting in typed)),
        environment=(*(_QUIET if runtime == "vllm" else ()), *_variables(answers, runtime)),
        strategies=tuple(answered),
        nodes=spread(answers).nodes if runtime == "vllm" else 1,
        launcher=answers.runtime.layout.launcher or "vllm",
    )


def answer_at(answers: Answers, key: str) -> Any:
    """Return the answer of a plain key (`runtime.layout.tensor_parallel`); None where none was given."""
    value: Any = answers
    for name in key.split("."):
        value = getattr(value, name)
    return value


def switch_of(strategy: str, runtime: str | None) -> Switch | None:
    """Return the switch of a strategy in a runtime; None if the catalogue knows none."""
    known = strategies().get(strategy)
    return known.switches.get(runtime or "") if known else None


def _from_answers(answers: Answers, runtime: str) -> Iterator[Setting]:
    """Yield the settings that answers give directly, in the order of the questions."""
    keys = [f"{_LAYOUT}{name}" for name in type(answers.runtime.layout).model_fields]
    keys += [f"runtime.settings.{name}" for name in type(answers.runtime.settings).model_fields]
    flags: dict[str, tuple[str, str | None]] = {
        row.answer: (row.flags[runtime], None) for row in plain_settings() if runtime in row.flags
    }
    for strategy in strategies().values():
        switch = strategy.switches.get(runtime)
        for flag in switch.enable if switch else ():
            if flag.answer:
                owner = strategy.id if strategy.id in answers.engine.strategies else None
                # One size may serve two strategies; it belongs to the one that was decided on.
                if owner or not flags.get(flag.answer, (None, None))[1]:
                    flags[flag.answer] = (flag.flag, owner)
    for key in keys:
        value = answer_at(answers, key) if key in flags else None
        # A size of 1 is the default everywhere and splits nothing.
        if value is None or (key.startswith(_LAYOUT) and value == 1):
            continue
        name, owner = flags[key]
        yield Setting(flag=name, value=str(value), strategy=owner, source_keys=(key,))


def _across_nodes(answers: Answers) -> Iterator[Setting]:
    """Yield what tells vLLM that a replica spans nodes (0.33.0 docs/serving/parallelism_scaling.md)."""
    nodes, keys = spread(answers).nodes, (f"{_LAYOUT}nodes_per_replica",)
    if nodes == 1:
        return
    if answers.runtime.layout.launcher != "ray":
        yield Setting(flag="--nnodes", value=str(nodes), source_keys=keys)
        return
    keys = (f"{_LAYOUT}launcher",)
    yield Setting(flag="--distributed-executor-backend", value="ray", source_keys=keys)
    if (answers.runtime.layout.data_parallel or 1) > 1:
        yield Setting(flag="--data-parallel-backend", value="ray", source_keys=keys)


def _switches(answers: Answers, runtime: str) -> Iterator[Setting]:
    """Yield the switches that the decisions ask for, in the order of the answers."""
    for identifier, flag in _wanted(answers, runtime):
        if not flag.variable:
            keys = (f"engine.strategies.{identifier}.decision",)
            yield Setting(flag=flag.flag, value=flag.value, strategy=identifier, source_keys=keys)


def _variables(answers: Answers, runtime: str | None) -> Iterator[tuple[str, str]]:
    """Yield the variables of the environment that the decisions ask for."""
    for _, flag in _wanted(answers, runtime):
        if flag.variable and flag.value is not None:
            yield flag.flag, flag.value


def _wanted(answers: Answers, runtime: str | None) -> Iterator[tuple[str, Flag]]:
    for identifier, answer in answers.engine.strategies.items():
        switch = switch_of(identifier, runtime)
        wanted: tuple[Flag, ...] = ()
        if switch is not None and answer.decision == "adopt":
            wanted = switch.enable
        elif switch is not None and answer.decision == "reject" and switch.default in ("on", "auto"):
            wanted = switch.disable
        for flag in wanted:
            needless = flag.with_answer is not None and answer_at(answers, flag.with_answer) is None
            if not (flag.typed or flag.answer or needless):
                yield identifier, flag


def _typed(texts: tuple[str, ...], runtime: str | None) -> Iterator[Setting]:
    """Yield the further flags as a person typed them; what is secret is read from the environment."""
    for flag, *values in typed_flags(texts, runtime):
        if flag in _SECRETS:
            values = [_SECRETS[flag]]
        first = values[0] if values else None
        yield Setting(flag=flag, value=first, more=tuple(values[1:]), source_keys=(EXTRA_FLAGS,))


def _owned(setting: Setting, answers: Answers, runtime: str | None) -> Setting:
    """Give a typed flag the answered strategy whose switch it is."""
    for identifier in answers.engine.strategies:
        switch = switch_of(identifier, runtime)
        if switch is None:
            continue
        enables = any(setting.matches(flag) for flag in switch.enable)
        disables = any(setting.matches(flag) for flag in switch.disable) or setting.flag in switch.disabled_by
        if enables or disables:
            return setting.model_copy(update={"strategy": identifier})
    return setting


def is_variable(word: str) -> bool:
    """Whether a word of the command is filled in where it runs; the shell may then read the variable in it."""
    ours = (MODEL_DIR, NODE_RANK, HEAD_ADDRESS, f"--address={HEAD_ADDRESS}:{RAY_PORT}", *SECRET_VARIABLES)
    return word in ours


def _quoted(word: str) -> str:
    return f'"{word}"' if is_variable(word) else shlex.quote(word)


def _wrapped(groups: list[str]) -> str:
    lines = [groups[0]]
    for group in groups[1:]:
        if len(lines[-1]) + len(group) + 3 <= _WIDTH:
            lines[-1] += " " + group
        else:
            lines.append("  " + group)
    return " \\\n".join(lines)
