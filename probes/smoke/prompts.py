"""The form of the user's own prompts: how long they are and what they share. Their text is never kept or sent.

A child in vLLM's interpreter reads the JSONL file, turns each prompt into tokens and each chunk of tokens, together
with all before it, into a number. Only lengths and numbers leave the child; the load tool draws random tokens for them.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from probes.errors import ProbeError
from probes.paths import regular_bytes
from probes.smoke.names import is_encodable
from probes.smoke.plan import CHUNK_TOKENS
from probes.smoke.result import Frozen

MOST_PROMPTS = 2000
MOST_BYTES = 64 * 1024 * 1024
MOST_OUTPUT_TOKENS = 10_000_000
"""Longer than the context of any model."""
_CHILD_S = 120
_SCRIPT = """
import hashlib, json, sys
from transformers import AutoTokenizer
path, folder, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
tokenizer, numbers, found = AutoTokenizer.from_pretrained(folder), {}, []
with open(path, encoding="utf-8-sig", newline="\\n") as lines:
    for line in lines:
        if not line.strip():
            continue
        given = json.loads(line)
        tokens = tokenizer.encode(given["prompt"]) or [0]
        chain, chunks = hashlib.sha256(), []
        for start in range(0, len(tokens), size):
            chain.update(json.dumps(tokens[start : start + size]).encode())
            chunks.append(numbers.setdefault(chain.digest(), len(numbers)))
        found.append({"tokens": len(tokens), "chunks": chunks, "output_tokens": given.get("output_tokens")})
print(json.dumps(found))
"""


class PromptForm(Frozen):
    """One prompt: its tokens, a number for each chunk with all before it, and the answer's length if given."""

    tokens: int
    chunks: tuple[int, ...]
    output_tokens: int | None = None


def check_prompts(path: Path) -> int:
    """Return how many prompts a file holds. Raises `ProbeError` with the number of a bad line, never its text."""
    advice = 'give a JSONL file: {"prompt": "…", "output_tokens": 200} a line, the second key only if it differs'
    try:
        text = regular_bytes(path, MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ProbeError(f"{path} cannot be read: {error.strerror}", advice) from None
    except ValueError:
        raise ProbeError(f"{path} is no UTF-8 text", advice) from None
    count = 0
    # Not splitlines(): a JSON text may hold U+2028 and U+0085, which would pass for ends of lines.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            raise ProbeError(f"line {number} of {path} is no JSON", advice) from None
        output = given.get("output_tokens", 1) if isinstance(given, dict) else None
        if not isinstance(given, dict) or not isinstance(given.get("prompt"), str):
            raise ProbeError(f"line {number} of {path} has no prompt", advice)
        if not is_encodable(given["prompt"]):
            raise ProbeError(f"line {number} of {path} has half a character (a lone surrogate)", advice)
        if isinstance(output, bool) or not isinstance(output, int) or not 1 <= output <= MOST_OUTPUT_TOKENS:
            raise ProbeError(f"line {number} of {path} has no usable output_tokens", advice)
        count += 1
    if not 1 <= count <= MOST_PROMPTS:
        raise ProbeError(f"{path} holds {count} prompts, and 1 to {MOST_PROMPTS} can be used", advice)
    return count


def read_forms(path: Path, tokenizer: Path | str, interpreter: Path) -> tuple[PromptForm, ...]:
    """Turn the prompts of a checked file into their forms. Raises `ProbeError` if the tokenizer cannot be used."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    command = [str(interpreter), "-P", "-c", _SCRIPT, str(path.absolute()), str(tokenizer), str(CHUNK_TOKENS)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CHILD_S,
            check=True,
            env=environment,
        )
        return tuple(PromptForm.model_validate(each) for each in json.loads(done.stdout.splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        raise ProbeError("the prompts could not be turned into tokens", "see that the model has a tokenizer") from None


def shortened(forms: Sequence[PromptForm], most_tokens: int, most_output: int) -> tuple[PromptForm, ...]:
    """Return the forms cut to a length, for a model that takes no more."""
    return tuple(
        PromptForm(
            tokens=min(form.tokens, most_tokens),
            chunks=form.chunks[: -(-min(form.tokens, most_tokens) // CHUNK_TOKENS)],
            output_tokens=min(form.output_tokens, most_output) if form.output_tokens else None,
        )
        for form in forms
    )


def chunk_ids(
    forms: Sequence[PromptForm], requests: int, take: Callable[[int], tuple[int, ...]], *, shared: bool
) -> list[tuple[int, ...]]:
    """Return the chunk ids of each request, in the order of the file and then from its begin again.

    What several prompts begin with keeps its ids; what is a prompt's own gets new ones every time, so that a prompt
    that is sent twice does not find itself in the cache. With `shared` False nothing is shared.
    """
    uses = Counter(chunk for form in forms for chunk in form.chunks)
    known: dict[int, int] = {}
    made = []
    for number in range(requests):
        ids = []
        for chunk in forms[number % len(forms)].chunks:
            if not shared or uses[chunk] == 1:
                ids.append(take(1)[0])
            else:
                if chunk not in known:
                    known[chunk] = take(1)[0]
                ids.append(known[chunk])
        made.append(tuple(ids))
    return made
