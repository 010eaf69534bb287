"""A small server of our own answers the trials as good and bad servers do."""

import json
from typing import Any

import pytest

from probes.smoke.trials import structured_output, tool_call, try_out
from tests.unit.test_smoke_endpoint import Endpoint, endpoint

__all__ = ["endpoint"]


def answer(choice: dict[str, Any]) -> tuple[int, str]:
    """One answer with one choice."""
    return 200, json.dumps({"choices": [choice]})


def call(arguments: str, name: str = "get_temperature") -> dict[str, Any]:
    """A message with one tool call."""
    return {"message": {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}}


@pytest.mark.parametrize(
    ("text", "reason", "seen"),
    [
        ('{"answer": "yes"}', "stop", True),
        ('{"answer": "maybe"}', "stop", False),
        ('{"answer": "yes", "more": 1}', "stop", False),
        ("Yes, it is.", "stop", False),
        ('{"answer": ', "length", None),
    ],
)
def test_a_schema_is_held_against_the_answer(endpoint: Endpoint, text: str, reason: str, seen: bool | None) -> None:
    endpoint.answers["/v1/completions"] = answer({"text": text, "finish_reason": reason})
    assert structured_output(endpoint.client, "m")[0] is seen


@pytest.mark.parametrize(
    ("choice", "seen"),
    [
        (call('{"city": "Paris"}'), True),
        (call("[]"), False),
        (call("{}", "another"), False),
        ({"message": {"content": '<tool_call>{"name": "get_temperature"}</tool_call>'}}, False),
        ({"message": {"content": "It is warm."}}, None),
    ],
)
def test_a_tool_call_must_come_back_as_a_call(endpoint: Endpoint, choice: dict[str, Any], seen: bool | None) -> None:
    endpoint.answers["/v1/chat/completions"] = answer(choice)
    assert tool_call(endpoint.client, "m")[0] is seen


@pytest.mark.parametrize(
    ("status", "body", "seen"), [(400, "{}", False), (500, "{}", None), (200, "[]", None), (200, "<html>", None)]
)
def test_a_server_that_does_not_take_the_request_is_told(
    endpoint: Endpoint, status: int, body: str, seen: bool | None
) -> None:
    endpoint.answers["/v1/completions"] = (status, body)
    found = try_out("structured_output", endpoint.client, "m", "local")
    assert found is not None
    assert found[0] is seen


def test_random_weights_are_not_asked_for_a_tool_call(endpoint: Endpoint) -> None:
    assert try_out("tool_reasoning_parsers", endpoint.client, "m", "dummy") == (
        None,
        "a model of random weights calls no tool",
    )


def test_a_strategy_that_metrics_show_has_no_trial(endpoint: Endpoint) -> None:
    assert try_out("prefix_caching", endpoint.client, "m", "local") is None
