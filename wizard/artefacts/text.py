"""How texts that a person typed are written into files that a machine reads: as data, never as syntax."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from wizard.document.markdown import plain
from wizard.printable import printable

#: What every YAML reader takes as text without quotes, those of YAML 1.1 too, where `no` means a truth value.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_./-]+", re.ASCII)
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


def comment(lines: Iterable[str]) -> str:
    """Lines of comment; whatever a text holds, it stays on its line."""
    return "".join(f"# {printable(plain(line))}\n" for line in lines)


def yaml_text(documents: Sequence[dict[str, Any]], comments: Iterable[str]) -> str:
    """YAML documents below comments.

    Texts are quoted, so that no reader, of whichever YAML version, takes one for a number, a date or a truth value.
    """
    import yaml  # costs 15 ms, which only a written document has to pay

    class Quoting(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # the one in C, where it is
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the library calls it so
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        name = _NAME.fullmatch(value) and value.casefold() not in _WORDS_OF_YAML
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if name else '"')

    Quoting.add_representer(str, text)
    body = yaml.dump_all(
        documents, Dumper=Quoting, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False
    )
    return comment(comments) + body
