"""A fleet out of the machines of its nodes: groups, names, differences, failures. No Ray is needed."""

import time
from typing import Any

import pytest

from probes.errors import ProbeError
from probes.fleet import probe_fleet
from probes.machine import Interface, Machine, RuntimeFound
from probes.nodes import fleet, named
from probes.problems import problem
from probes.reading import Reading
from probes.recorded import read_machine_file, recorded_text
from probes.report import machine_table
from tests.unit.document_selections import select
from tests.unit.selections import GPU, machine, on_host, with_driver
from wizard.asking.example import example_tree
from wizard.cli import run
from wizard.document.render import render

_GIB = 1024**3
_RUNTIME = RuntimeFound(version="0.33.0", build="cuda", distribution="vllm", interpreter="/v/python", found_by="path")


def _h100(count: int = 8, gib: int = 80, free_gib: int | None = None) -> Machine:
    memory: dict[str, Any] = {"memory_total_bytes": {"value": gib * _GIB, "source": "t"}}
    memory["memory_free_bytes"] = {"value": (free_gib or gib) * _GIB, "source": "t"}
    return machine(*(GPU,) * count, **memory)


def _interface(mtu: int, mb_s: float = 12_500.0) -> Interface:
    return Interface(
        driver=Reading.of("mlx5_core", "t"), speed_mb_s=Reading.of(mb_s, "t"), mtu_bytes=Reading.of(mtu, "t")
    )


def test_equal_nodes_are_one_kind() -> None:
    found = fleet([_h100(), _h100(free_gib=70)])
    assert ([node.kind for node in found.nodes], found.other_kinds, found.problems) == ([0, 0], (), ())


def test_gpus_are_counted_over_all_nodes() -> None:
    assert fleet([_h100(8), _h100(8), _h100(4)]).usable_gpu_count == 20


def test_the_kind_with_the_least_memory_is_told_first() -> None:
    found = fleet([_h100(gib=80), _h100(gib=40), _h100(gib=80)])
    assert ([node.kind for node in found.nodes], found.gpus[0].memory_total_bytes.value) == ([1, 0, 1], 40 * _GIB)


def test_a_node_keeps_the_least_that_is_free() -> None:
    assert fleet([_h100(free_gib=61)]).nodes[0].memory_free_bytes.value == 61 * _GIB


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (with_driver(machine(GPU), "590.44"), "the GPU driver"),
        (machine("NVIDIA H200"), "the GPU model"),
        (machine(GPU).model_copy(update={"runtimes": (_RUNTIME,)}), "the vLLM version"),
        (machine(GPU).model_copy(update={"interfaces": (_interface(9000, 25_000),)}), "the network interfaces"),
        (on_host(machine(GPU), shm_total_bytes=64 * 1024**2), "the shared memory"),
    ],
)
def test_a_difference_names_what_and_which_node(other: Machine, what: str) -> None:
    first = next(one for one in fleet([machine(GPU), machine(GPU), other]).problems if what in one.message)
    assert (first.code, first.nodes) == ("nodes_differ", ("node-3",))


def test_an_mtu_that_differs_is_no_difference_of_the_interfaces() -> None:
    nodes = [machine(GPU).model_copy(update={"interfaces": (_interface(mtu),)}) for mtu in (9000, 1500, 9000)]
    assert [one.message for one in fleet(nodes).problems] == [
        "The nodes differ in the MTU: 9000 on node-1 and node-3; 1500 on node-2."
    ]


def test_a_node_that_failed_keeps_its_name() -> None:
    found = fleet([machine(GPU), machine(GPU)], [(1, "no answer within 20 s")])
    assert [node.name for node in found.nodes] == ["node-1", "node-3"]
    assert [(one.code, one.message) for one in found.problems] == [("node_failed", "node-2: no answer within 20 s.")]


def test_a_problem_of_several_nodes_is_told_once() -> None:
    broken = machine(GPU).model_copy(update={"problems": (problem("no_gpu"),)})
    (told,) = fleet([broken, machine(GPU), broken]).problems
    assert (told.nodes, told.message.partition(":")[0]) == (("node-1", "node-3"), "node-1 and node-3")


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([1], "node-1"),
        ([1, 3], "node-1 and node-3"),
        ([1, 2, 3, 7], "node-1 to node-3 and node-7"),
        (list(range(1, 40, 2)), "node-1, node-3, node-5, node-7, node-9 and 15 more"),
    ],
)
def test_names_in_few_words(numbers: list[int], words: str) -> None:
    assert named([f"node-{number}" for number in numbers]) == words


def test_a_fleet_is_read_back_as_it_was_recorded(tmp_path: Any) -> None:
    found = fleet([_h100(), _h100(4)])
    (tmp_path / "fleet.json").write_text(recorded_text(found))
    assert read_machine_file(tmp_path / "fleet.json") == found.model_copy(update={"recorded": True})


def test_a_record_whose_node_has_no_kind_is_refused(tmp_path: Any) -> None:
    text = recorded_text(fleet([_h100()])).replace('"kind": 0', '"kind": 3')
    (tmp_path / "fleet.json").write_text(text)
    with pytest.raises(ProbeError, match="a node names a kind that is not there"):
        read_machine_file(tmp_path / "fleet.json")


def test_the_table_tells_kinds_and_the_sum() -> None:
    text = machine_table(fleet([_h100(), _h100(), _h100(4)]))
    assert f"node-1 to node-2: 8 × {GPU}" in text
    assert "3 nodes, 20 usable GPUs in all" in " ".join(text.split())


def a_thousand_nodes() -> Machine:
    """A fleet of 1,000 nodes of eight GPUs, of which every hundredth has another driver and the last has failed."""
    usual, other = _h100(), with_driver(_h100(), "590.44.01")
    return fleet([other if place % 100 == 0 else usual for place in range(1, 1000)], [(999, "no answer within 20 s")])


def test_a_thousand_nodes_stay_readable() -> None:
    found = a_thousand_nodes()
    text = render(select(example_tree(select({}).prepared_on), on=found))
    rows = [line for line in text.splitlines() if line.startswith("| node-")]
    assert len(rows) == 2
    assert all(len(row) < 400 for row in rows)
    assert "node-1 to node-99" in rows[1] + rows[0]


def test_an_address_where_nothing_listens_is_said_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(ProbeError, match=r"The Ray cluster at 127\.0\.0\.1:1 cannot be reached: Connection refused"):
        probe_fleet("127.0.0.1:1", tool_version="0", timeout_s=1)
    assert time.monotonic() - started < 5


def test_a_cluster_that_cannot_be_asked_is_a_failed_probe() -> None:
    assert run(["probe", "--ray", "127.0.0.1:1"]) == 3


def test_a_fleet_and_a_recorded_machine_at_a_time_are_wrong_usage() -> None:
    assert run(["probe", "--ray", "auto", "--machine", "x.json"]) == 2
