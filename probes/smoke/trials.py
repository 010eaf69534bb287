"""One real request for each thing that no metric shows: structured output, and tool calls.

A trial says True (seen to work), False (seen not to) or None (one request cannot tell), with the words that show it.
"""

from __future__ import annotations

import json
from typing import Any

from probes.smoke.http import Client, HttpError, OutOfTime
from probes.smoke.result import Mode

TRIAL_S = 60.0
MOST_TOKENS = 256
ANSWERS = ("yes", "no")
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(ANSWERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
"""Has two answers only, so that a model of random weights comes to an end too."""
TOOL = "get_temperature"
_CALL_SIGNS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|tool_call", f'"{TOOL}"')

Trial = tuple[bool | None, str]


def _post(client: Client, path: str, payload: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(client.request(path, payload, timeout_s=TRIAL_S))
    choice = answer["choices"][0]
    if not isinstance(choice, dict):
        raise TypeError
    return choice


def structured_output(client: Client, model: str, *, random_weights: bool = False) -> Trial:
    """Ask for an answer that follows a schema, and hold the answer against it.

    Random weights would write one allowed blank for ever at temperature 0, so they are sampled.
    """
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}
    payload = {"model": model, "prompt": "Is water wet?", "max_tokens": MOST_TOKENS, "seed": 0}
    payload["temperature"] = 1 if random_weights else 0
    choice = _post(client, "/v1/completions", {**payload, "response_format": form})
    if choice.get("finish_reason") == "length":
        return None, f"one request with a JSON schema did not end within {MOST_TOKENS} tokens"
    try:
        said = json.loads(choice["text"])
    except ValueError:
        return False, "one request with a JSON schema was answered without JSON"
    obeyed = isinstance(said, dict) and set(said) == {"answer"} and said["answer"] in ANSWERS
    return obeyed, f"one request with a JSON schema: the answer {'follows' if obeyed else 'does not follow'} it"


def tool_call(client: Client, model: str) -> Trial:
    """Offer a tool and ask for what only it can tell; a call must come back as a call and not as text."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    function = {"name": TOOL, "description": "Current temperature of a city.", "parameters": parameters}
    payload = {
        "model": model,
        "messages": [{"role": "user", "content": f"Use {TOOL}: what is the temperature in Paris now?"}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
    }
    message = _post(client, "/v1/chat/completions", payload)["message"]
    calls = message.get("tool_calls") or []
    if calls:
        known = calls[0]["function"]["name"] == TOOL and isinstance(json.loads(calls[0]["function"]["arguments"]), dict)
        return known, f"one request with a tool: the call came back {'whole' if known else 'damaged'}"
    if any(sign in (message.get("content") or "") for sign in _CALL_SIGNS):
        return False, "one request with a tool: the call came back as text, so the parser does not fit the model"
    return None, "one request with a tool was answered without a call, which the model may choose to do"


def try_out(strategy: str, client: Client, model: str, mode: Mode) -> Trial | None:
    """Try a strategy with one request; None if there is no trial for it. Raises only for a stop.

    The loads are over when something is tried, so a time limit that ends a trial takes nothing from the run.
    """
    random_weights = mode in ("dummy", "tiny")
    if strategy not in ("structured_output", "tool_reasoning_parsers"):
        return None
    if strategy == "tool_reasoning_parsers" and random_weights:
        return None, "a model of random weights calls no tool"
    try:
        if strategy == "structured_output":
            return structured_output(client, model, random_weights=random_weights)
        return tool_call(client, model)
    except OutOfTime:
        return None, "the time limit was over before the one request for it was answered"
    except HttpError as problem:
        if problem.status is not None and 400 <= problem.status < 500:
            return False, f"one request for it was refused ({problem.status})"
        return None, "one request for it got no answer"
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None, "one request for it was answered in another form than vLLM's"
