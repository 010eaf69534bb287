"""Which process is behind a port, also one in a container."""

from pathlib import Path

import pytest

from probes.smoke.owners import Owners, forward_of, port_of

PROXY = ["/usr/bin/docker-proxy", "-proto", "tcp", "-host-ip", "127.0.0.1", "-host-port", "8000"]
FORWARD = ["-container-ip", "172.17.0.2", "-container-port", "8001"]


@pytest.mark.parametrize(
    ("url", "port"), [("http://localhost:8000/v1", 8000), ("https://127.0.0.1", 443), ("http://[::1]/v1", 80)]
)
def test_the_port_of_an_address(url: str, port: int) -> None:
    assert port_of(url) == port


def test_a_container_s_address_stands_in_the_command_that_forwards_to_it() -> None:
    assert (forward_of([*PROXY, *FORWARD]), forward_of(["python", *FORWARD])) == ([("172.17.0.2", 8001)], [])


@pytest.mark.parametrize(
    ("address", "port", "state", "there"),
    [
        ("172.17.0.2", 8001, "0A", True),
        ("172.17.0.3", 8001, "0A", False),
        ("172.17.0.2", 8002, "0A", False),
        ("172.17.0.2", 8001, "01", False),
    ],
)
def test_a_process_in_the_container_serves_the_port(
    tmp_path: Path, address: str, port: int, state: str, there: bool
) -> None:
    net = tmp_path / "77" / "net"
    net.mkdir(parents=True)
    (net / "tcp").write_text(f"  sl  local_address rem_address st\n   0: 00000000:1F41 00000000:0000 {state} 0\n")
    (net / "fib_trie").write_text("Local:\n  |-- 172.17.0.2\n     /32 host LOCAL\n")
    assert Owners(frozenset(), ((address, port),)).serves(77, tmp_path) is there


def test_a_process_that_cannot_be_looked_at_is_not_claimed(tmp_path: Path) -> None:
    assert not Owners(frozenset(), (("172.17.0.2", 8001),)).serves(77, tmp_path)
