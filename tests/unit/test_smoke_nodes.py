"""A smoke over several nodes: what each node runs, who has joined, and which process failed first."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes.errors import ProbeError
from probes.smoke.children import Children
from probes.smoke.logs import LogTail
from probes.smoke.place import on_this_machine
from probes.smoke.plan import Nodes, SmokePlan
from probes.smoke.planning import gpus_needed, make_plan, serve_environment_for
from probes.smoke.result import NodeProcess
from probes.smoke.spanning import SURE_AFTER, Others, connected, worker_commands
from probes.smoke.workers import Workers, why_it_ended
from tests.unit.rule_mutations.nodes import fleet_of, two_nodes
from tests.unit.selections import good_selection
from tests.unit.selections import smoke as ran_once
from tests.unit.test_smoke_plan import LOCAL, NONE, TOOL, plan_of, serve
from wizard.decision.gather import Gathered
from wizard.decision.proof import qualifier
from wizard.decision.selection import Selection
from wizard.document.context.measurement import runs
from wizard.document.context.measurement_tables import conditions
from wizard.errors import UsageError
from wizard.smoke.request import SmokeOptions, smoke_request

HERE = Nodes(count=2, head_address="127.0.0.1", port=29777)
FLEET = Nodes(count=3, head_address="10.0.0.1", port=29501, interface="eth1")
CUDA = TOOL.model_copy(update={"build": "cuda"})


def test_the_head_answers_on_loopback_and_meets_the_others_where_they_reach_it() -> None:
    command = serve(plan_of("local", LOCAL, nodes=FLEET))
    assert "--host 127.0.0.1 --port 8123" in command
    assert command.endswith("--nnodes 3 --node-rank 0 --master-addr 10.0.0.1 --master-port 29501")


def test_a_further_node_is_headless_and_has_no_port_for_callers() -> None:
    plan = plan_of("local", LOCAL, nodes=FLEET, serve_flags=("--api-server-count", "2", "--max-model-len", "64"))
    words = [" ".join(command) for command in plan.worker_commands]
    assert [f"--node-rank {rank} " in text for rank, text in enumerate(words, 1)] == [True, True]
    assert [text.endswith("--headless") for text in words] == [True, True]
    assert not [
        text for text in words if "--port" in text or "--api-server-count" in text or "--max-model-len 64" not in text
    ]


def test_the_stand_in_has_one_rank_a_node() -> None:
    assert "--tensor-parallel-size 2" in serve(plan_of("tiny", NONE, nodes=HERE))


def test_the_line_for_each_other_node_is_shown_and_ends_with_the_time_limit() -> None:
    text = plan_of("local", LOCAL, nodes=FLEET, time_limit_s=900).description
    lines = [line for line in text if "timeout 900 vllm serve" in line]
    assert len(lines) == 2
    assert all("GLOO_SOCKET_IFNAME=eth1" in line and "VLLM_HOST_IP" not in line for line in lines)


def test_of_many_nodes_one_line_stands_for_all() -> None:
    nodes = Nodes(count=100, head_address="10.0.0.1", port=29501)
    text = plan_of("local", LOCAL, nodes=nodes).description
    assert (sum("--headless" in line for line in text), any("2 to 99" in line for line in text)) == (1, True)


def test_the_open_port_is_said() -> None:
    assert any(
        "port 29777, which listens on all addresses" in line for line in plan_of("tiny", NONE, nodes=HERE).description
    )


def test_processes_on_one_machine_share_its_gpus() -> None:
    request = plan_of("dummy", LOCAL, nodes=HERE, devices=("0", "1", "2", "3")).request
    visible = [dict(serve_environment_for(request, CUDA, rank))["CUDA_VISIBLE_DEVICES"] for rank in (0, 1)]
    assert visible == ["0,1", "2,3"]


def test_a_head_takes_its_own_gpus_and_all_nodes_are_counted() -> None:
    flags = ("--tensor-parallel-size", "8", "--pipeline-parallel-size", "3")
    request = plan_of("local", LOCAL, tool=CUDA, nodes=FLEET, serve_flags=flags).request
    assert (gpus_needed(request), make_plan(request, CUDA, LOCAL, 1).gpus) == (8, 24)


def test_nodes_on_this_machine_meet_on_a_free_port() -> None:
    placed = on_this_machine(plan_of("tiny", NONE, nodes=Nodes(count=2, head_address="127.0.0.1")).request).nodes
    assert placed is not None
    assert (placed.port is not None, placed.interface) == (True, "lo")


def test_a_taken_port_is_told_before_anything_starts(unused: int) -> None:
    request = plan_of("tiny", NONE, nodes=Nodes(count=2, head_address="127.0.0.1", port=unused)).request
    with pytest.raises(ProbeError, match=f"port {unused}, where the nodes would meet, is taken"):
        on_this_machine(request)


@pytest.fixture
def unused() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (Nodes(count=2, head_address="192.0.2.77"), "no address of this machine"),
        (Nodes(count=3, head_address="127.0.0.1"), "cannot be split over 3 nodes"),
    ],
)
def test_what_cannot_work_is_told_before_anything_starts(nodes: Nodes, said: str) -> None:
    with pytest.raises(ProbeError, match=said):
        on_this_machine(plan_of("tiny", NONE, nodes=nodes).request)


def test_other_machines_on_the_port_are_counted_once(tmp_path: Path) -> None:
    # 29501 is 733D. Two connections of another machine, one of this machine, one listener, one on another port.
    rows = ("0100000A:733D 0200000A:9000 01", "0100000A:733D 0200000A:9001 01", "0100000A:733D 0100000A:9002 01")
    more = ("00000000:733D 00000000:0000 0A", "0100000A:0016 0300000A:9003 01")
    (tmp_path / "tcp").write_text("head\n" + "".join(f"  0: {row} 0:0 00:0 0 0 0 1\n" for row in (*rows, *more)))
    assert connected(29501, tmp_path) == {"0200000A"}


def test_a_node_that_had_joined_and_is_gone_is_told() -> None:
    others = Others(FLEET)
    looks = [others.look({"a", "b"}) for _ in range(SURE_AFTER)]
    assert (looks, others.words) == ([None] * SURE_AFTER, "2 of 2 other nodes have joined")
    found = [others.look({"a"}) for _ in range(SURE_AFTER)]
    assert [each.kind if each else None for each in found] == [None, None, "node_lost"]


def test_a_short_visit_is_no_node() -> None:
    others = Others(FLEET)
    others.look({"a"})
    assert ([others.look(()) for _ in range(SURE_AFTER)], others.joined) == ([None] * SURE_AFTER, 0)


def ending(children: Children, name: str, said: str, code: int) -> tuple[subprocess.Popen[bytes], LogTail]:
    log = children.folder / name
    script = f"import sys\nprint({said!r}, flush=True)\nsys.exit({code})"
    return children.spawn([sys.executable, "-c", script], {}, log), LogTail(log)


def test_the_process_with_a_cause_of_its_own_is_named(tmp_path: Path) -> None:
    plan: SmokePlan = plan_of("tiny", NONE, nodes=HERE)
    say = "OSError: [Errno 28] No space left on device"
    worker = (sys.executable, "-c", f"import sys; print({say!r}); sys.exit(1)")
    with Children(tmp_path) as children:
        workers = Workers(children, plan.model_copy(update={"worker_commands": (worker,)}))
        workers.start()
        head, log = ending(children, "server.log", "RuntimeError: Connection closed by peer [127.0.0.1]:1", 1)
        head.wait()
        found = why_it_ended(head, log, workers)
        workers.stop()
    assert found is not None
    assert (found[0].kind, found[0].cause[:18], say in found[1]) == ("disk_full", "node 1 (headless):", True)


def test_headless_processes_end_with_their_head(tmp_path: Path) -> None:
    sleeper = (sys.executable, "-c", "import time; time.sleep(60)")
    plan = plan_of("tiny", NONE, nodes=HERE).model_copy(update={"worker_commands": (sleeper,)})
    with Children(tmp_path) as children:
        workers = Workers(children, plan)
        workers.start()
        started = workers.all_live
        workers.stop()
        assert (started, workers.all_live, children.alive()) == (True, False, ())


def test_a_flag_that_a_headless_node_refuses_is_left_out_in_both_spellings() -> None:
    both = worker_commands(HERE, ("vllm",), "m", ("--api-server-count=2", "--a", "--api-server-count", "2", "--b"))
    assert both[0][3:5] == ("--a", "--b")


def gathered(**changes: object) -> Gathered:
    selection = good_selection(**two_nodes(**changes))
    return Gathered(answers=selection.answers, origins={}, layers=(), tree={}, machine=None, models=())


def options(tmp_path: Path, **more: object) -> SmokeOptions:
    values: dict[str, object] = {"out_dir": tmp_path, "state_dir": tmp_path, "mode": "dummy", **more}
    return SmokeOptions(**values)  # type: ignore[arg-type]  # the values are checked where they are used


@pytest.mark.parametrize(
    ("more", "changes", "said"),
    [
        ({}, {}, "spans 2 nodes"),
        ({"master_port": 1}, {}, "--master-port"),
        ({"master_addr": "10.0.0.1"}, {"runtime.layout.launcher": "ray"}, "Ray"),
        ({"master_addr": "10.0.0.1"}, {"runtime.layout.nodes_per_replica": 1}, "on one"),
        ({"master_addr": "10.0.0.1", "mode": "endpoint", "endpoint": "http://127.0.0.1:1"}, {}, "endpoint"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    tmp_path: Path, more: dict[str, object], changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        smoke_request(gathered(**changes), options(tmp_path, **more))


def test_the_nodes_of_a_replica_are_those_of_the_answers(tmp_path: Path) -> None:
    assert smoke_request(gathered(), options(tmp_path, master_addr="10.0.0.1")).nodes == Nodes(
        count=2, head_address="10.0.0.1"
    )


def measured(nodes: str | None) -> Selection:
    """The two-node selection with a run over two processes, the second one here or elsewhere; None: one server."""
    selection = good_selection(**two_nodes(smoke=ran_once(), machine=fleet_of(4)))
    assert selection.smoke is not None
    processes = [{"role": "head", "rank": 0, "where": "this_machine"}, {"role": "headless", "rank": 1, "where": nodes}]
    found = tuple(NodeProcess.model_validate(each) for each in processes) if nodes else ()
    runtime = selection.smoke.runtime.model_copy(update={"nodes": found})
    return selection.model_copy(update={"smoke": selection.smoke.model_copy(update={"runtime": runtime})})


@pytest.mark.parametrize(
    ("nodes", "limit"), [(None, "other hardware"), ("this_machine", "other hardware"), ("elsewhere", None)]
)
def test_only_a_run_over_the_proposed_nodes_proves_anything_of_them(nodes: str | None, limit: str | None) -> None:
    assert qualifier(measured(nodes)) == limit


@pytest.mark.parametrize(
    ("nodes", "said"), [("this_machine", "; all on one machine"), ("elsewhere", "headless (rank 1)")]
)
def test_the_document_names_the_processes_by_their_part(nodes: str, said: str) -> None:
    selection = measured(nodes)
    smoke = selection.smoke
    assert smoke is not None
    rows = {row[0]: row[1] for row in conditions(selection, smoke, runs(smoke)).rows}
    assert said in rows["Nodes of the replica"]
