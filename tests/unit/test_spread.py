"""A replica over several nodes: what goes across them, and how each node is started."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from probes.nodes import fleet
from tests.unit.document_selections import full
from tests.unit.rule_mutations.nodes import two_nodes
from tests.unit.selections import GPU, good_selection, machine
from wizard.artefacts import artefacts
from wizard.decision.gather import carried_configuration
from wizard.decision.selection import Selection
from wizard.serving.spread import Spread, nodes_in_all
from wizard.sizing.answer import Sizing
from wizard.sizing.buy import Candidate
from wizard.sizing.proposed import proposed_sizing


def _selection(launcher: str = "vllm", **changes: Any) -> Selection:
    return good_selection(**two_nodes(**{"runtime.layout.launcher": launcher}, **changes))


@pytest.mark.parametrize(
    ("over", "across", "is_even"),
    [
        (Spread(1, 8, 8, 1, 1), "nothing", True),
        (Spread(2, 16, 8, 2, 1), "pipeline", True),
        (Spread(2, 16, 16, 1, 1), "tensor", True),
        (Spread(2, 16, 8, 1, 2), "data", True),
        (Spread(4, 32, 8, 2, 2), "pipeline", True),
        (Spread(2, 32, 4, 4, 2), "data", True),
        (Spread(3, 16, 8, 2, 1), "tensor", False),
        (Spread(2, None, 8, 2, 1), "pipeline", True),
    ],
)
def test_what_goes_across_nodes(over: Spread, across: str, is_even: bool) -> None:
    assert (over.across, over.is_even) == (across, is_even)


def test_nodes_of_all_replicas_with_the_spare_ones() -> None:
    assert nodes_in_all(_selection().answers) == 4


def test_a_server_of_the_smoke_stands_on_one_node() -> None:
    assert not {"--nnodes", "--distributed-executor-backend"} & {
        *_selection().launch.serve_flags(),
        *_selection("ray").launch.serve_flags(),
    }


def test_the_command_of_each_role_is_printed() -> None:
    head, worker = (_selection().launch.shell() or "").split("\n\n")
    assert head.startswith("# on the head node\n")
    assert '--nnodes 2 --node-rank 0 --master-addr "$HEAD_ADDRESS"' in head.replace(" \\\n ", "")
    assert worker.endswith('--node-rank "$NODE_RANK" --master-addr "$HEAD_ADDRESS" --headless')
    assert "--port" not in worker


def test_ray_is_started_before_the_runtime() -> None:
    head, worker = (_selection("ray").launch.shell() or "").split("\n\n")
    assert "ray start --head --port=6379\n" in head
    assert head.endswith("--distributed-executor-backend ray")
    assert worker.endswith('ray start "--address=$HEAD_ADDRESS:6379" --block')


def test_data_parallel_ranks_across_nodes_are_placed_by_ray_too() -> None:
    data = {"runtime.layout.pipeline_parallel": 1, "runtime.layout.data_parallel": 2}
    assert ("--data-parallel-backend", "ray") in _selection("ray", **data).launch.command()


@pytest.mark.parametrize(
    ("launcher", "rank", "calls"),
    [
        ("vllm", "0", [["vllm", "--node-rank", "0", "--master-addr", "10.0.0.1"]]),
        ("vllm", "1", [["vllm", "--node-rank", "1", "--master-addr", "10.0.0.1", "--headless"]]),
        ("ray", "0", [["ray", "start", "--head", "--port=6379"], ["vllm", "--distributed-executor-backend", "ray"]]),
        ("ray", "1", [["ray", "start", "--address=10.0.0.1:6379", "--block"]]),
    ],
)
def test_one_script_starts_every_node(tmp_path: Path, launcher: str, rank: str, calls: list[list[str]]) -> None:
    for name in ("vllm", "ray"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/calls"\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "launch.sh").write_bytes(artefacts(_selection(launcher))["launch.sh"])
    here = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NODE_RANK": rank, "HEAD_ADDRESS": "10.0.0.1"}
    subprocess.run(["/bin/sh", str(tmp_path / "launch.sh")], env=here, check=True, timeout=10)
    made = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    assert [[line[0], *line[1 - len(want) :]] for line, want in zip(made, calls, strict=True)] == calls


def test_without_its_rank_no_node_starts(tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_bytes(artefacts(_selection())["launch.sh"])
    ended = subprocess.run(
        ["/bin/sh", str(tmp_path / "launch.sh")], env={}, capture_output=True, check=False, timeout=10
    )
    assert (ended.returncode != 0, b"NODE_RANK" in ended.stderr) == (True, True)


def _yaml(name: str, launcher: str = "vllm") -> Any:
    return next(iter(yaml.safe_load_all(artefacts(_selection(launcher))[name])))


def test_compose_has_a_service_for_each_role() -> None:
    services = _yaml("compose.yaml")["services"]
    assert {name: service["profiles"] for name, service in services.items()} == {"head": ["head"], "worker": ["worker"]}
    assert services["worker"]["command"][-5:] == [
        *("--node-rank", "${NODE_RANK:?see the comment above}", "--master-addr"),
        *("${HEAD_ADDRESS:?see the comment above}", "--headless"),
    ]
    assert "healthcheck" not in services["worker"]


def test_a_container_takes_the_gpus_of_a_node() -> None:
    (device,) = _yaml("compose.yaml")["services"]["head"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["count"] == 2


def test_kubernetes_starts_a_group_for_each_replica() -> None:
    found = _yaml("kubernetes.yaml")
    group = found["spec"]["leaderWorkerTemplate"]
    (worker,) = group["workerTemplate"]["spec"]["containers"]
    assert (found["kind"], found["spec"]["replicas"], group["size"]) == ("LeaderWorkerSet", 2, 2)
    assert worker["args"][-5:] == [
        *("--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "$(LWS_LEADER_ADDRESS)", "--headless")
    ]
    assert "labels" not in group["workerTemplate"].get("metadata", {})  # the Service leads to the leader only


def test_a_ray_worker_of_kubernetes_joins_its_leader() -> None:
    (worker,) = _yaml("kubernetes.yaml", "ray")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    assert [*worker["command"], *worker["args"]] == [
        *("ray", "start", "--address=$(LWS_LEADER_ADDRESS):6379", "--block")
    ]


@pytest.mark.parametrize(("tensor", "pipeline", "nodes"), [(8, 1, 1), (4, 2, 1), (8, 2, 2), (4, 3, 2), (1, 8, 1)])
def test_the_buy_side_counts_nodes_of_eight(tensor: int, pipeline: int, nodes: int) -> None:
    assert Candidate("H100", tensor * pipeline, tensor, pipeline, None, None, "read").nodes == nodes


def _sized(*memory_gib: int) -> Sizing:
    selection = full()
    nodes = [machine(GPU, GPU, memory_total_bytes={"value": size * 1024**3, "source": "t"}) for size in memory_gib]
    configuration, weights = carried_configuration(selection.answers)
    found = proposed_sizing(selection.answers, selection.launch, fleet(nodes), configuration, weights)
    assert found is not None
    assert found.sizing is not None
    return found.sizing


def test_the_node_with_the_least_memory_decides() -> None:
    assert _sized(80, 79, 80).reserved_bytes_per_gpu == _sized(79).reserved_bytes_per_gpu
