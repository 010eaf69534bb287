"""A simulated Ray cluster on this machine, each node with a stand-in for NVML of its own, asked by the real probe."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from probes.fleet import probe_fleet
from tests.nvml.fake import SCENARIO_VARIABLE, FakeNvml

pytest.importorskip("ray", reason="Ray is the extra `fleet`; `make env-dev` installs it")

pytestmark = pytest.mark.soak

LIMIT_S = 5.0


@pytest.fixture(scope="module")
def cluster(fake_nvml: FakeNvml) -> Iterator[Any]:
    """Four nodes, of which one differs."""
    from ray.cluster_utils import Cluster

    made = Cluster()
    for scenario in ("h100x2", "h100x2", "h100x2", "h100x8"):
        _add(made, fake_nvml.env(scenario))
    yield made
    made.shutdown()


def _add(cluster: Any, environment: dict[str, str]) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=80_000_000, include_dashboard=False, env_vars=environment)


def _wait_for_probe(scenario: str, within_s: float) -> None:
    """Wait until the NVML child of the node with this scenario runs."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        for process in psutil.process_iter():
            try:
                words, environment = process.cmdline(), process.environ()
            except psutil.Error:
                continue
            if environment.get(SCENARIO_VARIABLE) == scenario and any("probes.nvml" in word for word in words):
                return
        threading.Event().wait(0.1)
    raise AssertionError("the node was never asked")


def test_every_node_is_asked_at_a_time(cluster: Any) -> None:
    asked_at = time.monotonic()
    whole = probe_fleet(cluster.address, tool_version="0", timeout_s=LIMIT_S)
    assert time.monotonic() - asked_at < 20
    assert (len(whole.nodes), whole.usable_gpu_count) == (4, 14)
    assert {problem.code for problem in whole.problems} == {"nodes_differ"}
    assert cluster.address.partition(":")[0] not in whole.model_dump_json()


def test_a_node_that_is_lost_while_it_is_asked_is_a_problem(cluster: Any, fake_nvml: FakeNvml) -> None:
    """A node whose driver hangs is killed as soon as its driver is asked."""
    hanging = fake_nvml.env("hang")
    node = _add(cluster, hanging)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(probe_fleet, cluster.address, tool_version="0", timeout_s=LIMIT_S)
        _wait_for_probe(hanging[SCENARIO_VARIABLE], 20)
        cluster.remove_node(node, allow_graceful=False)
        rest = answer.result(60)
    (failure,) = [problem for problem in rest.problems if problem.code == "node_failed"]
    assert (len(rest.nodes), len(failure.nodes)) == (4, 1)
    assert not {node.name for node in rest.nodes} & set(failure.nodes)
