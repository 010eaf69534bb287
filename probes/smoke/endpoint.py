"""An already running server: what it is, and whether it accepts what vLLM's load client sends."""

from __future__ import annotations

import contextlib
import json

from probes.smoke.http import Client, HttpError, OutOfTime, Redirected
from probes.smoke.load import LoadFailed
from probes.smoke.names import MOST_CHARACTERS, is_usable_name
from probes.smoke.result import Frozen

TRIAL_TIMEOUT_S = 60.0
TRIAL_PROMPT = tuple(range(100, 132))
"""Token ids that every vocabulary has."""
_LONGEST_QUOTE = 200
_LONGEST_NAME = 80
_LONGEST_CONTEXT = 1_000_000_000
"""Tokens; what a server says beyond that is no context length."""
_TRIAL_TOKENS = 2


class ServedModel(Frozen):
    """What /v1/models and /version say; None for what they do not say."""

    name: str
    max_model_len: int | None
    product: str
    version: str | None


_KEY = ("the endpoint wants a valid key ({status})", "name the variable that holds it with --api-key-env")
_REFUSALS: dict[int, tuple[str, str]] = {
    401: _KEY,
    403: _KEY,
    404: (
        "the endpoint has no OpenAI-style list of models: {problem}",
        "give the URL that /v1/models is below of",
    ),
    429: (
        "the endpoint takes no more requests for now (429)",
        "wait until its limit allows the load, or ask its owner to raise it",
    ),
}
_BROKEN = (
    "the endpoint has an error of its own ({status})",
    "look into its log; it must answer before it can be measured",
)
_OTHER = ("the endpoint is no OpenAI-style server: {problem}", "give the URL that /v1/models is below of")


def _unreachable(problem: HttpError) -> LoadFailed:
    if isinstance(problem, OutOfTime):
        return LoadFailed("time_limit", str(problem), "give it more time with --time-limit")
    if isinstance(problem, Redirected):
        said = f"the endpoint sends requests on to {problem.target}, and selwiz follows no redirect"
        return LoadFailed("endpoint_refused", said, f"if that server is meant, give --endpoint {problem.target}")
    if problem.status is not None:
        said, advice = _REFUSALS.get(problem.status, _BROKEN if problem.status >= 500 else _OTHER)
        return LoadFailed("endpoint_refused", said.format(status=problem.status, problem=problem), advice)
    return LoadFailed("endpoint_unreachable", str(problem), "check that the server runs and the URL is right")


class Served(Frozen):
    """One entry of /v1/models: its name, what it was loaded from, its longest request, and whose server says so."""

    id: str
    root: str | None = None
    max_model_len: int | None = None
    owned_by: str | None = None


def served_models(client: Client) -> tuple[Served, ...]:
    """Return the entries of /v1/models. Raises `LoadFailed` when there are none or nothing answers."""
    try:
        answer = client.get_json("/v1/models", timeout_s=10)
    except HttpError as problem:
        raise _unreachable(problem) from None
    entries = answer.get("data") if isinstance(answer, dict) else None
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    if not found:
        raise LoadFailed("endpoint_refused", "the endpoint serves no model", "start it with a model")
    named = [(entry.get("id"), entry) for entry in found]
    models = {name: entry for name, entry in named if isinstance(name, str) and is_usable_name(name)}
    if not models:
        raise LoadFailed(
            "endpoint_refused",
            f"the endpoint serves no model under a usable name (a text of 1 to {MOST_CHARACTERS} characters)",
            "give its model a name (--served-model-name of vLLM)",
        )
    return tuple(_served(name, entry) for name, entry in models.items())


def _served(name: str, entry: dict[str, object]) -> Served:
    root, length, owner = (entry.get(key) for key in ("root", "max_model_len", "owned_by"))
    return Served(
        id=name,
        root=root if isinstance(root, str) and root else None,
        max_model_len=length if type(length) is int and 0 < length <= _LONGEST_CONTEXT else None,
        owned_by=_short(owner) if isinstance(owner, str) and owner else None,
    )


def _short(text: str) -> str:
    """Return a name as one printable line of bounded length."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST_NAME]


def version_of(client: Client) -> str | None:
    """Return what /version says; None where it says nothing."""
    try:
        version = client.get_json("/version")["version"]
    except (HttpError, KeyError, TypeError):
        return None
    return _short(version) if isinstance(version, str) else None


def look_at(client: Client, wanted: str | None) -> ServedModel:
    """Ask which models are served and pick `wanted`, or the first. Raises `LoadFailed`."""
    models = {model.id: model for model in served_models(client)}
    name = wanted or next(iter(models))
    if name not in models:
        raise LoadFailed(
            "endpoint_refused",
            f"the endpoint does not serve {name}, it serves {', '.join(sorted(models))}",
            "name one of them as the served model",
        )
    return ServedModel(
        name=name,
        max_model_len=models[name].max_model_len,
        product=models[name].owned_by or "unknown",
        version=version_of(client),
    )


def try_payload(client: Client, model: str) -> None:
    """Send one request exactly as vLLM's load client does. Raises `LoadFailed` on a refusal.

    The fields are those of vLLM 0.32 benchmarks/lib/endpoint_request_func.py for /v1/completions.
    """
    payload = {
        "model": model,
        "prompt": list(TRIAL_PROMPT),
        "repetition_penalty": 1.0,
        "max_tokens": _TRIAL_TOKENS,
        "logprobs": None,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "temperature": 0.0,
    }
    try:
        body = client.request("/v1/completions", payload, timeout_s=TRIAL_TIMEOUT_S)
    except HttpError as problem:
        if problem.status is None or problem.status in _REFUSALS or not 400 <= problem.status < 500:
            raise _unreachable(problem) from None
        said = " ".join(problem.body.split())[:_LONGEST_QUOTE]
        raise LoadFailed(
            "endpoint_refused",
            f"the endpoint refuses a request as vLLM's load client sends it ({problem.status}): {said}",
            "measure a server that accepts vLLM's client (vLLM, or a gateway that passes its fields on)",
        ) from None
    _check_stream(body)


def _check_stream(body: str) -> None:
    """Check that a stream has choices, a count of tokens, and an end. Raises `LoadFailed`."""
    sent = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    pieces = []
    for text in sent:
        with contextlib.suppress(ValueError):
            pieces.append(json.loads(text))
    chunks = [piece for piece in pieces if isinstance(piece, dict)]
    if not any(chunk.get("choices") for chunk in chunks):
        raise LoadFailed(
            "endpoint_refused",
            "the endpoint answers vLLM's load client without a token stream",
            "measure a server that streams /v1/completions",
        )
    usage = [chunk["usage"] for chunk in chunks if isinstance(chunk.get("usage"), dict)]
    if "[DONE]" not in sent and not usage:
        raise LoadFailed(
            "endpoint_refused",
            "the endpoint breaks its token stream off before the end",
            "look into its log, and into that of a gateway before it",
        )
    counts = [one["completion_tokens"] for one in usage if "completion_tokens" in one]
    if not any(type(count) is int for count in counts):
        raise LoadFailed(
            "endpoint_refused",
            "the endpoint does not count its tokens (no usage at the end of the stream)",
            "measure a server that answers stream_options.include_usage",
        )
    if type(counts[-1]) is not int or not 0 < counts[-1] <= _TRIAL_TOKENS:
        raise LoadFailed(
            "endpoint_refused",
            f"the endpoint counts {str(counts[-1])[:20]} tokens for an answer of at most {_TRIAL_TOKENS}",
            "measure a server that counts the tokens of its answers in completion_tokens",
        )
