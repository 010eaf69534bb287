"""Profiles keep the means that were answered, and every request fits where the mean does."""

from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.smoke.plan import CHUNK_TOKENS, Workload
from probes.smoke.profiles import Profile, shaped
from probes.smoke.traces import make_trace

PROFILES: tuple[Profile, ...] = get_args(Profile)
AGENT = Workload(concurrency=4, input_tokens=4096, output_tokens=200, shared_prefix_tokens=2048, turns=4)


def mean(values: tuple[int, ...]) -> float:
    return sum(values) / len(values)


@given(st.sampled_from(PROFILES), st.integers(1, 5000), st.integers(1, 3000), st.integers(1, 8), st.data())
def test_the_means_stay_those_of_the_answers(
    profile: Profile, prompt: int, answer: int, turns: int, data: st.DataObject
) -> None:
    shared = data.draw(st.integers(0, prompt - 1))
    load = Workload(concurrency=2, input_tokens=prompt, output_tokens=answer, shared_prefix_tokens=shared, turns=turns)
    made = shaped(profile, load, None)
    assert mean(made.input_mix or (made.input_tokens,)) == pytest.approx(prompt, abs=1)
    assert mean(made.output_mix or (made.output_tokens,)) == pytest.approx(answer, abs=1)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_form_that_does_not_fit_the_context_is_not_taken(profile: Profile) -> None:
    assert shaped(profile, AGENT, 4296) in (AGENT, shaped(profile, AGENT, None))
    assert shaped(profile, AGENT, 4296).longest_request <= 4296


@pytest.mark.parametrize("profile", ["batch", "custom"])
def test_a_batch_and_a_custom_load_are_sent_as_answered(profile: Profile) -> None:
    assert shaped(profile, AGENT, None) == AGENT


def test_an_agent_has_mostly_short_answers_and_an_occasional_long_one() -> None:
    assert Counter(shaped("agent", AGENT, None).output_mix) == {180: 9, 380: 1}


def test_prompts_of_a_task_grow() -> None:
    assert shaped("agent", AGENT, None).input_mix == (3072, 3755, 4437, 5120)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_turn_occurs_equally_often_in_both_halves_of_a_run(profile: Profile) -> None:
    lengths = [request.input_length for request in make_trace(shaped(profile, AGENT, None), 240, seed=0, run=0)]
    assert Counter(lengths[:120]) == Counter(lengths[120:])


def test_a_turn_repeats_all_that_the_one_before_it_sent() -> None:
    load = shaped("chat", AGENT, None)
    trace = make_trace(load, 240, seed=0, run=0)
    sent = [set(request.hash_ids) for request in trace if request.input_length == 3072]
    later = [set(request.hash_ids) for request in trace if request.input_length == 3755]
    # The first requests of the second turn belong to tasks that were on their way when the run began.
    assert sum(any(before <= after for before in sent) for after in later) >= len(later) - 2 * load.concurrency


@given(
    st.sampled_from(("agent", "chat")),
    st.integers(1, 4),
    st.integers(2, 4),
    st.integers(0, 40),
    st.integers(2, 60),
)
def test_a_turn_begins_with_the_whole_prompt_of_the_turn_before(
    profile: Profile, callers: int, turns: int, shared: int, own: int
) -> None:
    tokens = (shared + own) * CHUNK_TOKENS
    load = Workload(
        concurrency=callers,
        input_tokens=tokens,
        output_tokens=8,
        shared_prefix_tokens=shared * CHUNK_TOKENS,
        turns=turns,
    )
    made = shaped(profile, load, None)
    round_of_all = turns * (2 * callers + turns * made.burst)  # tasks that began before the run are over by then
    trace = make_trace(made, 2 * round_of_all, seed=0, run=0)
    sent = {request.hash_ids for request in trace}
    for number in range(round_of_all, len(trace), made.burst):
        turn = number // made.burst % turns
        if turn and number % made.burst == 0:
            before = -(-made.input_mix[turn - 1] // CHUNK_TOKENS)
            assert trace[number].hash_ids[:before] in sent


def test_the_calls_of_a_burst_repeat_the_same_and_end_differently() -> None:
    trace = make_trace(shaped("agent", AGENT, None), 240, seed=0, run=0)
    prefix, first = 2048 // CHUNK_TOKENS, 3072 // CHUNK_TOKENS
    burst = trace[15:18]  # a second turn, whose task began in this run
    assert len({request.hash_ids[:first] for request in burst}) == 1
    assert len({request.hash_ids[prefix:] for request in burst}) == 3
