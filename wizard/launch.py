"""The launch settings of the runtime: derived in one place from the answers and the catalogue.

The smoke starts what is proposed, the document prints it, and the launch artefacts carry it, because all
three take their flags from here.
"""

import shlex

from pydantic import BaseModel, ConfigDict

_WIDTH = 110
#: What is printed for a model that is known only by its folder: no path of this machine enters the document.
MODEL_DIR = "$MODEL_DIR"
#: Values of these flags are secrets; the printed command reads them from the environment, nothing else
#: keeps them.
_SECRETS = {"--api-key": "$VLLM_API_KEY", "--hf-token": "$HF_TOKEN"}
_HOST = "127.0.0.1"
_PORT = "8000"


class Setting(BaseModel):
    """One flag of the runtime.

    `value` is None for a switch, `more` holds the further words of a flag that takes several. `strategy` is
    the id of the catalogue's strategy that the flag serves or switches off, `source_keys` the answers it
    was made from.
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


class Launch(BaseModel):
    """How the proposed runtime is started.

    `runtime` is the catalogue id of the product (`vllm`), None if no product was named. `model` is the model's name, or
    `$MODEL_DIR` if only a folder is known. `environment` holds name and value. `strategies` are the ids of
    the strategies in the order of the answers: the first is ST-1 in the document.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    runtime: str | None
    model: str
    revision: str | None = None
    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    strategies: tuple[str, ...] = ()

    def strategy_number(self, strategy: str) -> str:
        """Return the document's id of a strategy, such as ST-1; raises `ValueError` if it was not answered."""
        return f"ST-{self.strategies.index(strategy) + 1}"

    def has(self, flag: str) -> bool:
        """Whether the flag is set."""
        return any(setting.flag == flag for setting in self.settings)

    def serve_flags(self) -> tuple[str, ...]:
        """List the words after the model, without host and port, for a server that the smoke starts on loopback."""
        own = {"--host", "--port", "--uds", *_SECRETS}
        return tuple(word for s in self.settings if s.flag not in own for word in s.words())

    def shell(self) -> str | None:
        """Write the command as the document prints it, at most 110 columns wide; None for another product than vLLM.

        Long commands go on after a backslash; the host is loopback unless the answers say otherwise.
        """
        if self.runtime != "vllm":
            return None
        groups = [
            " ".join(
                [*(f"{k}={shlex.quote(v)}" for k, v in self.environment), "vllm serve", _quoted(self.model)]
            )
        ]
        groups += [f"--revision {shlex.quote(self.revision)}"] if self.revision else []
        groups += [] if self.has("--uds") or self.has("--host") else [f"--host {_HOST}"]
        groups += [] if self.has("--uds") or self.has("--port") else [f"--port {_PORT}"]
        groups += [_printed(setting) for setting in self.settings]
        return _wrapped(groups)


def _quoted(word: str) -> str:
    return f'"{word}"' if word == MODEL_DIR or word in _SECRETS.values() else shlex.quote(word)


def _printed(setting: Setting) -> str:
    return " ".join((setting.flag, *(_quoted(word) for word in setting.words()[1:])))


def _wrapped(groups: list[str]) -> str:
    lines = [groups[0]]
    for group in groups[1:]:
        if len(lines[-1]) + 1 + len(group) + 2 <= _WIDTH:
            lines[-1] += " " + group
        else:
            lines.append("  " + group)
    return " \\\n".join(lines)
