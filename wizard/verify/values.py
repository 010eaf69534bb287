"""When two spellings of a setting are the same setting."""

import json
import re
from typing import Any

from wizard.serving.flags import base_name
from wizard.serving.launch import Setting

#: `1k` is 1,000 and `1K` is 1,024 (vLLM 0.33.0 `human_readable_int`).
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
#: FP8 without a variant is E4M3 on NVIDIA GPUs (vLLM 0.33.0 config/cache.py).
_SAME = {"fp8_e4m3": "fp8"}
_NOT_PLAIN = re.compile(r"[({<]")


def parameter(flag: str) -> tuple[str, bool]:
    """The name that vLLM's parser gives a flag, and whether the flag switches it off."""
    name = base_name(flag)
    name = {"-cc": "--compilation-config", "-ac": "--attention-config", "-sc": "--speculative-config"}.get(name, name)
    off = name.startswith("--no-")
    return name.removeprefix("--no-").removeprefix("--").replace("-", "_"), off


def whole_number(text: str) -> int | None:
    """A count as vLLM's command line takes it: 16384, 16k, 16K."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgKMG]?)", text.strip())
    return int(float(match[1]) * _UNITS.get(match[2], 1)) if match else None


def approved_text(setting: Setting) -> str:
    """What a setting asks for, as a person reads it."""
    if setting.value is None:
        return "off" if parameter(setting.flag)[1] else "on"
    return " ".join((setting.value, *setting.more))


def found_text(value: Any) -> str:
    """A value that was found, as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, default=str)
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    return str(value)


def is_same(setting: Setting, value: Any) -> bool | None:
    """Whether the value that was found is the one that the setting asks for; None where it cannot be compared."""
    if "." in setting.flag:
        return None  # one key of a larger setting
    if setting.value is None:
        wanted = not parameter(setting.flag)[1]
        return value is wanted if isinstance(value, bool) else {"True": True, "False": False}.get(str(value)) == wanted
    if isinstance(value, dict):
        return _same_json(setting.value, value)
    if isinstance(value, list | tuple):
        return [str(item) for item in value] == list(setting.words()[1:])
    return same_text(" ".join(setting.words()[1:]), str(value))


def same_text(approved: str, found: str) -> bool | None:
    """Whether two single values are the same; None where what was found is no plain value."""
    if _NOT_PLAIN.search(found):
        return None
    one, two = (_SAME.get(text.removeprefix("torch."), text.removeprefix("torch.")) for text in (approved, found))
    if one == two:
        return True
    first, second = whole_number(one), whole_number(two)
    if first is not None and second is not None and "." not in one + two:
        return first == second
    try:
        return float(one) == float(two)
    except ValueError:
        return one.casefold() == two.casefold()


def _same_json(approved: str, found: dict[str, Any]) -> bool | None:
    """A JSON setting: every approved key has the approved value. What vLLM filled in beside them is its own."""
    try:
        wanted = json.loads(approved)
    except ValueError:
        return None
    if not isinstance(wanted, dict):
        return None
    return all(key in found and found[key] == value for key, value in wanted.items())
