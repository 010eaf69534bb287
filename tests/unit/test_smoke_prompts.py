"""The form of a person's own prompts, and that their text goes nowhere."""

import os
from itertools import count
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.smoke.plan import Workload
from probes.smoke.prompts import PromptForm, check_prompts, chunk_ids, shortened
from probes.smoke.traces import trace_of_forms

#: Two prompts that begin alike for two chunks, and one of its own.
FORMS = (
    PromptForm(tokens=40, chunks=(0, 1, 2)),
    PromptForm(tokens=48, chunks=(0, 1, 3), output_tokens=7),
    PromptForm(tokens=10, chunks=(4,)),
)
LOAD = Workload(concurrency=1, input_tokens=100, output_tokens=20)


def ids(requests: int, *, shared: bool) -> list[tuple[int, ...]]:
    """The chunk ids of so many requests."""
    numbers = count(100)
    return chunk_ids(FORMS, requests, lambda wanted: tuple(next(numbers) for _ in range(wanted)), shared=shared)


def test_prompts_that_begin_alike_share_these_chunks_only() -> None:
    first, second, third = ids(3, shared=True)
    assert (first[:2] == second[:2], first[2] == second[2], set(third) & set(first)) == (True, False, set())


def test_a_prompt_that_is_sent_again_does_not_find_its_own_part_in_the_cache() -> None:
    made = ids(4, shared=True)
    assert (made[0][:2] == made[3][:2], made[0][2] == made[3][2]) == (True, False)


def test_unshared_prompts_share_nothing() -> None:
    flat = [chunk for each in ids(6, shared=False) for chunk in each]
    assert len(flat) == len(set(flat))


def test_lengths_are_those_of_the_prompts() -> None:
    trace = trace_of_forms(FORMS, LOAD, 4, seed=0, run=0, shared=True)
    assert [(one.input_length, one.output_length) for one in trace] == [(40, 20), (48, 7), (10, 20), (40, 20)]


def test_a_cut_form_has_as_many_chunks_as_its_tokens_need() -> None:
    assert shortened(FORMS, 20, 5)[1] == PromptForm(tokens=20, chunks=(0, 1), output_tokens=5)


def test_a_good_file_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "a"}\n\n{"prompt": "b", "output_tokens": 3}\n', encoding="utf-8")
    assert check_prompts(path) == 2


@pytest.mark.parametrize("text", ["a\u2028b\u0085c", "a"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_json_allows_inside_a_text_ends_no_line(tmp_path: Path, mark: str, text: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(f'{mark}{{"prompt": "{text}"}}\r\n', encoding="utf-8")
    assert check_prompts(path) == 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "prompts.jsonl")
    with pytest.raises(ProbeError, match="it is no regular file"):
        check_prompts(tmp_path / "prompts.jsonl")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"prompt": "secret"', "line 1 of .* is no JSON"),
        ('{"prompt": "secret"}\n{"text": "secret"}', "line 2 of .* has no prompt"),
        ('["secret"]', "has no prompt"),
        ('{"prompt": "secret", "output_tokens": 0}', "no usable output_tokens"),
        ("", "holds 0 prompts"),
        ('{"prompt": "secret", "output_tokens": 100000000000000000000}', "no usable output_tokens"),
        ('{"prompt": "secret \\ud800"}', "line 1 of .* has half a character"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_not_by_its_text(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProbeError, match=said) as caught:
        check_prompts(path)
    assert "secret" not in caught.value.message + caught.value.remedy


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="cannot be read"):
        check_prompts(tmp_path / "none.jsonl")
