from typing import Any

import pytest

from wizard.answers import Answers
from wizard.asking.answers_file import parse_layer
from wizard.asking.defaults import DEFAULTS, fill
from wizard.asking.provenance import PRECEDENCE
from wizard.asking.questions import by_key
from wizard.decision.gather import gather_layers


def filled(**tables: Any) -> tuple[Answers, dict[str, str]]:
    answers, origins = fill(Answers.model_validate(tables), {}, None)
    return answers, {key: origin.layer for key, origin in origins.items()}


def test_every_default_answers_a_question() -> None:
    assert [default.key for default in DEFAULTS if default.key not in by_key()] == []


def test_every_default_names_its_source() -> None:
    assert [default.key for default in DEFAULTS if not default.source] == []


def test_what_a_person_said_wins_over_a_default() -> None:
    gathered = gather_layers(
        [parse_layer("[runtime.settings]\ngpu_memory_utilization = 0.8", "mine.toml")], probe=False
    )
    assert gathered.answers.runtime.settings.gpu_memory_utilization == 0.8
    assert gathered.origins["runtime.settings.gpu_memory_utilization"].layer == "answers"


def test_a_default_is_marked_as_one() -> None:
    answers, layers = filled()
    assert answers.runtime.settings.gpu_memory_utilization == 0.92
    assert layers["runtime.settings.gpu_memory_utilization"] == "default"


def test_concurrency_follows_from_users_tasks_calls_and_seconds() -> None:
    # 120 users x 6 tasks x 5 calls = 3,600 calls an hour = 1 a second; 12 s each = 12 in flight; factor 1.5 = 18.
    load = {
        "users_peak_hour": 120,
        "tasks_per_user_hour": 6,
        "calls_per_task": 5,
        "call_seconds": 12,
        "peak_factor": 1.5,
    }
    answers, layers = filled(runtime={"workload": load})
    assert answers.runtime.workload.concurrency == 18
    assert layers["runtime.workload.concurrency"] == "derived"


def test_the_e2e_ceiling_follows_from_the_time_of_a_task() -> None:
    answers, _ = filled(runtime={"workload": {"task_seconds": 60, "calls_per_task": 4}})
    assert answers.runtime.ceilings.e2e_ms == 15_000


@pytest.mark.parametrize(("gpus", "pipeline", "tensor"), [(8, 1, 8), (8, 2, 4), (3, 2, None), (None, 1, None)])
def test_tensor_parallel_takes_the_gpus_that_are_left(gpus: int | None, pipeline: int, tensor: int | None) -> None:
    runtime = {"hardware": {"gpus_per_replica": gpus}, "layout": {"pipeline_parallel": pipeline}}
    answers, _ = filled(runtime=runtime)
    assert answers.runtime.layout.tensor_parallel == tensor


def test_the_longest_context_that_is_carried_here_sets_the_longest_request() -> None:
    models = [{"name": "a", "context_tokens": 8192}, {"name": "b", "context_tokens": 99999, "carried_by": "other"}]
    answers, _ = filled(engine={"models": models})
    assert answers.runtime.settings.max_model_len == 8192


def test_layers_win_in_the_order_that_is_shown() -> None:
    assert PRECEDENCE == ("flag", "answers", "session", "probe", "catalogue", "derived", "default", "missing")
